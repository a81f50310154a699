//! Runs, preflights and sweeps of several clients that log in to Samba: each of them tries
//! a wrong password once, whatever the number of clients and shares.
#![cfg(target_os = "linux")] // The server is Samba.

use crate::leftovers::{CleanupReport, sweep_leftovers};
use crate::{RunOptions, RunOutcome, run};
use filermark_agent::ThreadLauncher;
use filermark_driver_kit::marker::marker_text;
use filermark_engine::driver::{Claim, StopFlag};
use filermark_engine::name::MARKER;
use filermark_hosts::preflight::check::{CheckStatus, Findings};
use filermark_hosts::preflight::{PreflightOptions, preflight};
use filermark_link::links::{AgentLinks, ThreadLinks};
use filermark_model::RunPlan;
use filermark_model::Secret;
use filermark_model::launch::LaunchPlan;
use filermark_model::plan::{ClientPlan, DriverPlan, MountPoint, SmbPlan};
use filermark_model::smb::Auth;
use filermark_results::record::Outcome;
use filermark_testbed::{Samba, SambaOptions, available};
use std::path::Path;
use std::sync::Arc;

/// Three clients on two shares.
fn plan(samba: &Samba, password: &str) -> RunPlan {
    let mut plan = filermark_results::testing::plan();
    plan.driver = DriverPlan::Smb(SmbPlan {
        auth: Auth::Ntlm {
            username: Samba::USER.into(),
            domain: Samba::DOMAIN.into(),
        },
        password: Secret::new(password),
        port: samba.port(),
        ..filermark_results::testing::smb_plan(password)
    });
    let mount = |share: &str| MountPoint {
        host: "127.0.0.1".into(),
        path: format!(r"\{share}"),
    };
    let client = |number: usize| ClientPlan {
        name: format!("h{number}"),
        mounts: vec![mount(Samba::DATA), mount(Samba::SECOND)],
    };
    plan.clients = (0..3).map(client).collect();
    plan.procs_per_client = 1;
    plan.points.truncate(1);
    plan.benchmark = filermark_model::Benchmark::shipped("general-smb2").unwrap();
    plan
}

fn launch() -> LaunchPlan {
    LaunchPlan::local((0..3).map(|n| format!("h{n}")))
}

fn board(plan: &LaunchPlan) -> Box<dyn AgentLinks> {
    Box::new(ThreadLinks::launch(plan, Arc::new(ThreadLauncher)))
}

fn run_plan(plan: RunPlan, dir: &Path) -> RunOutcome {
    let options = RunOptions {
        plan,
        launch: launch(),
        suffix: "t".into(),
        dir: dir.into(),
        stop_command: "filermark stop".into(),
        inputs: Vec::new(),
        goes_on: false,
        client_log_dir: None,
        heartbeat_log: None,
        reports: &[],
        stop: StopFlag::new(),
        observe: &mut |_| {},
    };
    run(options, board(&launch())).unwrap()
}

fn inspect(plan: RunPlan, dir: &Path) -> Findings {
    preflight(PreflightOptions {
        plan,
        launch: launch(),
        suffix: "t".into(),
        dir: dir.into(),
        rc: None,
        stop: StopFlag::new(),
        board: &mut |launch| Ok(board(launch)),
        observe: &mut |_| {},
    })
}

fn sweep(plan: &RunPlan) -> Vec<CleanupReport> {
    let stop = StopFlag::new();
    sweep_leftovers(
        plan,
        &launch(),
        "t",
        "2026",
        board(&launch()),
        stop,
        &mut |_| {},
    )
}

#[test]
fn a_wrong_password_is_tried_once_by_all_clients_together() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let wrong = || plan(&samba, "wrong");
    let tried = |what: &str, act: &mut (dyn FnMut() + Send)| {
        let before = samba.logons().len();
        samba.sandbox().run(act);
        let tried = samba.logons().split_off(before);
        assert_eq!(tried.len(), 1, "{what}: {tried:?}");
    };
    tried("run", &mut || {
        let outcome = run_plan(wrong(), dir.path());
        let end = outcome.record.end.as_ref().expect("an end");
        let Outcome::Failed { reason } = &end.outcome else {
            panic!("{end:?}");
        };
        assert!(reason.contains("STATUS_LOGON_FAILURE"), "{reason}");
        assert!(reason.contains("tried once"), "{reason}");
    });
    tried("preflight", &mut || {
        let findings = inspect(wrong(), dir.path());
        let mounts = || findings.checks.iter().filter(|c| c.what == "mount");
        assert!(
            mounts().any(|c| c.sentence.contains("STATUS_LOGON_FAILURE")),
            "{findings:?}"
        );
    });
    tried("sweep", &mut || {
        let left: Vec<String> = sweep(&wrong())
            .into_iter()
            .flat_map(|s| s.left)
            .map(|left| left.sentence)
            .collect();
        assert!(
            left.iter().any(|l| l.contains("STATUS_LOGON_FAILURE")),
            "{left:?}"
        );
    });
}

#[test]
fn shares_are_inspected_and_swept() {
    let Some(samba) = available(Samba::start(SambaOptions::default())) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let plan = || plan(&samba, Samba::PASSWORD);
    let findings = samba.sandbox().run(|| inspect(plan(), dir.path()));
    let mounts = findings.checks.iter().filter(|c| c.what == "mount");
    let (mut count, mut sentences) = (0, String::new());
    for check in mounts {
        count += 1;
        sentences.push_str(&check.sentence);
        assert_eq!(check.verdict, CheckStatus::Ok, "{check:?}");
    }
    assert_eq!(count, 6, "{findings:?}");
    assert!(
        sentences.contains(r"\\127.0.0.1\second opens and is writable"),
        "{sentences}"
    );
    let old = Claim {
        dir_name: "filermark.t".into(),
        run_id: "20260101-old".into(),
    };
    let run_dir = samba.files(Samba::SECOND).join(&old.dir_name);
    std::fs::create_dir(&run_dir).unwrap();
    std::fs::write(run_dir.join(MARKER), marker_text(&old)).unwrap();
    std::fs::create_dir(run_dir.join("p000000")).unwrap();
    for path in [run_dir.clone(), run_dir.join("p000000")] {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let swept = samba.sandbox().run(|| sweep(&plan()));
    let removed: u64 = swept.iter().map(|s| s.removed_count).sum();
    assert_eq!(removed, 1, "{swept:?}");
    assert!(swept.iter().all(|s| s.left.is_empty()), "{swept:?}");
    assert!(!run_dir.exists());
}
