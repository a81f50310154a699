//! The validator finds nothing wrong with a right server, and what is wrong with
//! a wrong one.

use crate::proxy::{ResultEditor, lie_about};
use crate::support::{claim, mount, plan, start};
use filermark_driver_kit::claim::lease::SystemWatch;
use filermark_driver_kit::run_dirs::claim_in;
use filermark_engine::driver::StopFlag;
use filermark_model::plan::{NfsPlan, NfsVersion};
use filermark_nfs::claim::MountedExport;
use filermark_nfs::client::narrow;
use filermark_nfs::validate::{Level, Report, Verdict, checks, validate};
use filermark_onc::nfs3::*;
use filermark_onc::xdr::{self, Decode, Encode};
use filermark_server::ServerOptions;

fn run(port: u16, level: Level) -> Report {
    let stop = StopFlag::new();
    validate(&plan(port), &mount(), &claim(), level, &stop, &mut |_| {}).expect("validation runs")
}

#[test]
fn the_embedded_server_passes_every_check() {
    let (_server, port) = start(ServerOptions::default());
    let report = run(port, Level::All);
    assert!(report.is_success(), "{}", report.render_text());
    let count = checks(NfsVersion::V3).len();
    assert_eq!(report.passed_count(), count, "nothing skipped");
    assert_eq!(report.not_ours, Vec::<String>::new());
}

/// Version 4.0 has checks of its own, and of those of version 4.1 all but those of sessions.
#[test]
fn the_embedded_server_passes_every_check_of_version_40() {
    let (_server, port) = start(ServerOptions::default());
    let plan = NfsPlan {
        version: NfsVersion::V40,
        mount_port: None,
        ..plan(port)
    };
    let stop = StopFlag::new();
    let report = validate(&plan, &mount(), &claim(), Level::All, &stop, &mut |_| {});
    let report = report.expect("validation runs");
    assert!(report.is_success(), "{}", report.render_text());
    let skipped = report.results.iter().filter(|result| {
        let is_skipped = matches!(result.verdict, Verdict::Skipped { .. });
        is_skipped && !["open_confirm.seqid", "acl.same"].contains(&result.id)
    });
    let skipped: Vec<&str> = skipped.map(|result| result.id).collect();
    assert_eq!(skipped, [""; 0], "{}", report.render_text());
    assert_eq!(report.not_ours, Vec::<String>::new());
    for check in checks(NfsVersion::V40) {
        let of_40 = ["RFC 7530 ", "RFC 5531 "];
        assert!(
            of_40.iter().any(|rfc| check.section.starts_with(rfc)),
            "{check:?}"
        );
    }
}

