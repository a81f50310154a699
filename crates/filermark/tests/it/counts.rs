//! The counts and times in the record, compared with the counts and delays of the server.

use crate::load_guard::{alone, valid, when_quiet};
use crate::second_client::{assert_empty, serve};
use crate::sweep::Sweep;
use filermark_driver_kit::claim::lease::HEARTBEAT;
use filermark_model::Op;
use filermark_server::{Procedure, RunningServer, ServerOptions, ServerStats};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The counts of a server at moments of a run, and the renewals of the marker that may have been
/// made meanwhile.
struct Watched {
    seen: Vec<ServerStats>,
    heartbeats: u64,
}

/// Runs a sweep of one point that keeps its file set, so that RUN is the last phase; returns all
/// counts of the server that were seen meanwhile.
fn run_and_watch(sweep: &Sweep, server: &RunningServer) -> (crate::sweep::Ended, Watched) {
    let began = Instant::now();
    let mut seen = vec![ServerStats::default()];
    let started = sweep
        .clone()
        .set("KEEP", "on")
        .set("WARMUP_TIME", 0)
        .start();
    let ended = started.wait_watching(|_| {
        let now = server.stats();
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    });
    assert!(ended.is_complete(), "{}", ended.stderr);
    // The last count is that at the end of the run.
    let heartbeats = began.elapsed().as_secs() / HEARTBEAT.as_secs() + 1;
    (ended, Watched { seen, heartbeats })
}

/// The most calls for one renewal of the marker, also at the end of the run: the agent looks up
/// the run's directory and the marker, reads it and writes it.
pub const HEARTBEAT_CALLS: [(Procedure, u64); 3] = [
    (Procedure::Lookup, 2),
    (Procedure::Read, 1),
    (Procedure::Write, 1),
];

/// The counters of the first point, by procedure.
fn counted(counters: &BTreeMap<String, u64>) -> [u64; 22] {
    let mut counts = [0; 22];
    for procedure in Procedure::ALL {
        counts[*procedure as usize] = counters.get(procedure.name()).copied().unwrap_or(0);
    }
    counts
}

/// Between INIT and RUN the server gets no calls for a tenth of a second, and none after RUN until
/// the directory is released. Between two such moments it must have received exactly the calls in
/// the record, and in addition the calls that renew the marker: one renewal for each heartbeat,
/// and the last one, if its counts were not read before.
#[track_caller]
fn assert_counted(ours: [u64; 22], Watched { seen, heartbeats }: &Watched) {
    let mut beside = [0; 22];
    for (procedure, calls) in HEARTBEAT_CALLS {
        beside[procedure as usize] = calls * heartbeats;
    }
    let is_ours = |then: &ServerStats, later: &ServerStats| {
        let since = later.nfs.iter().zip(then.nfs);
        let mut since = since.map(|(later, then)| later - then);
        let limits = ours.iter().zip(beside);
        limits.into_iter().all(|(ours, beside)| {
            let more = since.next().and_then(|since| since.checked_sub(*ours));
            more.is_some_and(|more| more <= beside)
        })
    };
    let agree = seen
        .iter()
        .enumerate()
        .any(|(at, then)| seen[at..].iter().any(|later| is_ours(then, later)));
    let last = seen.last().map(|last| last.nfs);
    assert!(agree, "ours {ours:?}\nlast {last:?}");
}

#[test]
fn alone_the_record_counts_exactly_the_calls_that_the_server_saw() {
    let _turn = alone();
    // Deferred COMMITs, some of them after RUN; and one for every logical write.
    when_quiet(|| count_calls("general-nfs3"));
    when_quiet(|| count_calls("nfs3-2001"));
}

