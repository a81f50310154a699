//! Sessions, slots and opens where nothing goes wrong.

use super::*;
use crate::driver::sessions::opens::OPENS_MAX;
use filermark_engine::clock::Clock;
use filermark_onc::nfs4::Operation::*;
use filermark_onc::nfs4::callback::{self, CbRecallArgs, CbSequenceArgs};
use filermark_onc::nfs4::{
    CompoundRes, CompoundWriter, FileHandle4, Nfsstat4, PROC_COMPOUND, Stateid4,
};
use filermark_onc::rpc::{CallHeader, OpaqueAuth, ReplyHeader};
use filermark_onc::xdr::{self, Array, Decoder};
use std::time::{Duration, Instant};

fn good(_: &Seen) -> Deed {
    Deed::Good
}

/// Every operation of version 3 is one COMPOUND, and the counters name its operations.
#[test]
fn each_operation_is_translated_and_counted() {
    let dir = PROC_DIR;
    let [a, b] = [1, 2].map(|n| name(NameKind::Small, n));
    let object = ObjectId(50);
    let simple: &[(Action, &[Operation])] = &[
        (getattr(), &[Putfh, Getattr]),
        (Action::Fsstat, &[Putfh, Getattr]),
        (Action::Fsinfo, &[Putfh, Getattr]),
        (Action::Pathconf, &[Putfh, Getattr]),
        (
            Action::Setattr {
                object: FILE,
                size: Some(9),
            },
            &[Putfh, Setattr, Getattr],
        ),
        (
            Action::Lookup {
                dir,
                name: a,
                object,
            },
            &[Putfh, Lookup, Getfh, Getattr],
        ),
        (Action::Access { object: FILE }, &[Putfh, Access, Getattr]),
        (Action::Readlink { object: FILE }, &[Putfh, Readlink]),
        (
            Action::Mkdir {
                dir,
                name: a,
                object,
            },
            &[Putfh, Create, Getfh, Getattr],
        ),
        (
            Action::Symlink {
                dir,
                name: a,
                object,
            },
            &[Putfh, Create, Getfh, Getattr],
        ),
        (
            Action::Mknod {
                dir,
                name: a,
                object,
            },
            &[Putfh, Create, Getfh, Getattr],
        ),
        (
            Action::Rename {
                dir,
                name: a,
                object,
                new_name: b,
                new_object: object,
            },
            &[Putfh, Savefh, Putfh, Rename],
        ),
        (
            Action::Link {
                object: FILE,
                dir,
                new_name: b,
                new_object: object,
            },
            &[Putfh, Savefh, Putfh, Link, Restorefh, Getattr],
        ),
        (Action::Readdir { dir, plus: false }, &[Putfh, Readdir]),
        (Action::Readdir { dir, plus: true }, &[Putfh, Readdir]),
        (Action::Commit { object: FILE }, &[Putfh, Commit]),
        (remove(1), &[Putfh, Remove]),
        (Action::Rmdir { dir, name: a }, &[Putfh, Remove]),
    ];
    let mut bench = Bench::new(good);
    for (action, compound) in simple {
        let outcome = bench.run(*action);
        assert_eq!(outcome.status, Status::Ok, "{action:?}");
        assert_eq!(outcome.physical, 1, "{action:?}");
        let state = bench.server.state();
        assert_eq!(state.executed.last().map(Vec::as_slice), Some(*compound));
        drop(state);
        let counters = bench.counters();
        for operation in *compound {
            let times = compound.iter().filter(|o| *o == operation).count() as u64;
            assert_eq!(counters[operation.name()], times, "{action:?}");
        }
        assert_eq!((counters["COMPOUND"], counters["SEQUENCE"]), (1, 1));
    }
    bench.succeed(Action::Null);
    let counters = bench.counters();
    assert_eq!((counters.len(), counters["NULL"]), (1, 1));
    bench.end();
}

