//! Composite benchmarks on a kernel's NFS mount, in User Mode Linux.

use crate::load_guard::beside_others;
use crate::sweep::PROGRAM;
use filermark_model::client_reads::ReadCounter;
use filermark_model::stats::{OpStats, PointStats};
use filermark_model::{Op, Rule, Severity};
use filermark_results::{PointRecord, RunRecord, read_record};
use filermark_testbed::{
    Capture, ClientOptions, Export, Fsal, Ganesha, KernelClient, KernelServer, NfsVersion, Sandbox,
    ServerOptions, available,
};
use std::sync::Arc;
use std::time::Duration;

/// NFSv3's numbers (RFC 1813, section 3.3).
const READ: u32 = 6;
const WRITE: u32 = 7;

const LIMIT: Duration = Duration::from_secs(600);

const NFS4: ServerOptions = ServerOptions {
    read_only: false,
    space_mib: None,
    root_squash: false,
    nfs4: true,
    udp: false,
};

/// A client with an export mounted as for an application.
fn client(
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
fn until_long_enough<T>(mut measure: impl FnMut(u32) -> Result<T, String>) -> T {
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
fn enough(record: &RunRecord, groups: &[&[Op]]) -> Result<(), String> {
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
fn run(client: &mut KernelClient, name: &str, options: &str, seconds: u32) -> RunRecord {
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
fn assert_mix(record: &RunRecord, point: &PointRecord) {
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
fn done(record: &RunRecord, ops: &[Op]) -> u64 {
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
fn assert_bounded(record: &RunRecord, ops: &[Op], call: &str, count: u64, in_init: u64) {
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
fn made_by_init(record: &RunRecord) -> (u64, u64) {
    let last = record.points.last().and_then(|p| p.stats.as_ref());
    let procs = &last.expect("figures").proc_ops;
    let files = procs.iter().map(|p| p.file_count).sum();
    let dirs: u64 = procs.iter().map(|p| p.dir_count).sum();
    // And the root of the tree.
    (files, dirs + procs.len() as u64)
}

/// Names cannot be cached by a client: every mkdir, create and unlink is one call at
/// the server, also those of INIT and WARMUP, and all files are removed in the end. A stat is at
/// least a GETATTR or a LOOKUP, since this mount caches no attributes.
#[test]
fn swbuild_and_metadata_on_the_kernel_s_server_over_version_3() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let Some(mut client) = client(&sandbox, &export, NfsVersion::V3, "noac") else {
        return;
    };
    for (name, options) in [
        (
            "SWBUILD",
            "FILE_SIZE=4k DIR_COUNT=1 FILES_PER_DIR=4 LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
        ),
        (
            "METADATA",
            "FILE_SIZE=16k DIR_COUNT=1 FILES_PER_DIR=4 LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
        ),
    ] {
        let (record, counts) = until_long_enough(|seconds| {
            let before = server.counts().expect("counters");
            let record = run(&mut client, name, options, seconds);
            let counts = server.counts().expect("counters").since(&before);
            enough(&record, &[&[Op::Mkdir], &[Op::Create], &[Op::Unlink]])?;
            Ok((record, counts))
        });
        println!("{name}: {:?}", counts.iter().collect::<Vec<_>>());
        for point in &record.points {
            assert_mix(&record, point);
        }
        let (files, dirs) = made_by_init(&record);
        // Each directory has a file that names its owner.
        let made = files + dirs;
        for (op, call, in_init) in [
            (Op::Mkdir, "MKDIR", dirs),
            (Op::Create, "CREATE", made),
            (Op::Unlink, "REMOVE", made + done(&record, &[Op::Create])),
        ] {
            assert_bounded(&record, &[op], call, counts.get(call), in_init);
        }
        assert_eq!(counts.get("CREATE"), counts.get("REMOVE"), "{counts:?}");
        assert_eq!(counts.get("MKDIR"), counts.get("RMDIR"), "{counts:?}");
        let looks = counts.get("GETATTR") + counts.get("LOOKUP");
        assert!(looks >= done(&record, &[Op::Stat]), "{looks}");
        assert!(
            counts.get("SETATTR") >= done(&record, &[Op::Chmod]),
            "{counts:?}"
        );
        assert!(counts.get("WRITE") > 0, "{counts:?}");
    }
}

/// Every write of these is stable when it returns or, if the definition requires it, is committed:
/// WRITEs and COMMITs reach the server. Reads may come from the client's cache, so the number of
/// READs is unknown.
#[test]
fn vda_and_vdi_on_the_kernel_s_server_over_version_4_2() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let Some(mut client) = client(&sandbox, &export, NfsVersion::V42, "") else {
        return;
    };
    for (name, options, writes) in [
        (
            "VDA",
            "FILE_SIZE=1m LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
            &[Op::Write][..],
        ),
        (
            "VDI",
            "FILE_SIZE=1m LOAD=1 INCR_LOAD=1 NUM_RUNS=2",
            &[Op::Write, Op::WriteRandom],
        ),
    ] {
        let (record, counts) = until_long_enough(|seconds| {
            let before = server.counts().expect("counters");
            let record = run(&mut client, name, options, seconds);
            let counts = server.counts().expect("counters").since(&before);
            enough(&record, &[writes])?;
            Ok((record, counts))
        });
        println!("{name}: {:?}", counts.iter().collect::<Vec<_>>());
        let mut fsyncs = 0;
        for point in &record.points {
            assert_mix(&record, point);
            let stats = point.stats.as_ref().expect("figures");
            fsyncs += stats.counters.get("fsyncs").copied().unwrap_or(0);
        }
        // An fsync follows at least one WRITE.
        println!("{} writes, {fsyncs} fsyncs", done(&record, writes));
        assert!(fsyncs > 0 && counts.get("WRITE") >= fsyncs, "{counts:?}");
        let (files, _) = made_by_init(&record);
        assert!(counts.get("OPEN") >= files, "{files} files, {counts:?}");
        assert!(counts.get("REMOVE") >= files, "{files} files, {counts:?}");
    }
}

/// DATABASE bypasses the client's cache: a read is a READ, a write a WRITE.
#[test]
fn database_on_ganesha_over_version_3_and_swbuild_over_4_1() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, NFS4)) else {
        return;
    };
    let files = ganesha.files().expect("a vfs export has files");
    let nothing_left = || std::fs::read_dir(&files).expect("list").count() == 0;
    let Some(mut client) = client(&sandbox, ganesha.export(), NfsVersion::V3, "") else {
        return;
    };
    let port = ganesha.export().nfs_port;
    let options = "FILE_SIZE=512k LOAD=1 INCR_LOAD=1 NUM_RUNS=2";
    let reads = [Op::Read, Op::ReadRandom];
    let writes = [Op::Write, Op::WriteRandom];
    let (record, pcap) = until_long_enough(|seconds| {
        let capture = Capture::start(&sandbox, client.interface(), &[port]).expect("a capture");
        let record = run(&mut client, "DATABASE", options, seconds);
        let pcap = capture.stop().expect("the capture ends");
        enough(&record, &[&reads, &writes])?;
        Ok((record, pcap))
    });
    assert_eq!((pcap.dropped(), nothing_left()), (0, true));
    for point in &record.points {
        assert_mix(&record, point);
    }
    let calls = pcap.calls().expect("tshark");
    let count = |call: u32| calls.get(&call).copied().unwrap_or(0);
    assert_bounded(&record, &reads, "READ", count(READ), 0);
    assert_counter_agrees(&record);
    let largest = record.points.last().expect("points").load;
    let data = record.run.plan.data_set(largest).start_bytes;
    // INIT fills in transfers of 64 KiB at least.
    assert_bounded(&record, &writes, "WRITE", count(WRITE), data / (64 << 10));

    drop(client);
    let Some(mut client) = self::client(&sandbox, ganesha.export(), NfsVersion::V41, "") else {
        return;
    };
    let options = "FILE_SIZE=4k DIR_COUNT=1 FILES_PER_DIR=4 LOAD=1";
    let record = until_long_enough(|seconds| {
        let record = run(&mut client, "SWBUILD", options, seconds);
        enough(&record, &[]).map(|()| record)
    });
    assert_mix(&record, &record.points[0]);
    assert!(nothing_left());
}

/// The client's counter was read, and the finding agrees with it. Direct I/O reads all data from
/// the server, which the capture shows. How much the counter misses is not asserted: in such a
/// short RUN it depends on the load of the machine, since every proc has an operation at each
/// edge, and the counter is read late.
#[track_caller]
fn assert_counter_agrees(record: &RunRecord) {
    for point in &record.points {
        let [reads] = &point.client_reads[..] else {
            panic!("one mount: {:?}", point.client_reads);
        };
        assert_eq!(reads.counter, ReadCounter::Nfs);
        assert!(reads.read_bytes > 0, "{reads:?}");
        assert!(reads.fetched_bytes.is_some_and(|n| n > 0), "{reads:?}");
        let memory = reads.memory_bytes().expect("known");
        let cached = point.findings.iter().find(|f| f.rule == Rule::ClientCache);
        assert_eq!(
            cached.is_some_and(|f| f.severity == Severity::Warning),
            memory * 10 > reads.read_bytes,
            "{reads:?}, {cached:?}"
        );
    }
}

/// The files fit into the client's memory, and its attribute cache has a long lifetime: most data is
/// read from the server only once, which the server's counts confirm.
#[test]
fn reads_from_the_client_s_memory_are_reported() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let Some(mut client) = client(&sandbox, &export, NfsVersion::V3, "actimeo=600") else {
        return;
    };
    let options = "FILE_SIZE=16k DIR_COUNT=1 FILES_PER_DIR=4 LOAD=1";
    let (record, calls) = until_long_enough(|seconds| {
        let before = server.counts().expect("counters");
        let record = run(&mut client, "SWBUILD", options, seconds);
        let counts = server.counts().expect("counters").since(&before);
        enough(&record, &[])?;
        // First every file is read from the server once.
        let reads = &record.points[0].client_reads;
        match reads
            .iter()
            .all(|r| r.memory_bytes().is_some_and(|n| n * 10 <= r.read_bytes))
        {
            true => Err(format!("few files were read again: {reads:?}")),
            false => Ok((record, counts.get("READ"))),
        }
    });
    let point = &record.points[0];
    let [reads] = &point.client_reads[..] else {
        panic!("one mount: {:?}", point.client_reads);
    };
    println!("{reads:?}; {calls} READs");
    assert_eq!(reads.counter, ReadCounter::Nfs);
    let memory = reads.memory_bytes().expect("known");
    assert!(memory * 10 > reads.read_bytes, "{reads:?}");
    // Each READ at the server returned 1 MiB at most, and some returned no data.
    let fetched = reads.fetched_bytes.expect("known");
    assert!(fetched <= calls << 20, "{reads:?}, {calls} READs");
    assert!(calls < done(&record, &[Op::Read, Op::ReadFile]), "{calls}");
    let cached = point.findings.iter().find(|f| f.rule == Rule::ClientCache);
    let cached = cached.expect("a finding");
    assert_eq!(cached.severity, Severity::Warning);
    let share = 100.0 * memory as f64 / reads.read_bytes as f64;
    let output_text = cached.value.expect("a share");
    assert!(
        (output_text - share).abs() < 0.01,
        "{output_text}, not {share}"
    );
}
