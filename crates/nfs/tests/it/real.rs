//! Validation of servers that nobody here wrote. Skipped where the machine cannot
//! run them (see `filermark-testbed`).

use crate::support::{claim, plan};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{MountPoint, Nfs3Plan};
use filermark_nfs::validate::{CheckResult, Level, Report, validate};
use filermark_testbed::{Export, Fsal, Ganesha, KernelServer, Sandbox, available};

fn plan_for(export: &Export) -> (Nfs3Plan, MountPoint) {
    let plan = Nfs3Plan {
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
    let stop = StopFlag::new();
    let report = sandbox
        .run(|| validate(&plan, &mount, &claim(), Level::All, &stop, &mut |_| {}))
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

#[test]
fn ganesha_in_memory() {
    let Some(ganesha) = available(Ganesha::start(Fsal::Mem)) else {
        return;
    };
    let report = validate_in(ganesha.sandbox(), ganesha.export());
    assert_eq!(failures(&report), [""; 0]);
}

#[test]
fn the_kernel_server() {
    let Some(server) = available(KernelServer::start()) else {
        return;
    };
    let report = validate_in(server.sandbox(), server.export());
    assert_eq!(failures(&report), [""; 0]);
}
