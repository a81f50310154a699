//! The inspection of a plan's mount points before a run: the request to a driver, and the
//! result.

use crate::claim::report::ClaimReport;
use filermark_engine::name::MARKER;
use filermark_model::plan::{DriverPlan, MountPoint, Target};
use filermark_model::survey::{AsyncEngine, MountInfo, ServerInfo, ServiceInfo};
use std::path::Path;
use std::time::Duration;

/// Time limit for all mounts or servers together.
pub const SURVEY_MAX: Duration = Duration::from_secs(60);

/// What to inspect.
#[derive(Clone, Copy, Debug)]
pub struct Survey<'a> {
    /// The mount points of a client, each once.
    pub mounts: &'a [MountPoint],
    /// Name of the run's directory below them.
    pub dir_name: &'a str,
    /// Whether to log in to servers that require a user.
    pub log_in: bool,
    /// Returns why no file can be made in a directory of this host; `None`: one was made and
    /// removed.
    pub unwritable: fn(&str) -> Option<String>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Surveyed {
    /// Mounted directories, in the order of the mount points.
    pub mounts: Vec<MountInfo>,
    /// Servers, in the order of their first mount point.
    pub servers: Vec<ServerInfo>,
    /// What is known about each mount point that could be reached, as for a claim.
    pub reports: Vec<MountReport>,
    /// What carries out the reads and writes of workloads with a depth.
    pub async_engine: AsyncEngine,
}

/// What is known about a mount point.
#[derive(Debug)]
pub struct MountReport {
    /// The mount point.
    pub mount: MountPoint,
    /// Whether an earlier run has left files that this one may use again.
    pub is_kept: bool,
    /// The report.
    pub report: ClaimReport,
}

/// The mount points of each server; none of the groups is empty.
pub fn by_host(mounts: &[MountPoint]) -> Vec<Vec<MountPoint>> {
    let mut groups: Vec<Vec<MountPoint>> = Vec::new();
    for mount in mounts {
        match groups.iter_mut().find(|g| g[0].host == mount.host) {
            Some(group) => group.push(mount.clone()),
            None => groups.push(vec![mount.clone()]),
        }
    }
    groups
}

/// The result for a server that took longer than [`SURVEY_MAX`] for `service`.
pub fn late(host: &str, service: &str) -> ServerInfo {
    ServerInfo {
        host: host.to_owned(),
        services: vec![ServiceInfo {
            name: service.into(),
            address: String::new(),
            connected_us: Err(format!(
                "{host} did not answer all requests within {} s",
                SURVEY_MAX.as_secs()
            )),
        }],
        exports: Vec::new(),
    }
}

/// Whether an earlier run has left files that this one may use again. To be called before
/// the directory is claimed.
pub fn is_kept(driver: &DriverPlan, mount: &MountPoint, dir_name: &str) -> bool {
    let facts = driver.facts();
    if facts.target != Target::Mounted || !facts.reuses_kept {
        return false;
    }
    let dir = Path::new(&mount.path).join(dir_name);
    let mut names = std::fs::read_dir(dir).into_iter().flatten().flatten();
    names.any(|name| name.file_name() != MARKER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::plan::PosixPlan;

    #[test]
    fn only_files_that_will_be_used_again_count_as_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mount = MountPoint {
            host: "localhost".into(),
            path: dir.path().display().to_string(),
        };
        let driver = |reuse_kept| {
            DriverPlan::Posix(PosixPlan {
                reuse_kept,
                ..PosixPlan::default()
            })
        };
        assert!(!is_kept(&driver(true), &mount, "run"));
        std::fs::create_dir(dir.path().join("run")).unwrap();
        std::fs::write(dir.path().join("run").join(MARKER), "").unwrap();
        assert!(!is_kept(&driver(true), &mount, "run"));
        std::fs::create_dir(dir.path().join("run").join("CL0")).unwrap();
        assert!(is_kept(&driver(true), &mount, "run"));
        assert!(!is_kept(&driver(false), &mount, "run"));
    }
}
