//! Clients that are lost during a run: the load point ends in time, the others stop and clean up,
//! and a lost client cleans up by itself or is reported.

use crate::client_hosts::{Field, assert_adds_up};
use crate::load_guard::beside_others;
use crate::second_client::assert_empty;
use crate::sweep::{Ended, Started, Sweep};
use filermark_model::Rule;
use filermark_results::{Outcome, Phase, PhaseRecord, Timestamp};
use filermark_server::ServerOptions;
use filermark_testbed::Hosts;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Longest time from a fault to the end of the load point.
const POINT_END_MAX_S: f64 = 15.0;
/// Longest time from a fault to the end of the program.
const RUN_END_MAX: Duration = Duration::from_secs(30);
/// Longest time until agents without a prime have cleaned up and ended.
const ALONE_MAX: Duration = Duration::from_secs(30);

const THREE: &str = "h1 h2 h3";

/// A run under way, for a fault.
struct Failure {
    began: Timestamp,
    since: Instant,
    started: Started,
}

impl Failure {
    /// Waits until the run is in RUN of its first load point, and causes the fault.
    fn in_run(sweep: &Sweep, happen: impl FnOnce()) -> Self {
        let mut started = sweep.start();
        started.wait_until("RUN", |s| is_in_run(&s.stderr()));
        // All agents are running.
        std::thread::sleep(Duration::from_millis(300));
        Self::now(started, happen)
    }

    fn now(started: Started, happen: impl FnOnce()) -> Self {
        let (began, since) = (Timestamp::now(), Instant::now());
        happen();
        Self {
            began,
            since,
            started,
        }
    }

    /// Asserts that the program ends in time.
    #[track_caller]
    fn end(self) -> (Ended, Timestamp) {
        let ended = self.started.wait();
        let took = self.since.elapsed();
        assert!(took < RUN_END_MAX, "{took:?}: {}", ended.stderr);
        (ended, self.began)
    }
}

/// The line of the phase.
fn is_in_run(stderr_text: &str) -> bool {
    stderr_text.contains(" RUN\n")
}

/// Kills the one agent of a host.
fn kill_agent(field: &Field, host: &str) {
    let killed = field.hosts.kill_processes(host, "filermark");
    assert_eq!(killed.expect("a host"), 1);
}

/// The phase that was cut short.
fn cut_phase(ended: &Ended) -> PhaseRecord {
    let phases = ended.record().phases.into_iter();
    let mut failed = phases.filter(|p| p.failure.is_some() && p.point > 0);
    failed.next_back().expect("a phase that failed")
}

/// Asserts that the run ended because of one lost client: in time, with the reason in all outputs.
#[track_caller]
fn assert_lost(ended: &Ended, began: Timestamp, phase: Phase, parts: &[&str]) {
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sanitized();
    ended.assert_sentence(parts);
    let record = ended.record();
    let Some(Outcome::Failed { reason }) = record.end.map(|end| end.outcome) else {
        panic!("it is recorded as failed");
    };
    assert_eq!([reason.as_str()], ended.sentences()[..]);
    let point = record.points.last().expect("the load point is recorded");
    assert_eq!(point.failure(), Some(reason.as_str()));
    assert_eq!(point.findings[0].rule, Rule::Failed);
    let cut = cut_phase(ended);
    assert_eq!(cut.phase, phase);
    let took_s = cut.ended.seconds_since(began);
    println!("{phase} ended {took_s:.2} s after the fault");
    assert!((0.0..POINT_END_MAX_S).contains(&took_s), "{took_s} s");
}

/// The one path with remaining files, as reported.
#[track_caller]
fn left_behind(ended: &Ended) -> String {
    let findings: Vec<_> = ended
        .record()
        .end
        .into_iter()
        .flat_map(|end| end.findings)
        .collect();
    let [finding] = &findings[..] else {
        panic!("not one finding: {findings:?}");
    };
    assert_eq!(finding.rule, Rule::LeftBehind);
    assert!(ended.stderr.contains(&finding.message), "{}", ended.stderr);
    finding.message.clone()
}

#[test]
fn a_link_that_is_cut_ends_the_load_point_in_time() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    let sweep = field.sweep(THREE).set("RUNTIME", 60);
    let problem = Failure::in_run(&sweep, || field.hosts.cut("h2").expect("cut"));
    let (ended, began) = problem.end();
    assert_lost(
        &ended,
        began,
        Phase::Run,
        &["client h2", "no message for 8 s"],
    );
    // The others reach the export, and have also removed the files of h2.
    assert_eq!(field.exported(), [""; 0]);
    field.hosts.fix("h2").expect("fix");
    field.assert_clean_within(ALONE_MAX);
}

