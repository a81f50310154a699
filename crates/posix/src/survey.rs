//! Mounted directories: whether they are there, what they are on, whether they can be
//! written to, how much is free.

use crate::claim::MountDir;
use crate::shard::async_engine;
use filermark_driver_kit::driver::ClaimReport;
use filermark_driver_kit::run_dirs::MountSession;
use filermark_driver_kit::survey::{MountReport, SURVEY_MAX, Survey, Surveyed, is_kept};
use filermark_engine::parallel::each_within;
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::survey::{MountEntry, MountInfo};

/// Looks at all of them.
pub(crate) fn look(driver: &DriverPlan, what: &Survey<'_>) -> Surveyed {
    let name = what.dir_name.to_owned();
    let (driver, unwritable) = (driver.clone(), what.unwritable);
    let mounts = what.mounts.to_vec();
    let looks = each_within(mounts, SURVEY_MAX, move |mount: MountPoint| {
        let mut dir = MountDir::open(&mount).map_err(|e| e.to_string())?;
        let report = dir.report(None);
        let is_kept = is_kept(&driver, &mount, &name);
        Ok::<_, String>((report, is_kept, unwritable(&mount.path)))
    });
    let mut found = Surveyed {
        async_engine: async_engine(),
        ..Surveyed::default()
    };
    for (mount, look) in what.mounts.iter().zip(looks) {
        let there = match look {
            Some(Ok((report, is_kept, unwritable))) => {
                let entry = mounted(&report, unwritable);
                found.reports.push(MountReport {
                    mount: mount.clone(),
                    is_kept,
                    report,
                });
                Ok(entry)
            }
            Some(Err(reason)) => Err(reason),
            None => Err(format!(
                "{mount}: no answer within {} s; check that its server is up",
                SURVEY_MAX.as_secs()
            )),
        };
        found.mounts.push(MountInfo {
            mount: mount.clone(),
            mounted: there,
        });
    }
    found
}

fn mounted(report: &ClaimReport, unwritable: Option<String>) -> MountEntry {
    let fact = |name: &str| {
        let found = report.server_facts.iter().find(|(n, _)| n == name);
        found.map_or(String::new(), |(_, value)| value.clone())
    };
    MountEntry {
        kind: fact("file system"),
        source: fact("source"),
        mount_point: fact("mount point"),
        options: fact("mount options"),
        unwritable,
        free_bytes: report.space.map(|space| space.free_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::PosixPlan;
    use filermark_model::survey::AsyncEngine;

    #[test]
    fn directories_are_looked_at_and_left_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &std::path::Path| MountPoint {
            host: "here".into(),
            path: path.display().to_string(),
        };
        let mounts = [at(dir.path()), at(&dir.path().join("gone"))];
        let driver = DriverPlan::Posix(PosixPlan::default());
        let found = look(
            &driver,
            &Survey {
                mounts: &mounts,
                dir_name: "filermark.x",
                log_in: true,
                unwritable: |_| None,
            },
        );
        let looks = found.mounts;
        let there = looks[0].mounted.as_ref().expect("it is there");
        assert_eq!(there.unwritable, None);
        assert!(there.free_bytes.is_some_and(|b| b > 0));
        #[cfg(all(target_os = "linux", not(feature = "portable")))]
        assert!(!there.kind.is_empty() && there.mount_point.starts_with('/'));
        let why = looks[1].mounted.as_ref().expect_err("it is not there");
        assert!(why.contains("gone"), "{why}");
        assert_eq!(found.reports.len(), 1);
        assert_ne!(found.async_engine, AsyncEngine::Unknown);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