/// The OPEN is a part of the first operation that needs it, and later ones go without.
#[test]
fn a_file_is_opened_once_and_stays_open() {
    let mut bench = Bench::new(good);
    let first = bench.run(read(0, 2 * SIZE));
    assert_eq!((first.status, first.physical), (Status::Ok, 3));
    assert_eq!(first.read_bytes, 2 * u64::from(SIZE));
    let second = bench.run(write(0, SIZE));
    assert_eq!((second.status, second.physical), (Status::Ok, 1));
    bench.succeed(read(0, 0));
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["READ"]), (1, 3));
    assert_eq!(bench.server.count(Open), 1);
    bench.end();
}

/// Procs that share a connection are owners of their own; operations of one proc wait for the
/// same OPEN.
#[test]
fn each_proc_opens_a_file_for_itself_and_once() {
    let mut bench = Bench::with(shared(), 3, Server::start(16, good));
    for proc in 0..3 {
        for _ in 0..4 {
            bench.submit(proc, read(0, SIZE));
        }
    }
    let outcomes = bench.wait(12);
    assert!(outcomes.values().all(|o| o.status == Status::Ok));
    let state = bench.server.state();
    let owners: std::collections::BTreeSet<_> = state.opens.values().cloned().collect();
    assert_eq!((state.opens.len(), owners.len()), (3, 3));
    drop(state);
    bench.end();
}

#[test]
fn a_filled_file_is_closed_when_it_is_complete() {
    let mut bench = Bench::new(good);
    bench.server.state().stable = filermark_onc::nfs4::StableHow::Unstable;
    let outcome = bench.run(fill(1, 3 * u64::from(SIZE)));
    assert_eq!(outcome.status, Status::Ok);
    assert!(bench.server.state().opens.is_empty());
    let counts = [Open, Write, Commit, Close].map(|o| bench.server.count(o));
    assert_eq!(counts, [1, 3, 1, 1]);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["CLOSE"]), (1, 1));
    assert!(!counters.contains_key("refused_closes"), "{counters:?}");
    bench.end();
}

/// CREATE leaves its file open; it is closed before it is removed.
#[test]
fn a_created_file_is_closed_before_it_is_removed() {
    let mut bench = Bench::new(good);
    bench.succeed(create(1));
    assert_eq!(bench.server.state().opens.len(), 1);
    bench.succeed(remove(1));
    let state = bench.server.state();
    let compounds = &state.executed[state.executed.len() - 2..];
    assert_eq!(compounds, [vec![Putfh, Close], vec![Putfh, Remove]]);
    drop(state);
    // Renamed, the file is found by its new name.
    bench.succeed(create(2));
    bench.succeed(Action::Rename {
        dir: PROC_DIR,
        name: name(NameKind::Small, 2),
        object: ObjectId(102),
        new_name: name(NameKind::Small, 3),
        new_object: ObjectId(103),
    });
    bench.succeed(remove(3));
    assert!(bench.server.state().opens.is_empty());
    bench.end();
}

#[test]
fn a_proc_keeps_no_more_than_the_limit_open() {
    let mut bench = Bench::new(good);
    let count = OPENS_MAX as u32 + 10;
    for number in 0..count {
        bench.succeed(create(number));
    }
    let state = bench.server.state();
    // One more while another one is being closed.
    assert!(state.most_open <= OPENS_MAX + 1, "{}", state.most_open);
    assert_eq!(state.opens.len(), OPENS_MAX);
    drop(state);
    assert_eq!(bench.server.count(Close), 10);
    bench.end();
}

/// After RUN, and when objects are forgotten, nothing stays open.
#[test]
fn files_are_closed_at_the_end_of_a_phase() {
    let mut bench = Bench::new(good);
    for number in 0..5 {
        bench.succeed(create(number));
    }
    bench.counters();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_secs(60);
    bench.shard.make_stable(soon).expect("sockets work");
    assert!(bench.server.state().opens.is_empty());
    assert_eq!(bench.counters()["CLOSE"], 5);
    bench.succeed(create(6));
    bench.shard.forget_objects(0, ObjectId(1));
    bench.succeed(Action::Null);
    bench.end();
}

/// With few slots calls wait, and the wait is counted apart from the service time.
#[test]
fn calls_wait_for_a_free_slot() {
    let mut bench = Bench::with(shared(), 8, Server::start(2, good));
    for proc in 0..8 {
        bench.submit(proc, getattr());
    }
    assert!(bench.wait(8).values().all(|o| o.status == Status::Ok));
    let counters = bench.counters();
    assert_eq!(counters["slot_waits"], 6);
    assert_eq!(counters["COMPOUND"], 8);
    bench.end();
}

