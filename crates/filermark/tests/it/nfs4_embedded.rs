//! NFSv4.1 and NFSv4.2 against the embedded server: sweeps, checks, faults, and what is on the wire.

use crate::load_guard::beside_others;
use crate::second_client::{assert_empty, serve};
use crate::sweep::{Ended, Sweep};
use filermark_nfs::validate;
use filermark_server::{Delegations, Operation4, RunningServer, ServerOptions};
use filermark_testbed::{Capture, Sandbox, available};
use serde_json::Value;
use std::collections::BTreeSet;

const VERSIONS: [&str; 2] = ["4.1", "4.2"];

/// A short run with parameters of an rc file.
fn sweep(server: &RunningServer, version: &str) -> Sweep {
    Sweep::on(server)
        .unset("MOUNT_PORT")
        .set("NFS_VERSION", version)
}

#[track_caller]
fn assert_without_errors(ended: &Ended) {
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        assert!(stats.success_count() > 0);
    }
}

/// Clients give up what they have: nothing stays but what the checks of this test make.
#[track_caller]
fn assert_ended(server: &RunningServer) {
    let stats = server.stats();
    let of = |operation| stats.of4(operation);
    let sessions = of(Operation4::CreateSession);
    assert!(sessions > 0);
    assert_eq!(of(Operation4::DestroySession), sessions, "sessions stay");
    assert_eq!(of(Operation4::DestroyClientid), sessions, "clients stay");
    assert!(of(Operation4::Open) > 0 && of(Operation4::Close) > 0);
}

#[test]
fn sweeps_over_both_versions_are_measured() {
    let _turn = beside_others();
    for version in VERSIONS {
        let server = serve(ServerOptions::default());
        let ended = sweep(&server, version)
            .set("LOAD", "100 200")
            .set("VERIFY", "on")
            .set("CONNECTIONS", 2)
            .into_rc()
            .succeed();
        assert_without_errors(&ended);
        assert_eq!(ended.record().points.len(), 2);
        for name in ["COMPOUND", "SEQUENCE", "OPEN", "CLOSE", "READ", "WRITE"] {
            assert!(ended.counter(name) > 0, "{name}");
        }
        for never in ["reconnects", "lost_sessions", "lost_opens", "verify_errors"] {
            assert_eq!(ended.counter(never), 0, "{never}");
        }
        assert_ended(&server);
        assert_empty(&server);
    }
}

/// Several connections of a client: the record says how many, and the server has one client ID and session for
/// each client. With CLIENT_IDS=shared that is one for each thread.
#[test]
fn clients_with_several_connections_are_measured() {
    let _turn = beside_others();
    for (rule, nconnect, shards, expected) in
        [("connection", 4, 2, [2, 2, 8]), ("shared", 1, 1, [1, 1, 2])]
    {
        let server = serve(ServerOptions::default());
        let ended = sweep(&server, "4.1")
            .set("LOAD", "100 200")
            .set("VERIFY", "on")
            .set("CONNECTIONS", 2)
            .set("SHARDS", shards)
            .set("CLIENT_IDS", rule)
            .set("NCONNECT", nconnect)
            .into_rc()
            .succeed();
        assert_without_errors(&ended);
        for point in &ended.record().points {
            let counters = &point.measured().expect("measured").counters;
            let present = ["client_ids", "sessions", "connections"].map(|name| counters[name]);
            assert_eq!(present, expected, "{rule}");
        }
        for never in [
            "reconnects",
            "lost_sessions",
            "bound_sessions",
            "verify_errors",
        ] {
            assert_eq!(ended.counter(never), 0, "{never}");
        }
        assert_ended(&server);
        let stats = server.stats();
        let bound = stats.of4(Operation4::BindConnToSession);
        assert_eq!(bound, expected[2] - expected[0], "{rule}");
        assert_empty(&server);
    }
}

/// What the server grants is in the record, and nothing of it stays.
#[test]
fn delegations_are_counted_and_returned() {
    let _turn = beside_others();
    for version in VERSIONS {
        let server = serve(ServerOptions {
            delegations: Delegations::Write,
            ..ServerOptions::default()
        });
        let ended = sweep(&server, version)
            .set("LOAD", 200)
            .set("VERIFY", "on")
            .set("CONNECTIONS", 2)
            .set("DELEGATIONS", "keep")
            .into_rc()
            .succeed();
        assert_without_errors(&ended);
        assert!(ended.counter("delegations_read") > 0);
        assert!(ended.counter("delegations_returned") > 0);
        for never in ["delegations_revoked", "lost_opens", "verify_errors"] {
            assert_eq!(ended.counter(never), 0, "{never}");
        }
        assert_ended(&server);
        assert_empty(&server);
        let stats = server.stats();
        let granted = stats.delegations_read + stats.delegations_write;
        assert_eq!(stats.delegations_returned, granted);
        assert_eq!(stats.delegations_revoked, 0);
    }
    let refused = Sweep::bare()
        .set("MNT_POINTS", "127.0.0.1:/export")
        .set("DELEGATIONS", "keep")
        .into_rc()
        .run();
    assert!(
        refused
            .stderr
            .contains("no delegations are used over NFSv3"),
        "{}",
        refused.stderr
    );
}

