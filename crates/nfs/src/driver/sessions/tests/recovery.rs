//! Lost connections, sessions and clients, and servers that are not ready.

use super::*;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;

/// One operation is treated as `deed` says, everything else is good.
fn once(operation: Operation, deed: Deed) -> impl FnMut(&Seen) -> Deed + Send + 'static {
    let mut left = Some(deed);
    move |seen| match seen.has(operation) {
        true => left.take().unwrap_or(Deed::Good),
        false => Deed::Good,
    }
}

/// The server has executed a CREATE and the reply is lost with the connection: the session goes
/// on, the call is sent again in its slot, and the kept reply comes.
#[test]
fn a_call_whose_reply_was_lost_is_executed_once() {
    let mut bench = Bench::new(once(Open, Deed::CloseAfter));
    let outcome = bench.run(create(1));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
    let state = bench.server.state();
    assert_eq!((state.replays, state.opens.len()), (1, 1));
    assert!(state.single.contains(&BindConnToSession));
    drop(state);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["retransmits"]), (1, 1));
    assert_eq!((counters["reconnects"], counters["bound_sessions"]), (1, 1));
    assert!(!counters.contains_key("replays_accepted"));
    bench.end();
}

/// A reply that was not to be kept: the call is sent as a new one.
#[test]
fn a_read_whose_reply_was_lost_is_read_again() {
    for reports_behind in [false, true] {
        let mut bench = Bench::new(once(Read, Deed::CloseAfter));
        bench.server.state().reports_behind = reports_behind;
        bench.succeed(read(0, SIZE));
        let counters = bench.counters();
        assert_eq!(counters["uncached_replies"], 1);
        assert_eq!((counters["READ"], counters["OPEN"]), (2, 1));
        bench.end();
    }
}

/// A server that keeps no replies: OPEN and CREATE are sent as new calls.
#[test]
fn calls_are_sent_anew_to_a_server_that_keeps_no_replies() {
    let mut bench = Bench::new(once(Open, Deed::CloseAfter));
    bench.server.state().keeps = false;
    bench.succeed(read(0, SIZE));
    let counters = bench.counters();
    assert_eq!((counters["uncached_replies"], counters["OPEN"]), (1, 2));
    bench.server.state().opens.pop_first();
    bench.end();
}

#[test]
fn a_call_that_was_not_executed_is_executed_after_a_reconnect() {
    let mut bench = Bench::new(once(Access, Deed::CloseBefore));
    bench.succeed(Action::Access { object: FILE });
    assert_eq!(bench.server.count(Access), 1);
    bench.end();
}

/// The session is lost: the client stays, and with it what is open.
#[test]
fn a_lost_session_is_created_again() {
    for status in [Nfsstat4::Badsession, Nfsstat4::Deadsession] {
        let mut bench = Bench::new(once(Write, Deed::Sequence(status)));
        bench.succeed(read(0, SIZE));
        bench.succeed(write(0, SIZE));
        let counters = bench.counters();
        assert_eq!(counters["lost_sessions"], 1);
        assert_eq!(counters["OPEN"], 1, "it is still open");
        assert!(!counters.contains_key("lost_clients"));
        let state = bench.server.state();
        let made = |o| state.single.iter().filter(|s| **s == o).count();
        assert_eq!((made(ExchangeId), made(CreateSession)), (1, 2));
        drop(state);
        bench.end_with_sessions();
    }
}

/// The server has forgotten everything, as after a restart: a new client, and files are opened
/// again.
#[test]
fn a_lost_client_opens_its_files_again() {
    let mut bench = Bench::new(once(Write, Deed::Forget(true)));
    bench.succeed(read(0, SIZE));
    bench.succeed(write(0, SIZE));
    let counters = bench.counters();
    assert_eq!(
        (counters["lost_sessions"], counters["lost_clients"]),
        (1, 1)
    );
    assert_eq!((counters["lost_opens"], counters["OPEN"]), (1, 2));
    bench.end();
}

/// A CREATE that an earlier session may have executed finds its file: it counts as done.
#[test]
fn a_create_repeated_in_a_new_session_may_find_its_file() {
    let mut nth = 0;
    let script = move |seen: &Seen| {
        if !seen.has(Open) {
            return Deed::Good;
        }
        nth += 1;
        match nth {
            1 => Deed::CloseBefore,
            2 => Deed::Sequence(Nfsstat4::Badsession),
            3 => Deed::Fail(1, Nfsstat4::Exist),
            _ => Deed::Good,
        }
    };
    let mut bench = Bench::new(script);
    bench.succeed(create(1));
    let counters = bench.counters();
    assert_eq!((counters["replays_accepted"], counters["LOOKUP"]), (1, 1));
    bench.end_with_sessions();
}

#[test]
fn a_create_that_finds_a_file_at_once_fails() {
    let mut bench = Bench::new(once(Open, Deed::Fail(1, Nfsstat4::Exist)));
    let outcome = bench.run(create(1));
    let exist = Status::Refused(Nfsstat4::Exist.to_u32());
    assert_eq!(outcome.status, exist);
    bench.end();
}