/// The server wants fewer slots, and more again later.
#[test]
fn slots_shrink_and_grow_as_the_server_wants() {
    let script = |seen: &Seen| match seen.nth {
        0 => Deed::Target(0, 0),
        1..8 => Deed::Target(0, 0),
        _ => Deed::Good,
    };
    let mut bench = Bench::with(shared(), 8, Server::start(8, script));
    bench.succeed(getattr());
    let usable = |bench: &Bench| {
        let client = &bench.shard.core.own.clients[0];
        let session = &client.session.as_ref().expect("up").session;
        (session.slots().usable(), session.slots().in_use())
    };
    assert_eq!(usable(&bench), (1, 0));
    for proc in 0..8 {
        bench.submit(proc, getattr());
    }
    bench.shard.flush();
    assert_eq!(usable(&bench), (1, 1), "the others wait");
    assert_eq!(bench.wait(8).len(), 8);
    assert_eq!(usable(&bench), (8, 0));
    bench.end();
}

fn callback(xid: u32, minor: MinorVersion, sequenceid: u32, sessionid: [u8; 16]) -> Vec<u8> {
    let mut out = Vec::new();
    let header = CallHeader {
        xid,
        prog: 0x4000_0000,
        vers: callback::VERSION,
        proc: PROC_COMPOUND,
        cred: OpaqueAuth::NONE,
        verf: OpaqueAuth::NONE,
    };
    xdr::append(&mut out, &header);
    let mut compound = CompoundWriter::begin_callback(&mut out, b"", minor.number(), 0);
    compound.op(&CbSequenceArgs {
        sessionid,
        sequenceid,
        slotid: 0,
        highest_slotid: 0,
        cachethis: false,
        referring_call_lists: Array::EMPTY,
    });
    compound.op(&CbRecallArgs {
        stateid: Stateid4::ANONYMOUS,
        truncate: false,
        fh: FileHandle4::new(b"file").expect("short"),
    });
    compound.finish();
    out
}

/// A recall of what the client does not have is answered, in the session and outside of one.
#[test]
fn calls_of_the_server_are_answered() {
    answers_calls(MinorVersion::V1, MinorVersion::V2);
}

/// The minor version of a session is that of its calls and of its callbacks.
#[test]
fn the_minor_version_is_that_of_all_calls_and_callbacks() {
    answers_calls(MinorVersion::V2, MinorVersion::V1);
}

fn answers_calls(minor: MinorVersion, other: MinorVersion) {
    let mut sessionid = [0; 16];
    // The server numbers clients and sessions from 1.
    sessionid[7] = 2;
    let mut bench = Bench::of_minor(minor, move |seen| match seen.nth {
        0 => Deed::Call(callback(77, minor, 1, sessionid)),
        1 => Deed::Call(callback(78, minor, 5, sessionid)),
        2 => Deed::Call(callback(79, minor, 2, [9; 16])),
        3 => Deed::Call(vec![0, 0, 0, 80, 0, 0, 0, 0]),
        4 => Deed::Call(callback(81, other, 2, sessionid)),
        _ => Deed::Good,
    });
    for _ in 0..6 {
        bench.succeed(getattr());
    }
    assert_eq!(bench.counters()["callbacks"], 5);
    let deadline = Instant::now() + Duration::from_secs(60);
    while bench.server.state().answers.len() < 4 {
        assert!(Instant::now() < deadline);
        bench.succeed(getattr());
    }
    let answers = bench.server.state().answers.clone();
    let statuses = answers.iter().map(|answer| {
        let mut d = Decoder::new(answer);
        let header: ReplyHeader<'_> = xdr::Decode::decode(&mut d).expect("a header");
        assert!(header.check().is_ok());
        let compound = CompoundRes::<callback::Operation>::decode(&mut d).expect("results");
        (header.xid, compound.status)
    });
    let expected = [
        (77, Nfsstat4::Badhandle),
        (78, Nfsstat4::SeqMisordered),
        (79, Nfsstat4::Badsession),
        (81, Nfsstat4::MinorVersMismatch),
    ];
    assert_eq!(statuses.collect::<Vec<_>>(), expected);
    bench.end();
}

