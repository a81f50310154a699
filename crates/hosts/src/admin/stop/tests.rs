//! Stops over an ssh that is a script.
#![cfg(unix)] // The hosts are shell scripts.

use super::super::fake::{FakeHosts, write_executable};
use super::*;
use filermark_link::build::MARK;

fn tag() -> RunTag {
    RunTag::new(&format!("test-{}-stop", std::process::id())).unwrap()
}

fn one(hosts: &FakeHosts, host: HostPlan) -> HostOutcome {
    let mut plan = hosts.plan(&[]);
    plan.hosts.push(host);
    stop(&plan, &tag(), &HostLimits::default(), &mut |_, _| {}).remove(0)
}

/// A host whose program prints these lines when it is ordered to end agents.
fn answering(hosts: &FakeHosts, name: &str, script: &str) -> HostPlan {
    let path = hosts.path(&format!("{name}/filermark"));
    let text =
        format!("#!/bin/sh\n# {MARK}\ntest \"$1 $2\" = 'agent --end-run' || exit 9\n{script}\n");
    write_executable(&path, &text);
    HostPlan {
        program: Some(path.display().to_string()),
        ..hosts.host(name)
    }
}

#[test]
fn the_agents_that_the_program_ended_are_reported() {
    let hosts = FakeHosts::new(&["one", "two", "three"]);
    hosts.rc("one", "echo '{\"motd\": 1}'; echo Welcome");
    let report = r#"{"run":"TAG","agents":[{"pid":7,"ending":"asked"},{"pid":8,"ending":"asked"},{"pid":9,"ending":"killed"}]}"#;
    let report = report.replace("TAG", tag().as_str());
    let outcome = one(
        &hosts,
        answering(&hosts, "one", &format!("echo '{report}'")),
    );
    assert_eq!(outcome.state, HostState::Done);
    assert_eq!(
        outcome.detail,
        "ended processes 7, 8; killed process 9; files that it created may remain"
    );
    let none = report.split_once('[').unwrap().0.to_owned() + "[]}";
    let outcome = one(&hosts, answering(&hosts, "two", &format!("echo '{none}'")));
    assert_eq!(outcome.state, HostState::Nothing);
    let stuck = r#"[{"pid":7,"ending":"refused","reason":"hangs\u001b"}]}"#;
    let stuck = report.split_once('[').unwrap().0.to_owned() + stuck;
    let outcome = one(
        &hosts,
        answering(&hosts, "three", &format!("echo '{stuck}'")),
    );
    assert_eq!(outcome.state, HostState::Failed);
    assert_eq!(outcome.detail, "process 7 is still running: hangs\u{fffd}");
}

#[test]
fn a_report_of_another_run_is_ignored() {
    let hosts = FakeHosts::new(&["one"]);
    let other = r#"echo '{"run":"other","agents":[]}'"#;
    let outcome = one(&hosts, answering(&hosts, "one", other));
    assert_eq!(outcome.state, HostState::Failed, "{outcome:?}");
}

#[test]
fn another_version_is_reported() {
    let hosts = FakeHosts::new(&["one"]);
    let outcome = one(
        &hosts,
        answering(&hosts, "one", "echo 'unexpected argument' >&2; exit 2"),
    );
    assert_eq!(outcome.state, HostState::Failed);
    assert!(
        outcome.detail.contains("is of another version"),
        "{}",
        outcome.detail
    );
}

#[test]
fn another_build_is_used_if_this_one_is_missing() {
    let hosts = FakeHosts::new(&["one"]);
    let dir = hosts.path("one/.cache/filermark/0123456789abcdef");
    std::fs::create_dir_all(&dir).unwrap();
    let report = format!(
        "#!/bin/sh\necho '{{\"run\":\"{}\",\"agents\":[]}}'\n",
        tag()
    );
    write_executable(&dir.join("filermark"), &report);
    let outcome = one(&hosts, hosts.host("one"));
    assert_eq!(outcome.state, HostState::Nothing);
    assert_eq!(outcome.detail, format!("no agent of run '{}' there", tag()));
}

