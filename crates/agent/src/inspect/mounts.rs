//! Mounted directories: whether they are there, what they are on, whether they can be
//! written to, how much is free. Makes one small file in each and removes it again.

use super::limits::ALL_MAX;
use super::probe;
use crate::free_space::{ClientSpace, is_kept};
use filermark_driver_kit::driver::ClaimReport;
use filermark_link::facts::{MountEntry, MountInfo};
use filermark_link::parallel::each_within;
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_posix::survey;

/// Looks at all of them; what they have free goes into `seen`.
pub(super) fn look(
    mounts: &[MountPoint],
    host: &str,
    seen: &mut ClientSpace,
    driver: &DriverPlan,
    dir_name: &str,
) -> Vec<MountInfo> {
    let name = dir_name.to_owned();
    let driver = driver.clone();
    let looks = each_within(mounts.to_vec(), ALL_MAX, move |mount: MountPoint| {
        let report = survey(&mount).map_err(|e| e.to_string())?;
        let kept = is_kept(&driver, &mount, &name);
        let unwritable = probe::unwritable(&mount.path);
        Ok::<_, String>((report, kept, unwritable))
    });
    let mut found = Vec::new();
    for (mount, look) in mounts.iter().zip(looks) {
        let there = match look {
            Some(Ok((report, kept, unwritable))) => {
                seen.add(mount, kept, host, &report);
                Ok(mounted(&report, unwritable))
            }
            Some(Err(reason)) => Err(reason),
            None => Err(format!(
                "{mount}: not looked at within {} s; is its server up?",
                ALL_MAX.as_secs()
            )),
        };
        found.push(MountInfo {
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

    #[test]
    fn directories_are_looked_at_and_left_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &std::path::Path| MountPoint {
            host: "here".into(),
            path: path.display().to_string(),
        };
        let mounts = [at(dir.path()), at(&dir.path().join("gone"))];
        let driver = DriverPlan::Posix(PosixPlan::default());
        let mut seen = ClientSpace::by(&driver);
        let looks = look(&mounts, "here", &mut seen, &driver, "filermark.x");
        let there = looks[0].mounted.as_ref().expect("it is there");
        assert_eq!(there.unwritable, None);
        assert!(there.free_bytes.is_some_and(|b| b > 0));
        #[cfg(target_os = "linux")]
        assert!(!there.kind.is_empty() && there.mount_point.starts_with('/'));
        let why = looks[1].mounted.as_ref().expect_err("it is not there");
        assert!(why.contains("gone"), "{why}");
        assert_eq!(seen.into_free().len(), 1);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