/// The embedded server has no layouts.
#[test]
fn without_layouts_on_the_server_transfers_go_to_it() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let ended = sweep(&server, "4.2")
        .set("LOAD", 100)
        .set("VERIFY", "on")
        .set("LAYOUTS", "use")
        .into_rc()
        .succeed();
    assert_without_errors(&ended);
    assert!(ended.counter("layouts_refused") > 0);
    assert!(ended.counter("READ") > 0);
    assert_eq!(ended.counter("data_server_reads"), 0);
    assert_ended(&server);
    assert_empty(&server);
    for (name, value, text) in [
        ("NFS_VERSION", "3", "NFSv3 has no layouts"),
        ("NFS_VERSION", "4.0", "NFSv4.0 has no layouts"),
        ("SECURITY", "krb5", "data servers are called with AUTH_SYS"),
        ("TLS", "on", "data servers are called with AUTH_SYS"),
    ] {
        let refused = Sweep::bare()
            .set("MNT_POINTS", "127.0.0.1:/export")
            .set("NFS_VERSION", "4.1")
            .set("LAYOUTS", "use")
            .set(name, value)
            .into_rc()
            .run();
        assert!(refused.stderr.contains(text), "{}", refused.stderr);
    }
}

#[test]
fn the_checks_of_version_41_pass() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let ended = sweep(&server, "4.1")
        .command("validate")
        .arg("--json")
        .run();
    let json = ended.json();
    let checks = json["mounts"][0]["checks"].as_array().expect("checks");
    let of = |verdict: &str| -> Vec<&Value> {
        let found = checks.iter().filter(|check| check["verdict"] == verdict);
        found.collect()
    };
    assert!(of("fail").is_empty(), "{:?}", of("fail"));
    assert!(ended.is_complete(), "{}", ended.stderr);
    let version = filermark_model::plan::NfsVersion::V41;
    assert_eq!(checks.len(), validate::checks(version).len());
    // Access control lists are not supported.
    let skipped: Vec<&str> = of("skipped")
        .iter()
        .filter_map(|c| c["id"].as_str())
        .collect();
    assert!(of("skipped").len() <= 1, "{skipped:?}");
    assert_empty(&server);
}

#[test]
fn the_checks_of_version_42_pass() {
    let _turn = beside_others();
    let server = serve(ServerOptions::default());
    let ended = sweep(&server, "4.2")
        .command("validate")
        .arg("--json")
        .run();
    let json = ended.json();
    assert_eq!(json["mounts"][0]["protocol"], "NFSv4.2");
    let checks = json["mounts"][0]["checks"].as_array().expect("checks");
    let failed: Vec<&Value> = checks
        .iter()
        .filter(|check| check["verdict"] == "fail")
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert!(ended.is_complete(), "{}", ended.stderr);
    let version = filermark_model::plan::NfsVersion::V42;
    assert_eq!(checks.len(), validate::checks(version).len());
    let skipped = checks.iter().filter(|check| check["verdict"] == "skipped");
    assert!(skipped.count() <= 1, "access control lists alone");
    assert_empty(&server);
}

/// Every CREATE of the load fails with NFS4ERR_EXIST if it is executed twice, so a run without errors
/// shows that each was executed once.
#[test]
fn calls_are_executed_once_when_connections_are_cut_and_replies_lost() {
    let _turn = beside_others();
    for (drop, nconnect) in [
        ("conn@60", 1),
        ("conn@60", 4),
        ("reply@1%", 1),
        ("reply@1%", 4),
    ] {
        let server = serve(ServerOptions {
            drop: drop.parse().expect("a fault"),
            ..ServerOptions::default()
        });
        let ended = sweep(&server, "4.1")
            .set("LOAD", 400)
            .set("RUNTIME", 2)
            .set("CONNECTIONS", 2)
            .set("NCONNECT", nconnect)
            .set("RPC_TIMEOUT_MS", 150)
            // On a busy machine replies are late that are not lost.
            .set("RPC_RETRIES", 100)
            .set("VERIFY", "on")
            .succeed();
        assert_without_errors(&ended);
        assert!(ended.counter("reconnects") > 0, "{drop}");
        assert!(ended.counter("retransmits") > 0, "{drop}");
        assert!(server.stats().duplicates_answered > 0, "{drop}");
        assert_eq!(ended.counter("lost_clients"), 0, "{drop}");
        assert_eq!(ended.counter("verify_errors"), 0, "{drop}");
        assert_empty(&server);
    }
}

