//! Sweeps over NFSv4.0, NFSv4.1 and NFSv4.2 against servers of other projects: figures, messages, and that nothing
//! stays on the server: neither files nor clients.

use crate::knfsd;
use crate::load_guard::{alone, beside_others};
use crate::real::{self, assert_empty};
use crate::sweep::{Ended, Sweep};
use crate::wire::between_pauses;
use filermark_model::plan::{NfsPlan, NfsVersion};
use filermark_onc::nfs4::Operation;
use filermark_testbed::{
    Capture, Export, Fsal, Ganesha, Kernel, Pcap, Sandbox, ServerOptions, available,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A server with version 4.
pub const NFS4: ServerOptions = ServerOptions {
    nfs4: true,
    udp: false,
    read_only: false,
    root_squash: false,
    space_mib: None,
};

/// What no run over sessions counts against a sound server.
const NEVER: [&str; 7] = [
    "reconnects",
    "lost_sessions",
    "lost_clients",
    "lost_opens",
    "refused_closes",
    "uncached_replies",
    "revoked_states",
];

/// The server's numbers of the operations that counters are compared by.
const DESTROY: [u32; 2] = [44, 57];

/// The values of NFS_VERSION, and their minor versions.
const VERSIONS: [(&str, &str); 3] = [("4.0", "0"), ("4.1", "1"), ("4.2", "2")];

/// A run of two load points over a version.
pub fn sweep(sandbox: &Arc<Sandbox>, export: &Export, version: &str) -> Sweep {
    let export = Export {
        path: export.path_v4.clone().expect("it serves version 4"),
        ..export.clone()
    };
    Sweep::inside(sandbox, &export)
        .unset("MOUNT_PORT")
        .set("NFS_VERSION", version)
        .set("LOAD", "100 200")
        .set("PROCS", 10)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 3)
}

/// As over version 3, and the operations of version 4 were counted.
#[track_caller]
fn assert_measured(sweep: &Sweep) -> Ended {
    let ended = real::assert_measured(sweep, &NEVER);
    for point in &ended.record().points {
        let counters = &point.measured().expect("measured").counters;
        for name in ["COMPOUND", "OPEN", "CLOSE", "READ", "WRITE"] {
            assert!(counters.contains_key(name), "{counters:?}");
        }
        let version = NfsPlan::of(&ended.record().run.plan.driver)
            .expect("NFS")
            .version;
        let has_sessions = version != NfsVersion::V40;
        assert_eq!(
            counters.contains_key("SEQUENCE"),
            has_sessions,
            "{counters:?}"
        );
    }
    ended
}

/// A ganesha that serves versions 4.0, 4.1 and 4.2.
fn ganesha(fsal: Fsal) -> Option<(Arc<Sandbox>, Ganesha)> {
    let sandbox = available(Sandbox::new())?;
    let ganesha = available(Ganesha::start_in(&sandbox, fsal, NFS4))?;
    Some((sandbox, ganesha))
}

#[test]
fn alone_ganesha_vfs_is_measured_over_versions_40_41_and_42() {
    let _turn = alone();
    let Some((sandbox, ganesha)) = ganesha(Fsal::Vfs) else {
        return;
    };
    let export = ganesha.export();
    for (version, _) in VERSIONS {
        assert_measured(&sweep(&sandbox, export, version));
    }
    // With VERIFY, over shared connections with several calls each under way.
    let ended = assert_measured(
        &sweep(&sandbox, export, "4.2")
            .set("VERIFY", "on")
            .set("CONNECTIONS", 2)
            .set("BIOD_MAX_READS", 8)
            .set("BIOD_MAX_WRITES", 8)
            .set("BLOCK_SIZE", 8),
    );
    let several = sweep(&sandbox, export, "4.1")
        .set("CONNECTIONS", 2)
        .set("NCONNECT", 4);
    assert_eq!(assert_measured(&several).counter("connections"), 8);
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.transfer_bytes, (8192, 8192));
    assert!(stats.counters["checked_bytes"] > 0);
    assert_empty(&sandbox, export);
}

/// ganesha's memory keeps only the first MiB of each file, so data is not compared.
#[test]
fn alone_ganesha_mem_is_measured_over_version_41() {
    let _turn = alone();
    let Some((sandbox, ganesha)) = ganesha(Fsal::Mem) else {
        return;
    };
    let ended = sweep(&sandbox, ganesha.export(), "4.1")
        .set("LOAD", 100)
        .run();
    assert!(ended.is_complete(), "{}", ended.stderr);
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
    assert_empty(&sandbox, ganesha.export());
}

