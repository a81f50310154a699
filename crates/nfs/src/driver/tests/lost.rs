//! Missing replies and broken connections.

use super::fake::{ServerAction, good, good_reply, refusal};
use super::*;
use filermark_onc::nfs3::{Args, Nfsstat3};
use filermark_onc::record::append_fragments;
use std::sync::Mutex;
use std::time::Duration;

fn short_timeouts() -> NfsPlan {
    NfsPlan {
        rpc_timeout_ms: 250,
        connect_timeout_ms: 200,
        ..plan()
    }
}

fn short_timeout_bench(
    script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static,
) -> Bench {
    Bench::with(short_timeouts(), 1, VerifyLevel::Sample, script)
}

/// Sends half of a reply and closes the connection.
fn cut(call: &ReceivedCall<'_>) -> Vec<ServerAction> {
    let mut bytes = Vec::new();
    append_fragments(&mut bytes, &good_reply(call), usize::MAX);
    bytes.truncate(bytes.len() / 2);
    vec![ServerAction::Raw(bytes), ServerAction::Close]
}

#[test]
fn a_connection_cut_in_a_reply_is_made_again_and_the_calls_are_retransmitted() {
    let xids = Arc::new(Mutex::new(Vec::new()));
    let seen = xids.clone();
    let mut bench = Bench::new(move |call| {
        seen.lock().expect("ok").push(call.xid);
        match call.nth {
            0 => cut(call),
            _ => good(call),
        }
    });
    let outcome = bench.run(read(0, 2 * SIZE));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(
        (outcome.physical, outcome.read_bytes),
        (2, u64::from(2 * SIZE))
    );
    let counters = bench.counters();
    assert_eq!(counters["READ"], 2);
    assert_eq!(counters["retransmits"], 2);
    assert_eq!(counters["reconnects"], 1);
    let xids = xids.lock().expect("ok");
    assert_eq!(xids[0], xids[xids.len() - 2], "the same xids again");
}

#[test]
fn a_call_without_a_reply_is_retransmitted_on_a_new_connection() {
    let mut bench = short_timeout_bench(|call| match call.nth {
        0 => Vec::new(),
        _ => {
            assert_eq!(call.conn, 1);
            good(call)
        }
    });
    let outcome = bench.run(getattr());
    assert_eq!(outcome.status, Status::Ok);
    assert!(outcome.done.since(outcome.sent) >= Nanos::from_millis(250));
    let expected = counted(&[
        ("GETATTR", 1),
        ("retransmits", 1),
        ("reconnects", 1),
        ("timeouts", 1),
    ]);
    assert_eq!(bench.counters(), expected);
}

#[test]
fn a_late_reply_to_an_ended_operation_is_dropped() {
    // Answers the first call only after the second one has arrived.
    let mut first = None;
    let mut plan = short_timeouts();
    plan.rpc_retries = 0;
    let mut bench = Bench::with(plan, 1, VerifyLevel::Sample, move |call| {
        match first.take() {
            None if call.nth == 0 => {
                first = Some(good_reply(call));
                Vec::new()
            }
            None => good(call),
            Some(late) => vec![
                ServerAction::Send(late),
                ServerAction::Send(good_reply(call)),
            ],
        }
    });
    assert_eq!(bench.status(getattr()), Status::TimedOut);
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(bench.counters()["stale_replies"], 1);
}

#[test]
fn a_silent_server_times_out_after_all_retries() {
    let mut bench = short_timeout_bench(|_| Vec::new());
    let outcome = bench.run(read(0, 2 * SIZE));
    assert_eq!(outcome.status, Status::TimedOut);
    assert_eq!(outcome.physical, 0);
    let took = outcome.done.since(outcome.sent);
    assert!(
        took >= Nanos::from_millis(740) && took < Nanos::from_millis(2500),
        "{took:?}"
    );
    let counters = bench.counters();
    assert_eq!((counters["timeouts"], counters["retransmits"]), (3, 4));
}

#[test]
fn operations_on_a_stopped_server_end_disconnected_after_all_retries() {
    let mut bench = short_timeout_bench(good);
    assert_eq!(bench.status(getattr()), Status::Ok);
    drop(bench.server.take());
    let outcome = bench.run(getattr());
    assert_eq!(outcome.status, Status::Disconnected);
    let counters = bench.counters();
    assert!(counters["connect_failures"] > 2, "{counters:?}");
    assert!(counters["connect_failures"] < 50, "too many: {counters:?}");
}

