//! What the tests of composite benchmarks on a kernel's NFS mount have in common: a client, runs that are long enough,
//! and the bounds of what the server counts.

use crate::sweep::PROGRAM;
use filermark_model::Op;
use filermark_model::stats::{OpStats, PointStats};
use filermark_results::{PointRecord, RunRecord, read_record};
use filermark_testbed::{
    ClientOptions, Export, KernelClient, NfsVersion, Sandbox, ServerOptions, available,
};
use std::sync::Arc;
use std::time::Duration;

/// NFSv3's numbers (RFC 1813, section 3.3).
pub(super) const READ: u32 = 6;
pub(super) const WRITE: u32 = 7;

const LIMIT: Duration = Duration::from_secs(600);

pub(super) const NFS4: ServerOptions = ServerOptions {
    read_only: false,
    space_mib: None,
    root_squash: false,
    nfs4: true,
    udp: false,
};

/// A client with an export mounted as for an application.
pub(super) fn client(
    sandbox: &Arc<Sandbox>,
    export: &Export,
    version: NfsVersion,
    extra: &str,
) -> Option<KernelClient> {
    let options = ClientOptions {
        version,
        extra: extra.to_owned(),
        memory_mib: 768,
        ..ClientOptions::default()
    };
    available(KernelClient::start_with(sandbox, export, &options))
}

/// Lengths of RUN, in seconds: on a busy machine the first has too few operations.
const RUNTIMES: [u32; 4] = [2, 8, 30, 120];

/// Measures with longer and longer RUNs, until one was long enough. `Err` gives the reason why a
/// RUN was too short; the reason for the longest one fails the test.
#[track_caller]
pub(super) fn until_long_enough<T>(mut measure: impl FnMut(u32) -> Result<T, String>) -> T {
    let mut too_short = String::new();
    for seconds in RUNTIMES {
        match measure(seconds) {
            Ok(measured) => return measured,
            Err(reason) => too_short = format!("RUN of {seconds} s: {reason}"),
        }
        println!("{too_short}");
    }
    panic!("{too_short}");
}

/// Whether the RUNs of a sweep have enough operations to be judged: at each load point one of each
/// proc, and at one of them one of each of these groups; and the client's counter was read in time.
pub(super) fn enough(record: &RunRecord, groups: &[&[Op]]) -> Result<(), String> {
    for point in &record.points {
        let stats = point.stats.as_ref().ok_or("a load point without figures")?;
        for component in &stats.components {
            let (count, procs) = (component.success_count(), component.proc_count);
            if count < u64::from(procs.max(1)) {
                return Err(format!("{count} operations of {procs} procs"));
            }
        }
        if let Some(why) = point.client_reads.iter().find_map(|r| r.unknown.as_ref()) {
            return Err(why.clone());
        }
    }
    match groups.iter().find(|ops| done(record, ops) == 0) {
        Some(ops) => Err(format!("no {ops:?}")),
        None => Ok(()),
    }
}

/// Runs the program there; returns its record.
#[track_caller]
pub(super) fn run(client: &mut KernelClient, name: &str, options: &str, seconds: u32) -> RunRecord {
    // The host's /tmp is not visible there, and the program may have been built in it.
    let program = client.shared_file("filermark");
    if !program.exists() {
        std::fs::copy(PROGRAM, &program).expect("the program is shared");
    }
    let script = format!(
        "rm -rf /tmp/{name} && mkdir /tmp/{name} && cd /tmp/{name} && /run/testbed/filermark run -s {name} \
         -o BENCHMARK={name} -o CLIENT_MOUNTPOINTS=localhost:/mnt -o WARMUP_TIME=1 \
         -o RUNTIME={seconds} -o HEARTBEAT_NOTIFICATIONS=off -o STALL_PCNT_MAX=100 -o SPACE_RESERVE=0 {} >/dev/null 2>log\n\
         status=$?\ncp result/{name}.run.jsonl /run/testbed/\n\
         ls -A /mnt\n[ $status = 0 ] || cat log\nexit $status\n",
        options
            .split_whitespace()
            .map(|option| format!("-o {option} "))
            .collect::<String>()
    );
    let done = client.run(&script, LIMIT).expect("the script runs");
    // 4: no point counts, since the server of a busy machine was too slow.
    assert!(matches!(done.status, 0 | 1 | 4), "{}", done.output);
    assert!(
        done.status != 0 || done.output.is_empty(),
        "left: {}",
        done.output
    );
    let record = read_record(&client.shared_file(&format!("{name}.run.jsonl")));
    let record = record.expect("the run record");
    for phase in &record.phases {
        println!(
            "{name} {}: {:.1} s {}",
            phase.phase, phase.seconds, phase.detail
        );
    }
    record
}

