//! Version 4.0: client IDs, owners of opens with numbers, OPEN by name, and what is lost.

use super::*;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;

/// The number of the file that the tests read.
const NUMBER: u32 = 1;

fn bench(script: impl FnMut(&Seen) -> Deed + Send + 'static) -> Bench {
    Bench::of_minor(MinorVersion::V0, script)
}

/// This operation is treated so for the `nth` time, everything else is good.
fn at(operation: Operation, nth: usize, deed: Deed) -> impl FnMut(&Seen) -> Deed + Send + 'static {
    let mut count = 0;
    move |seen| {
        count += usize::from(seen.has(operation));
        match seen.has(operation) && count == nth {
            true => deed.clone(),
            false => Deed::Good,
        }
    }
}

fn read_of(object: u32) -> Action {
    Action::Read {
        object: ObjectId(object),
        file: 7,
        offset: 0,
        length: SIZE,
    }
}

/// Reads from the file that `create(NUMBER)` makes.
fn read_made() -> Action {
    read_of(100 + NUMBER)
}

impl Bench {
    fn counted(&mut self, name: &str) -> u64 {
        self.counters().get(name).copied().unwrap_or_default()
    }

    /// What the server has open that the client has given up.
    fn forget_one(&self) {
        self.server.state().opens.pop_first();
    }

    /// Ends the clients: nothing is open after that, and the client ID stays.
    #[track_caller]
    pub(super) fn end40(mut self) {
        let now = self.shard.core.state.clock.now();
        self.shard.end(now + Nanos::from_secs(60));
        let state = self.server.state();
        assert!(state.opens.is_empty(), "{:?}", state.opens);
        assert!(state.v40.holds_nothing());
        assert_eq!(state.v40.wrong_numbers, 0);
        assert!(state.single.iter().all(|op| *op == Setclientid));
    }
}

#[test]
fn a_file_is_opened_by_its_latest_name() {
    let mut bench = bench(|_| Deed::Good);
    bench.succeed(fill(NUMBER, 9));
    bench.succeed(Action::Rename {
        dir: PROC_DIR,
        name: name(NameKind::File, NUMBER),
        object: ObjectId(1000 + NUMBER),
        new_name: name(NameKind::Small, 7),
        new_object: ObjectId(50),
    });
    // The handle of a file is its name on this server.
    let new_name = name(NameKind::Small, 7).text().as_bytes().to_vec();
    let handles = &mut bench.shard.core.procs[0].handles;
    handles.set(ObjectId(50), &new_name);
    bench.succeed(read_of(50));
    let state = bench.server.state();
    let last = state.v40.opened.last().expect("opened").clone();
    assert_eq!(last, (b"proc dir".to_vec(), new_name));
    assert!(state.executed.iter().all(|ops| !ops.contains(&Sequence)));
    drop(state);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["CLOSE"]), (2, 1));
    assert!(!counters.contains_key("SEQUENCE"), "{counters:?}");
    bench.end40();
}

/// The server asks for OPEN_CONFIRM with the first OPEN of an owner; the next file has the same owner.
#[test]
fn an_owner_is_confirmed_once() {
    let mut bench = bench(|_| Deed::Good);
    bench.server.state().v40.confirms = true;
    for number in 1..4 {
        bench.succeed(create(number));
        bench.succeed(remove(number));
    }
    assert_eq!(bench.server.count(OpenConfirm), 1);
    assert_eq!(bench.server.state().v40.owners(), 1);
    bench.succeed(create(NUMBER));
    bench.succeed(read_made());
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["CLOSE"]), (4, 3));
    assert_eq!(counters["OPEN_CONFIRM"], 1);
    bench.end40();
}

#[test]
fn files_that_are_open_together_have_owners_of_their_own() {
    let mut bench = bench(|_| Deed::Good);
    for number in 1..4 {
        bench.succeed(create(number));
    }
    assert_eq!(bench.server.state().v40.owners(), 3);
    bench.end40();
}