#[test]
fn a_stop_request_ends_the_wait_for_a_server() {
    let mut plan = plan();
    plan.rpc_timeout_ms = 60_000;
    let mut bench = Bench::with(plan, 1, VerifyLevel::Sample, good);
    drop(bench.server.take());
    bench.submit(0, getattr());
    let mut done = Vec::new();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(50);
    bench.shard.poll(soon, &mut done).expect("sockets work");
    assert!(done.is_empty());
    bench.stop.raise();
    let outcome = bench.wait(1)[&0];
    assert_eq!(outcome.status, Status::Disconnected);
    // Also when the operation begins only after the request.
    assert_eq!(bench.status(getattr()), Status::Disconnected);
}

#[test]
fn a_connection_closed_while_idle_is_made_again_when_needed() {
    let mut bench = Bench::new(|call| {
        let mut acts = good(call);
        if call.nth == 0 {
            acts.push(ServerAction::Close);
        }
        acts
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    std::thread::sleep(Duration::from_millis(20));
    let mut done = Vec::new();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(20);
    bench.shard.poll(soon, &mut done).expect("sockets work");
    assert!(!bench.shard.conns[0].is_up());
    assert_eq!(bench.status(getattr()), Status::Ok);
    let expected = counted(&[("GETATTR", 2), ("reconnects", 1)]);
    assert_eq!(bench.counters(), expected);
}

#[test]
fn a_stop_request_ends_waits_for_replies_and_jukebox_delays() {
    let mut plan = plan();
    plan.rpc_timeout_ms = 60_000;
    plan.jukebox_delay_ms = 60_000;
    let mut bench = Bench::with(plan, 2, VerifyLevel::Sample, |call| match call.args {
        Args::Getattr(_) => refusal(call, Nfsstat3::Jukebox),
        _ => Vec::new(),
    });
    bench.submit(0, getattr());
    bench.submit(1, Action::Null);
    let mut done = Vec::new();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(50);
    bench.shard.flush();
    bench.shard.poll(soon, &mut done).expect("sockets work");
    assert!(done.is_empty());
    assert_eq!(bench.counters()["jukebox_waits"], 1);
    bench.stop.raise();
    let outcomes = bench.wait(2);
    assert_eq!(outcomes[&0].status, Status::Refused(10008));
    assert_eq!(outcomes[&1].status, Status::TimedOut);
}

fn name_actions() -> [(Action, Nfsstat3); 6] {
    let dir = PROC_DIR;
    let small = name(NameKind::Small, 1);
    let object = ObjectId(20);
    let mkdir = Action::Mkdir {
        dir,
        name: small,
        object,
    };
    let rename = Action::Rename {
        dir,
        name: small,
        object: FILE,
        new_name: name(NameKind::Small, 2),
        new_object: FILE,
    };
    let link = Action::Link {
        object: FILE,
        dir,
        new_name: small,
        new_object: object,
    };
    [
        (create(1), Nfsstat3::Exist),
        (mkdir, Nfsstat3::Exist),
        (Action::Remove { dir, name: small }, Nfsstat3::Noent),
        (Action::Rmdir { dir, name: small }, Nfsstat3::Noent),
        (rename, Nfsstat3::Noent),
        (link, Nfsstat3::Exist),
    ]
}

#[test]
fn a_refusal_that_shows_an_earlier_execution_is_accepted() {
    for (action, status) in name_actions() {
        let mut bench = Bench::new(move |call| match call.nth {
            0 => cut(call),
            _ if matches!(call.args, Args::Lookup(_)) => good(call),
            _ => refusal(call, status),
        });
        assert_eq!(bench.status(action), Status::Ok, "{action:?}");
        assert_eq!(bench.counters()["replays_accepted"], 1);
        let refused = Status::Refused(status.to_u32());
        assert_eq!(
            bench.status(action),
            refused,
            "{action:?} for the first time"
        );
    }
}

#[test]
fn a_lost_reply_does_not_affect_other_calls_of_the_connection() {
    let mut plan = short_timeouts();
    plan.connections = Connections::Shared(1);
    // The reply to the fourth call never comes on the first connection.
    let mut bench = Bench::with(plan, 8, VerifyLevel::Sample, |call| {
        match (call.conn, call.nth) {
            (0, 3) => Vec::new(),
            _ => good(call),
        }
    });
    for proc in 0..8 {
        bench.submit(proc, getattr());
    }
    let outcomes = bench.wait(8);
    assert!(outcomes.values().all(|o| o.status == Status::Ok));
    let slow = outcomes
        .values()
        .filter(|o| o.done.since(o.sent) >= Nanos::from_millis(250));
    assert_eq!(slow.count(), 1);
    assert_eq!(bench.counters()["retransmits"], 1);
}

#[test]
fn a_server_that_cuts_every_connection_fails_in_time() {
    let mut bench = short_timeout_bench(cut);
    let outcome = bench.run(getattr());
    assert!(matches!(
        outcome.status,
        Status::Disconnected | Status::TimedOut
    ));
    let counters = bench.counters();
    assert!(counters["reconnects"] < 100, "too many: {counters:?}");
}
