//! Several connections of one client and session.

use super::super::conns::Stage;
use super::*;
use crate::driver::open::clients_of;
use crate::driver::sessions::client::LOSSES_MAX;
use filermark_driver_kit::sockets::Event;
use filermark_model::plan::ClientIds;
use filermark_onc::nfs4::Nfsstat4;
use filermark_onc::nfs4::Operation::*;
use std::collections::BTreeSet;

fn good(_: &Seen) -> Deed {
    Deed::Good
}

/// A plan of one client with so many connections.
fn trunk(nconnect: u32) -> NfsPlan {
    NfsPlan {
        nconnect,
        ..shared()
    }
}

/// How often the server has seen an operation outside of sessions.
fn single(bench: &Bench, operation: Operation) -> usize {
    let state = bench.server.state();
    state.single.iter().filter(|o| **o == operation).count()
}

/// Does a GETATTR for each proc at once, so often.
fn stat_all(bench: &mut Bench, procs: u32, times: u32) {
    for _ in 0..times {
        for proc in 0..procs {
            bench.submit(proc, getattr());
        }
        let done = bench.wait(procs as usize);
        assert!(done.values().all(|o| o.status == Status::Ok), "{done:?}");
    }
}

fn conns_used(bench: &Bench) -> BTreeSet<usize> {
    bench.server.state().executed_on.iter().copied().collect()
}

/// One client ID and one session; the other connections are bound to it, and all have calls.
#[test]
fn calls_are_spread_over_the_connections_of_a_session() {
    let mut bench = Bench::with(trunk(3), 2, Server::start(16, good));
    stat_all(&mut bench, 2, 3);
    for (operation, times) in [(ExchangeId, 1), (CreateSession, 1), (BindConnToSession, 2)] {
        assert_eq!(single(&bench, operation), times, "{operation:?}");
    }
    let state = bench.server.state();
    // RECLAIM_COMPLETE is the first.
    let (_, of_calls) = state.executed_on.split_at(1);
    for conn in 0..3 {
        assert_eq!(of_calls.iter().filter(|on| **on == conn).count(), 2);
    }
    drop(state);
    let mut counters = BTreeMap::new();
    bench.shard.take_counters(&mut counters);
    let of = |name: &str| counters[name];
    assert_eq!((of("client_ids"), of("sessions")), (1, 1));
    assert_eq!((of("connections"), of("COMPOUND")), (3, 6));
    bench.end();
}

/// CLIENT_IDS=shared: the procs have connections of their own, and one client.
#[test]
fn all_connections_of_a_shard_are_one_client() {
    let plan = NfsPlan {
        client_ids: ClientIds::Shared,
        ..plan()
    };
    let mut bench = Bench::with(plan, 4, Server::start(16, good));
    stat_all(&mut bench, 4, 2);
    assert_eq!((bench.shard.conns.len(), conns_used(&bench).len()), (4, 4));
    assert_eq!(single(&bench, CreateSession), 1);
    bench.end();
}

/// NCONNECT with a connection per proc: each proc is a client with two connections.
#[test]
fn each_connection_of_the_rule_is_a_client_of_its_own() {
    let plan = NfsPlan {
        nconnect: 2,
        ..plan()
    };
    let mut bench = Bench::with(plan, 3, Server::start(16, good));
    stat_all(&mut bench, 3, 2);
    assert_eq!((bench.shard.conns.len(), conns_used(&bench).len()), (6, 6));
    assert_eq!(single(&bench, CreateSession), 3);
    bench.end();
}