#[test]
fn faults_have_the_counters_of_version_3() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        errors: "GETATTR=NFS3ERR_JUKEBOX@20%".parse().expect("a fault"),
        short: Some(4096),
        ..ServerOptions::default()
    });
    let ended = sweep(&server, "4.2")
        .set("LOAD", 400)
        .set("RUNTIME", 2)
        .set("VERIFY", "on")
        .succeed();
    assert_without_errors(&ended);
    for name in ["jukebox_waits", "short_reads"] {
        assert!(ended.counter(name) > 0, "{name}");
    }
    assert_eq!(ended.counter("verify_errors"), 0);
    assert_empty(&server);
}

#[test]
fn data_that_was_not_committed_is_written_again() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        unstable: "lose@40".parse().expect("a fault"),
        ..ServerOptions::default()
    });
    let ended = sweep(&server, "4.1")
        .set("LOAD", 800)
        .set("RUNTIME", 2)
        .set("VERIFY", "on")
        // With more writes under way, each retry of INIT would meet another verifier.
        .set("SHARDS", 1)
        .set("INIT_WINDOW", 1)
        .succeed();
    assert_without_errors(&ended);
    assert!(server.stats().writes_lost > 10);
    assert!(ended.counter("rewrites") > 0);
    assert_eq!(ended.counter("verify_errors"), 0);
    assert_empty(&server);
}

#[test]
fn tshark_finds_every_message_of_both_versions_well_formed() {
    let _turn = beside_others();
    let Some(sandbox) = available(Sandbox::new()) else {
        return;
    };
    let server = sandbox.run(|| serve(ServerOptions::default()));
    let port = server.addrs()[0].port();
    let Some(capture) = available(Capture::start(&sandbox, "lo", &[port])) else {
        return;
    };
    for version in VERSIONS {
        sweep(&server, version)
            .in_network_of(&sandbox)
            .set("FILESET_MB_PER_OP", 0.005)
            .succeed();
    }
    sweep(&server, "4.1")
        .in_network_of(&sandbox)
        .command("validate")
        .succeed();
    let pcap = capture.stop().expect("the capture ends");
    assert_eq!((pcap.malformed().expect("tshark"), pcap.dropped()), (0, 0));
    let args = [
        "-Y",
        "nfs.opcode && rpc.msgtyp == 1",
        "-T",
        "fields",
        "-e",
        "nfs.opcode",
    ];
    let found = pcap.tshark(&args).expect("tshark");
    let numbers: BTreeSet<u32> = found
        .lines()
        .flat_map(|line| line.split(','))
        .filter_map(|number| number.parse().ok())
        .collect();
    // What was executed is in the replies.
    let stats = server.stop();
    let served = Operation4::ALL.iter().filter(|o| stats.of4(**o) > 0);
    let served: BTreeSet<u32> = served.map(|o| o.to_u32()).collect();
    assert!(served.len() > 35, "{served:?}");
    assert!(served.is_subset(&numbers), "{served:?} {numbers:?}");
}

/// A server that does not drop a client keeps it until its lease expires: the run says so.
#[test]
fn clients_that_the_server_keeps_are_named() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        not_offered: vec![Operation4::DestroyClientid],
        ..ServerOptions::default()
    });
    let ended = sweep(&server, "4.1").set("CONNECTIONS", 2).succeed();
    assert_without_errors(&ended);
    let left = "did not confirm the end of 2 clients";
    assert!(
        ended.stdout.contains(left),
        "{} {}",
        ended.stderr,
        server.stats().of4(Operation4::DestroyClientid)
    );
}

/// The mix made for version 4 has locks, which need the state of the open also where a file is delegated.
#[test]
fn files_are_locked_while_delegations_are_kept() {
    let _turn = beside_others();
    let server = serve(ServerOptions {
        delegations: Delegations::Write,
        ..ServerOptions::default()
    });
    let ended = sweep(&server, "4.1")
        .set("BENCHMARK", "general-nfs41")
        .set("DELEGATIONS", "keep")
        .set("LOAD", 200)
        .succeed();
    assert_without_errors(&ended);
    assert!(ended.counter("LOCK") > 0);
    assert!(ended.counter("delegations_read") + ended.counter("delegations_write") > 0);
    assert_eq!(ended.counter("delegations_revoked"), 0);
    assert_eq!(ended.counter("lost_opens"), 0);
    let stats = server.stats();
    assert_eq!(
        stats.delegations_returned,
        stats.delegations_read + stats.delegations_write
    );
    assert_ended(&server);
}
