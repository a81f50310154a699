//! Workloads with a depth, on a file system that is slow, broken or does not answer.

use crate::load_guard::beside_others;
use crate::posix_tree::{left_behind, plant_foreign};
use crate::sweep::Sweep;
use filermark_model::{Op, Rule};
use filermark_testbed::{Faulty, FaultyOptions, Kind, Mounts, available};
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;

const DEPTH: u64 = 16;
const DELAY: Duration = Duration::from_millis(50);
const EIO: i32 = 5;

/// Every transfer is a request to the file system, which carries out more of them than the depth.
fn faulty() -> Option<(Arc<Mounts>, Faulty)> {
    let mounts = available(Mounts::new())?;
    let options = FaultyOptions {
        direct_io: true,
        thread_count: 2 * DEPTH as usize,
    };
    let faulty = available(Faulty::mount(&mounts, options))?;
    Some((mounts, faulty))
}

/// One proc of reads and writes.
fn sweep(mounts: &Arc<Mounts>, faulty: &Faulty, line: &str) -> Sweep {
    let place = format!("localhost:{}", faulty.scratch().path().display());
    Sweep::bare()
        .seeing(mounts)
        .set("CLIENT_MOUNTPOINTS", place)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 2)
        .arg("-w")
        .arg(line)
}

/// More than one operation at a time could make: a proc whose operations wait for the delay, one
/// after the other, makes 40 in 2 s, whatever the host does.
#[test]
fn a_proc_has_several_operations_under_way_and_their_failures_are_counted() {
    let _turn = beside_others();
    for fails in [false, true] {
        let Some((mounts, faulty)) = faulty() else {
            return;
        };
        let before = plant_foreign(faulty.backing());
        let line = format!("read_random=70,write_random=30,direct,files=2,depth={DEPTH}");
        let mut started = sweep(&mounts, &faulty, &line).start();
        started.wait_until("WARMUP", |s| s.stderr().contains(" WARMUP\n"));
        faulty.delay(Kind::Read, DELAY);
        faulty.delay(Kind::Write, DELAY);
        if fails {
            faulty.fail(Kind::Read, 5, EIO);
        }
        started.wait_until("the end of RUN", |s| s.stderr().contains("point  1 of"));
        faulty.recover();
        let ended = started.wait();
        ended.assert_sanitized();
        let point = ended.point(1);
        let stats = point.stats.as_ref().expect("figures");
        let alone = 2_000 / DELAY.as_millis() as u64;
        let made = stats.success_count();
        assert!(made > 2 * alone, "{made}");
        let read = stats.op(Op::ReadRandom).expect("in the mix");
        assert!(read.service.percentile_ns(50.0) >= DELAY.as_nanos() as u64);
        let transfers = ended.counter("async_transfers");
        assert!(transfers >= made, "{transfers} {made}");
        assert_eq!(ended.counter("verify_errors"), 0);
        let failed = point.findings.iter().any(|f| f.rule == Rule::Errors);
        assert_eq!(
            (failed, read.error_count > 0),
            (fails, fails),
            "{:?}",
            stats.errors
        );
        let named = |what: &str| what.starts_with("read_random: ") && what.contains("EIO");
        assert_eq!(stats.errors.keys().any(|what| named(what)), fails);
        assert_eq!(left_behind(faulty.backing(), &before), [""; 0]);
    }
}

/// Ctrl-C while the file system does not answer: the run ends when it does, and removes what it
/// made.
#[test]
fn a_run_is_interrupted_with_operations_under_way() {
    let _turn = beside_others();
    let Some((mounts, faulty)) = faulty() else {
        return;
    };
    let before = plant_foreign(faulty.backing());
    let line = format!("read_random,direct,files=2,depth={DEPTH}");
    let mut started = sweep(&mounts, &faulty, &line).set("RUNTIME", 600).start();
    started.wait_until("RUN", |s| s.stderr().contains(" RUN\n"));
    faulty.delay(Kind::Read, Duration::from_secs(600));
    // All of the depth wait for an answer, so that no more requests come.
    let mut seen = 0;
    started.wait_until("the last request", |_| {
        let before = std::mem::replace(&mut seen, faulty.counts()[&Kind::Read]);
        seen == before
    });
    started.signal(Signal::INT);
    started.wait_until("the request to stop", |s| {
        s.stderr().contains("the run was interrupted")
    });
    faulty.end_delays();
    let ended = started.wait();
    ended.assert_sanitized();
    let left = left_behind(faulty.backing(), &before);
    assert_eq!(left, [""; 0], "{}", ended.stderr);
}