/// A connection without calls sends SEQUENCE alone after a third of the lease, and once.
#[test]
fn an_idle_client_renews_its_lease() {
    renews_its_lease(MinorVersion::V1, poll_once);
}

/// Version 4.0: RENEW.
#[test]
fn an_idle_client_of_version_40_renews_its_lease() {
    renews_its_lease(MinorVersion::V0, poll_once);
}

fn poll_once(bench: &mut Bench) {
    let mut done = Vec::new();
    let now = bench.shard.core.state.clock.now();
    bench.shard.poll(now, &mut done).expect("sockets work");
    assert!(done.is_empty(), "no proc waits for it");
}

/// So it does between two phases, without a call of poll.
#[test]
fn a_client_renews_its_lease_between_phases() {
    renews_its_lease(MinorVersion::V1, |bench| {
        let wait = bench.shard.keep_alive().expect("a lease");
        assert!(wait > Nanos::ZERO);
    });
}

fn renews_its_lease(minor: MinorVersion, turn: impl Fn(&mut Bench)) {
    let clock = Clock::virtual_at_zero();
    let setup = ShardSetup {
        clock: clock.clone(),
        ..setup(1, VerifyLevel::Sample)
    };
    let server = Server::start(4, good);
    server.state().minor = minor;
    let plan = NfsPlan {
        version: minor.version(),
        ..plan()
    };
    let (compound, name): (&[Operation], _) = match minor.has_sessions() {
        true => (&[], "SEQUENCE"),
        false => (&[Renew], "RENEW"),
    };
    let mut bench = Bench::at(plan, setup, server);
    let third = Nanos(crate::version4::LEASE_ASSUMED.as_nanos() as u64 / 3);
    let renewals = |bench: &Bench| {
        let state = bench.server.state();
        state
            .executed
            .iter()
            .filter(|executed| executed.as_slice() == compound)
            .count()
    };
    clock.sleep_until(Nanos(third.0 - 1));
    turn(&mut bench);
    assert_eq!(bench.counters().get("lease_renewals"), None, "not yet");
    for nth in 1..=3 {
        clock.sleep_until(Nanos(nth * third.0 + nth));
        let deadline = Instant::now() + Duration::from_secs(60);
        while renewals(&bench) < nth as usize || bench.shard.core.calls.first(0).is_some() {
            assert!(Instant::now() < deadline);
            turn(&mut bench);
            std::thread::sleep(Duration::from_micros(200));
        }
        let counters = bench.counters();
        assert_eq!((counters["lease_renewals"], counters[name]), (1, 1));
    }
}

/// Clients whose shard could not be opened do not stay on the server.
#[test]
fn clients_of_every_connection_end() {
    let bench = Bench::with(plan(), 5, Server::start(4, good));
    assert_eq!(bench.server.state().clients.len(), 5);
    bench.end();
}

/// After a request to stop the clients end, too.
#[test]
fn clients_end_after_a_request_to_stop() {
    let mut bench = Bench::new(good);
    bench.succeed(create(1));
    bench.stop.raise();
    bench.end();
}

/// The set-up of a session would wait for its time-out if its call were gone.
#[test]
fn an_own_call_that_cannot_be_protected_is_kept_for_the_next_context() {
    use crate::driver::contexts::Contexts;
    use crate::driver::sessions::SessionConn;
    use crate::driver::variant::Variant;
    let Some(contexts) = Contexts::for_tests(1) else {
        return;
    };
    let mut bench = Bench::new(good);
    let core = &mut bench.shard.core;
    core.contexts = Some(Box::new(contexts));
    let mut call = Vec::new();
    core.template.begin(&mut call, 7, 0).finish(&mut call);
    core.own.conn(0).unsent = call.clone();
    let mut out = b"before".to_vec();
    Sessions::own_bytes(core, &mut SessionConn::default(), &mut out);
    assert_eq!(
        (out.as_slice(), &core.own.conn(0).unsent),
        (&b"before"[..], &call)
    );
    let contexts = core.contexts.as_mut().expect("as set");
    assert!(contexts.has_timer() && contexts.is_waiting(0));
}