/// One connection ends with the reply: it is made and bound again, and the same slot and number have the
/// kept reply. The other one goes on.
#[test]
fn a_reply_that_is_lost_with_one_connection_comes_over_the_next() {
    let mut is_over = false;
    let script = move |seen: &Seen| match seen.has(Open) && !is_over {
        true => {
            is_over = true;
            Deed::CloseAfter
        }
        false => Deed::Good,
    };
    let mut bench = Bench::with(trunk(2), 4, Server::start(16, script));
    for proc in 0..4 {
        bench.submit(proc, create(proc));
    }
    assert!(bench.wait(4).values().all(|o| o.status == Status::Ok));
    let state = bench.server.state();
    assert_eq!((state.replays, state.opens.len()), (1, 4));
    drop(state);
    let counters = bench.counters();
    assert_eq!((counters["OPEN"], counters["reconnects"]), (4, 1));
    assert!(!counters.contains_key("lost_sessions"));
    assert_eq!(single(&bench, CreateSession), 1);
    assert_eq!(single(&bench, BindConnToSession), 2);
    bench.end();
}

/// All connections end: each is bound again, and the session goes on.
#[test]
fn a_session_outlives_all_its_connections() {
    let mut bench = Bench::with(trunk(3), 3, Server::start(16, good));
    stat_all(&mut bench, 3, 1);
    bench.server.state().cut_all();
    stat_all(&mut bench, 3, 4);
    assert_eq!(single(&bench, CreateSession), 1);
    assert_eq!(single(&bench, BindConnToSession), 2 + 3);
    let counters = bench.counters();
    assert_eq!(counters["reconnects"], 3);
    bench.end();
}

/// The server has forgotten that a connection is bound: it is bound again, and its call is sent again.
#[test]
fn a_connection_that_is_not_bound_is_bound_again() {
    let mut bench = Bench::with(trunk(2), 2, Server::start(16, good));
    stat_all(&mut bench, 2, 1);
    bench.server.state().unbind(1);
    stat_all(&mut bench, 2, 2);
    let counters = bench.counters();
    assert_eq!((counters["reconnects"], counters["bound_sessions"]), (1, 2));
    assert_eq!(counters["COMPOUND"], 6, "none is a new call");
    bench.end();
}

/// The session is lost while all connections have calls: one creates the next session, and the others are
/// bound to that.
#[test]
fn a_session_that_is_lost_on_all_connections_is_created_once() {
    for all in [false, true] {
        let script = move |seen: &Seen| match seen.nth {
            20 => Deed::Forget(all),
            _ => Deed::Good,
        };
        let mut bench = Bench::with(trunk(4), 16, Server::start(16, script));
        stat_all(&mut bench, 16, 4);
        let counters = bench.counters();
        assert_eq!(counters["lost_sessions"], 1);
        assert_eq!(counters.get("lost_clients").copied(), all.then_some(1));
        // The first session, and one in place of it, tried with the client ID that is lost at first.
        assert_eq!(single(&bench, CreateSession), 2 + usize::from(all));
        // Of the 16 at once those are executed again whose replies were not read before.
        let state = bench.server.state();
        let stats = state.executed.iter().filter(|ops| ops.contains(&Getattr));
        let again = stats.count() - 64;
        assert!((1..=16 + usize::from(all)).contains(&again), "{again}");
        drop(state);
        bench.end();
    }
}

/// Slots are the session's: with fewer than connections, a connection without a call under way gets one, too.
#[test]
fn connections_wait_for_the_slots_of_their_session() {
    let mut bench = Bench::with(trunk(4), 16, Server::start(2, good));
    stat_all(&mut bench, 16, 3);
    let counters = bench.counters();
    assert_eq!((counters["COMPOUND"], counters["slot_waits"]), (48, 3 * 14));
    assert!(counters.contains_key("slot_wait_us"));
    assert_eq!(conns_used(&bench).len(), 4);
    bench.end();
}