/// Checks what is exact; returns what depends on the speed of the machine.
fn count_calls(benchmark: &str) -> Result<(), String> {
    let server = serve(ServerOptions {
        unstable: "on".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let sweep = Sweep::on(&server)
        .set("BENCHMARK", benchmark)
        .set("LOAD", 400)
        .set("RUNTIME", 2);
    let (ended, seen) = run_and_watch(&sweep, &server);
    let stats = ended.point(1).stats.expect("figures");
    let ours = counted(&stats.counters);
    assert_counted(ours, &seen);
    // Each physical operation is one of these calls. The other calls: COMMITs of written data, which
    // belong to no operation, preparations, and calls that ended after the window, which a shard of
    // a busy machine may see late.
    let calls: u64 = ours.iter().sum();
    let written = stats.counters.get("write_commits").copied().unwrap_or(0);
    assert!(written > 0, "{:?}", stats.counters);
    let credited = stats.physical_count() + written;
    assert!(credited <= calls, "{credited} > {calls}");
    let is_near = credited + 2 * stats.preparation_count + calls / 4 >= calls;
    let preparations = stats.preparation_count;
    let off = || format!("{credited} + 2 x {preparations}, {calls} calls of 800: {ours:?}");
    (is_near && calls >= 800).then_some(()).ok_or_else(off)
}

#[test]
fn alone_every_operation_of_a_mix_is_executed() {
    let _turn = alone();
    when_quiet(execute_all);
}

/// Checks what is exact; returns what a machine that is too slow does not do.
fn execute_all() -> Result<(), String> {
    let server = serve(ServerOptions::default());
    let mut mix = String::from("SFS MIXFILE VERSION 2\n# all that NFSv3 has\n");
    for op in Op::NFS3 {
        let share = if *op == Op::Null {
            100 - 4 * (Op::NFS3.len() - 1)
        } else {
            4
        };
        mix.push_str(&format!("{op} {share}%\n"));
    }
    let sweep = Sweep::on(&server)
        .set("LOAD", 600)
        .set("RUNTIME", 2)
        .set("MIXFILE", "all.mix");
    // It is looked for in WORK_DIR first.
    std::fs::create_dir_all(sweep.result("")).expect("the result directory");
    std::fs::write(sweep.result("all.mix"), mix).expect("the mix file");
    let (ended, seen) = run_and_watch(&sweep, &server);
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let done: BTreeSet<Op> = stats
        .ops
        .iter()
        .filter(|o| o.success_count > 0)
        .map(|o| o.op)
        .collect();
    let ours = counted(&stats.counters);
    assert_counted(ours, &seen);
    let all = Procedure::ALL.iter().filter(|p| ours[**p as usize] == 0);
    let is_all = done == Op::NFS3.iter().copied().collect() && all.count() == 0;
    let off = || format!("some were never done: {done:?}, {ours:?}");
    is_all.then_some(()).ok_or_else(off)
}

#[test]
fn alone_the_mix_and_the_rate_are_kept() {
    let _turn = alone();
    when_quiet(|| {
        let server = serve(ServerOptions::default());
        let sweep = Sweep::on(&server)
            .set("LOAD", 1000)
            .set("PROCS", 10)
            .set("WARMUP_TIME", 1)
            .set("RUNTIME", 4);
        let ended = sweep.succeed();
        let point = ended.point(1);
        let stats = point.measured().expect("measured");
        assert_eq!(stats.procs.len(), 10);
        assert_empty(&server);
        let achieved = stats.achieved_ops_per_sec();
        let near = (achieved / 1000.0 - 1.0).abs() < 0.02;
        let off = || format!("{achieved} op/s of 1000");
        valid(&point.findings).and(near.then_some(()).ok_or_else(off))
    });
}

/// Service times compared with the injected delay. The server delays every reply by this time (its
/// own tests check that); the record has in addition the round trip and two wake-ups, and never
/// less.
#[test]
fn alone_an_injected_delay_is_the_service_time() {
    let _turn = alone();
    when_quiet(|| {
        let delay = "READ=5ms,WRITE=6ms,4ms".parse().expect("a delay");
        let server = serve(ServerOptions {
            delay,
            ..ServerOptions::default()
        });
        let sweep = Sweep::on(&server)
            .set("LOAD", 400)
            .set("PROCS", 8)
            .set("WARMUP_TIME", 0.5)
            .set("RUNTIME", 4);
        let ended = sweep.succeed();
        let point = ended.point(1);
        let stats = point.measured().expect("measured");
        let mut off = Vec::new();
        for (op, delay_ms) in [
            (Op::Getattr, 4.0),
            (Op::Access, 4.0),
            (Op::Read, 5.0),
            (Op::Write, 6.0),
        ] {
            let service = &stats.op(op).expect("in the mix").service;
            let (mean, median) = (
                service.mean_ns() / 1e6,
                service.percentile_ns(50.0) as f64 / 1e6,
            );
            let figures = format!(
                "{op}: mean {mean:.3} ms, median {median:.3}, 99 % {:.3}",
                service.percentile_ns(99.0) as f64 / 1e6
            );
            println!("{figures}");
            assert!(
                median >= delay_ms,
                "{op}: {median} ms is faster than possible"
            );
            if median > delay_ms * 1.05 || mean > delay_ms * 1.15 {
                off.push(figures);
            }
        }
        match off.is_empty() {
            true => Ok(()),
            false => Err(off.join("; ")),
        }
    });
}
