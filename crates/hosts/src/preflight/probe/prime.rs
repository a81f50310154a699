//! What the prime finds at its own host.

use filermark_link::facts::{FirewallFacts, LimitFacts};
use filermark_link::own_host::{firewall, system};
use filermark_model::launch::{LaunchPlan, LauncherKind};
use rustix::fs::{Access, AtFlags, CWD, accessat, statvfs};
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct PrimeFacts {
    pub limits: LimitFacts,
    pub results: ResultDir,
    /// Where agents come to it: what may be in their way.
    pub listen_port: Option<ListenPort>,
}

/// Where the results will be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ResultDir {
    /// As the plan says.
    pub path: PathBuf,
    /// It, or the directory above it that is there.
    pub nearest: PathBuf,
    /// Why nothing can be written there.
    pub unwritable: Option<String>,
    /// Free, in bytes.
    pub free_bytes: Option<u64>,
}

/// What is between the prime and agents that come to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ListenPort {
    pub firewall: FirewallFacts,
    /// Connections that may wait to be taken, by the kernel's limit.
    pub waiting_max: Option<u64>,
}

/// Looks.
pub(in crate::preflight) fn look(plan: &LaunchPlan, dir: &Path) -> PrimeFacts {
    let come = |h: &filermark_model::launch::HostPlan| {
        matches!(h.launcher, LauncherKind::Accept | LauncherKind::Slurm)
    };
    let door = plan.hosts.iter().any(come).then(|| ListenPort {
        firewall: firewall::look(),
        waiting_max: system::sysctls()
            .get("net.core.somaxconn")
            .and_then(|v| v.parse().ok()),
    });
    PrimeFacts {
        limits: system::limits(),
        results: result_dir(dir),
        listen_port: door,
    }
}

/// Makes nothing: looks at the nearest directory that is there.
fn result_dir(dir: &Path) -> ResultDir {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let nearest = whole.ancestors().find(|d| d.exists());
    let nearest = nearest.unwrap_or(Path::new("/")).to_owned();
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    let unwritable = match nearest.is_dir() {
        true => accessat(CWD, &nearest, rights, AtFlags::EACCESS)
            .err()
            .map(|e| e.to_string()),
        false => Some("it is not a directory".into()),
    };
    let free_bytes = statvfs(&nearest)
        .ok()
        .map(|s| s.f_bavail.saturating_mul(s.f_frsize));
    ResultDir {
        path: dir.to_owned(),
        nearest,
        unwritable,
        free_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_directory_is_looked_at_and_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b");
        let found = result_dir(&deep);
        assert_eq!(found.nearest, dir.path());
        assert_eq!(found.unwritable, None);
        assert!(found.free_bytes.is_some_and(|b| b > 0));
        assert!(!dir.path().join("a").exists());
        std::fs::write(dir.path().join("file"), "").unwrap();
        let file = result_dir(&dir.path().join("file/result"));
        assert!(file.unwritable.is_some(), "{file:?}");
    }

    #[test]
    fn only_who_waits_for_agents_looks_at_the_door() {
        let mut plan = LaunchPlan::local(["a".to_owned()]);
        let dir = Path::new("/");
        assert_eq!(look(&plan, dir).listen_port, None);
        plan.hosts[0].launcher = LauncherKind::Accept;
        assert!(look(&plan, dir).listen_port.is_some());
    }
}
