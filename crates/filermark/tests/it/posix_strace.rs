//! Compares strace's counts with those of the record: a logical operation makes exactly its system
//! calls.

use crate::load_guard::beside_others;
use crate::sweep::{Ended, Sweep};
use filermark_model::Op;
use filermark_results::Phase;
use filermark_testbed::{Call, Mounts, Strace, available};
use std::ops::Range;

/// All operations whose system calls can be distinguished, at a rate that strace can follow.
const DEFINITION: &str = r#"
[[workload]]
name = "CALLS"
title = "Operations to be counted from outside"
read_transfers = [{ min_bytes = 4096, max_bytes = 4096, percent = 100 }]
write_transfers = [{ min_bytes = 4096, max_bytes = 4096, percent = 100 }]
[workload.mix]
read_random = 10
write_random = 10
mkdir = 5
rmdir = 5
create = 5
unlink = 5
unlink2 = 5
rename = 10
access = 10
stat = 10
chmod = 10
readdir = 5
statfs = 5
locking = 5
[workload.attributes]
write_commit_pcnt = 100

[[benchmark]]
name = "CALLS"
version = 1
title = "Operations to be counted from outside"
unit = "PROC"
[[benchmark.component]]
workload = "CALLS"
instances = 1
ops_per_proc = 150
dir_count = 1
files_per_dir = 5
file_kib = 16
"#;

/// Procs of the run.
const PROCS: u64 = 3;

/// Operations of RUN that are not in its window, at either end: a few per proc, since
/// the phase is determined by the wall clock of another process.
const EDGE: u64 = 3 * PROCS;

/// The calls of RUN that succeeded, of these names and with this in their arguments.
fn count(calls: &[Call], run: &Range<u64>, names: &[&str], part: &str) -> u64 {
    let of = |call: &&Call| {
        names.contains(&call.name.as_str())
            && run.contains(&call.at_us)
            && call.args.contains(part)
            && !call.failed()
    };
    calls.iter().filter(of).count() as u64
}

/// When RUN was, in microseconds since 1970.
fn run_phase(ended: &Ended) -> Range<u64> {
    let record = ended.record();
    let run = record.phases.iter().find(|p| p.phase == Phase::Run);
    let run = run.expect("RUN");
    let us = |at: f64| (at * 1e6) as u64;
    us(run.began.unix_seconds())..us(run.ended.unix_seconds())
}

#[test]
fn system_calls_agree_with_the_logical_operations() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let trace = mounts.plain().expect("a directory for the trace");
    let Some(strace) = available(Strace::new(&trace.path().join("trace"))) else {
        return;
    };
    let sweep = Sweep::composite("CALLS", &mounts, dir.path())
        .unset("FILE_SIZE")
        .unset("DIR_COUNT")
        .unset("FILES_PER_DIR")
        .set("LOAD", PROCS);
    let file = sweep.write("calls.toml", DEFINITION);
    let mut front = vec!["strace".into()];
    front.extend(strace.args("all"));
    let ended = sweep
        .set("BENCHMARK_FILE", file.display())
        .through(front)
        .succeed();
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let (calls, run) = (strace.calls().expect("a trace"), run_phase(&ended));
    let done = |ops: &[Op]| -> u64 {
        let of = |op: &Op| stats.op(*op).map_or(0, |o| o.success_count);
        ops.iter().map(of).sum()
    };
    let seen = |names: &[&str], part: &str| count(&calls, &run, names, part);
    // On a busy machine the phase is longer than the window: there, too, operations are made,
    // at up to twice their rate.
    let window_s = stats.window_ns as f64 / 1e9;
    let beyond_s = ((run.end - run.start) as f64 / 1e6 - window_s).max(0.0);
    println!("the phase is {beyond_s:.3} s longer than the window of {window_s:.3} s");
    let beyond = |count: u64| (2.0 * beyond_s / window_s * count as f64) as u64;
    // One call each, which no other operation makes.
    for (op, names, part, per_op) in [
        (Op::Stat, &["newfstatat", "statx"][..], "/b", 1),
        (Op::Access, &["faccessat", "faccessat2"], "/b", 1),
        // Some versions of strace do not decode this call and its path.
        (Op::Chmod, &["fchmodat", "fchmodat2"], "", 1),
        (Op::Statfs, &["statfs", "fstatfs"], "/filermark.s/", 1),
        (Op::Rename, &["renameat", "renameat2"], "/b", 1),
        (Op::ReadRandom, &["pread64"], "/b", 1),
        (Op::WriteRandom, &["fsync", "fdatasync"], "/b", 1),
        // The names, and their end.
        (Op::Readdir, &["getdents64"], "/b", 2),
    ] {
        let (ours, theirs) = (done(&[op]) * per_op, seen(names, part));
        println!("{op}: {ours} calls of {names:?} wanted, {theirs} seen");
        assert!(ours > 0, "no {op}");
        let most = ours + EDGE * per_op + beyond(ours);
        assert!(
            theirs + EDGE * per_op >= ours && theirs <= most,
            "{op}: {ours}, {theirs}, at most {most} {names:?}"
        );
    }
    // Preparations make the same calls: a directory that can be removed is made first.
    let mut more = 0;
    for (ops, names, part) in [
        (&[Op::Mkdir][..], &["mkdirat"], "/b07"),
        (&[Op::Rmdir], &["unlinkat"], "AT_REMOVEDIR"),
        (&[Op::Unlink, Op::Unlink2], &["unlinkat"], "\"f0"),
        (&[Op::Create], &["openat"], "O_EXCL"),
        (&[Op::WriteRandom], &["pwrite64"], "/b"),
    ] {
        let (ours, theirs) = (done(ops), seen(names, part));
        println!("{ops:?}: {ours} calls of {names:?} wanted, {theirs} seen");
        assert!(
            ours > 0 && theirs + EDGE >= ours,
            "{ops:?}: {ours}, {theirs} {names:?}"
        );
        more += theirs.saturating_sub(ours);
    }
    let prepared = stats.preparation_count;
    println!("{prepared} preparations, {more} more calls");
    let off = more.abs_diff(prepared);
    assert!(
        off <= 2 * EDGE + beyond(more),
        "{more} calls more, {prepared} preparations"
    );
}
