//! Preflight on this host, with agents on threads.

use super::check::{ALL, CheckStatus};
use super::*;
use filermark_agent::ThreadLauncher;
use filermark_link::links::ThreadLinks;
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint, PosixPlan};
use filermark_results::testing::composite::composite_record;
use std::path::Path;
use std::sync::Arc;

/// A composite on mounted directories: one client for each of them.
fn plan(dirs: &[&Path]) -> RunPlan {
    let mut plan = composite_record().run.plan;
    plan.driver = DriverPlan::Posix(PosixPlan::default());
    plan.clients = (0..)
        .zip(dirs)
        .map(|(n, dir)| ClientPlan {
            name: format!("h{n}"),
            mounts: vec![MountPoint {
                host: format!("h{n}"),
                path: dir.display().to_string(),
            }],
        })
        .collect();
    for (at, proc) in plan.procs.iter_mut().enumerate() {
        proc.client = (at % dirs.len()) as u32;
        proc.mount = plan.clients[at % dirs.len()].mounts[0].clone();
    }
    plan
}

fn check(plan: RunPlan, launcher: Arc<dyn Launcher>, stop: &StopFlag) -> Findings {
    let names = plan.clients.iter().map(|c| c.name.clone());
    let launch = LaunchPlan::local(names);
    preflight(PreflightOptions {
        plan,
        launch,
        suffix: "s".into(),
        dir: std::env::temp_dir(),
        rc: Some("my_rc".into()),
        stop: stop.clone(),
        board: &mut |plan| Ok(Box::new(ThreadLinks::launch(plan, launcher.clone()))),
        observe: &mut |_| {},
    })
}

fn of<'a>(findings: &'a Findings, host: &str, what: &str) -> Vec<&'a Check> {
    let is = |c: &&Check| c.host == host && c.what == what;
    findings.checks.iter().filter(is).collect()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).expect("a directory").count() == 0
}

#[test]
fn clients_that_share_a_directory_find_the_probe() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&[dir.path(), dir.path(), dir.path()]);
    let findings = check(plan, Arc::new(ThreadLauncher), &StopFlag::new());
    for host in ["h1", "h2"] {
        let same = of(&findings, host, "same");
        assert_eq!(same.len(), 1, "{findings:?}");
        assert_eq!(same[0].verdict, CheckStatus::Ok, "{same:?}");
    }
    assert!(
        of(&findings, "h0", "same").is_empty(),
        "it created the file"
    );
    // Windows has no load average.
    let load = cfg!(unix).then_some("load");
    for what in ["version", "host", "clock", "memory", "files", "mount"]
        .into_iter()
        .chain(load)
    {
        let found = of(&findings, "h2", what);
        assert!(!found.is_empty(), "{what}: {findings:?}");
        assert!(
            found.iter().all(|c| c.verdict != CheckStatus::Failure),
            "{found:?}"
        );
    }
    assert_eq!(of(&findings, ALL, "space").len(), 1);
    assert!(!findings.stopped);
    assert!(is_empty(dir.path()), "nothing is left");
}

/// Starts all agents except one.
struct AllButOne;

impl Launcher for AllButOne {
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        match host.client.as_str() {
            "h0" => Err("it is missing there; `filermark install -r RC` copies it".into()),
            _ => ThreadLauncher.launch(client, host),
        }
    }
}

#[test]
fn a_client_that_cannot_be_started_is_reported_and_the_others_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone");
    let plan = plan(&[dir.path(), dir.path(), &gone]);
    let findings = check(plan, Arc::new(AllButOne), &StopFlag::new());
    let agent = of(&findings, "h0", "agent");
    assert_eq!(agent[0].verdict, CheckStatus::Failure);
    assert_eq!(
        agent[0].command.as_deref(),
        Some("filermark install -r my_rc")
    );
    assert!(agent[0].sentence.contains("-r my_rc"));
    assert_eq!(of(&findings, "h1", "mount").len(), 1);
    let missing = of(&findings, "h2", "mount");
    assert_eq!(missing[0].verdict, CheckStatus::Failure, "{missing:?}");
    assert!(findings.count(CheckStatus::Failure) >= 2);
    assert!(is_empty(dir.path()));
}

#[test]
fn a_stop_request_ends_the_checks() {
    let dir = tempfile::tempdir().unwrap();
    let stop = StopFlag::new();
    stop.raise();
    let findings = check(plan(&[dir.path()]), Arc::new(ThreadLauncher), &stop);
    assert!(findings.stopped);
    assert!(of(&findings, "h0", "agent").is_empty());
    assert!(is_empty(dir.path()));
}

#[test]
fn agents_that_cannot_be_started_are_a_failure_of_the_prime() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(&[dir.path()]);
    let findings = preflight(PreflightOptions {
        launch: LaunchPlan::local(["h0".to_owned()]),
        plan,
        suffix: "s".into(),
        dir: dir.path().into(),
        rc: None,
        stop: StopFlag::new(),
        board: &mut |_| Err("no keys; `filermark agent --make-keys DIR --clients LIST`".into()),
        observe: &mut |_| {},
    });
    let agents = of(&findings, PRIME, "agents");
    assert_eq!(agents[0].verdict, CheckStatus::Failure);
    assert!(agents[0].command.is_some());
}
