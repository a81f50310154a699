//! Invented clients for the tests of the checks, and all checks together.

use super::*;
use crate::preflight::check::CheckStatus;
use crate::preflight::needs::Needs;
use filermark_link::facts::{LimitFacts, MountEntry, MountInfo};
use filermark_model::launch::{HostPlan, LauncherKind};
use filermark_model::plan::{DriverPlan, MountPoint};
use filermark_model::survey::AsyncEngine;
use filermark_results::Environment;

/// A client without problems.
pub struct HealthyClient {
    pub at: usize,
    pub host: HostPlan,
    pub ssh: SshClient,
    pub driver: DriverPlan,
    pub facts: HostFacts,
    pub(in crate::preflight) needs: Needs,
    pub(in crate::preflight) clock: Option<ClockOffset>,
    pub has_clock_service: bool,
    pub is_alone: bool,
}

impl HealthyClient {
    pub fn new() -> Self {
        Self {
            at: 0,
            host: HostPlan {
                launcher: LauncherKind::Ssh,
                ..HostPlan::local("h1".into())
            },
            ssh: SshClient::of(&LaunchPlan::local([])),
            driver: filermark_results::testing::plan().driver,
            facts: HostFacts {
                environment: Environment {
                    host: "node1".into(),
                    core_count: 4,
                    memory_bytes: 8 << 30,
                    ..Environment::default()
                },
                addresses: vec!["10.0.0.1".into()],
                limits: LimitFacts {
                    open_files_soft: Some(1024),
                    open_files_hard: None,
                    threads: None,
                },
                ..HostFacts::default()
            },
            needs: Needs::default(),
            clock: None,
            has_clock_service: false,
            is_alone: false,
        }
    }

    pub(in crate::preflight) fn client(&self) -> Client<'_> {
        Client {
            at: self.at,
            name: &self.host.client,
            host: &self.host,
            ssh: &self.ssh,
            driver: &self.driver,
            facts: &self.facts,
            needs: self.needs,
            clock: self.clock,
            has_clock_service: self.has_clock_service,
            is_alone: self.is_alone,
        }
    }
}

/// A directory that exists and is writable.
pub fn mounted(kind: &str, source: &str, path: &str) -> MountInfo {
    MountInfo {
        mount: MountPoint {
            host: "h".into(),
            path: path.into(),
        },
        mounted: Ok(MountEntry {
            kind: kind.into(),
            source: source.into(),
            mount_point: path.into(),
            options: "rw,relatime".into(),
            unwritable: None,
            free_bytes: Some(1 << 40),
        }),
    }
}

fn space_of(plan: &RunPlan, bytes: u64) -> Vec<Check> {
    let free = |c: &filermark_model::plan::ClientPlan| {
        vec![FreeSpace {
            mounts: c.mounts.clone(),
            file_system: "nas:/vol".into(),
            bytes,
            total_bytes: 0,
            kept: false,
        }]
    };
    let free: Vec<_> = plan.clients.iter().map(free).collect();
    free_space(plan, &free)
}

#[test]
fn space_is_judged_as_a_run_will() {
    let classic = filermark_results::testing::plan();
    assert_eq!(space_of(&classic, u64::MAX)[0].verdict, CheckStatus::Ok);
    assert_eq!(space_of(&classic, 1)[0].verdict, CheckStatus::Failure);
    let mut plan = filermark_results::testing::composite::composite_record()
        .run
        .plan;
    plan.driver = DriverPlan::Posix(filermark_model::plan::PosixPlan::default());
    assert_eq!(space_of(&plan, u64::MAX)[0].verdict, CheckStatus::Ok);
    assert_eq!(space_of(&plan, 1)[0].verdict, CheckStatus::Failure);
    assert!(
        free_space(&plan, &[Vec::new()]).is_empty(),
        "nothing is known"
    );
}

#[test]
fn a_lost_client_is_reported_and_the_others_are_checked() {
    let plan = filermark_results::testing::plan();
    let launch = LaunchPlan::local(["a".to_owned(), "b".to_owned()]);
    let found = [
        ClientReport {
            lost_reason: Some("it is missing there; `filermark install -r RC` copies it".into()),
            ..ClientReport::default()
        },
        ClientReport {
            facts: Some(HealthyClient::new().facts),
            ..ClientReport::default()
        },
    ];
    let checks = clients(&plan, &launch, &found, &[]);
    assert_eq!(checks[0].host, "a");
    assert_eq!(
        checks[0].command.as_deref(),
        Some("filermark install -r RC")
    );
    let of_b: Vec<_> = checks.iter().filter(|c| c.host == "b").collect();
    assert!(of_b.len() > 5, "{of_b:?}");
    assert!(
        of_b.iter().all(|c| c.verdict == CheckStatus::Ok),
        "{of_b:?}"
    );
}

#[test]
fn a_depth_is_checked_with_the_reason_why_it_cannot_be() {
    let mut made = HealthyClient::new();
    made.facts.async_engine = AsyncEngine::Missing("io_uring is forbidden here: EPERM".into());
    assert!(host::depth(&made.client()).is_none(), "no depth");
    made.needs.depth = 32;
    let check = host::depth(&made.client()).expect("a check");
    assert_eq!(check.verdict, CheckStatus::Failure);
    assert!(
        check.sentence.contains("forbidden here: EPERM"),
        "{check:?}"
    );
    made.facts.async_engine = AsyncEngine::IoUring;
    let check = host::depth(&made.client()).expect("a check");
    assert_eq!(check.verdict, CheckStatus::Ok);
    assert!(
        check.sentence.contains("depth of 32 use io_uring"),
        "{check:?}"
    );
    made.facts.async_engine = AsyncEngine::Unknown;
    assert!(host::depth(&made.client()).is_none());
}

#[test]
fn low_ports_are_checked_with_resvport_only_and_a_missing_capability_is_reported() {
    let mut made = HealthyClient::new();
    made.facts.low_ports = Some(false);
    made.facts.program = Some("/home/me/my files/filermark".into());
    assert!(
        host::low_ports(&made.client()).is_none(),
        "they are not needed"
    );
    let DriverPlan::Nfs(nfs) = &mut made.driver else {
        panic!("a plan for NFS");
    };
    nfs.resvport = true;
    let check = host::low_ports(&made.client()).expect("a check");
    assert_eq!(check.verdict, CheckStatus::Failure);
    assert!(check.sentence.contains("RESVPORT=on"), "{check:?}");
    let command = check.command.expect("a command");
    let remote = r"'sudo setcap cap_net_bind_service=+ep '\''/home/me/my files/filermark'\'''";
    assert_eq!(command, format!("ssh -t h1 {remote}"));
    // The user, the port and the program are those of the launcher.
    made.host.user = Some("bench".into());
    let mut launch = LaunchPlan::local([]);
    launch.ssh_command = ["ssh", "-p", "2222", "-i", "my key"]
        .map(str::to_owned)
        .into();
    made.ssh = SshClient::of(&launch);
    let check = host::low_ports(&made.client()).expect("a check");
    let wanted = format!("ssh -p 2222 -i 'my key' -t bench@h1 {remote}");
    assert_eq!(check.command, Some(wanted));
    made.facts.low_ports = Some(true);
    let check = host::low_ports(&made.client()).expect("a check");
    assert_eq!(check.verdict, CheckStatus::Ok);
}