/// The values of these fields in the packets that match, a line for each packet.
fn lines(pcap: &Pcap, filter: &str, fields: &[&str]) -> String {
    let mut args = vec!["-Y", filter, "-T", "fields"];
    args.extend(fields.iter().flat_map(|field| ["-e", field]));
    pcap.tshark(&args).expect("tshark")
}

/// The minor versions of all COMPOUNDs in a capture.
fn minor_versions(pcap: &Pcap) -> BTreeSet<String> {
    let found = lines(pcap, "nfs.minorversion", &["nfs.minorversion"]);
    let numbers = found.lines().flat_map(|line| line.split(','));
    numbers.map(str::to_owned).collect()
}

/// The calls of the load in a capture: when, and the numbers of their operations.
fn load_calls(pcap: &Pcap, port: u16) -> Vec<(f64, Vec<u32>)> {
    let clients = lines(pcap, "frame contains \"filermark load\"", &["tcp.stream"]);
    let streams: BTreeSet<&str> = clients.lines().collect();
    assert!(!streams.is_empty());
    let calls = lines(
        pcap,
        &format!("rpc.msgtyp==0 && tcp.dstport=={port}"),
        &["tcp.stream", "frame.time_relative", "nfs.opcode"],
    );
    let call = |line: &str| {
        let mut fields = line.split('\t');
        let (stream, time, numbers) = (fields.next()?, fields.next()?, fields.next()?);
        let numbers: Vec<u32> = numbers.split(',').filter_map(|n| n.parse().ok()).collect();
        let is_of_load = streams.contains(stream) && !DESTROY.contains(numbers.first()?);
        is_of_load.then_some((time.parse().ok()?, numbers))
    };
    calls.lines().filter_map(call).collect()
}

/// Every message is well-formed and has the minor version of the plan, and the record has the
/// operations that were on the wire.
#[test]
fn tshark_counts_the_operations_of_the_record() {
    let _turn = beside_others();
    let Some((sandbox, ganesha)) = ganesha(Fsal::Vfs) else {
        return;
    };
    for (version, minor) in VERSIONS {
        let peer = (&sandbox, ganesha.export(), ganesha.interface());
        let pcap = assert_operations_recorded(peer, version, minor);
        assert!(pcap.is_some());
    }
}

/// Returns what was on the wire from before the mount to after the end. `None`: the test is skipped.
#[track_caller]
fn assert_operations_recorded(
    (sandbox, export, interface): (&Arc<Sandbox>, &Export, &str),
    version: &str,
    minor: &str,
) -> Option<Pcap> {
    let ports = [export.nfs_port];
    let capture = available(Capture::start(sandbox, interface, &ports))?;
    let ended = sweep(sandbox, export, version)
        .set("LOAD", 200)
        .set("WARMUP_TIME", 0)
        .set("FILESET_MB_PER_OP", 0.005)
        .set("INIT_WINDOW", 2)
        .set("KEEP", "on")
        .succeed();
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    assert_eq!(minor_versions(&pcap), BTreeSet::from([minor.to_owned()]));
    let counters = ended.point(1).stats.expect("figures").counters;
    let operations = Operation::ALL.iter();
    let ours: BTreeMap<u32, u64> = operations
        .filter_map(|o| Some((o.to_u32(), *counters.get(o.name())?)))
        .collect();
    let theirs = between_pauses(&load_calls(&pcap, export.nfs_port), |_| false);
    assert!(theirs.contains(&ours), "{ours:?}\nnot in {theirs:?}");
    assert!(ours.len() >= 12, "{ours:?}");
    Some(pcap)
}