/// A CLOSE by itself gives the owner back to the proc that had the file open.
#[test]
fn procs_do_not_get_owners_of_each_other() {
    let server = Server::start(1, |_| Deed::Good);
    server.state().minor = MinorVersion::V0;
    let plan = NfsPlan {
        version: MinorVersion::V0.version(),
        ..shared()
    };
    let mut bench = Bench::with(plan, 2, server);
    bench.shard.core.procs[1].handles.set(PROC_DIR, b"dir of 1");
    for _ in 0..2 {
        for number in 1..4 {
            bench.submit(0, create(number));
            bench.submit(1, create(number));
        }
        assert!(bench.wait(6).values().all(|o| o.status == Status::Ok));
        for proc in 0..2 {
            bench.shard.forget_objects(proc, ObjectId(100));
        }
        let mut done = Vec::new();
        while !bench.server.state().opens.is_empty() {
            bench.shard.flush();
            let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(5);
            bench.shard.poll(soon, &mut done).expect("sockets work");
        }
    }
    assert_eq!(bench.server.state().v40.owners(), 6);
    bench.end40();
}

/// The server has executed the operation and the reply is lost with the connection: it has kept the reply of the
/// owner, and is not asked for another client ID.
#[test]
fn an_operation_of_an_owner_whose_reply_was_lost_is_executed_once() {
    for operation in [Open, OpenConfirm, Close] {
        let mut bench = bench(at(operation, 1, Deed::CloseAfter));
        bench.server.state().v40.confirms = true;
        bench.succeed(create(NUMBER));
        bench.succeed(remove(NUMBER));
        assert_eq!(bench.server.state().replays, 1, "{operation:?}");
        assert_eq!(bench.server.state().single, [Setclientid]);
        let counters = bench.counters();
        assert_eq!((counters["reconnects"], counters["retransmits"]), (1, 1));
        for name in ["bound_sessions", "replays_accepted", "refused_closes"] {
            assert!(!counters.contains_key(name), "{operation:?}: {counters:?}");
        }
        bench.end40();
    }
}

/// MKDIR has no owner: the server has executed it, and refuses it when it is sent again.
#[test]
fn a_refusal_that_shows_an_earlier_execution_is_accepted() {
    let mut nth = 0;
    let mut bench = bench(move |seen| {
        nth += usize::from(seen.has(Create));
        match (seen.has(Create), nth) {
            (true, 1) => Deed::CloseAfter,
            (true, 2) => Deed::Fail(1, Nfsstat4::Exist),
            _ => Deed::Good,
        }
    });
    bench.succeed(Action::Mkdir {
        dir: PROC_DIR,
        name: name(NameKind::MadeDir, 1),
        object: ObjectId(9),
    });
    assert_eq!(bench.counted("replays_accepted"), 1);
    bench.end40();
}

/// The lease has expired, or the server has restarted: another client ID, with another verifier.
#[test]
fn a_lost_client_id_is_requested_again() {
    for status in [Nfsstat4::StaleClientid, Nfsstat4::Expired] {
        let mut bench = bench(at(Open, 2, Deed::Fail(1, status)));
        bench.succeed(create(NUMBER));
        bench.succeed(create(NUMBER + 1));
        let state = bench.server.state();
        assert_eq!(state.single, [Setclientid, Setclientid], "{status}");
        assert_eq!(state.v40.verifiers.len(), 2);
        drop(state);
        let counters = bench.counters();
        assert_eq!((counters["lost_clients"], counters["lost_opens"]), (1, 1));
        assert!(!counters.contains_key("lost_sessions"));
        bench.forget_one();
        bench.end40();
    }
}

#[test]
fn a_server_that_has_forgotten_everything_is_used_again() {
    let mut bench = bench(at(Read, 2, Deed::Forget(true)));
    bench.succeed(create(NUMBER));
    bench.succeed(read_made());
    bench.succeed(read_made());
    let counters = bench.counters();
    assert_eq!((counters["lost_clients"], counters["lost_opens"]), (1, 1));
    assert_eq!(bench.server.state().single, [Setclientid, Setclientid]);
    bench.end40();
}

#[test]
fn a_lost_state_is_opened_again_by_name() {
    for status in [
        Nfsstat4::StaleStateid,
        Nfsstat4::BadStateid,
        Nfsstat4::OldStateid,
        Nfsstat4::Expired,
        Nfsstat4::AdminRevoked,
    ] {
        let mut bench = bench(at(Read, 1, Deed::Fail(1, status)));
        bench.succeed(create(NUMBER));
        bench.succeed(read_made());
        let counters = bench.counters();
        assert_eq!(
            (counters["lost_opens"], counters["OPEN"]),
            (1, 2),
            "{status}"
        );
        assert_eq!(bench.server.state().single, [Setclientid]);
        bench.forget_one();
        bench.end40();
    }
}