#[test]
fn without_a_program_a_shell_searches_and_ends_nothing() {
    let hosts = FakeHosts::new(&["one"]);
    let outcome = one(&hosts, hosts.host("one"));
    assert_eq!(outcome.state, HostState::Nothing);
    assert!(
        outcome
            .detail
            .contains("the program is not installed there"),
        "{}",
        outcome.detail
    );

    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("agent"), "sleep 600 & wait").unwrap();
    let mut agent = std::process::Command::new("/bin/sh");
    agent
        .args(["agent", "--stdio", "--run", tag().as_str()])
        .current_dir(dir.path());
    let mut agent = filermark_link::child::spawn_in_own_group(&mut agent).unwrap();
    // Its command line is set as soon as it is started.
    let outcome = one(&hosts, hosts.host("one"));
    let pid = agent.id();
    let lives = matches!(agent.try_wait(), Ok(None));
    let ended = filermark_link::child::end_all(
        std::slice::from_mut(&mut agent),
        filermark_link::child::TERM_GRACE,
    );
    assert!(lives && ended);
    assert_eq!(outcome.state, HostState::Failed);
    assert!(
        outcome.detail.starts_with(&format!("process {pid} of run")),
        "{}",
        outcome.detail
    );
    assert!(
        outcome.detail.contains(&format!("`ssh one kill {pid}`")),
        "{}",
        outcome.detail
    );
}

#[test]
fn this_host_is_checked_once_and_other_launchers_get_instructions() {
    let mut plan = LaunchPlan::local(["a", "b", "c", "n1", "n2"].map(String::from));
    plan.hosts[2].launcher = LauncherKind::Accept;
    for node in &mut plan.hosts[3..] {
        node.launcher = LauncherKind::Slurm;
    }
    plan.srun_command = vec!["/nonexistent/srun".into()];
    let mut steps = Vec::new();
    let outcomes = stop(&plan, &tag(), &HostLimits::default(), &mut |h, s| {
        steps.push((h.client.clone(), s));
    });
    let states: Vec<_> = outcomes
        .iter()
        .map(|o| (o.host.as_str(), o.state))
        .collect();
    assert_eq!(
        states,
        [
            ("a", HostState::Nothing),
            ("c", HostState::ByHand),
            ("n1", HostState::Failed)
        ]
    );
    // Slurm is queried once for all of its nodes.
    let slurm = &outcomes[2].detail;
    assert!(
        slurm.contains("/nonexistent/squeue is not on this host"),
        "{slurm}"
    );
    assert_eq!(steps.len(), 6);
}

#[test]
fn a_host_that_hangs_times_out() {
    let hosts = FakeHosts::new(&["one"]);
    hosts.rc("one", "sleep 600");
    let limits = HostLimits {
        total: std::time::Duration::from_millis(300),
        ..HostLimits::default()
    };
    let outcome = stop(&hosts.plan(&["one"]), &tag(), &limits, &mut |_, _| {}).remove(0);
    assert_eq!(outcome.state, HostState::Failed);
    assert!(
        outcome.detail.contains("no answer within 0.3 s"),
        "{}",
        outcome.detail
    );
}

#[test]
fn agents_on_windows_are_ended_by_the_program_there() {
    let hosts = FakeHosts::new(&["win"]);
    hosts.set_windows("win");
    let outcome = one(&hosts, hosts.host("win"));
    assert_eq!(outcome.state, HostState::Failed, "{outcome:?}");
    assert!(outcome.detail.contains("is missing there"), "{outcome:?}");
    let build = filermark_link::build::own_build();
    let dir = hosts.path(&format!("win/.cache/filermark/{build}-windows-x86_64"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(hosts.path("filermark"), dir.join("filermark.exe")).unwrap();
    let outcome = one(&hosts, hosts.host("win"));
    assert_eq!(outcome.state, HostState::Done, "{outcome:?}");
    assert!(outcome.detail.contains("ended process 77"), "{outcome:?}");
    assert_eq!(hosts.redirected("win"), "", "for cmd.exe");
}