/// Asserts that no operation failed, and that the number of each operation is within 5 standard
/// deviations of that many draws, besides one operation per proc: long ones are more often under
/// way when RUN begins and ends. `posix_local` checks the mix with many operations.
#[track_caller]
pub(super) fn assert_mix(record: &RunRecord, point: &PointRecord) {
    let stats = point.stats.as_ref().expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    let composite = record.run.plan.benchmark.composite().expect("a composite");
    for (component, done) in composite.components.iter().zip(&stats.components) {
        let total = done.success_count() as f64;
        let procs = f64::from(done.proc_count);
        for &(op, wanted) in component.workload.mix.shares() {
            let count = done.ops.iter().find(|o| o.op == op);
            let count = count.map_or(0, |o| o.success_count) as f64;
            let share = wanted / 100.0;
            let text = format!(
                "{} {op}: {count} of {total} with {procs} procs, wanted {wanted} %",
                component.workload.name
            );
            println!("{text}");
            let slack = 5.0 * (share * (1.0 - share) * total).sqrt() + procs;
            assert!((count - share * total).abs() <= slack, "{text}");
        }
    }
}

/// The number of some operations in RUN, of all points of a sweep.
pub(super) fn done(record: &RunRecord, ops: &[Op]) -> u64 {
    let stats = record.points.iter().filter_map(|p| p.stats.as_ref());
    let of = |stats: &PointStats| -> u64 {
        let of = |op: &Op| stats.op(*op).map_or(0, |o| o.success_count);
        ops.iter().map(of).sum()
    };
    stats.map(of).sum()
}

/// Operations of the server outside of RUN's window: those of WARMUP, those that were due in the
/// window and ended after it (for a tenth of RUN they are still started), and preparations in all
/// of these.
fn unseen(record: &RunRecord) -> u64 {
    let stats = record.points.iter().filter_map(|p| p.stats.as_ref());
    let of = |stats: &PointStats| -> u64 {
        let warmup = stats.intervals.iter().filter(|i| i.second < 0);
        let warmup: u64 = warmup.map(|i| i.success_count + i.error_count).sum();
        let late = |o: &OpStats| o.late_count + o.late_error_count + o.open_count;
        let late: u64 = stats.ops.iter().map(late).sum();
        println!(
            "{warmup} in WARMUP, {late} late, {} prepared, {} procs",
            stats.preparation_count,
            stats.procs.len()
        );
        2 * (warmup + stats.procs.len() as u64) + late + stats.preparation_count
    };
    stats.map(of).sum()
}

/// Other calls of the run: marker, probes, the run's directory; per client.
const OWN: u64 = 40;

/// Asserts that the server's count of a call is between that of RUN and that of all phases.
#[track_caller]
pub(super) fn assert_bounded(record: &RunRecord, ops: &[Op], call: &str, count: u64, in_init: u64) {
    let least = done(record, ops);
    let most = least + unseen(record) + in_init + OWN;
    println!("{call}: {count}; {ops:?}: {least} in RUN, {most} at most");
    assert!(least > 0, "no {ops:?}");
    assert!(
        (least..=most).contains(&count),
        "{call}: {count}, not {least} to {most}"
    );
}

/// Files and directories that INIT made, for all procs of the last load point, which has those of
/// earlier points, too.
pub(super) fn made_by_init(record: &RunRecord) -> (u64, u64) {
    let last = record.points.last().and_then(|p| p.stats.as_ref());
    let procs = &last.expect("figures").proc_ops;
    let files = procs.iter().map(|p| p.file_count).sum();
    let dirs: u64 = procs.iter().map(|p| p.dir_count).sum();
    // And the root of the tree.
    (files, dirs + procs.len() as u64)
}
