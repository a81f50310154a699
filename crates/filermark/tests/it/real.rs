//! Short sweeps against servers of other projects.

use crate::load_guard::{Machine, alone, beside_others, valid};
use crate::sweep::{Ended, Sweep};
use filermark_model::Rule;
use filermark_testbed::{Export, Fsal, Ganesha, KernelServer, Sandbox, ServerOptions, available};

/// Three load points of a few seconds.
fn three_points(sandbox: &std::sync::Arc<Sandbox>, export: &Export) -> Sweep {
    Sweep::inside(sandbox, export)
        .set("LOAD", "100 200 300")
        .set("PROCS", 10)
        .set("WARMUP_TIME", 1)
        .set("RUNTIME", 3)
}

/// What no run against a sound server counts.
const NEVER: [&str; 5] = [
    "bad_replies",
    "stream_errors",
    "stale_replies",
    "verify_errors",
    "retransmits",
];

/// Asserts that all points were measured at the requested rate, without an error, and that none
/// of these counters counted.
#[track_caller]
pub fn assert_measured(sweep: &Sweep, never: &[&str]) -> Ended {
    let machine = Machine::watch();
    let ended = sweep.succeed();
    machine.judge(measured(&ended, never));
    ended
}

/// `Err`: the rates were not those requested, or the machine was too slow for a point.
#[track_caller]
fn measured(ended: &Ended, never: &[&str]) -> Result<(), String> {
    let record = ended.record();
    assert_eq!(record.points.len(), record.run.plan.points.len());
    let mut off = Ok(());
    for point in &record.points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        let (achieved, requested) = (stats.achieved_ops_per_sec(), point.load.requested.0);
        println!(
            "{requested} requested, {achieved:.1} achieved, mean {:.3} ms, {:?}",
            stats.service().mean_ns() / 1e6,
            stats.transfer_bytes
        );
        for name in NEVER.iter().chain(never) {
            let count = stats.counters.get(*name).copied().unwrap_or(0);
            assert_eq!(count, 0, "{name}: {:?}", stats.counters);
        }
        // Of some hundred operations, those at the edges of the window are 1 % or more.
        off = off.and(valid(&point.findings));
        if (achieved / requested - 1.0).abs() > 0.02 {
            off = off.and(Err(format!("{achieved} of {requested}")));
        }
    }
    let end = record.end.expect("an end");
    assert!(end.findings.is_empty(), "{:?}", end.findings);
    off
}

/// Asserts with a foreign client that the export is empty.
#[track_caller]
pub fn assert_empty(sandbox: &Sandbox, export: &Export) {
    let listing = sandbox
        .command("timeout")
        .args(["20", "nfs-ls", &export.libnfs_url("/")])
        .output()
        .expect("start nfs-ls");
    assert!(
        listing.status.success(),
        "{}",
        String::from_utf8_lossy(&listing.stderr)
    );
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    assert_eq!(listing.trim(), "", "left on the server");
}

/// The files in and below a directory of the host.
fn files_below(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("list").flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            found.extend(files_below(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}

#[test]
fn alone_ganesha_vfs_is_measured_and_what_it_keeps_is_right() {
    let _turn = alone();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let files = ganesha.files().expect("a vfs export has files");
    // Ports from its portmapper; they are not the usual ones.
    let sweep = three_points(sandbox, export)
        .unset("NFS_PORT")
        .unset("MOUNT_PORT");
    assert_measured(&sweep, &[]);
    assert_eq!(files_below(&files), Vec::<std::path::PathBuf>::new());
    // With VERIFY, over shared connections with several calls each under way.
    let sweep = three_points(sandbox, export)
        .set("LOAD", 300)
        .set("VERIFY", "on")
        .set("CONNECTIONS", 2)
        .set("BIOD_MAX_READS", 8)
        .set("BIOD_MAX_WRITES", 8)
        .set("BLOCK_SIZE", 8);
    let ended = assert_measured(&sweep, &[]);
    let stats = ended.point(1).stats.expect("figures");
    assert_eq!(stats.transfer_bytes, (8192, 8192));
    assert!(
        stats.physical_count() > stats.success_count(),
        "transfers were split"
    );
    assert_empty(sandbox, export);
}

/// Its files keep only their first MiB: reads beyond it do not return what was written, which is
/// found without VERIFY. There are no other errors.
#[test]
fn ganesha_mem_is_measured_and_what_it_loses_is_found() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export());
    let ended = three_points(sandbox, export).run();
    assert!(ended.is_complete(), "{}", ended.stderr);
    for point in &ended.record().points {
        let stats = point.measured().expect("measured");
        assert_eq!(stats.error_count(), 0, "{:?}", stats.errors);
        let wrong = stats.counters.get("verify_errors").copied().unwrap_or(0);
        let output_text = point.findings.iter().any(|f| f.rule == Rule::DataVerify);
        assert_eq!(wrong > 0, output_text, "{:?}", point.findings);
    }
    assert_empty(sandbox, export);
}

