//! Whether a run measured the file system or the client's memory: small files on an ext4 on a loop
//! device, and on a tmpfs.

use crate::load_guard::beside_others;
use crate::sweep::{Ended, Sweep};
use filermark_model::client_reads::{ClientReads, ReadCounter};
use filermark_model::{Finding, Rule, Severity};
use filermark_results::Phase;
use filermark_testbed::{Mounts, available};
use std::path::Path;
use std::sync::Arc;

/// A workload that reads its few MiB repeatedly, with O_DIRECT or without.
pub const DEFINITION: &str = r#"
[[workload]]
name = "READS"
title = "Random reads of little data"
read_transfers = [{ min_bytes = 4096, max_bytes = 4096, percent = 100 }]
write_transfers = [{ min_bytes = 4096, max_bytes = 4096, percent = 100 }]
[workload.mix]
read_random = 100
[workload.attributes]
direct_pcnt = DIRECT

[[benchmark]]
name = "READS"
version = 1
title = "Random reads of little data"
unit = "PROC"
[[benchmark.component]]
workload = "READS"
instances = 1
ops_per_proc = 500
dir_count = 1
files_per_dir = 2
file_kib = 1024
"#;

/// Lengths of RUN, in seconds: on a busy host the counter is read too late for the first.
const RUNTIMES: [u32; 3] = [3, 20, 100];

fn reads(mounts: &Arc<Mounts>, at: &Path, direct: bool) -> Sweep {
    let sweep = Sweep::composite("READS", mounts, at)
        .unset("FILE_SIZE")
        .unset("DIR_COUNT")
        .unset("FILES_PER_DIR")
        .set("RUNTIME", RUNTIMES[0]);
    let direct = if direct { "100" } else { "0" };
    let file = sweep.write("reads.toml", &DEFINITION.replace("DIRECT", direct));
    sweep.set("BENCHMARK_FILE", file.display())
}

/// The one entry of the run, and its finding.
fn reads_and_finding(ended: &Ended) -> (ClientReads, Option<Finding>) {
    let point = ended.point(1);
    let [reads] = &point.client_reads[..] else {
        panic!("one counter: {:?}", point.client_reads);
    };
    // How much depends on the load of this host.
    assert!(reads.read_bytes > 0, "{reads:?}");
    let finding = point.findings.iter().find(|f| f.rule == Rule::ClientCache);
    (reads.clone(), finding.cloned())
}

fn on_ext4(direct: bool) -> Option<Ended> {
    let mounts = available(Mounts::new())?;
    let dir = available(mounts.ext4(64))?;
    let sweep = reads(&mounts, dir.path(), direct);
    for seconds in RUNTIMES {
        let ended = sweep.clone().set("RUNTIME", seconds).succeed();
        let reads = ended.point(1).client_reads;
        if reads.iter().all(|r| r.unknown.is_none()) {
            return Some(ended);
        }
    }
    panic!("the counter was never read in time");
}

#[test]
fn a_run_whose_data_fits_the_memory_reports_it() {
    let _turn = beside_others();
    let Some(ended) = on_ext4(false) else { return };
    let (reads, finding) = reads_and_finding(&ended);
    assert_eq!(
        (reads.counter, reads.file_system.as_str()),
        (ReadCounter::Block, "ext4")
    );
    let finding = finding.expect("client-cache");
    assert_eq!(finding.severity, Severity::Warning, "{finding}");
    assert!(finding.value > Some(10.0), "{finding}");
    assert!(ended.stdout.contains("own memory"), "{}", ended.stdout);
    assert!(ended.file("html").contains("own memory"));
    // The files were removed from the cache before, and the record states that.
    let record = ended.record();
    let init = record.phases.iter().find(|p| p.phase == Phase::Init);
    let detail = &init.expect("INIT").detail;
    assert!(
        detail.contains("files taken out of the clients' caches"),
        "{detail}"
    );
    assert!(
        reads.fetched_bytes > Some(0),
        "nothing came from the device: {reads:?}"
    );
}

#[test]
fn past_the_cache_the_device_gives_everything() {
    let _turn = beside_others();
    let Some(ended) = on_ext4(true) else { return };
    assert_eq!(ended.counter("direct_fallbacks"), 0);
    let (reads, finding) = reads_and_finding(&ended);
    assert_eq!(finding, None, "{reads:?}");
    assert!(
        reads.fetched_bytes.expect("counted") >= reads.read_bytes / 10 * 9,
        "{reads:?}"
    );
}

#[test]
fn a_file_system_in_memory_is_called_so() {
    let _turn = beside_others();
    let Some(mounts) = available(Mounts::new()) else {
        return;
    };
    let dir = mounts.tmpfs(64).expect("a tmpfs");
    let ended = reads(&mounts, dir.path(), false)
        .set("DROP_CACHES", "off")
        .succeed();
    let (reads, finding) = reads_and_finding(&ended);
    assert_eq!(
        (reads.counter, reads.fetched_bytes),
        (ReadCounter::Memory, Some(0))
    );
    let finding = finding.expect("client-cache");
    assert_eq!(finding.value, Some(100.0));
    assert!(finding.message.contains("itself is in memory"), "{finding}");
    let record = ended.record();
    let init = record.phases.iter().find(|p| p.phase == Phase::Init);
    assert!(!init.expect("INIT").detail.contains("caches"));
}