/// The number of an owner is wrong: another owner is used, and that one never again.
#[test]
fn an_owner_with_a_wrong_number_is_dropped() {
    for operation in [Open, Close] {
        let mut bench = bench(at(operation, 1, Deed::Fail(1, Nfsstat4::BadSeqid)));
        for number in 1..3 {
            bench.succeed(create(number));
            bench.succeed(remove(number));
        }
        let state = bench.server.state();
        let owners = if operation == Open { 1 } else { 2 };
        // The one that OPEN was refused to is not known to the server.
        assert_eq!(state.v40.owners(), owners, "{operation:?}");
        drop(state);
        let refused = u64::from(operation == Close);
        assert_eq!(bench.counted("refused_closes"), refused);
        if operation == Close {
            bench.forget_one();
        }
        bench.end40();
    }
}

#[test]
fn a_server_that_refuses_all_numbers_is_no_endless_loop() {
    let mut bench = bench(|seen| match seen.has(Open) {
        true => Deed::Fail(1, Nfsstat4::BadSeqid),
        false => Deed::Good,
    });
    let refused = Status::Refused(Nfsstat4::BadSeqid.to_u32());
    assert_eq!(bench.run(create(NUMBER)).status, refused);
    assert_eq!(bench.server.count(Open), 4);
    bench.end40();
}

/// What is to be sent later has used its number, what finds no resource has not.
#[test]
fn numbers_go_on_after_refusals() {
    for (status, tally) in [
        (Nfsstat4::Delay, "jukebox_waits"),
        (Nfsstat4::Grace, "grace_waits"),
    ] {
        for operation in [Open, Close] {
            let mut bench = bench(at(operation, 1, Deed::Fail(1, status)));
            bench.succeed(create(NUMBER));
            bench.succeed(remove(NUMBER));
            bench.succeed(create(NUMBER + 1));
            assert_eq!(bench.counted(tally), 1, "{status}");
            assert_eq!(bench.server.state().v40.owners(), 1);
            bench.end40();
        }
    }
    for status in [Nfsstat4::Resource, Nfsstat4::Moved, Nfsstat4::Exist] {
        let mut bench = bench(at(Open, 2, Deed::Fail(1, status)));
        bench.succeed(create(NUMBER));
        bench.succeed(remove(NUMBER));
        // The server knows the owner now.
        let refused = Status::Refused(status.to_u32());
        assert_eq!(bench.run(create(NUMBER)).status, refused);
        bench.succeed(create(NUMBER + 1));
        assert_eq!(bench.server.state().v40.owners(), 1, "{status}");
        bench.end40();
    }
}

#[test]
fn an_open_that_is_not_confirmed_is_opened_again() {
    for status in [
        Nfsstat4::BadStateid,
        Nfsstat4::StaleStateid,
        Nfsstat4::BadSeqid,
    ] {
        let mut bench = bench(at(OpenConfirm, 1, Deed::Fail(1, status)));
        bench.server.state().v40.confirms = true;
        bench.succeed(create(NUMBER));
        bench.succeed(read_made());
        assert_eq!(bench.server.count(Open), 2, "{status}");
        assert_eq!(bench.counted("lost_opens"), 1);
        bench.forget_one();
        bench.end40();
    }
}

#[test]
fn a_server_that_confirms_nothing_is_no_endless_loop() {
    let mut bench = bench(|seen| match seen.has(OpenConfirm) {
        true => Deed::Fail(1, Nfsstat4::BadStateid),
        false => Deed::Good,
    });
    bench.server.state().v40.confirms = true;
    bench.succeed(create(NUMBER));
    let refused = Status::Refused(Nfsstat4::BadStateid.to_u32());
    assert_eq!(bench.run(read_made()).status, refused);
    bench.server.state().opens.clear();
    bench.end40();
}

fn lock_made() -> Action {
    Action::V4(V4Action::Lock {
        object: ObjectId(100 + NUMBER),
    })
}