/// The server wants one slot: no other is used over any connection.
#[test]
fn slots_shrink_over_all_connections() {
    let script = |seen: &Seen| match seen.nth {
        0..12 => Deed::Target(0, 0),
        _ => Deed::Good,
    };
    let mut bench = Bench::with(trunk(3), 6, Server::start(8, script));
    bench.succeed(getattr());
    for proc in 0..6 {
        bench.submit(proc, getattr());
    }
    bench.shard.flush();
    let slots = |bench: &Bench| {
        let session = &bench.shard.core.own.clients[0]
            .session
            .as_ref()
            .expect("up")
            .session;
        (session.slots().usable(), session.slots().in_use())
    };
    assert_eq!(slots(&bench), (1, 1), "the others wait");
    bench.wait(6);
    stat_all(&mut bench, 6, 2);
    assert_eq!(slots(&bench), (8, 0));
    bench.end();
}

/// No call waits on a connection that the server does not bind, also while there is no other one.
#[test]
fn a_connection_that_was_refused_gets_no_call() {
    let mut bench = Bench::with(trunk(3), 1, Server::start(16, good));
    for conn in 0..3 {
        bench.shard.core.own.conn(conn).stage = Stage::Down;
    }
    bench.shard.core.own.conn(1).is_refused = true;
    for _ in 0..6 {
        bench.submit(0, getattr());
    }
    let calls = [0, 1, 2].map(|conn| bench.shard.core.calls.first(conn).is_some());
    assert_eq!(calls, [true, false, true]);
    for conn in 0..3 {
        bench.shard.core.own.conn(conn).stage = Stage::Up;
    }
    bench.shard.flush();
    bench.wait(6);
    bench.end();
}

/// A server that binds no further connection: a sentence, and no client is left.
#[test]
fn a_server_that_binds_no_other_connection_is_named() {
    let server = Server::start(16, good);
    server.state().bind_refusal = Some(Nfsstat4::Inval);
    let plan = trunk(2);
    let driver = NfsDriver::new(plan);
    let setup = setup(1, VerifyLevel::Sample);
    let place = MountState {
        host: "server.test".to_owned(),
        address: server.address,
        file_system: file_system(),
    };
    let key = (mount(), setup.claim.dir_name.clone());
    driver.mounts.lock().expect("unlocked").insert(key, place);
    let error = driver.shard4(setup, MinorVersion::V1).expect_err("refused");
    assert!(error.reason.contains("does not bind another"), "{error:?}");
    assert!(server.state().clients.is_empty());
}

/// Behind a balancer that spreads connections over servers, each of them knows only the sessions that were set up
/// on it: that is not repeated without end, also not when calls are executed meanwhile.
#[test]
fn sessions_that_only_one_connection_knows_are_not_set_up_without_end() {
    let server = Server::start(16, good);
    let mut bench = Bench::with(trunk(2), 2, server);
    bench.server.state().bind_refusal = Some(Nfsstat4::Badsession);
    bench.server.state().cut_all();
    let mut ended = 0;
    for _ in 0..40 {
        for proc in 0..2 {
            bench.submit(proc, getattr());
        }
        let done = bench.wait(2);
        ended = done.values().filter(|o| o.status != Status::Ok).count();
    }
    assert_eq!(ended, 0, "calls go over the connection that is left");
    let conns = &bench.shard.core.own.conns;
    let refused: Vec<u32> = (0..2)
        .filter(|conn| conns[*conn as usize].is_refused)
        .collect();
    assert_eq!(refused.len(), 1);
    let sessions = single(&bench, CreateSession);
    assert!((8..=12).contains(&sessions), "{sessions}");
    let core = &mut bench.shard.core;
    let event = core.refuse_conn(
        refused[0],
        Nfsstat4::Badsession,
        super::super::setup::SPREAD,
    );
    assert!(
        matches!(&event, Event::Refused(why) if why.contains("balancer") && why.contains("NCONNECT=1")),
        "{event:?}"
    );
    bench.end_with_sessions();
}

