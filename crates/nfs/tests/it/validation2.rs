//! The validator of NFSv2 finds nothing wrong with a right server, and what is wrong
//! with a wrong one.

use crate::lies;
use crate::proxy::{ReplyEditor, lie_at_will};
use crate::support::{claim, mount, plan, start};
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{NfsPlan, NfsVersion, Transport};
use filermark_nfs::validate::{Level, Report, Verdict, checks, validate};
use filermark_onc::{mount as mnt, nfs2};
use filermark_server::ServerOptions;
use std::collections::BTreeSet;

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
    assert!(report.is_success(), "{}", report.render_text());
    let count = checks(NfsVersion::V2).len();
    assert_eq!(report.passed_count(), count, "nothing skipped");
    assert_eq!((report.leftovers, report.not_ours), (None, vec![]));
    assert_eq!(report.protocol, "NFSv2");
}

/// Both versions; what TCP alone has is skipped.
#[test]
fn the_embedded_server_passes_over_udp_too() {
    for version in [NfsVersion::V2, NfsVersion::V3] {
        let (_server, port) = start(ServerOptions::default());
        let plan = NfsPlan {
            transport: Transport::Udp,
            version,
            ..plan(port)
        };
        let stop = StopFlag::new();
        let report = validate(&plan, &mount(), &claim(), Level::All, &stop, &mut |_| {});
        let report = report.expect("validation runs");
        assert!(report.is_success(), "{}", report.render_text());
        let tried = report.results.iter().filter(|r| r.verdict == Verdict::Pass);
        let tried: Vec<_> = tried.map(|result| result.id).collect();
        let mut wanted: Vec<_> = checks(version).iter().map(|check| check.id).collect();
        wanted.retain(|id| *id != "rpc.fragments");
        assert_eq!(tried, wanted, "{version:?}");
    }
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

#[test]
fn a_wish_to_stop_ends_it_clean() {
    let (_server, port) = start(ServerOptions::default());
    let stop = StopFlag::new();
    let mut seen = 0;
    let mut count = |_: &_| {
        seen += 1;
        if seen == 5 {
            stop.raise();
        }
    };
    let report = validate(
        &plan2(port),
        &mount(),
        &claim(),
        Level::All,
        &stop,
        &mut count,
    )
    .expect("validation runs");
    assert_eq!((report.results.len(), report.is_success()), (5, false));
    assert_eq!((report.leftovers, report.not_ours), (None, vec![]));
}

#[test]
fn a_server_with_injected_errors_is_found_out() {
    let options = ServerOptions {
        errors: "RENAME=NFS3ERR_IO".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let report = run(port, Level::All);
    let failed = failures(&report);
    assert!(failed.contains("rename.moved"), "{failed:?}");
    // RENAME is used to look at fileids, too.
    let others = failed.iter().filter(|id| !id.starts_with("rename."));
    assert_eq!(others.collect::<Vec<_>>(), [&"getattr.fileid_stable"]);
    assert_eq!((report.leftovers, report.not_ours), (None, vec![]));
}

#[test]
fn what_is_left_after_a_failure_is_reported_with_the_statuses_of_version_2() {
    let options = ServerOptions {
        errors: "RMDIR=NFS3ERR_NOTEMPTY".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let report = run(port, Level::First);
    let text = report.render_text();
    assert!(
        text.contains("RMDIR of the check's own directory: NFS_OK: NFSERR_NOTEMPTY"),
        "{text}"
    );
    assert!(!report.is_success(), "{text}");
}

fn failures(report: &Report) -> BTreeSet<&'static str> {
    let failed = report.results.iter().filter(|r| r.is_failure());
    failed.map(|result| result.id).collect()
}

/// The first check that fails is the one that looks at what is wrong.
fn caught(lie: ReplyEditor, by: &str) {
    let (_server, port) = start(ServerOptions::default());
    let report = run(lie_at_will(port, lie), Level::First);
    let text = report.render_text();
    let last = report.results.last().expect("results");
    assert_eq!(last.id, by, "{text}");
    assert!(
        matches!(&last.verdict, Verdict::Fail { expected, got, section }
            if !expected.is_empty() && !got.is_empty() && section.starts_with("RFC ")),
        "{last:?}"
    );
    assert_eq!((report.leftovers, report.not_ours), (None, vec![]));
}

#[test]
fn the_proxy_itself_changes_nothing() {
    let (_server, port) = start(ServerOptions::default());
    let echo = lies::about_results(|_, _, results| Some(results.to_vec()));
    let report = run(lie_at_will(port, echo), Level::All);
    assert!(report.is_success(), "{}", report.render_text());
}

#[test]
fn a_write_that_is_lost() {
    caught(lies::one_wrong_byte(), "setattr.nothing");
}

#[test]
fn an_entry_that_is_not_listed() {
    caught(lies::hidden_entry(), "readdir.all_once");
}

#[test]
fn version_1_that_is_offered() {
    caught(lies::odd_range(), "rpc.prog_mismatch");
}

#[test]
fn a_full_directory_that_goes() {
    caught(lies::notempty_as_io(), "rmdir.notempty");
}

#[test]
fn a_file_of_mode_600_that_all_users_read() {
    caught(lies::no_permissions(), "auth.others");
}

/// No check passes whatever the server does.
#[test]
fn every_check_can_fail() {
    let mut never: BTreeSet<_> = checks(NfsVersion::V2).iter().map(|c| c.id).collect();
    let all = lies::all();
    let caught: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = all
            .into_iter()
            .map(|(name, lie)| {
                scope.spawn(move || {
                    let (_server, port) = start(ServerOptions::default());
                    let report = run(lie_at_will(port, lie), Level::All);
                    (name, failures(&report), report)
                })
            })
            .collect();
        runs.into_iter()
            .map(|run| run.join().expect("a run"))
            .collect()
    });
    for (name, failed, report) in caught {
        assert!(!failed.is_empty(), "{name}: {}", report.render_text());
        never.retain(|id| !failed.contains(id));
    }
    assert_eq!(never, BTreeSet::new());
}