#[test]
fn ids_are_unique_and_every_procedure_is_checked() {
    let checks = checks(NfsVersion::V3);
    let mut ids: Vec<_> = checks.iter().map(|check| check.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for procedure in Procedure::ALL {
        assert!(
            checks
                .iter()
                .any(|check| check.procedure == procedure.name()),
            "{procedure}"
        );
    }
}

#[test]
fn a_wish_to_stop_ends_it_clean() {
    let (_server, port) = start(ServerOptions::default());
    let stop = StopFlag::new();
    let mut seen = 0;
    let report = validate(
        &plan(port),
        &mount(),
        &claim(),
        Level::All,
        &stop,
        &mut |_| {
            seen += 1;
            if seen == 3 {
                stop.raise();
            }
        },
    )
    .expect("validation runs");
    assert_eq!((report.results.len(), report.is_success()), (3, false));
    assert_eq!((report.leftovers, report.not_ours), (None, vec![]));
}

#[test]
fn leftovers_of_a_killed_validation_do_not_matter() {
    let (_server, port) = start(ServerOptions::default());
    let plan = plan(port);
    let mut export = MountedExport::mount(&plan, &mount()).expect("resolved");
    let claimed = claim_in(&mut export, &claim(), false, &SystemWatch);
    let (_, dir) = claimed.expect("claimed");
    let mut nfs = export.target.nfs_client(&plan);
    let made = nfs.mkdir(&narrow(&dir), b"m000002", Sattr3::mode(0o755));
    let below = made
        .expect("an answer")
        .expect("made")
        .obj
        .expect("a handle");
    let odd = nfs.mkdir(&below, b"entry", Sattr3::mode(0o755));
    odd.expect("an answer").expect("made");
    let report = run(port, Level::First);
    assert!(report.is_success(), "{}", report.render_text());
    assert_eq!(
        report.not_ours,
        ["127.0.0.1:/export/filermark.test/m000002"]
    );
}

#[test]
fn a_server_with_injected_errors_is_found_out() {
    let options = ServerOptions {
        errors: "RENAME=NFS3ERR_IO".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let report = run(port, Level::All);
    let failed: Vec<_> = report.results.iter().filter(|r| r.is_failure()).collect();
    assert!(failed.iter().any(|r| r.id == "rename.moved"));
    // RENAME is used to look at fileids, too.
    let others = failed.iter().filter(|r| !r.id.starts_with("rename."));
    assert_eq!(
        others.map(|r| r.id).collect::<Vec<_>>(),
        ["getattr.fileid_stable"]
    );
}

#[test]
fn a_server_that_forgets_its_writes_is_found_out() {
    let options = ServerOptions {
        unstable: "verf@2".parse().expect("unstable"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    assert_eq!(first_failure(&run(port, Level::First)), "commit.verifier");
}

#[test]
fn retries_after_jukebox_are_limited() {
    let options = ServerOptions {
        errors: "ACCESS=NFS3ERR_JUKEBOX@3".parse().expect("errors"),
        ..ServerOptions::default()
    };
    let (_server, port) = start(options);
    let report = run(port, Level::All);
    assert!(report.is_success(), "{}", report.render_text());
}

fn first_failure(report: &Report) -> &'static str {
    let last = report.results.last().expect("results");
    assert!(last.is_failure(), "{}", report.render_text());
    assert!(
        matches!(&last.verdict, Verdict::Fail { expected, got, section }
            if !expected.is_empty() && !got.is_empty() && section.starts_with("RFC ")),
        "{last:?}"
    );
    last.id
}

/// The first check that fails is the one that looks at what is wrong.
fn caught(lie: ResultEditor, by: &str) {
    let (_server, port) = start(ServerOptions::default());
    let proxy = lie_about(port, lie);
    let report = run(proxy, Level::First);
    assert_eq!(first_failure(&report), by, "{}", report.render_text());
    assert_eq!((&report.leftovers, &report.not_ours), (&None, &vec![]));
}

/// Decodes results, changes them, encodes them again.
fn edit<T: for<'d> Decode<'d> + Encode>(
    results: &[u8],
    change: impl FnOnce(&mut T),
) -> Option<Vec<u8>> {
    let mut value: T = xdr::decode(results).ok()?;
    change(&mut value);
    let mut out = Vec::new();
    xdr::append(&mut out, &value);
    Some(out)
}

fn ok<O, F>(res: &mut Res<O, F>, change: impl FnOnce(&mut O)) {
    if let Ok(ok) = res {
        change(ok);
    }
}

/// The same results with another status, where the status is `old`.
fn restate(results: &[u8], old: Nfsstat3, new: Nfsstat3) -> Option<Vec<u8>> {
    let (status, rest) = results.split_first_chunk()?;
    (u32::from_be_bytes(*status) == old.to_u32())
        .then(|| [&new.to_u32().to_be_bytes(), rest].concat())
}

#[test]
fn one_wrong_byte_in_a_read() {
    caught(
        |procedure, args, results| {
            let read: ReadArgs<'_> = xdr::decode(args).ok()?;
            (procedure == Procedure::Read && read.count == 33_333).then(|| {
                let mut results = results.to_vec();
                *results.iter_mut().nth_back(100).unwrap() ^= 1;
                results
            })
        },
        "read.back",
    );
}

#[test]
fn an_end_of_file_that_is_not_reported() {
    caught(
        |procedure, args, results| {
            let read: ReadArgs<'_> = xdr::decode(args).ok()?;
            // status, attributes, count, then eof
            let eof = 4 + 4 + 84 + 4 + 3;
            (procedure == Procedure::Read && read.offset == 900).then(|| {
                let mut results = results.to_vec();
                results[eof] = 0;
                results
            })
        },
        "read.eof",
    );
}

#[test]
fn an_offset_cut_to_32_bits() {
    caught(
        |procedure, args, results| {
            let read: ReadArgs<'_> = xdr::decode(args).ok()?;
            // What a server that cuts would give: something else than zeros.
            (procedure == Procedure::Read && read.offset == (1 << 30) + 17).then(|| {
                let mut results = results.to_vec();
                *results.last_mut().unwrap() = 1;
                results
            })
        },
        "read.beyond_4gib",
    );
}

#[test]
fn an_entry_that_is_not_listed() {
    caught(
        |procedure, args, results| {
            let small: ReaddirArgs<'_> = xdr::decode(args)
                .ok()
                .filter(|args: &ReaddirArgs<'_>| args.count == 1024)?;
            let list: ReaddirRes<'_> = xdr::decode(results).ok()?;
            let list = list
                .ok()
                .filter(|_| procedure == Procedure::Readdir && small.cookie > 0)?;
            let mut entries = list.reply.iter();
            let all: Vec<_> = entries.by_ref().collect::<Result<_, _>>().ok()?;
            let mut out = Vec::new();
            let mut writer =
                DirListWriter::begin(&mut out, list.dir_attributes, list.cookieverf, 1 << 20);
            let hidden = |entry: &&Entry3<'_>| !entry.name.starts_with(b"entry-0207");
            all.iter()
                .filter(hidden)
                .for_each(|entry| assert!(writer.push(entry)));
            writer.finish(entries.eof()?);
            Some(out)
        },
        "readdir.all_once",
    );
}

#[test]
fn wrong_attributes_in_a_directory_list() {
    caught(
        |procedure, _, results| {
            let list: ReaddirplusRes<'_> = xdr::decode(results).ok()?;
            let list = list.ok().filter(|_| procedure == Procedure::Readdirplus)?;
            let mut entries = list.reply.iter();
            let all: Vec<_> = entries.by_ref().collect::<Result<_, _>>().ok()?;
            let mut out = Vec::new();
            let mut writer =
                DirListWriter::begin(&mut out, list.dir_attributes, list.cookieverf, 1 << 20);
            for mut entry in all {
                if let Some(attributes) = entry
                    .name_attributes
                    .as_mut()
                    .filter(|a| a.ftype == Ftype3::Reg)
                {
                    attributes.size += 1;
                }
                assert!(writer.push(&entry));
            }
            writer.finish(entries.eof()?);
            Some(out)
        },
        "readdirplus.agrees",
    );
}

#[test]
fn the_wrong_status_for_a_missing_name() {
    caught(
        |procedure, args, results| {
            let lookup =
                procedure == Procedure::Lookup && args.windows(7).any(|name| name == b"nothing");
            restate(results, Nfsstat3::Noent, Nfsstat3::Inval).filter(|_| lookup)
        },
        "lookup.noent",
    );
}

#[test]
fn the_wrong_status_for_a_full_directory() {
    caught(
        |procedure, _, results| {
            let rmdir = procedure == Procedure::Rmdir;
            restate(results, Nfsstat3::Notempty, Nfsstat3::Io).filter(|_| rmdir)
        },
        "rmdir.notempty",
    );
}

#[test]
fn a_guard_that_does_not_guard() {
    caught(
        |procedure, _, results| {
            let setattr = procedure == Procedure::Setattr;
            restate(results, Nfsstat3::NotSync, Nfsstat3::Ok).filter(|_| setattr)
        },
        "setattr.not_sync",
    );
}

#[test]
fn a_second_name_that_is_not_counted() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Getattr).then_some(())?;
            edit::<GetattrRes>(results, |res| {
                ok(res, |ok| {
                    ok.obj_attributes.nlink = ok.obj_attributes.nlink.min(1)
                });
            })
        },
        "rename.same_file",
    );
}

