//! Composite benchmarks on a kernel's NFS mount, in User Mode Linux.

mod rig;

use crate::load_guard::beside_others;
use filermark_model::client_reads::ReadCounter;
use filermark_model::{Op, Rule, Severity};
use filermark_results::RunRecord;
use filermark_testbed::{Capture, Fsal, Ganesha, KernelServer, NfsVersion, Sandbox, available};
use rig::{
    NFS4, READ, WRITE, assert_bounded, assert_mix, client, done, enough, made_by_init, run,
    until_long_enough,
};

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
