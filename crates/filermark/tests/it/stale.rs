//! A mounted file system that returns older data than it has acknowledged.

use crate::load_guard::beside_others;
use crate::sweep::Sweep;
use filermark_model::{Finding, Rule};
use filermark_testbed::{Faulty, FaultyOptions, Mounts, available};

/// Random reads and writes of the same few files.
const REWRITTEN: &str = r#"
[[workload]]
name = "REWRITTEN"
title = "Random reads and writes of little data"
read_transfers = [{ min_bytes = 4096, max_bytes = 8192, percent = 100 }]
write_transfers = [{ min_bytes = 4096, max_bytes = 4096, percent = 100 }]
[workload.mix]
read_random = 50
write_random = 50

[[benchmark]]
name = "REWRITTEN"
version = 1
title = "Random reads and writes of little data"
unit = "PROC"
[[benchmark.component]]
workload = "REWRITTEN"
instances = 1
ops_per_proc = 500
dir_count = 1
files_per_dir = 2
file_kib = 64
"#;

/// The file system returns earlier data: every read is complete and from the right file and place,
/// but older than a write that was acknowledged.
#[test]
fn writes_that_are_acknowledged_and_not_made_are_found() {
    let _turn = beside_others();
    for forgets in [false, true] {
        let Some(mounts) = available(Mounts::new()) else {
            return;
        };
        let options = FaultyOptions {
            direct_io: true,
            ..FaultyOptions::default()
        };
        let Some(faulty) = available(Faulty::mount(&mounts, options)) else {
            return;
        };
        let sweep = Sweep::composite("REWRITTEN", &mounts, faulty.scratch().path())
            .unset("FILE_SIZE")
            .unset("DIR_COUNT")
            .unset("FILES_PER_DIR")
            .set("RUNTIME", 3);
        let file = sweep.write("rewritten.toml", REWRITTEN);
        let mut started = sweep.set("BENCHMARK_FILE", file.display()).start();
        started.wait_until("RUN", |s| s.stderr().contains(" RUN\n"));
        if forgets {
            faulty.forget_writes();
        }
        started.wait_until("the end of RUN", |s| s.stderr().contains("point  1 of"));
        faulty.recover();
        let ended = started.wait();
        let point = ended.point(1);
        let found = point.findings.iter().find(|f| f.rule == Rule::DataVerify);
        assert_eq!(found.is_some(), forgets, "{:?}", point.findings);
        assert!(!forgets || found.is_some_and(Finding::invalidates));
    }
}