/// The number of executed operations in all replies of a capture.
fn executed(pcap: &Pcap, port: u16) -> BTreeMap<&'static str, u64> {
    let filter = format!("rpc.msgtyp==1 && tcp.srcport=={port}");
    let replies = lines(pcap, &filter, &["nfs.opcode"]);
    let mut counts = BTreeMap::new();
    let numbers = replies.lines().flat_map(|line| line.split(','));
    for number in numbers.filter_map(|n| n.parse::<u32>().ok()) {
        let operation = Operation::ALL.iter().find(|o| o.to_u32() == number);
        let name = operation.expect("an operation of the RFCs").name();
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

/// What the record counts is what was on the wire, and the kernel's own counters have all that was on the
/// wire from before the mount to the last DESTROY_CLIENTID, and nothing else.
#[test]
fn the_kernels_counters_agree_with_the_wire_and_with_the_record() {
    let _turn = beside_others();
    for kernel in Kernel::present() {
        let Some(mut server) = knfsd::server(kernel) else {
            return;
        };
        for (version, minor) in VERSIONS {
            let before = server.counts().expect("counters");
            let peer = (server.sandbox(), server.export(), server.interface());
            let Some(pcap) = assert_operations_recorded(peer, version, minor) else {
                return;
            };
            let counted = server.counts().expect("counters").since(&before);
            let wire = executed(&pcap, server.export().nfs_port);
            let counted: BTreeMap<&str, u64> = counted.iter().filter(|(_, n)| *n > 0).collect();
            assert_eq!(counted, wire, "{} {version}", kernel.name());
            assert_eq!(knfsd::clients(&mut server), "");
        }
    }
}

#[test]
fn alone_the_kernels_servers_are_measured_over_all_minor_versions_and_keep_no_client() {
    let _turn = alone();
    for kernel in Kernel::present() {
        let Some(mut server) = knfsd::server(kernel) else {
            return;
        };
        let (sandbox, export) = (Arc::clone(server.sandbox()), server.export().clone());
        for (version, _) in VERSIONS {
            assert_measured(&sweep(&sandbox, &export, version));
        }
        assert_measured(
            &sweep(&sandbox, &export, "4.2")
                .set("VERIFY", "on")
                .set("CONNECTIONS", 2),
        );
        assert_measured(
            &sweep(&sandbox, &export, "4.1")
                .set("CONNECTIONS", 2)
                .set("NCONNECT", 4),
        );
        for (benchmark, version) in [
            ("general-nfs40", "4.0"),
            ("general-nfs41", "4.1"),
            ("general-nfs42", "4.2"),
        ] {
            let sweep = sweep(&sandbox, &export, version).set("LOAD", 200);
            let ended = assert_measured(&sweep.set("BENCHMARK", benchmark).unset("NFS_VERSION"));
            for name in ["LOCK", "LOCKU", "ACCESS", "GETATTR"] {
                assert!(ended.counter(name) > 0, "{benchmark} {name}");
            }
        }
        assert_empty(&sandbox, &export);
        assert_eq!(knfsd::clients(&mut server), "", "{}", kernel.name());
    }
}

/// Files that INIT has filled count as open for writing for some seconds on this server; what is granted
/// then is a matter of time, but all of it is returned.
#[test]
fn alone_the_kernels_server_grants_delegations_and_gets_them_back() {
    let _turn = alone();
    for kernel in Kernel::present() {
        let Some(mut server) = knfsd::server(kernel) else {
            return;
        };
        let sandbox = server.sandbox().clone();
        let ports = [server.export().nfs_port];
        let capture = available(Capture::start(&sandbox, server.interface(), &ports));
        let sweep = sweep(&sandbox, server.export(), "4.1").set("DELEGATIONS", "keep");
        let ended = assert_measured(&sweep);
        assert_eq!(ended.counter("delegations_revoked"), 0);
        for point in &ended.record().points {
            let counters = &point.measured().expect("measured").counters;
            let of = |name: &str| counters.get(name).copied().unwrap_or(0);
            println!(
                "delegations: {} granted, {} recalled, {} returned; {} waits",
                of("delegations_read"),
                of("delegations_recalled"),
                of("delegations_returned"),
                of("jukebox_waits"),
            );
        }
        assert_eq!(knfsd::clients(&mut server), "");
        if let Some(capture) = capture {
            let pcap = capture.stop().expect("the capture ends");
            assert_eq!(pcap.malformed().expect("tshark"), 0);
        }
    }
}

/// One line per check, the file of results, and nothing that stays on the server.
#[test]
fn ganesha_is_validated_over_version_41() {
    let _turn = beside_others();
    let Some((sandbox, ganesha)) = ganesha(Fsal::Vfs) else {
        return;
    };
    let export = ganesha.export();
    let ended = sweep(&sandbox, export, "4.1")
        .command("validate")
        .arg("--json")
        .run();
    let json = ended.json();
    let mount = &json["mounts"][0];
    assert_eq!(mount["protocol"], "NFSv4.1", "{}", ended.stderr);
    // It has known deviations (nfs/tests/it/real4.rs).
    assert_eq!((ended.code, mount["success"].as_bool()), (1, Some(false)));
    let checks = mount["checks"].as_array().expect("checks");
    assert_eq!(
        checks.len(),
        filermark_nfs::validate::checks(NfsVersion::V41).len()
    );
    let text = ended.file("sfsval");
    assert!(text.contains("NFSv4.1 protocol validation of"), "{text}");
    assert!(text.contains("pass  SEQUENCE"), "{text}");
    assert_empty(&sandbox, export);
}
