//! Validation of servers of other projects. Skipped where the machine cannot
//! run them (see `filermark-testbed`).

use crate::support::{claim, plan};
use filermark_driver_kit::driver::Driver;
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{IpChoice, MountPoint, NfsPlan, NfsVersion, Transport};
use filermark_nfs::NfsDriver;
use filermark_nfs::target::Target;
use filermark_nfs::validate::{CheckResult, Level, Report, validate};
use filermark_testbed::{Export, Fsal, Ganesha, KernelServer, Sandbox, ServerOptions, available};

fn plan_for(export: &Export) -> (NfsPlan, MountPoint) {
    let plan = NfsPlan {
        uid: 0,
        gid: 0,
        // Both ports from the portmapper.
        nfs_port: None,
        mount_port: None,
        portmap_port: 111,
        ..plan(0)
    };
    let mount = MountPoint {
        host: export.address.to_string(),
        path: export.path.clone(),
    };
    (plan, mount)
}

fn validate_in(sandbox: &Sandbox, export: &Export) -> Report {
    let (plan, mount) = plan_for(export);
    validate_by(sandbox, &plan, &mount)
}

fn validate_by(sandbox: &Sandbox, plan: &NfsPlan, mount: &MountPoint) -> Report {
    let stop = StopFlag::new();
    let report = sandbox
        .run(|| validate(plan, mount, &claim(), Level::All, &stop, &mut |_| {}))
        .expect("validation runs");
    println!("{}", report.render_text());
    report
}

fn failures(report: &Report) -> Vec<&'static str> {
    let failed = report.results.iter().filter(|r| r.is_failure());
    failed.map(|result: &CheckResult| result.id).collect()
}

#[test]
fn ganesha_on_a_file_system() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let report = validate_in(ganesha.sandbox(), ganesha.export());
    assert_eq!(failures(&report), [""; 0]);
}

fn refused_claim(options: ServerOptions) -> Option<String> {
    let sandbox = available(Sandbox::new())?;
    let ganesha = available(Ganesha::start_in(&sandbox, Fsal::Vfs, options))?;
    let (plan, mount) = plan_for(ganesha.export());
    let outcome = sandbox.run(|| NfsDriver::new(plan.clone()).claim(&mount, &claim()));
    let files = std::fs::read_dir(ganesha.files().expect("files")).expect("list");
    assert_eq!(files.count(), 0, "something is left");
    Some(outcome.expect_err("refused").to_string())
}

#[test]
fn a_read_only_export_is_explained() {
    let options = ServerOptions {
        read_only: true,
        ..ServerOptions::default()
    };
    if let Some(error) = refused_claim(options) {
        assert!(
            error.contains("NFS3ERR_ROFS to MKDIR; the export is read-only"),
            "{error}"
        );
    }
}

#[test]
fn a_squashed_root_is_explained() {
    let options = ServerOptions {
        root_squash: true,
        ..ServerOptions::default()
    };
    if let Some(error) = refused_claim(options) {
        assert!(
            error.contains("uid 0 gid 0 has no permission") && error.contains("no_root_squash"),
            "{error}"
        );
    }
}

/// ganesha's FSAL MEM keeps the first MiB of a file only and makes up the rest: a
/// server that is known to be wrong.
#[test]
fn ganesha_in_memory_is_found_out() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let report = validate_in(ganesha.sandbox(), ganesha.export());
    let failed = failures(&report);
    for lossy in ["read.largest", "write.largest", "read.beyond_4gib"] {
        assert!(failed.contains(&lossy), "{failed:?}");
    }
}

#[test]
fn over_ipv6_with_ports_from_rpcbind() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Vfs)) else {
        return;
    };
    let (mut plan, mount) = plan_for(&ganesha.export_v6());
    plan.ip = IpChoice::V6;
    let target = ganesha.sandbox().run(|| Target::resolve(&mount, &plan));
    let target = target.expect("resolved");
    assert!(target.nfs_address.is_ipv6());
    let wanted = (ganesha.export().nfs_port, ganesha.export().mount_port);
    let ports = (target.nfs_address.port(), target.mount_address.port());
    assert_eq!(ports, wanted);
}

#[test]
fn the_kernel_server() {
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    let report = validate_in(server.sandbox(), server.export());
    assert_eq!(failures(&report), [""; 0]);
}

/// Only where a module of it has been built: Debian's kernel has none.
#[test]
fn the_kernel_server_in_version_2() {
    let Some(server) = KernelServer::start_nfs2().and_then(available) else {
        eprintln!("SKIPPED: FILERMARK_NFSD_V2 names no module");
        return;
    };
    for transport in [Transport::Tcp, Transport::Udp] {
        let (plan, mount) = plan_for(server.export());
        let plan = NfsPlan {
            version: NfsVersion::V2,
            transport,
            nfs_port: Some(server.export().nfs_port),
            ..plan
        };
        let report = validate_by(server.sandbox(), &plan, &mount);
        assert_eq!(failures(&report), [""; 0], "{transport:?}");
        assert!(report.is_success() && report.not_ours.is_empty());
    }
}