/// A session that is lost again and again ends the call with the server's status.
#[test]
fn sessions_are_not_created_forever() {
    let mut bench = Bench::new(|seen| match seen.has(Getattr) {
        true => Deed::Sequence(Nfsstat4::Badsession),
        false => Deed::Good,
    });
    let outcome = bench.run(getattr());
    let lost = Status::Refused(Nfsstat4::Badsession.to_u32());
    assert_eq!(outcome.status, lost);
    assert!(bench.counters()["lost_sessions"] <= 10);
}

/// Servers that are not ready: the wait is part of the operation and counted.
#[test]
fn a_busy_server_is_asked_again() {
    for (deed, counter) in [
        (Deed::Fail(1, Nfsstat4::Delay), "jukebox_waits"),
        (Deed::Fail(1, Nfsstat4::Grace), "grace_waits"),
        (Deed::Sequence(Nfsstat4::Delay), "jukebox_waits"),
    ] {
        // The sequence number of a call whose SEQUENCE was delayed is still expected.
        let mut bench = Bench::new(once(Open, deed.clone()));
        let outcome = bench.run(read(0, SIZE));
        assert_eq!((outcome.status, outcome.physical), (Status::Ok, 2));
        let took = outcome.done.since(outcome.sent);
        assert!(took >= Nanos::from_millis(10), "{took:?}");
        let counters = bench.counters();
        assert_eq!(counters[counter], 1, "{deed:?}");
        bench.end();
    }
}

/// A server that delays SEQUENCE and has counted the call nevertheless: the repetition is
/// taken for a retry without a kept reply, and is sent as a new call.
#[test]
fn a_server_that_counts_a_delayed_call_is_tolerated() {
    let mut bench = Bench::new(once(Open, Deed::Used(Nfsstat4::Delay)));
    bench.succeed(read(0, SIZE));
    let counters = bench.counters();
    assert_eq!((counters["uncached_replies"], counters["READ"]), (1, 1));
    bench.end();
}

/// State that the server has revoked: the file is opened again within the same operation.
#[test]
fn revoked_opens_are_opened_again() {
    for status in [
        Nfsstat4::BadStateid,
        Nfsstat4::StaleStateid,
        Nfsstat4::AdminRevoked,
        Nfsstat4::Expired,
    ] {
        let mut bench = Bench::new(once(Write, Deed::Fail(1, status)));
        bench.succeed(write(0, SIZE));
        let counters = bench.counters();
        assert_eq!((counters["OPEN"], counters["WRITE"]), (2, 2));
        assert_eq!(counters["lost_opens"], 1, "{status}");
    }
    // Not forever.
    let mut bench = Bench::new(|seen| match seen.has(Read) {
        true => Deed::Fail(1, Nfsstat4::BadStateid),
        false => Deed::Good,
    });
    let outcome = bench.run(read(0, SIZE));
    let bad = Status::Refused(Nfsstat4::BadStateid.to_u32());
    assert_eq!(outcome.status, bad);
}

/// An OPEN that is refused ends all operations that wait for it.
#[test]
fn a_refused_open_ends_what_waits_for_it() {
    let mut bench = Bench::with(shared(), 1, {
        Server::start(16, |seen| match seen.has(Open) {
            true => Deed::Fail(1, Nfsstat4::Access),
            false => Deed::Good,
        })
    });
    for _ in 0..3 {
        bench.submit(0, read(0, 2 * SIZE));
    }
    let refused = Status::Refused(Nfsstat4::Access.to_u32());
    assert!(bench.wait(3).values().all(|o| o.status == refused));
    assert!(bench.shard.core.own.waiting.is_empty());
    bench.end();
}

#[test]
fn flags_in_the_status_are_counted_once() {
    let mut bench = Bench::new(|seen| match seen.nth {
        0..3 => Deed::Target(15, 0x0008),
        _ => Deed::Good,
    });
    for _ in 0..4 {
        bench.succeed(getattr());
    }
    let counters = bench.counters();
    assert_eq!(
        (counters["status_flags"], counters["revoked_states"]),
        (1, 1)
    );
    bench.end();
}

/// A call without a reply ends after its retries; the slot is not used again, and the next
/// connection gets a session of its own.
#[test]
fn a_slot_without_a_reply_is_given_up_with_its_session() {
    let plan = NfsPlan {
        rpc_timeout_ms: 50,
        rpc_retries: 0,
        ..plan()
    };
    let server = Server::start(4, once(Access, Deed::Silent));
    let mut bench = Bench::with(plan, 1, server);
    let outcome = bench.run(Action::Access { object: FILE });
    assert_eq!(outcome.status, Status::TimedOut);
    while bench.run(getattr()).status != Status::Ok {}
    let state = bench.server.state();
    let sessions = state.single.iter().filter(|o| **o == CreateSession);
    assert!(sessions.count() >= 2);
    drop(state);
    let now = bench.shard.core.state.clock.now();
    assert_eq!(bench.shard.end(now + Nanos::from_secs(60)), 0);
    assert!(bench.server.state().clients.is_empty());
}