/// Restarts of a server that are a lease apart do not count as that.
#[test]
fn sessions_may_be_lost_again_after_a_lease() {
    let mut bench = Bench::with(trunk(2), 1, Server::start(16, good));
    let client = &mut bench.shard.core.own.clients[0];
    let (mut now, lease) = (
        Nanos::from_secs(1000),
        client.renewal_wait().expect("a session"),
    );
    let long = Nanos(lease.0 * 3).max(Nanos::from_secs(10));
    for _ in 0..3 * LOSSES_MAX {
        now = now + long;
        assert!(client.lose_on_another(now));
    }
    for _ in 1..LOSSES_MAX {
        now = now + Nanos(long.0 - 1);
        assert!(client.lose_on_another(now));
    }
    assert!(!client.lose_on_another(now));
    bench.end();
}

/// With CLIENT_IDS=shared the connections to one server are a client; a connection without a proc belongs to the
/// server of the one before.
#[test]
fn clients_follow_from_the_plan_and_the_servers() {
    let targets = BTreeMap::from([(0, "a"), (1, "b"), (2, "a"), (4, "c")]);
    let shared = NfsPlan {
        client_ids: ClientIds::Shared,
        ..plan()
    };
    assert_eq!(clients_of(&shared, 6, &targets), [0, 1, 0, 0, 2, 2]);
    assert_eq!(clients_of(&trunk(2), 6, &targets), [0, 0, 1, 1, 2, 2]);
    assert_eq!(clients_of(&plan(), 3, &targets), [0, 1, 2]);
}

/// The wait of a call for the window of its context is counted from when both are there.
#[test]
fn waits_for_the_window_of_a_context_are_counted_as_time() {
    use crate::driver::contexts::{Contexts, Space};
    let Some(contexts) = Contexts::for_tests(1) else {
        return;
    };
    let mut bench = Bench::new(good);
    let core = &mut bench.shard.core;
    core.contexts = Some(Box::new(contexts));
    let begun = core.state.tick();
    let wait = |core: &mut Core<Sessions>, since: Nanos, now: Nanos| {
        let contexts = core.contexts.as_mut().expect("as set");
        *contexts.full_since(0).expect("a connection") = Some(since);
        core.state.now = now;
        core.count_window_wait(0);
    };
    wait(core, begun, begun + Nanos(5_000_000));
    assert_eq!(bench.counters().get("window_waits"), None, "no call waits");
    bench.submit(0, getattr());
    let core = &mut bench.shard.core;
    let slot = core.calls.next_to_encode(0).expect("it waits");
    let of_call = core.calls.get(slot).first;
    // The window was full before the call, and became full after it.
    wait(core, Nanos(of_call.0 - 1_000), of_call + Nanos(2_000_000));
    wait(core, of_call + Nanos(1_000_000), of_call + Nanos(4_000_000));
    core.end_window_wait(0);
    core.count_window_wait(0);
    let contexts = core.contexts.as_mut().expect("as set");
    assert_eq!(contexts.space(0, of_call), Space::Free);
    core.contexts = None;
    let counters = bench.counters();
    assert_eq!(
        (counters["window_waits"], counters["window_wait_us"]),
        (2, 5_000)
    );
    bench.wait(1);
    bench.end();
}

/// The only call of a connection ends and the session cannot be used any more: the calls of the others, which
/// wait for slots, do not wait for that connection.
#[test]
fn calls_do_not_wait_for_a_connection_that_has_none() {
    let script = |seen: &Seen| match seen.nth {
        0 => Deed::Used(Nfsstat4::SeqMisordered),
        _ => Deed::Good,
    };
    let plan = NfsPlan {
        rpc_timeout_ms: 30_000,
        ..trunk(2)
    };
    let mut bench = Bench::with(plan, 2, Server::start(1, script));
    for proc in 0..2 {
        bench.submit(proc, getattr());
    }
    let ended = bench.wait(2);
    let refused = ended.values().filter(|o| o.status != Status::Ok).count();
    assert_eq!(refused, 1, "{ended:?}");
    assert_eq!(bench.counters().get("timeouts"), None);
    bench.end_with_sessions();
}
