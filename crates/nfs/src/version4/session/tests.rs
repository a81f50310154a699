use super::super::samples;
use super::*;
use crate::version4::SessionRequest;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::SequenceOk;
use proptest::prelude::*;

fn session(slots: u32) -> Session {
    let limits = SessionRequest::new(MinorVersion::V1, 1024, slots);
    Session::new(
        limits.minor,
        samples::SESSION,
        samples::CLIENT,
        2,
        limits.fore,
        limits.back,
    )
}

fn executed(outcome: SequenceOutcome) -> StatusFlags {
    match outcome {
        SequenceOutcome::Executed { status_flags } => status_flags,
        other => panic!("not executed: {other:?}"),
    }
}

#[test]
fn sequence_names_session_slot_and_the_highest_slot_in_use() {
    let mut session = session(4);
    let slots: Vec<u32> = (0..3).map(|_| session.take_slot().unwrap()).collect();
    assert_eq!(slots, [0, 1, 2]);
    let args = session.sequence(1, true);
    assert_eq!(args.sessionid, samples::SESSION);
    assert_eq!((args.slotid, args.sequenceid), (1, 1));
    assert_eq!((args.highest_slotid, args.cachethis), (2, true));
    // The same until there is a result, so that it can be sent again.
    assert_eq!(session.sequence(1, true), args);
    executed(session.sequence_result(1, &Ok(samples::sequence_ok(1, 1)), None));
    assert_eq!(session.take_slot(), Some(1));
    assert_eq!(session.sequence(1, false).sequenceid, 2);
}

#[test]
fn slots_shrink_and_grow_as_the_server_wishes() {
    let mut session = session(30);
    let slots: Vec<u32> = (0..10).map(|_| session.take_slot().unwrap()).collect();
    let wish = |slotid, target_highest_slotid| {
        Ok(SequenceOk {
            target_highest_slotid,
            ..samples::sequence_ok(1, slotid)
        })
    };
    executed(session.sequence_result(0, &wish(0, 1), None));
    assert_eq!(session.take_slot(), Some(0));
    assert_eq!(session.take_slot(), None);
    for slot in &slots[2..] {
        executed(session.sequence_result(*slot, &wish(*slot, 1), None));
    }
    assert_eq!((session.take_slot(), session.slots().usable()), (None, 2));
    executed(session.sequence_result(1, &wish(1, u32::MAX), None));
    assert_eq!(session.slots().usable(), 30);
}

#[test]
fn a_failure_of_sequence_does_not_count() {
    let outcomes = [
        (Nfsstat4::Delay, SequenceOutcome::Later, true),
        (
            Nfsstat4::ConnNotBoundToSession,
            SequenceOutcome::NotBound,
            true,
        ),
        (
            Nfsstat4::Badsession,
            SequenceOutcome::SessionLost(Nfsstat4::Badsession),
            false,
        ),
        (
            Nfsstat4::StaleClientid,
            SequenceOutcome::ClientLost(Nfsstat4::StaleClientid),
            false,
        ),
        (
            Nfsstat4::TooManyOps,
            SequenceOutcome::Refused(Nfsstat4::TooManyOps),
            false,
        ),
    ];
    for (status, expected, in_use) in outcomes {
        let mut session = session(2);
        let slot = session.take_slot().unwrap();
        assert_eq!(session.sequence_result(slot, &Err(status), None), expected);
        assert_eq!(session.slots().is_in_use(slot), in_use, "{status}");
        assert_eq!(session.sequence(slot, false).sequenceid, 1, "{status}");
    }
    let mut session = session(2);
    let slot = session.take_slot().unwrap();
    let outcome = session.sequence_result(slot, &Err(Nfsstat4::RetryUncachedRep), None);
    assert_eq!(outcome, SequenceOutcome::ReplyNotKept);
    assert_eq!(session.sequence(slot, false).sequenceid, 2);
    // The same behind SEQUENCE.
    let slot = session.take_slot().expect("free");
    let ok = samples::sequence_ok(2, slot);
    let next = Some(Nfsstat4::RetryUncachedRep);
    let outcome = session.sequence_result(slot, &Ok(ok), next);
    assert_eq!(outcome, SequenceOutcome::ReplyNotKept);
}

#[test]
fn the_result_of_another_call_frees_no_slot() {
    let mut session = session(2);
    let slot = session.take_slot().unwrap();
    let right = samples::sequence_ok(1, slot);
    let other_session = SequenceOk {
        sessionid: [0; 16],
        ..right
    };
    for wrong in [
        samples::sequence_ok(2, slot),
        samples::sequence_ok(1, 1),
        samples::sequence_ok(1, u32::MAX),
        other_session,
    ] {
        let outcome = session.sequence_result(wrong.slotid.min(1), &Ok(wrong), None);
        assert_eq!(outcome, SequenceOutcome::OtherCall);
    }
    assert!(session.slots().is_in_use(slot));
    executed(session.sequence_result(slot, &Ok(right), None));
    let outcome = session.sequence_result(slot, &Ok(samples::sequence_ok(2, slot)), None);
    assert_eq!(outcome, SequenceOutcome::OtherCall);
}

#[test]
fn flags_are_read() {
    let flags = |bits| StatusFlags(bits);
    assert!(!flags(0).is_state_revoked());
    assert!(flags(seq4_status::ADMIN_STATE_REVOKED).is_state_revoked());
    assert!(flags(seq4_status::RESTART_RECLAIM_NEEDED).is_reclaim_needed());
    assert!(flags(seq4_status::LEASE_MOVED).is_lease_moved());
    assert!(flags(seq4_status::CB_PATH_DOWN_SESSION).is_callback_path_down());
    let mut session = session(2);
    let slot = session.take_slot().unwrap();
    let ok = SequenceOk {
        status_flags: seq4_status::EXPIRED_ALL_STATE_REVOKED,
        ..samples::sequence_ok(1, slot)
    };
    assert!(executed(session.sequence_result(slot, &Ok(ok), None)).is_state_revoked());
}

proptest! {
    /// Whatever order answers come in, and whatever the server wishes: no two calls under way have the
    /// same slot, and every slot counts its executed calls.
    #[test]
    fn every_slot_counts_its_calls(
        slots in 1u32..70,
        choices in prop::collection::vec((any::<prop::sample::Index>(), 0u32..80, any::<bool>()), 0..200),
    ) {
        let mut session = session(slots);
        let mut under_way: Vec<SequenceArgs> = Vec::new();
        let mut counts = vec![0u32; slots as usize];
        for (index, target_highest_slotid, answer) in choices {
            if answer && !under_way.is_empty() {
                let args = under_way.swap_remove(index.index(under_way.len()));
                let ok = SequenceOk {
                    target_highest_slotid,
                    highest_slotid: 80,
                    ..samples::sequence_ok(args.sequenceid, args.slotid)
                };
                executed(session.sequence_result(args.slotid, &Ok(ok), None));
                counts[args.slotid as usize] += 1;
            } else if let Some(slot) = session.take_slot() {
                let args = session.sequence(slot, false);
                prop_assert!(under_way.iter().all(|other| other.slotid != slot));
                prop_assert!(args.highest_slotid < slots);
                prop_assert!(under_way.iter().all(|other| other.slotid <= args.highest_slotid));
                prop_assert_eq!(args.sequenceid, counts[slot as usize] + 1);
                under_way.push(args);
            } else {
                prop_assert!(!under_way.is_empty());
            }
        }
    }
}
