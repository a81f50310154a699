//! A run whose processes are stopped: its figures are not reported as true.

use crate::load_guard::beside_others;
use crate::stopped::{children, wait_for_run};
use crate::sweep::{Ended, Sweep};
use filermark_model::stall::{ProcessRole, Stalls};
use filermark_model::{Finding, Rule, Severity};
use filermark_server::{Server, ServerOptions};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;

/// How long the processes are stopped.
const STOP: Duration = Duration::from_secs(2);
/// The shortest stall that is detected: a stop may begin anywhere in a sleep of the watchdog.
const SEEN_MIN_NS: u64 = 1_900_000_000;

/// Runs for this number of seconds, and stops the prime, the agent or both in RUN.
fn stopped_in_run(runtime: u32, prime: bool, agent: bool) -> Ended {
    let server = Server::start(ServerOptions::default()).expect("a server");
    let sweep = Sweep::on(&server).set("RUNTIME", runtime);
    // The standard limit.
    let mut started = sweep.unset("STALL_PCNT_MAX").start();
    wait_for_run(&mut started, "1/1");
    std::thread::sleep(Duration::from_millis(300));
    let own = Pid::from_raw(started.pid() as i32).expect("a pid");
    let mut pids = children(started.pid());
    assert_eq!(pids.len(), 1, "one agent: {pids:?}");
    if !agent {
        pids.clear();
    }
    pids.extend(prime.then_some(own));
    let all = |signal| {
        for pid in &pids {
            kill_process(*pid, signal).expect("send a signal");
        }
    };
    all(Signal::STOP);
    std::thread::sleep(STOP);
    all(Signal::CONT);
    let ended = started.wait();
    ended.assert_sanitized();
    ended
}

fn seen(ended: &Ended, role: ProcessRole) -> Stalls {
    let point = ended.point(1);
    let process = point.stalls.iter().find(|p| p.role == role);
    process.expect("its stalls").stalls
}

/// The finding that makes the point invalid.
fn verdict(ended: &Ended) -> Finding {
    let point = ended.point(1);
    assert!(!point.is_valid(), "{:?}", point.findings);
    let is_it = |f: &&Finding| (f.rule, f.severity) == (Rule::GeneratorStalled, Severity::Invalid);
    let finding = point.findings.iter().find(is_it);
    finding.expect("generator-stalled").clone()
}

#[test]
fn an_agent_that_was_stopped_is_named_with_how_long() {
    let _turn = beside_others();
    let ended = stopped_in_run(5, false, true);
    let finding = verdict(&ended);
    let stalls = seen(&ended, ProcessRole::Agent);
    assert!(stalls.gap_max_ns >= SEEN_MIN_NS, "{stalls:?}");
    let client = ended.record().run.plan.clients[0].name.clone();
    let words = format!("client {client}: stalled for ");
    assert!(finding.message.contains(&words), "{}", finding.message);
    let percent = stalls.gap_sum_ns as f64 / 5e9 * 100.0;
    let value = finding.value.expect("a figure");
    assert!(
        (value - percent.min(100.0)).abs() < 1.0,
        "{value} {percent}"
    );
    assert_eq!(finding.limit, Some(0.5));
    // Reported in all outputs with findings.
    assert!(ended.stdout.contains("INVALID"), "{}", ended.stdout);
    assert!(ended.stdout.contains("stalled for"), "{}", ended.stdout);
    assert!(ended.file("html").contains("stalled for"));
    assert!(seen(&ended, ProcessRole::Prime).gap_max_ns < SEEN_MIN_NS);
}

#[test]
fn a_prime_that_was_stopped_is_named_too() {
    let _turn = beside_others();
    let ended = stopped_in_run(5, true, false);
    let message = verdict(&ended).message;
    assert!(message.contains("the prime on "), "{message}");
    assert!(seen(&ended, ProcessRole::Prime).gap_max_ns >= SEEN_MIN_NS);
}

#[test]
fn both_stopped_beyond_the_end_of_run_are_noticed() {
    let _turn = beside_others();
    let ended = stopped_in_run(1, true, true);
    let message = verdict(&ended).message;
    assert!(message.contains("the prime on ") && message.contains("client "));
}