#[test]
fn a_host_that_freezes_ends_the_load_point_in_time() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let list = format!("h[1-3]:{}", Hosts::OWN);
    let sweep = field.composite("SWBUILD", &list).set("RUNTIME", 60);
    let problem = Failure::in_run(&sweep, || field.hosts.freeze("h2").expect("freeze"));
    let (ended, began) = problem.end();
    let parts = ["client h2", "no message for 8 s"];
    assert_lost(&ended, began, Phase::Run, &parts);
    let left = left_behind(&ended);
    assert!(left.contains(&format!("h2:{}", Hosts::OWN)), "{left}");
    assert_eq!(field.below("h1", Hosts::OWN), [""; 0]);
    // Its agent continues without a prime.
    field.hosts.thaw("h2").expect("thaw");
    field.assert_clean_within(ALONE_MAX);
}

#[test]
fn an_agent_that_is_killed_in_run_ends_the_load_point_at_once() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    let sweep = field.sweep(THREE).set("RUNTIME", 60);
    let kill = || kill_agent(&field, "h2");
    let (ended, began) = Failure::in_run(&sweep, kill).end();
    assert_lost(&ended, began, Phase::Run, &["client h2", "killed"]);
    assert!(cut_phase(&ended).ended.seconds_since(began) < 5.0);
    field.assert_clean();
}

#[test]
fn an_agent_that_is_killed_in_init_ends_the_load_point_at_once() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    // Each CREATE is slow, so that INIT takes some time.
    let (server, export) = field.serve(ServerOptions {
        delay: "CREATE=10ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let mut started = field
        .sweep_against(THREE, &export)
        .set("LOAD", 1200)
        .start();
    started.wait_until("files", |_| server.stats().nfs[8] > 50);
    let kill = || kill_agent(&field, "h2");
    let (ended, began) = Failure::now(started, kill).end();
    assert_lost(&ended, began, Phase::Init, &["client h2", "killed"]);
    assert!(cut_phase(&ended).ended.seconds_since(began) < 5.0);
    field.assert_clean();
    field.hosts.sandbox().run(|| assert_empty(&server));
}

/// The figures exist by then: the run has them.
#[test]
fn an_agent_that_is_killed_in_cleanup_costs_no_figures() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let (server, export) = field.serve(ServerOptions {
        delay: "REMOVE=10ms".parse().expect("a delay"),
        queue: true,
        ..ServerOptions::default()
    });
    let mut started = field.sweep_against(THREE, &export).start();
    started.wait_for("CLEANUP");
    let (ended, _) = Failure::now(started, || kill_agent(&field, "h2")).end();
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    let actual = "client h2: the agent is lost: ";
    assert!(ended.stderr.contains(actual), "{}", ended.stderr);
    assert_adds_up(&ended.point(1), &["h1", "h2", "h3"]);
    field.assert_clean();
    field.hosts.sandbox().run(|| assert_empty(&server));
}

#[test]
fn without_a_prime_all_agents_clean_up_and_end() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    // One of them is on the prime's own host.
    let sweep = field.sweep("prime h1 h2 h3").set("RUNTIME", 60);
    let mut started = sweep.start();
    started.wait_until("RUN", |s| is_in_run(&s.stderr()));
    assert!(field.exported().len() > 50);
    let since = Instant::now();
    started.signal(Signal::KILL);
    let ended = started.wait();
    assert_eq!(ended.code, -1, "by the signal");
    field.assert_clean_within(ALONE_MAX);
    println!("clean {:?} after the prime was killed", since.elapsed());
    // The record until then can be read.
    assert!(ended.record().cut.is_some() || ended.record().end.is_none());
}

#[test]
fn the_others_go_on_where_that_is_wished_and_the_point_does_not_count() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    let sweep = field
        .sweep(THREE)
        .set("LOAD", "120 180")
        .set("RUNTIME", 3)
        .arg("--on-lost")
        .arg("continue");
    let kill = || kill_agent(&field, "h2");
    let (ended, _) = Failure::in_run(&sweep, kill).end();
    assert!(ended.is_complete(), "{}", ended.stderr);
    ended.assert_sanitized();
    let record = ended.record();
    assert_eq!(
        record.end.as_ref().map(|e| &e.outcome),
        Some(&Outcome::Complete)
    );
    assert_eq!(record.points.len(), 2);
    for point in &record.points {
        assert_adds_up(point, &["h1", "h3"]);
        assert!(!point.is_valid());
        let lost = point.findings.iter().find(|f| f.rule == Rule::ClientLost);
        let message = &lost.expect("the rule speaks").message;
        assert!(message.contains("client h2"), "{message}");
        assert!(message.contains("killed"), "{message}");
    }
    field.assert_clean();
}

/// The value of a line of the marker of a run in the export.
fn of_marker(field: &Field, sweep: &Sweep, name: &str) -> String {
    let path = format!("filermark.{}/.filermark-owner", sweep.name());
    let text = field.exported_text(&path);
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .trim()
        .to_owned()
}

