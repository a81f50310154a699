//! `-w`: a workload on one line, on a directory of this host.

use crate::load_guard::beside_others;
use crate::posix_tree::{left_behind, plant_foreign};
use crate::sweep::Sweep;
use crate::{filermark, stderr_text};
use filermark_model::Op;
use filermark_testbed::{Mounts, available};

/// The line becomes the benchmark of the record, only what it reaches is made, and nothing is
/// left.
#[test]
fn a_line_is_run() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.plain().expect("a directory");
    let before = plant_foreign(dir.host());
    let line = "read_random=70,write_random=30,size=8k,files=2,file_size=1m,procs=2";
    let place = format!("localhost:{}", dir.path().display());
    let ended = Sweep::bare()
        .seeing(&mounts)
        .set("CLIENT_MOUNTPOINTS", place)
        .set("WARMUP_TIME", 0)
        .set("RUNTIME", 1)
        .arg("-w")
        .arg(line)
        .succeed();
    let record = ended.record();
    assert_eq!(record.run.plan.benchmark.name, "INLINE");
    let [point] = &record.points[..] else {
        panic!("one load point: {}", record.points.len());
    };
    let stats = point.measured().expect("measured");
    assert_eq!(stats.procs.len(), 2);
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let ops: Vec<Op> = stats.components[0].ops.iter().map(|o| o.op).collect();
    assert!(ops.contains(&Op::ReadRandom), "{ops:?}");
    // Two procs, two buckets of two files.
    assert_eq!(record.run.plan.data_set(point.load).max_bytes, 8 << 20);
    assert_eq!(left_behind(dir.host(), &before), [""; 0]);
}

/// Every mistake is named with its place, and nothing is written.
#[test]
fn a_wrong_line_is_refused_with_its_places() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let at = format!("CLIENT_MOUNTPOINTS=localhost:{}", dir.display());
    let line = "raed_random=70,write_random=30,bs=4k";
    let output = filermark(dir, &["run", "-w", line, "-o", &at]);
    assert_eq!(output.status.code(), Some(2));
    let text = stderr_text(&output);
    for part in [
        "-w: character 1 of the workload: there is no operation or setting 'raed_random'; did you \
         mean read_random?",
        "-w: character 32 of the workload: there is no operation or setting 'bs'; write size=4k",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(dir.read_dir().expect("readable").count(), 0);
}

/// The rc file takes the same line, and `plan` needs no directory for it.
#[test]
fn an_rc_file_takes_the_line() {
    let sandbox = tempfile::tempdir().expect("a directory");
    let dir = sandbox.path();
    let rc =
        "WORKLOAD=\"stat=60, create=20, unlink=20\"\nLOAD=3\nCLIENT_MOUNTPOINTS=localhost:/tmp\n";
    std::fs::write(dir.join("rc"), rc).expect("written");
    let output = filermark(dir, &["plan", "-r", "rc"]);
    assert!(output.status.success(), "{}", stderr_text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("INLINE"), "{text}");
}