fn open_made() -> Action {
    Action::V4(V4Action::Open {
        dir: PROC_DIR,
        name: name(NameKind::Small, NUMBER),
        object: ObjectId(100 + NUMBER),
    })
}

/// The server has executed the operation, and its reply is lost with the connection.
#[test]
fn locks_whose_replies_were_lost_are_executed_once() {
    for (operation, nth) in [(Lock, 1), (Lock, 2), (Locku, 1), (Locku, 2)] {
        let mut bench = bench(at(operation, nth, Deed::CloseAfter));
        bench.server.state().v40.confirms = true;
        bench.succeed(create(NUMBER));
        for _ in 0..3 {
            bench.succeed(lock_made());
        }
        let counters = bench.counters();
        assert_eq!((counters["LOCK"], counters["LOCKU"]), (3, 3));
        assert!(!counters.contains_key("lost_opens"), "{counters:?}");
        bench.succeed(remove(NUMBER));
        assert_eq!(bench.server.state().replays, 1, "{operation:?} {nth}");
        bench.end40();
    }
}

/// What is to be sent later has used the numbers of both owners; the owner of the locks ends with the file.
#[test]
fn numbers_of_locks_go_on_after_refusals() {
    for operation in [Lock, Locku] {
        for nth in 1..3 {
            let mut bench = bench(at(operation, nth, Deed::Fail(1, Nfsstat4::Delay)));
            bench.succeed(create(NUMBER));
            for _ in 0..3 {
                bench.succeed(lock_made());
            }
            bench.succeed(remove(NUMBER));
            assert_eq!(bench.counted("jukebox_waits"), 1);
            bench.end40();
        }
    }
}

/// The file is closed, opened again, and locked by another owner: nothing is left on the server.
#[test]
fn a_lock_with_a_wrong_number_opens_its_file_again() {
    for nth in 1..3 {
        let mut bench = bench(at(Lock, nth, Deed::Fail(1, Nfsstat4::BadSeqid)));
        bench.succeed(create(NUMBER));
        bench.succeed(lock_made());
        bench.succeed(lock_made());
        let counters = bench.counters();
        assert_eq!((counters["CLOSE"], counters["OPEN"]), (1, 2), "{nth}");
        assert_eq!(counters["LOCKU"], 2);
        assert!(!counters.contains_key("lost_opens"), "{counters:?}");
        bench.end40();
    }
}

/// What could not be unlocked goes with the CLOSE.
#[test]
fn an_unlock_with_a_wrong_number_closes_its_file() {
    let mut bench = bench(at(Locku, 1, Deed::Fail(1, Nfsstat4::BadSeqid)));
    bench.succeed(create(NUMBER));
    let refused = Status::Refused(Nfsstat4::BadSeqid.to_u32());
    assert_eq!(bench.run(lock_made()).status, refused);
    bench.succeed(lock_made());
    let counters = bench.counters();
    assert_eq!((counters["CLOSE"], counters["OPEN"]), (1, 2));
    bench.end40();
}

/// OPEN_CONFIRM is a call of the operation; its owner opens the next file without it.
#[test]
fn an_operation_open_is_confirmed() {
    let mut bench = bench(|_| Deed::Good);
    bench.server.state().v40.confirms = true;
    let handles = &mut bench.shard.core.procs[0].handles;
    // The handle of a file is its name on this server.
    let text = name(NameKind::Small, NUMBER).text();
    handles.set(ObjectId(100 + NUMBER), text.as_bytes());
    for physical in [3, 2] {
        let outcome = bench.run(open_made());
        assert_eq!((outcome.status, outcome.physical), (Status::Ok, physical));
    }
    assert_eq!(bench.server.count(OpenConfirm), 1);
    assert_eq!(bench.server.state().v40.owners(), 1);
    bench.end40();
}

/// There are no slots: the number of calls under way has no limit of the protocol.
#[test]
fn calls_do_not_wait_for_slots() {
    let mut bench = bench(|_| Deed::Good);
    for _ in 0..100 {
        bench.submit(0, getattr());
    }
    assert!(bench.wait(100).values().all(|o| o.status == Status::Ok));
    assert_eq!(bench.counted("slot_waits"), 0);
    bench.end40();
}