/// The client that renews the marker is lost, and the others go on: one of them renews it before
/// another run can consider the run as ended.
#[test]
fn the_lease_outlives_the_client_that_held_it() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(3) else {
        return;
    };
    let sweep = field
        .sweep(THREE)
        .set("RUNTIME", 600)
        .arg("--on-lost")
        .arg("continue");
    let mut started = sweep.start();
    started.wait_until("RUN", |s| is_in_run(&s.stderr()));
    let holder = of_marker(&field, &sweep, "host");
    assert!(THREE.contains(&holder), "{holder}");
    // Every other client has read it.
    started.wait_until("shared", |_| of_marker(&field, &sweep, "shared") == "yes");
    kill_agent(&field, &holder);
    started.wait_for("the agent is lost");
    // Another run, which watches the heartbeat for 25 s before it takes over the directory.
    let other = sweep.elsewhere().set("CLIENTS", "prime").fail(1);
    other.assert_sentence(&["in use by run", "another suffix (-s)"]);
    let waits = "its heartbeat is watched for 25 s";
    assert!(other.stderr.contains(waits), "{}", other.stderr);
    let next = of_marker(&field, &sweep, "host");
    assert!(next != holder && THREE.contains(&next), "{next}");
    assert_eq!(of_marker(&field, &sweep, "shared"), "yes");
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    let lost = format!("client {holder}: the agent is lost: ");
    assert!(ended.stderr.contains(&lost), "{}", ended.stderr);
    field.assert_clean();
}

#[test]
fn what_a_lost_client_made_is_removed_by_others_that_see_it() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let list = format!("h[1-3]:{}", Hosts::SHARED);
    let sweep = field.composite("SWBUILD", &list).set("RUNTIME", 60);
    let problem = Failure::in_run(&sweep, || kill_agent(&field, "h2"));
    let (ended, began) = problem.end();
    assert_lost(&ended, began, Phase::Run, &["client h2", "killed"]);
    assert_eq!(field.below("h1", Hosts::SHARED), [""; 0]);
    field.assert_clean();
}

/// `stop` ends all agents of its suffix on this host: no other test has this one.
fn suffix(of: &str) -> String {
    format!("lost-{of}-{}", std::process::id())
}

#[test]
fn what_a_lost_client_made_where_no_other_client_works_is_reported() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let list = format!("h[1-3]:{}", Hosts::OWN);
    let sweep = field.composite("SWBUILD", &list).set("RUNTIME", 60);
    let sweep = sweep.suffix(&suffix("own"));
    let problem = Failure::in_run(&sweep, || kill_agent(&field, "h2"));
    let (ended, began) = problem.end();
    assert_lost(&ended, began, Phase::Run, &["client h2", "killed"]);
    let place = format!("h2:{}/filermark.{}", Hosts::OWN, sweep.name());
    let left = left_behind(&ended);
    assert!(left.contains(&place), "{left}");
    for (host, is_left) in [("h1", false), ("h2", true), ("h3", false)] {
        assert_eq!(!field.below(host, Hosts::OWN).is_empty(), is_left, "{host}");
    }
    // The advised command removes it.
    assert!(left.contains("`filermark stop -o "), "{left}");
    let stopped = sweep.command("stop").run();
    assert_eq!(stopped.code, 0, "{}{}", stopped.stdout, stopped.stderr);
    field.assert_clean();
}

/// No message of the prime arrives any more, and no end of the connection either.
#[test]
fn agents_that_receive_nothing_of_the_prime_clean_up_and_end() {
    let _turn = beside_others();
    let Some(field) = Field::with_ganesha(2) else {
        return;
    };
    let sweep = field.sweep("h1 h2").set("RUNTIME", 60);
    let sweep = sweep.suffix(&suffix("silent"));
    let problem = Failure::in_run(&sweep, || field.hosts.cut("prime").expect("cut"));
    let since = problem.since;
    let agents = |host| {
        let processes = field.hosts.processes(host).expect("a host");
        processes.iter().filter(|p| p.name == "filermark").count()
    };
    let (ended, began) = problem.end();
    assert_lost(
        &ended,
        began,
        Phase::Run,
        &["client h1", "client h2", "no message for 8 s"],
    );
    while agents("h1") + agents("h2") > 0 {
        assert!(since.elapsed() < ALONE_MAX, "agents are still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("agents ended {:?} after the fault", since.elapsed());
    assert_eq!(field.exported(), [""; 0]);
    field.hosts.fix("prime").expect("fix");
    field.wait_reached("h1");
    field.wait_reached("h2");
    let stopped = sweep.command("stop").run();
    assert_eq!(stopped.code, 0, "{}{}", stopped.stdout, stopped.stderr);
    field.assert_clean();
}