#[test]
fn a_wrong_size_after_a_write() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Write).then_some(())?;
            edit::<WriteRes>(results, |res| {
                ok(res, |ok| {
                    if let Some(after) = &mut ok.file_wcc.after {
                        after.size += 1;
                    }
                });
            })
        },
        "wcc.write",
    );
}

#[test]
fn a_write_that_is_less_safe_than_asked() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Write).then_some(())?;
            edit::<WriteRes>(results, |res| {
                ok(res, |ok| ok.committed = StableHow::Unstable)
            })
        },
        "write.file_sync",
    );
}

#[test]
fn a_preference_above_the_maximum() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Fsinfo).then_some(())?;
            edit::<FsinfoRes>(results, |res| ok(res, |ok| ok.rtpref = ok.rtmax + 1))
        },
        "fsinfo.sane",
    );
}

#[test]
fn rights_that_were_not_requested() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Access).then_some(())?;
            edit::<AccessRes>(results, |res| ok(res, |ok| ok.access |= access::READ))
        },
        "access.subset",
    );
}

#[test]
fn results_that_cannot_be_decoded() {
    caught(
        |procedure, _, results| {
            (procedure == Procedure::Pathconf)
                .then(|| results.get(..results.len() - 4).unwrap().to_vec())
        },
        "pathconf.name_max",
    );
}

#[test]
fn the_proxy_itself_changes_nothing() {
    // The proxy's own ways change nothing: otherwise every test above would be
    // caught by the proxy instead of the lie.
    let (_server, port) = start(ServerOptions::default());
    let proxy = lie_about(port, |_, _, results| Some(results.to_vec()));
    let report = run(proxy, Level::All);
    assert!(report.is_success(), "{}", report.render_text());
}