#[test]
fn alone_ganesha_is_measured_over_ipv6() {
    let _turn = alone();
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (sandbox, export) = (ganesha.sandbox(), ganesha.export_v6());
    assert!(export.mount_point().starts_with("[::1]:"));
    let sweep = three_points(sandbox, &export)
        .unset("NFS_PORT")
        .unset("MOUNT_PORT")
        .set("LOAD", "100 200");
    assert_measured(&sweep, &[]);
    assert_empty(sandbox, &export);
}

#[test]
fn alone_the_kernel_s_server_is_measured_and_what_it_keeps_is_right() {
    let _turn = alone();
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    let (sandbox, export) = (server.sandbox(), server.export());
    let sweep = three_points(sandbox, export)
        .unset("NFS_PORT")
        .unset("MOUNT_PORT");
    assert_measured(&sweep, &[]);
    assert_empty(sandbox, export);
    let sweep = three_points(sandbox, export)
        .set("LOAD", 200)
        .set("VERIFY", "on");
    assert_measured(&sweep, &[]);
    assert_empty(sandbox, export);
}

#[test]
fn a_real_disk_that_fills_up_and_a_real_export_that_is_read_only() {
    let _turn = beside_others();
    let full = ServerOptions {
        space_mib: Some(8),
        ..ServerOptions::default()
    };
    let read_only = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    let cases = [
        (full, &["INIT", "NFS3ERR_NOSPC", "disk is full"]),
        (read_only, &["filermark.s", "NFS3ERR_ROFS", "read-write"]),
    ];
    for (options, parts) in cases {
        let Some(sandbox) = available(Sandbox::new()) else {
            return;
        };
        let Some(ganesha) = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options)) else {
            return;
        };
        let sweep = three_points(&sandbox, ganesha.export())
            .set("LOAD", "100 200")
            .set("RUNTIME", 10)
            .set("LOAD", 400)
            .set("SPACE_CHECK", "off")
            .set("FILESET_MB_PER_OP", 0.1);
        let ended = sweep.fail(1);
        ended.assert_sentence(parts);
        let files = ganesha.files().expect("a vfs export has files");
        assert_eq!(files_below(&files), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn a_real_server_that_is_killed_ends_the_sweep() {
    let _turn = beside_others();
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let sandbox = std::sync::Arc::clone(ganesha.sandbox());
    let sweep = three_points(&sandbox, ganesha.export())
        .set("LOAD", "100 200")
        .set("RUNTIME", 10)
        .set("RPC_TIMEOUT_MS", 3000)
        .set("RPC_RETRIES", 1)
        .set("CONNECT_TIMEOUT_MS", 3000);
    let mut started = sweep.start();
    started.wait_for("[2/2] 200 op/s RUN");
    drop(ganesha);
    let ended = started.wait();
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    ended.assert_sentence(&["127.0.0.1:/export", "RUN", "does not answer any more"]);
    let record = ended.record();
    assert_eq!(record.points.len(), 2);
    assert!(record.points[0].measured().is_some());
}
