//! Sweeps over NFSv4.0: figures against the server's own, well-formed messages, and that nothing stays open.

use crate::load_guard::{alone, beside_others};
use crate::nfs41::{self, NFS4};
use crate::real::{self, assert_empty};
use crate::second_client::{self, serve};
use crate::sweep::{Ended, Sweep};
use crate::wire::between_pauses;
use filermark_onc::nfs4::Operation;
use filermark_server::{Operation4, RunningServer, ServerOptions as Embedded};
use filermark_testbed::{Capture, Export, Fsal, Ganesha, KernelServer, Pcap, Sandbox, available};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What no run counts against a sound server.
const NEVER: [&str; 6] = [
    "reconnects",
    "lost_sessions",
    "lost_clients",
    "lost_opens",
    "refused_closes",
    "slot_waits",
];

/// How long a script in the server may take.
const SCRIPT: Duration = Duration::from_secs(60);

fn sweep(sandbox: &Arc<Sandbox>, export: &Export) -> Sweep {
    nfs41::sweep(sandbox, export, "4.0")
}

/// The operations of version 4.0 were counted, and none that it does not have.
#[track_caller]
fn assert_counted(ended: &Ended) {
    for point in &ended.record().points {
        let counters = &point.measured().expect("measured").counters;
        for name in ["COMPOUND", "PUTFH", "OPEN", "CLOSE", "READ", "WRITE"] {
            assert!(counters.contains_key(name), "{counters:?}");
        }
        assert!(!counters.contains_key("SEQUENCE"), "{counters:?}");
    }
}

/// What the kernel's server has open, and the minor versions of its clients.
fn states(server: &mut KernelServer) -> String {
    let listed = "cat /proc/fs/nfsd/clients/*/states 2>/dev/null; \
                  grep -h 'minor version' /proc/fs/nfsd/clients/*/info | sort -u";
    let found = server.run(listed, SCRIPT).expect("a shell");
    assert_eq!(found.status, 0, "{}", found.output);
    found.output.trim().to_owned()
}

#[test]
fn alone_the_kernels_server_is_measured_over_version_40_and_nothing_stays_open() {
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    assert_counted(&real::assert_measured(&sweep(&sandbox, &export), &NEVER));
    // With VERIFY, over shared connections with several calls each under way.
    let shared = sweep(&sandbox, &export)
        .set("VERIFY", "on")
        .set("CONNECTIONS", 2)
        .set("BIOD_MAX_READS", 8)
        .set("BIOD_MAX_WRITES", 8)
        .set("BLOCK_SIZE", 8);
    let ended = real::assert_measured(&shared, &NEVER);
    assert_counted(&ended);
    assert!(ended.point(1).stats.expect("figures").counters["checked_bytes"] > 0);
    assert_empty(&sandbox, &export);
    // The client IDs stay until their leases expire; that is all that stays.
    assert_eq!(states(&mut server), "minor version: 0");
}

/// The calls of the load in a capture: when, and the numbers of their operations.
fn load_calls(pcap: &Pcap, port: u16) -> Vec<(f64, Vec<u32>)> {
    let lines = |filter: &str, fields: &[&str]| {
        let mut args = vec!["-Y", filter, "-T", "fields"];
        args.extend(fields.iter().flat_map(|field| ["-e", field]));
        pcap.tshark(&args).expect("tshark")
    };
    let clients = lines("frame contains \"filermark load\"", &["tcp.stream"]);
    let streams: Vec<&str> = clients.lines().collect();
    assert!(!streams.is_empty());
    let filter = format!("rpc.msgtyp==0 && tcp.dstport=={port}");
    let fields = [
        "tcp.stream",
        "frame.time_relative",
        "nfs.opcode",
        "nfs.minorversion",
    ];
    let calls = lines(&filter, &fields);
    let call = |line: &str| {
        let mut fields = line.split('\t');
        let (stream, time, numbers) = (fields.next()?, fields.next()?, fields.next()?);
        let minors = fields.next()?;
        assert!(minors.split(',').all(|minor| minor == "0"), "{line}");
        let numbers = numbers.split(',').filter_map(|n| n.parse().ok()).collect();
        let is_of_load = streams.contains(&stream);
        is_of_load.then_some((time.parse().ok()?, numbers))
    };
    calls.lines().filter_map(call).collect()
}

