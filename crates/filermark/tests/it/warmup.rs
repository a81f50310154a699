//! `WARMUP_TIME=auto`: WARMUP lasts until the load is steady, or until its limit.

use crate::client_hosts::Field;
use crate::load_guard::{beside_others, when_quiet};
use crate::sweep::{Ended, Sweep};
use filermark_model::Rule;
use filermark_server::{Server, ServerOptions};

const SECOND: u64 = 1_000_000_000;

/// The series starts with WARMUP, and counts from the actual beginning of RUN.
fn assert_numbered(ended: &Ended, warmup_seconds: i64) {
    let stats = ended.point(1).stats.expect("figures");
    let first = stats.intervals.first().expect("a series").second;
    // A shard that begins late has its first second later.
    assert!(
        (-warmup_seconds..-warmup_seconds + 5).contains(&first),
        "{first}"
    );
    let in_run = stats.intervals.iter().filter(|i| i.second >= 0);
    let in_run: u64 = in_run.map(|i| i.success_count).sum();
    assert_eq!(in_run, stats.success_count());
}

/// Checks what holds on any machine: WARMUP had the length in the record, and either the load was
/// steady, or there is a finding that the limit was reached. Returns whether it was steady.
fn assert_consistent(ended: &Ended, limit_seconds: u64) -> Result<(), String> {
    let point = ended.point(1);
    let warmup = point.warmup.expect("how long it took");
    assert!(warmup.length_ns.is_multiple_of(SECOND), "{warmup:?}");
    let lengths = 31 * SECOND..=limit_seconds * SECOND;
    assert!(lengths.contains(&warmup.length_ns), "{warmup:?}");
    assert_numbered(ended, (warmup.length_ns / SECOND) as i64);
    let is_reported = point.findings.iter().any(|f| f.rule == Rule::WarmupLimit);
    assert_eq!(is_reported, !warmup.steady, "{:?}", point.findings);
    let text = ended.stderr.matches("the load is steady").count();
    assert_eq!(text, usize::from(warmup.steady), "{}", ended.stderr);
    match warmup.steady {
        true => Ok(()),
        false => Err(format!("{warmup:?}")),
    }
}

/// No client began RUN too late for the point to count. A busy machine can be the reason.
fn began_in_time(ended: &Ended) -> Result<(), String> {
    let findings = ended.point(1).findings;
    let mut late = findings
        .iter()
        .filter(|f| f.rule == Rule::ClientStart && f.invalidates());
    late.next().map_or(Ok(()), |late| Err(late.to_string()))
}

#[test]
fn slow_run_begins_when_the_load_is_steady() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("a server");
    let mut sweep = Sweep::on(&server).set("WARMUP_TIME", "auto");
    sweep = sweep.set("WARMUP_TIME_MAX", 200).set("RUNTIME", 2);
    when_quiet(|| {
        let ended = sweep.run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let steady = assert_consistent(&ended, 200);
        let stats = ended.point(1).stats.expect("figures");
        assert_eq!(stats.window_ns, 2 * SECOND);
        steady.and_then(|()| began_in_time(&ended))
    });
}

/// Three agents on different hosts: RUN begins on all of them at one instant, with the length of
/// WARMUP that the prime has decided during the run.
#[test]
fn all_agents_begin_run_together_when_the_load_is_steady() {
    let _turn = beside_others();
    let Some(field) = Field::bare(3) else {
        return;
    };
    let (_server, export) = field.serve(ServerOptions::default());
    let mut sweep = field.sweep_against("h1 h2 h3", &export);
    sweep = sweep.set("WARMUP_TIME", "auto");
    sweep = sweep.set("WARMUP_TIME_MAX", 200).set("RUNTIME", 3);
    when_quiet(|| {
        let ended = sweep.run();
        assert!(ended.is_complete(), "{}", ended.stderr);
        let steady = assert_consistent(&ended, 200);
        let spread = assert_one_run_each(&ended, &["h1", "h2", "h3"], 3);
        // A client whose WARMUP had another length, or that received the beginning of RUN too late,
        // would be reported, and so would one that begins late.
        steady.and_then(|()| began_in_time(&ended)).and(spread)
    });
    field.assert_clean();
}

/// Asserts that each client has the same seconds of RUN, and that their sum is that of the window.
/// Returns whether they began within a second.
fn assert_one_run_each(ended: &Ended, hosts: &[&str], seconds: u64) -> Result<(), String> {
    let point = ended.point(1);
    let names: Vec<&str> = point.clients.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, hosts);
    for client in &point.clients {
        assert_eq!(client.window_ns, seconds * SECOND, "{}", client.name);
    }
    let stats = point.stats.as_ref().expect("figures");
    let sum: u64 = point.clients.iter().map(|c| c.success_count()).sum();
    assert_eq!(sum, stats.success_count());
    let start = point.start.as_ref().expect("how they began together");
    assert_eq!(start.clients.len(), hosts.len());
    match start.spread_ns < SECOND {
        true => Ok(()),
        false => Err(format!("{start:?}")),
    }
}

#[test]
fn a_limit_that_is_too_short_to_see_it_is_reported() {
    let _turn = beside_others();
    let server = Server::start(ServerOptions::default()).expect("a server");
    let mut sweep = Sweep::on(&server).set("WARMUP_TIME", "auto");
    sweep = sweep.set("WARMUP_TIME_MAX", 2).set("RUNTIME", 2);
    let ended = sweep.succeed();
    let point = ended.point(1);
    let warmup = point.warmup.expect("how long it took");
    assert_eq!((warmup.length_ns, warmup.steady), (2 * SECOND, false));
    assert_numbered(&ended, 2);
    let limit = point.findings.iter().find(|f| f.rule == Rule::WarmupLimit);
    let message = &limit.expect("a finding").message;
    assert!(message.contains("30 s are needed"), "{message}");
    let plan = sweep.elsewhere().command("plan").succeed();
    assert!(
        plan.stdout
            .contains("WARMUP until the load is steady (at most 2 s)"),
        "{}",
        plan.stdout
    );
}
