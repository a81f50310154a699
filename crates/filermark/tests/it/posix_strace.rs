//! strace's counts against ours: a logical operation is the system calls that it
//! claims to be.

use crate::sweep::Sweep;
use crate::turns::beside_others;
use filermark_model::Op;
use filermark_testbed::{Call, Mounts, Strace, available};

/// The calls that return errors belong to the looking around, not to operations.
fn count(calls: &[Call], names: &[&str], part: &str) -> u64 {
    let of = |call: &&Call| {
        names.contains(&call.name.as_str()) && call.args.contains(part) && !call.failed()
    };
    calls.iter().filter(of).count() as u64
}

/// Nothing but RUN is between the marks, so that INIT and CLEANUP do not count.
#[test]
fn system_calls_agree_with_the_logical_operations() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let trace = mounts
        .plain()
        .expect("a directory for the trace")
        .path()
        .join("trace");
    let Some(strace) = available(Strace::new(&trace)) else {
        return;
    };
    let mut front = vec!["strace".into()];
    front.extend(strace.args("%file,%desc"));
    let ended = Sweep::composite("METADATA", &mounts, dir.path())
        .set("FILE_SIZE", "16k")
        .through(front)
        .succeed();
    let point = ended.point(1);
    let stats = point.stats.as_ref().expect("figures");
    let calls = strace.calls().expect("a trace");
    let done = |op: Op| stats.op(op).map_or(0, |o| o.success_count);
    for (op, names) in [
        (Op::Stat, &["newfstatat", "statx", "stat", "lstat"][..]),
        (Op::Access, &["access", "faccessat", "faccessat2"]),
        (Op::Chmod, &["chmod", "fchmodat", "fchmodat2"]),
        (Op::Statfs, &["statfs", "fstatfs"]),
    ] {
        let seen = count(&calls, names, "/filermark.s/");
        println!("{op}: {} logical, {seen} calls", done(op));
        assert!(done(op) > 0, "no {op}");
        assert!(seen >= done(op), "{op}: {} logical, {seen} calls", done(op));
    }
}