/// Every message is well-formed, the record has the operations that were on the wire, and the server's own numbers
/// of the operations that only the load has are those of the wire.
#[test]
fn tshark_and_the_kernels_server_count_the_operations_of_version_40() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(mut server) = available(KernelServer::start_in(&sandbox, NFS4)) else {
        return;
    };
    let export = server.export().clone();
    let capture = Capture::start(&sandbox, server.interface(), &[export.nfs_port]);
    let Some(capture) = available(capture) else {
        return;
    };
    let before = server.counts().expect("counts");
    let ended = sweep(&sandbox, &export)
        .set("LOAD", 200)
        .set("WARMUP_TIME", 0)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
        .set("KEEP", "on")
        .succeed();
    let after = server.counts().expect("counts");
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let calls = load_calls(&pcap, export.nfs_port);
    let counters = ended.point(1).stats.expect("figures").counters;
    let ours: BTreeMap<u32, u64> = Operation::ALL
        .iter()
        .filter_map(|o| Some((o.to_u32(), *counters.get(o.name())?)))
        .collect();
    let theirs = between_pauses(&calls, |_| false);
    assert!(theirs.contains(&ours), "{ours:?}\nnot in {theirs:?}");
    assert!(ours.len() >= 12, "{ours:?}");
    let executed = after.since(&before);
    for (name, number) in [("READ", 25), ("WRITE", 38), ("COMMIT", 5), ("READDIR", 26)] {
        let sent = calls.iter().flat_map(|(_, numbers)| numbers);
        let sent = sent.filter(|of| **of == number).count() as u64;
        let counted = executed.get(name);
        // The claim reads and writes its marker over a connection of its own.
        assert!(
            (sent..sent + 20).contains(&counted),
            "{name}: {counted}, {sent} sent"
        );
    }
}

#[test]
fn alone_ganesha_vfs_is_measured_over_version_40() {
    let _turn = alone();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, NFS4)) else {
        return;
    };
    let export = ganesha.export();
    assert_counted(&real::assert_measured(&sweep(&sandbox, export), &NEVER));
    assert_empty(&sandbox, export);
}

/// Sweeps the embedded server with this benchmark over version 4.0: without faults, with a connection that is
/// cut, and with lost replies. None costs a file or an error. The server keeps the replies of owners.
fn assert_measured_with_faults(benchmark: &str, judge: impl Fn(&Ended, &RunningServer, bool)) {
    for drop in [None, Some("conn@60"), Some("reply@1%")] {
        let server = serve(Embedded {
            drop: drop.map_or_else(Default::default, |drop| drop.parse().expect("a fault")),
            ..Embedded::default()
        });
        let ended = Sweep::on(&server)
            .unset("MOUNT_PORT")
            .set("BENCHMARK", benchmark)
            .set("NFS_VERSION", "4.0")
            .set("LOAD", 400)
            .set("RUNTIME", 2)
            .set("CONNECTIONS", 2)
            .set("RPC_TIMEOUT_MS", 150)
            .set("RPC_RETRIES", 1000)
            .set("VERIFY", "on")
            .succeed();
        let stats = ended.point(1).stats.expect("figures");
        assert_eq!(stats.error_count(), 0, "{drop:?}: {:?}", stats.errors);
        for never in [
            "lost_clients",
            "lost_opens",
            "refused_closes",
            "verify_errors",
        ] {
            assert_eq!(ended.counter(never), 0, "{drop:?}: {never}");
        }
        judge(&ended, &server, drop.is_some());
        second_client::assert_empty(&server);
    }
}

#[test]
fn the_embedded_server_is_measured_over_version_40_also_when_replies_are_lost() {
    let _turn = beside_others();
    assert_measured_with_faults("general-nfs3", |ended, server, has_faults| {
        assert_eq!(ended.counter("reconnects") > 0, has_faults);
        let served = server.stats();
        assert!(served.of4(Operation4::SetclientidConfirm) > 0);
        assert!(served.of4(Operation4::Close) > 0);
        assert_eq!(served.of4(Operation4::Sequence), 0);
    });
}

/// Opens and locks of the mix have owners of their own.
#[test]
fn a_mix_with_opens_and_locks_is_measured_over_version_40_also_when_replies_are_lost() {
    let _turn = beside_others();
    assert_measured_with_faults("general-nfs40", |_, server, has_faults| {
        let served = server.stats();
        for operation in [Operation4::Lock, Operation4::ReleaseLockowner] {
            assert!(served.of4(operation) > 0, "{has_faults}: {operation:?}");
        }
    });
}

/// One line per check, with the sections of RFC 7530.
#[test]
fn the_embedded_server_is_validated_over_version_40() {
    let _turn = beside_others();
    let server = serve(Embedded::default());
    let ended = Sweep::on(&server)
        .unset("MOUNT_PORT")
        .set("NFS_VERSION", "4.0")
        .command("validate")
        .run();
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let text = ended.file("sfsval");
    for part in [
        "NFSv4.0 protocol validation of",
        "pass  SETCLIENTID",
        "pass  OPEN         seqid.open_again",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
