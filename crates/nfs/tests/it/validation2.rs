//! The validator of NFSv2 finds nothing wrong with a right server, and what is wrong
//! with a wrong one.

use crate::support::{claim, mount, plan, start};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{NfsPlan, NfsVersion};
use filermark_nfs::validate::{Level, Report, checks, validate};
use filermark_onc::{mount as mnt, nfs2};
use filermark_server::ServerOptions;

fn plan2(port: u16) -> NfsPlan {
    NfsPlan {
        version: NfsVersion::V2,
        ..plan(port)
    }
}

fn run(port: u16, level: Level) -> Report {
    let stop = StopFlag::new();
    validate(&plan2(port), &mount(), &claim(), level, &stop, &mut |_| {}).expect("validation runs")
}

#[test]
fn the_embedded_server_passes_every_check() {
    let (_server, port) = start(ServerOptions::default());
    let report = run(port, Level::All);
    println!("{}", report.render_text());
    assert!(report.is_success(), "{}", report.render_text());
    let count = checks(NfsVersion::V2).len();
    assert_eq!(report.passed_count(), count, "nothing skipped");
    assert_eq!((report.left_behind, report.foreign), (None, vec![]));
    assert_eq!(report.protocol, "NFSv2");
}

#[test]
fn ids_are_unique_and_every_procedure_is_checked() {
    let checks = checks(NfsVersion::V2);
    let mut ids: Vec<_> = checks.iter().map(|check| check.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    let nfs = nfs2::Procedure::ALL.iter().map(|p| p.name());
    let mount = mnt::Procedure::ALL.iter().map(|p| p.name());
    for procedure in nfs.chain(mount) {
        assert!(
            checks.iter().any(|c| c.procedure == procedure),
            "{procedure}"
        );
    }
    for check in &checks {
        assert!(check.section.starts_with("RFC "), "{check:?}");
    }
}
