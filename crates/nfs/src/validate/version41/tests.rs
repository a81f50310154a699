//! The checks against a scripted server: one that accepts everything is found out, and the right
//! answers are accepted.

#[path = "../../../tests/it/fake4.rs"]
#[allow(dead_code, reason = "the tests of the client use the rest")]
mod fake4;

use super::TABLES;
use super::ops::Bench;
use crate::target::Target;
use crate::validate::bench::Bench as AnyBench;
use fake4::{Answer, Shared, State, start};
use filermark_driver_kit::checks::{Outcome, Stop};
use filermark_model::plan::{MinorVersion, MountPoint, NfsPlan};
use filermark_onc::nfs4::{Nfsstat4, Operation};

fn plan(port: u16, minor: MinorVersion) -> NfsPlan {
    NfsPlan {
        version: minor.version(),
        nfs_port: Some(port),
        rpc_timeout_ms: 20_000,
        connect_timeout_ms: 10_000,
        jukebox_retries: 0,
        ..NfsPlan::default()
    }
}

fn mount() -> MountPoint {
    MountPoint {
        host: "127.0.0.1".to_owned(),
        path: "/export".to_owned(),
    }
}

/// Runs `work` with a bench whose directory is the root of a scripted server.
fn with_bench<T>(work: impl FnOnce(&mut Bench<'_>, &Shared) -> T) -> T {
    with_bench_of(MinorVersion::V1, work)
}

fn with_bench_of<T>(minor: MinorVersion, work: impl FnOnce(&mut Bench<'_>, &Shared) -> T) -> T {
    let (port, state) = start(State {
        minor_version: minor.number(),
        ..State::new()
    });
    let plan = plan(port, minor);
    let target = Target::resolve(&mount(), &plan).expect("resolved");
    let mut bench: Bench<'_> = AnyBench::new(&plan, &target, target.root);
    work(&mut bench, &state)
}

/// The outcome of a check with these answers to its COMPOUNDs with SEQUENCE, the set-up of its
/// session not counted.
fn outcome(id: &str, answers: &[Answer]) -> Outcome {
    let mut checks = TABLES.iter().copied().flatten();
    let check = checks.find(|check| check.id == id).expect("a check");
    with_bench(|bench, state| {
        let mut script = vec![Answer::Success];
        script.extend_from_slice(answers);
        state.lock().expect("state").answers = script.into();
        check.outcome(bench)
    })
}

/// What the server accepts although it must not: none of these checks can pass by accident.
#[test]
fn a_server_that_accepts_everything_fails_what_has_to_be_refused() {
    for id in [
        "compound.first_failure",
        "compound.no_filehandle",
        "exchange_id.flags",
        "exchange_id.only_op",
        "exchange_id.update",
        "exchange_id.roles",
        "create_session.replay",
        "create_session.misordered",
        "create_session.stale",
        "sequence.misordered",
        "sequence.badslot",
        "sequence.badsession",
        "sequence.missing",
        "sequence.not_first",
        "sequence.too_many_ops",
        "reclaim_complete.twice",
        "destroy_session.gone",
        "destroy_session.unknown",
        "destroy_clientid.session",
        "destroy_clientid.stale",
        "putfh.bad_handle",
        "lookup.noent",
        "lookup.empty_name",
        "names.slash",
        "open.noent",
        "open.guarded",
        "open.empty_name",
        "open.no_access",
        "share.two_owners",
        "share.denied",
        "share.denied_client",
        "share.deny_too_late",
        "share.anonymous",
        "stateid.old",
        "stateid.later",
        "stateid.closed",
        "stateid.invented",
        "stateid.other_file",
        "stateid.other_client",
        "read.eof",
        "read.dir",
        "recovery.sessions",
    ] {
        let outcome = outcome(id, &[]);
        assert!(
            matches!(outcome, Err(Stop::Fail { .. })),
            "{id}: {outcome:?}"
        );
    }
}

/// The same for what only version 4.0 has.
#[test]
fn a_server_of_version_40_that_accepts_everything_fails_what_has_to_be_refused() {
    let tables = super::tables(MinorVersion::V0);
    let checks = tables.iter().copied().flatten();
    let wanted = [
        "setclientid.unconfirmed",
        "setclientid.restart",
        "setclientid.opens",
        "setclientid_confirm.verifier",
        "setclientid_confirm.unknown",
        "renew.stale",
        "open.stale_clientid",
        "release_lockowner.stale",
        "seqid.open_wrong",
        "seqid.failure",
        "seqid.close_wrong",
        "seqid.lock_again",
        "seqid.lock_wrong",
        "release_lockowner.held",
        "release_lockowner.free",
        "compound.no_saved",
        "stateid.invented",
    ];
    let mut failed = Vec::new();
    for check in checks.filter(|check| wanted.contains(&check.id)) {
        let outcome = with_bench_of(MinorVersion::V0, |bench, _| check.outcome(bench));
        match outcome {
            Err(Stop::Fail { .. }) => failed.push(check.id),
            other => panic!("{}: {other:?}", check.id),
        }
    }
    assert_eq!(failed.len(), wanted.len(), "{failed:?}");
}

/// The same checks with the right answers, and with another status in their place.
#[test]
fn the_right_status_is_accepted_and_no_other() {
    for (id, times, behind, wanted) in [
        ("sequence.misordered", 3, false, Nfsstat4::SeqMisordered),
        ("sequence.badsession", 1, false, Nfsstat4::Badsession),
        ("compound.first_failure", 1, true, Nfsstat4::Noent),
        ("lookup.noent", 1, true, Nfsstat4::Noent),
        ("open.noent", 1, true, Nfsstat4::Noent),
        ("read.dir", 1, true, Nfsstat4::Isdir),
    ] {
        let answer = |status| match behind {
            true => Answer::Operation(status),
            false => Answer::Sequence(status),
        };
        let right = outcome(id, &vec![answer(wanted); times]);
        assert_eq!(right, Ok(()), "{id}");
        let wrong = outcome(id, &vec![answer(Nfsstat4::Serverfault); times]);
        assert!(matches!(wrong, Err(Stop::Fail { .. })), "{id}: {wrong:?}");
    }
}

/// What the scripted server does not offer is skipped.
#[test]
fn what_a_server_does_not_offer_is_skipped() {
    for id in [
        "lock.granted",
        "lock.zero_length",
        "lock.overflow",
        "lock.openmode",
        "lockt.free",
        "lockt.zero_length",
        "secinfo_no_name.flavors",
        "secinfo_no_name.consumes",
        "rename.same_file",
        "link.same_file",
        "open.symlink",
        "readlink.text",
        "acl.same",
        "setattr.times",
        "getattr.write_only",
    ] {
        let outcome = outcome(id, &[]);
        assert!(matches!(outcome, Err(Stop::Skip(_))), "{id}: {outcome:?}");
    }
}

/// A server without a required attribute is not taken for one that lacks an optional one.
#[test]
fn a_required_attribute_that_is_missing_is_a_failure() {
    for id in ["change.data", "create.cinfo", "getattr.required"] {
        let outcome = outcome(id, &[]);
        assert!(
            matches!(outcome, Err(Stop::Fail { .. })),
            "{id}: {outcome:?}"
        );
    }
}

/// The server may ask to call again, before and after it has taken the sequence number.
#[test]
fn a_call_that_is_to_be_made_later_is_made_again() {
    use Nfsstat4::{Badsession, Delay, Grace, Noent};
    for (id, answers) in [
        (
            "sequence.badsession",
            [Answer::Sequence(Delay), Answer::Sequence(Badsession)],
        ),
        (
            "compound.first_failure",
            [Answer::Operation(Delay), Answer::Operation(Noent)],
        ),
        (
            "compound.first_failure",
            [Answer::Sequence(Grace), Answer::Operation(Noent)],
        ),
    ] {
        assert_eq!(outcome(id, &answers), Ok(()), "{id}: {answers:?}");
    }
}

/// Client IDs that a server gives although it must not are given up.
#[test]
fn a_client_id_that_was_given_wrongly_is_given_up() {
    for id in [
        "exchange_id.flags",
        "exchange_id.only_op",
        "exchange_id.update",
    ] {
        let mut checks = TABLES.iter().copied().flatten();
        let check = checks.find(|check| check.id == id).expect("a check");
        let calls = with_bench(|bench, state| {
            state.lock().expect("state").calls.clear();
            let outcome = check.outcome(bench);
            assert!(outcome.is_err(), "{id}");
            state.lock().expect("state").calls.clone()
        });
        let of = |wanted| calls.iter().filter(|call| **call == wanted).count();
        let made = of(Operation::ExchangeId);
        assert!(made > 0, "{id}: {calls:?}");
        assert_eq!(of(Operation::DestroyClientid), made, "{id}: {calls:?}");
    }
}

#[test]
fn a_listing_without_an_end_is_given_up() {
    let listed = with_bench(|bench, _| {
        let dir = bench.dir;
        bench.list(&dir).map(|entries| entries.len())
    });
    let Err(Stop::Fail { expected, .. }) = listed else {
        panic!("{listed:?}");
    };
    assert_eq!(expected, "READDIR: an end");
}

/// Answers with another status in front than that of the last result are refused.
#[test]
fn the_status_of_a_compound_is_that_of_its_last_result() {
    let answer = with_bench(|bench, state| {
        let mut raw = bench.raw().expect("a session");
        state.lock().expect("state").edit = Some(Box::new(|_, body| {
            if let Some(status) = body.get_mut(..4) {
                status.copy_from_slice(&Nfsstat4::Badsession.to_u32().to_be_bytes());
            }
        }));
        let answer = raw.call("a call", false, |_| {});
        state.lock().expect("state").edit = None;
        answer
    });
    let Err(Stop::Fail { expected, got }) = answer else {
        panic!("{answer:?}");
    };
    assert!(expected.contains("NFS4ERR_BADSESSION"), "{expected}");
    assert_eq!(got, "NFS4_OK");
}

#[test]
fn ids_are_unique() {
    let mut ids: Vec<_> = TABLES
        .iter()
        .copied()
        .flatten()
        .map(|check| check.id)
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
