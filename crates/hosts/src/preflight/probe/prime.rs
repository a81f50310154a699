//! Facts about the prime's own host.

use filermark_link::facts::{FirewallFacts, LimitFacts};
use filermark_link::own_host::{firewall, system};
use filermark_model::launch::{LaunchPlan, LauncherKind};
use std::path::{Path, PathBuf};

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct PrimeFacts {
    pub limits: LimitFacts,
    pub results: ResultDir,
    /// The port that agents connect to, and what may block it.
    pub listen_port: Option<ListenPort>,
}

/// The directory of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ResultDir {
    /// The path in the plan.
    pub path: PathBuf,
    /// The directory itself, or its nearest existing parent.
    pub nearest: PathBuf,
    /// Why it is not writable.
    pub unwritable: Option<String>,
    /// Free, in bytes.
    pub free_bytes: Option<u64>,
}

/// The port that agents connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::preflight) struct ListenPort {
    pub firewall: FirewallFacts,
    /// The kernel's limit of connections that wait to be accepted.
    pub waiting_max: Option<u64>,
}

/// Collects the facts.
pub(in crate::preflight) fn inspect(plan: &LaunchPlan, dir: &Path) -> PrimeFacts {
    let come = |h: &filermark_model::launch::HostPlan| {
        matches!(h.launcher, LauncherKind::Accept | LauncherKind::Slurm)
    };
    let listen_port = plan.hosts.iter().any(come).then(|| ListenPort {
        firewall: firewall::inspect(),
        waiting_max: system::sysctls()
            .get("net.core.somaxconn")
            .and_then(|v| v.parse().ok()),
    });
    PrimeFacts {
        limits: system::limits(),
        results: result_dir(dir),
        listen_port,
    }
}

/// Creates nothing: inspects the nearest existing directory.
fn result_dir(dir: &Path) -> ResultDir {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let nearest = whole.ancestors().find(|d| d.exists());
    let nearest = nearest.unwrap_or(Path::new("/")).to_owned();
    let unwritable = match nearest.is_dir() {
        true => filermark_system::unwritable(&nearest),
        false => Some("it is not a directory".into()),
    };
    let free_bytes = filermark_system::free_bytes(&nearest).ok();
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
    fn a_result_directory_is_inspected_and_not_created() {
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
    fn the_listen_port_is_inspected_only_if_agents_connect_to_it() {
        let mut plan = LaunchPlan::local(["a".to_owned()]);
        let dir = Path::new("/");
        assert_eq!(inspect(&plan, dir).listen_port, None);
        plan.hosts[0].launcher = LauncherKind::Accept;
        assert!(inspect(&plan, dir).listen_port.is_some());
    }
}
