//! The loop with a protocol of its own: like NFSv4.1 it has a session with slots and sequence
//! numbers, which outlives its connection, a set-up of two steps, and calls of the server on
//! the same connection.

mod peer;
mod session;

use super::*;
use filermark_engine::clock::Clock;
use filermark_engine::driver::{
    Action, Completion, Outcome, Request, ShardDriver, Status, StopFlag, Submit,
};
use filermark_model::Nanos;
use filermark_model::plan::{Connections, Transport};
use peer::{Answer, Peer};
use session::{ConnState, Core};
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(20);

/// A protocol whose calls are sent again after a loss, and one whose calls end.
type Again = Core<true>;
type Fails = Core<false>;

const REPLY_TIMEOUT: Nanos = Nanos::from_secs(5);

/// A shard whose procs share one connection to a peer.
fn open<const AGAIN: bool>(peer: &Peer, procs: usize) -> Result<Shard<Core<AGAIN>>, String> {
    open_at(peer, procs, Clock::virtual_at_zero())
}

fn open_at<const AGAIN: bool>(
    peer: &Peer,
    procs: usize,
    clock: Clock,
) -> Result<Shard<Core<AGAIN>>, String> {
    let rule = Connections::Shared(1);
    let mut conns = ConnectionAssigner::new(rule, Transport::Tcp, 0, 1);
    for _ in 0..procs {
        conns.next((), peer.address, ConnState::default);
    }
    let conns = conns.finish();
    let core = Core::new(
        // Replies are late only where a test advances the clock.
        LoopState::new(clock, StopFlag::new()),
        Calls::new(conns.len(), 0, 0),
    );
    let settings = SocketSettings {
        retries: 2,
        ..SocketSettings::streams(Nanos::from_secs(10), REPLY_TIMEOUT)
    };
    let mut shard = Shard::new(core, conns, settings).expect("files are left");
    match shard.connect_all() {
        Ok(()) => Ok(shard),
        Err(error) => Err(error.to_string()),
    }
}

fn submit<const AGAIN: bool>(shard: &mut Shard<Core<AGAIN>>, tokens: std::ops::Range<u32>) {
    for token in tokens {
        let request = Request {
            token,
            proc: token,
            action: Action::Null,
        };
        assert!(matches!(shard.submit(&request), Submit::Queued));
    }
}

/// Runs the shard until `is_over`.
fn run<const AGAIN: bool>(
    shard: &mut Shard<Core<AGAIN>>,
    mut is_over: impl FnMut(&[Completion]) -> bool,
) -> BTreeMap<u32, Outcome> {
    let began = Instant::now();
    let mut done = Vec::new();
    while !is_over(&done) {
        assert!(began.elapsed() < LONG, "{} came", done.len());
        shard.flush();
        let now = shard.core.state.now;
        shard.poll(now, &mut done).expect("sockets work");
        std::thread::sleep(Duration::from_micros(200));
    }
    done.iter().map(|d| (d.token, d.outcome)).collect()
}

/// Waits for this number of completions.
fn wait<const AGAIN: bool>(shard: &mut Shard<Core<AGAIN>>, count: usize) -> BTreeMap<u32, Outcome> {
    let outcomes = run(shard, |done| done.len() >= count);
    assert_eq!(outcomes.len(), count);
    outcomes
}

fn all_ok(outcomes: &BTreeMap<u32, Outcome>) -> bool {
    outcomes.values().all(|o| o.status == Status::Ok)
}

#[test]
fn a_session_is_set_up_and_its_slots_limit_the_calls() {
    let peer = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let mut shard = open::<true>(&peer, 6).expect("it is accepted");
    assert_eq!(shard.core.slots.len(), 2, "as in the peer's message");
    submit(&mut shard, 0..6);
    assert!(all_ok(&wait(&mut shard, 6)));
    let seen = peer.end();
    assert_eq!(seen.set_ups, 1);
    assert_eq!(seen.executed.len(), 6);
    assert_eq!(seen.most_at_once, 2);
    assert!(shard.core.incidents.is_empty());
}

#[test]
fn a_connection_is_made_while_the_shard_runs() {
    let first = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let aside = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let mut shard = open::<true>(&first, 6).expect("it is accepted");
    shard.core.aside = Some(aside.address);
    submit(&mut shard, 0..6);
    assert!(all_ok(&wait(&mut shard, 6)));
    assert_eq!(shard.conns.len(), 2);
    let (first, aside) = (first.end(), aside.end());
    assert_eq!((first.executed.len(), aside.executed.len()), (0, 6));
    assert_eq!((first.set_ups, aside.set_ups), (1, 1));
}

#[test]
fn calls_of_a_connection_that_cannot_be_made_go_on_with_another_one() {
    let peer = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let mut shard = open::<true>(&peer, 3).expect("it is accepted");
    // The other end of a connection: no program can listen there while it is open.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let held = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    shard.core.aside = held.local_addr().ok();
    submit(&mut shard, 0..3);
    while !shard.core.incidents.contains_key("ConnectFailure") {
        run(&mut shard, once());
    }
    shard.core.state.clock.sleep_until(Nanos::from_secs(2));
    assert!(all_ok(&wait(&mut shard, 3)));
    assert_eq!(peer.end().executed.len(), 3);
    assert!(shard.core.incidents["ConnectFailure"] > 0);
}

/// A port that answers no connection: the queue of its listener is full. Both are to be kept.
#[cfg(target_os = "linux")]
fn silent_port() -> (std::net::SocketAddr, socket2::Socket, TcpStream) {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().expect("an address");
    socket.bind(&any.into()).expect("a port");
    socket.listen(0).expect("listens");
    let address = socket.local_addr().expect("bound");
    let address = address.as_socket().expect("an address");
    let first = TcpStream::connect(address).expect("the queue has one place");
    (address, socket, first)
}

/// A server that drops the packets of a connection that is to be made: its calls end after the time for that
/// server, not after that to connect, and those of other connections go on meanwhile.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_does_not_answer_a_connection_holds_nothing_up() {
    let peer = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let (silent, _listener, _first) = silent_port();
    let mut shard = open::<true>(&peer, 4).expect("it is accepted");
    submit(&mut shard, 0..1);
    assert!(all_ok(&wait(&mut shard, 1)));
    shard.core.aside = Some(silent);
    submit(&mut shard, 1..3);
    shard.core.aside = None;
    submit(&mut shard, 3..4);
    assert!(wait(&mut shard, 1).contains_key(&3), "the others go on");
    let clock = shard.core.state.clock.clone();
    clock.sleep_until(Nanos::from_secs(2));
    // They go on with the first connection.
    assert!(all_ok(&wait(&mut shard, 2)));
    assert_eq!(shard.core.incidents["ConnectFailure"], 1);
    assert_eq!(peer.end().executed.len(), 4);
}

/// The usual server is given up after the first set-up that has taken so long without an answer.
#[cfg(target_os = "linux")]
#[test]
fn a_set_up_without_an_answer_counts_as_time_out_of_reach() {
    let peer = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let (silent, _listener, _first) = silent_port();
    let mut shard = open::<true>(&peer, 1).expect("it is accepted");
    shard.core.aside_gone_after = Nanos::MAX;
    shard.io.settings.gone_after = Nanos::from_secs(10);
    shard.core.aside = Some(silent);
    shard.io.settings.retries = u16::MAX;
    submit(&mut shard, 0..1);
    let clock = shard.core.state.clock.clone();
    run(&mut shard, once());
    clock.sleep_until(Nanos::from_secs(10));
    assert!(all_ok(&wait(&mut shard, 1)));
    assert_eq!(shard.core.incidents["ConnectFailure"], 1);
}

/// The connection is there, but this thread comes to see it when the time is over.
#[test]
fn a_connection_that_is_seen_late_is_used() {
    let first = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let aside = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let mut shard = open::<true>(&first, 1).expect("it is accepted");
    shard.core.aside = Some(aside.address);
    submit(&mut shard, 0..1);
    shard.flush();
    let began = Instant::now();
    while !shard.conns[1].is_made() {
        assert!(began.elapsed() < LONG, "not connected");
        std::thread::sleep(Duration::from_micros(200));
    }
    shard.core.state.clock.sleep_until(Nanos::from_secs(3));
    assert!(all_ok(&wait(&mut shard, 1)));
    assert_eq!(aside.end().executed.len(), 1);
    assert!(shard.core.incidents.is_empty());
}

#[test]
fn no_call_goes_on_with_another_connection_when_a_phase_is_broken_off() {
    let first = Peer::start(2, |_, message| vec![Answer::Reply(message)]);
    let aside = Peer::start(2, |_, _| Vec::new());
    let mut shard = open::<true>(&first, 1).expect("it is accepted");
    shard.core.aside = Some(aside.address);
    submit(&mut shard, 0..1);
    run(&mut shard, |_| aside.call_count() == 1);
    shard.break_off();
    assert_eq!(wait(&mut shard, 1)[&0].status, Status::Disconnected);
    assert_eq!(first.end().executed.len(), 0);
    assert!(!shard.core.state.stopping);
}

/// All calls of one turn are sent in one write.
#[test]
fn calls_of_one_turn_are_sent_together() {
    let peer = Peer::start(200, |_, message| vec![Answer::Reply(message)]);
    let mut shard = open::<true>(&peer, 100).expect("it is accepted");
    // The two messages of the set-up.
    assert_eq!(shard.io.system_calls.writes, 2);
    for (from, writes) in [(0, 3), (100, 4)] {
        submit(&mut shard, from..from + 100);
        assert!(all_ok(&wait(&mut shard, 100)));
        assert_eq!(shard.io.system_calls.writes, writes);
    }
    assert!(shard.conns.iter().all(|c| c.buffer_bytes() == 0));
}

#[test]
fn the_servers_own_calls_are_answered_on_the_same_connection() {
    let peer = Peer::start(4, |nth, message| {
        vec![Answer::Call(nth as u32), Answer::Reply(message)]
    });
    let mut shard = open::<true>(&peer, 4).expect("it is accepted");
    submit(&mut shard, 0..4);
    assert!(all_ok(&wait(&mut shard, 4)));
    let mut answered = Vec::new();
    run(&mut shard, |_| {
        answered.append(&mut peer.end().answered);
        answered.len() == 4
    });
    assert_eq!(answered, [0, 1, 2, 3]);
}

/// The peer has executed the call and the reply is lost with the connection: the call is sent
/// again in its slot with its number, after a new set-up, and is not executed again.
#[test]
fn calls_are_replayed_in_their_slots_on_the_next_connection() {
    let peer = Peer::start(2, |nth, message| match nth {
        0 => vec![Answer::Keep(message), Answer::Close],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<true>(&peer, 3).expect("it is accepted");
    submit(&mut shard, 0..3);
    assert!(all_ok(&wait(&mut shard, 3)));
    let seen = peer.end();
    assert_eq!(seen.set_ups, 2);
    let mut executed = seen.executed;
    executed.sort_unstable();
    assert_eq!(executed, [0, 1, 2], "each once");
    assert_eq!(seen.replayed, [0]);
    let incidents = &shard.core.incidents;
    // Two had been sent in one write.
    assert_eq!((incidents["Reconnect"], incidents["Retransmit"]), (1, 2));
}

#[test]
fn calls_that_are_not_sent_again_end_and_waiting_calls_use_the_next_connection() {
    let peer = Peer::start(2, |nth, message| match nth {
        // Both slots are taken.
        0 => vec![],
        1 => vec![Answer::Close],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<false>(&peer, 3).expect("it is accepted");
    submit(&mut shard, 0..3);
    let outcomes = wait(&mut shard, 3);
    let status = |token| outcomes[&token].status;
    assert_eq!([0, 1].map(status), [Status::Disconnected; 2]);
    assert_eq!(status(2), Status::Ok);
    assert_eq!(shard.core.incidents["Reconnect"], 1);
    assert!(!shard.core.incidents.contains_key("Retransmit"));
}

/// The first call is not answered, and its timeout expires.
fn late<const AGAIN: bool>(shard: &mut Shard<Core<AGAIN>>, peer: &Peer) -> Outcome {
    submit(shard, 0..1);
    run(shard, |_| peer.call_count() == 1);
    let limit = shard.core.state.now + REPLY_TIMEOUT;
    let clock = shard.core.state.clock.clone();
    clock.sleep_until(Nanos(limit.0 - 1));
    assert!(run(shard, once()).is_empty(), "not yet");
    clock.sleep_until(limit);
    let outcome = wait(shard, 1)[&0];
    assert_eq!(shard.core.incidents["Timeout"], 1);
    outcome
}

fn once() -> impl FnMut(&[Completion]) -> bool {
    let mut turns = 0;
    move |_| {
        turns += 1;
        turns > 1
    }
}

#[test]
fn a_late_reply_ends_the_connection_and_its_calls_are_sent_again_or_end() {
    let silent_once = |nth, message| match nth {
        0 => vec![],
        _ => vec![Answer::Reply(message)],
    };
    let peer = Peer::start(4, silent_once);
    let mut again = open::<true>(&peer, 1).expect("it is accepted");
    let outcome = late(&mut again, &peer);
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
    assert_eq!(again.core.incidents["Retransmit"], 1);
    let peer = Peer::start(4, silent_once);
    let mut fails = open::<false>(&peer, 1).expect("it is accepted");
    let outcome = late(&mut fails, &peer);
    assert_eq!((outcome.status, outcome.physical), (Status::TimedOut, 0));
    assert_eq!(outcome.done.since(outcome.sent), REPLY_TIMEOUT);
    submit(&mut fails, 1..2);
    assert!(all_ok(&wait(&mut fails, 1)), "on the next connection");
}

/// With one slot, the second call waits for the slot until its timeout: only that call ends.
#[test]
fn a_call_that_waits_for_a_slot_too_long_ends_and_the_connection_stays() {
    let peer = Peer::start(1, |nth, message| match nth {
        0 => vec![],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<false>(&peer, 2).expect("it is accepted");
    submit(&mut shard, 0..2);
    shard.flush();
    let slot = shard.core.calls.next_to_encode(0).expect("it waits");
    assert_eq!(shard.core.calls.get(slot).op, 1);
    let io = &shard.io;
    assert!(!late::late_on_stream(
        &mut shard.core,
        slot,
        late::Progress::Up,
        &io.settings
    ));
    let outcome = wait(&mut shard, 1)[&1];
    assert_eq!(outcome.status, Status::TimedOut);
    assert!(shard.conns[0].is_up());
    assert!(shard.core.incidents.is_empty());
}

/// A protocol may end queued calls before it encodes one: the timeout is renewed of the call that
/// was encoded, and no ended call has one.
#[test]
fn a_call_that_ends_before_another_one_is_encoded_has_no_timeout() {
    let peer = Peer::start(2, |_, _| vec![]);
    let mut shard = open::<false>(&peer, 2).expect("it is accepted");
    submit(&mut shard, 0..2);
    shard.core.ends_next = true;
    shard.flush();
    assert_eq!(wait(&mut shard, 1)[&0].status, Status::Disconnected);
    let waiting = |shard: &Shard<Fails>| shard.core.calls.oldest().map(|(slot, _)| slot).collect();
    let slots: Vec<u32> = waiting(&shard);
    assert_eq!(slots.len(), 1);
    assert_eq!(shard.core.calls.get(slots[0]).op, 1);
    shard.core.fail_call(slots[0], Status::Disconnected);
    assert_eq!(waiting(&shard), Vec::<u32>::new());
}

#[test]
fn a_refused_set_up_is_final_and_reported() {
    let peer = Peer::refusing();
    let error = open::<true>(&peer, 1).expect_err("it is refused");
    assert!(
        error.contains("set up a session: no such client"),
        "{error}"
    );
    assert!(error.contains("; ask the peer"), "{error}");
    assert!(error.contains(&peer.address.to_string()), "{error}");
    assert_eq!(peer.end().set_ups, 1, "and not tried again");
}

#[test]
fn a_peer_that_closes_while_a_shard_is_opened_is_reported() {
    let peer = Peer::closing();
    let error = open::<true>(&peer, 1).expect_err("it is closed");
    assert!(error.contains("set up a session"), "{error}");
}

/// Waits until this many set-ups have begun at the peer.
fn wait_for_set_ups(peer: &Peer, count: usize) {
    let began = Instant::now();
    while peer.set_up_count() < count {
        assert!(began.elapsed() < LONG, "{} set-ups", peer.set_up_count());
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_set_up_whose_reply_is_lost_begins_again_on_another_connection() {
    let peer = Peer::silent_at(&[0], |_, message| vec![Answer::Reply(message)]);
    let clock = Clock::virtual_at_zero();
    let opened: Result<Shard<Again>, String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_set_ups(&peer, 1);
            clock.sleep_until(REPLY_TIMEOUT);
        });
        open_at(&peer, 1, clock.clone())
    });
    let mut shard = opened.expect("the second one is answered");
    submit(&mut shard, 0..1);
    assert!(all_ok(&wait(&mut shard, 1)));
    assert_eq!(peer.end().set_ups, 2);
    assert_eq!(shard.core.incidents["Timeout"], 1);
}

#[test]
fn a_peer_that_answers_no_set_up_is_given_up_after_the_time_to_connect() {
    let peer = Peer::silent_at(&[0, 1, 2], |_, message| vec![Answer::Reply(message)]);
    let clock = Clock::virtual_at_zero();
    let opened: Result<Shard<Again>, String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            for (set_ups, at) in [(1, 5), (2, 10)] {
                wait_for_set_ups(&peer, set_ups);
                clock.sleep_until(Nanos::from_secs(at));
            }
        });
        open_at(&peer, 1, clock.clone())
    });
    let error = opened.expect_err("no answer");
    assert!(error.contains("timed out"), "{error}");
    assert_eq!(peer.end().set_ups, 2, "within the time to connect");
}

/// The connection is lost with a reply, and then the reply of the next set-up: the calls wait, and count
/// no try.
#[test]
fn calls_count_no_try_while_a_connection_is_set_up() {
    let peer = Peer::silent_at(&[1], |nth, message| match nth {
        0 => vec![Answer::Keep(message), Answer::Close],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<true>(&peer, 1).expect("it is accepted");
    shard.io.settings.retries = 0;
    submit(&mut shard, 0..1);
    run(&mut shard, |_| peer.set_up_count() == 2);
    let clock = shard.core.state.clock.clone();
    clock.sleep_until(shard.core.state.now + REPLY_TIMEOUT);
    let outcome = wait(&mut shard, 1)[&0];
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 1));
    assert_eq!(peer.end().set_ups, 3);
}

/// A server that lets every connection be up and closes it answers nothing: after a few of them calls count
/// their tries also while a connection is set up.
#[test]
fn calls_end_on_connections_that_are_closed_again_and_again() {
    let peer = Peer::silent_at(&[3], |_, _| vec![Answer::Close]);
    let mut shard = open::<true>(&peer, 1).expect("it is accepted");
    shard.io.settings.retries = 0;
    submit(&mut shard, 0..1);
    run(&mut shard, |_| peer.set_up_count() == 4);
    let clock = shard.core.state.clock.clone();
    clock.sleep_until(shard.core.state.now + REPLY_TIMEOUT);
    let outcome = wait(&mut shard, 1)[&0];
    assert_eq!(
        (outcome.status, outcome.physical),
        (Status::Disconnected, 0)
    );
}

/// What is under way ends at once, and the next call uses another connection.
#[test]
fn what_is_broken_off_ends_without_a_reply() {
    let peer = Peer::start(2, |nth, message| match nth {
        0 | 1 => vec![],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<true>(&peer, 4).expect("it is accepted");
    submit(&mut shard, 0..3);
    run(&mut shard, |_| peer.call_count() == 2);
    shard.break_off();
    let outcomes = wait(&mut shard, 3);
    assert!(
        outcomes
            .values()
            .all(|outcome| outcome.status == Status::Disconnected)
    );
    assert!(!shard.conns[0].is_up());
    submit(&mut shard, 3..4);
    // The calls that were broken off keep both slots of this protocol's session; a new one has two.
    shard.core.slots.clear();
    assert!(all_ok(&wait(&mut shard, 1)));
    assert_eq!(peer.end().set_ups, 2);
}

#[test]
fn a_request_to_stop_ends_the_wait_for_a_peer_that_is_gone() {
    let peer = Peer::start(4, |_, _| vec![Answer::Close]);
    let mut shard = open::<true>(&peer, 1).expect("it is accepted");
    drop(peer);
    submit(&mut shard, 0..1);
    shard.core.state.stop.raise();
    assert_eq!(wait(&mut shard, 1)[&0].status, Status::Disconnected);
}

#[test]
fn corrupt_streams_are_counted_and_closed() {
    let peer = Peer::start(4, |nth, message| match nth {
        0 => vec![Answer::Garbage],
        _ => vec![Answer::Reply(message)],
    });
    let mut shard = open::<true>(&peer, 1).expect("it is accepted");
    submit(&mut shard, 0..1);
    assert!(all_ok(&wait(&mut shard, 1)));
    assert_eq!(shard.core.incidents["StreamError"], 1);
    assert_eq!(shard.core.incidents["Reconnect"], 1);
}

#[test]
fn procs_share_connections_or_have_their_own() {
    let address: std::net::SocketAddr = "127.0.0.1:9".parse().expect("a valid address");
    for (rule, shard, shards, wanted) in [
        (Connections::PerProc, 0, 2, [0, 1, 2, 3, 4].as_slice()),
        (Connections::Shared(2), 0, 1, &[0, 1, 0, 1, 0]),
        // This shard's part of three.
        (Connections::Shared(3), 1, 2, &[0, 0, 0, 0, 0]),
        (Connections::Shared(0), 0, 1, &[0, 0, 0, 0, 0]),
    ] {
        let mut conns = ConnectionAssigner::<Again, _>::new(rule, Transport::Tcp, shard, shards);
        let next = |_| conns.next("a", address, ConnState::default);
        let used: Vec<u32> = (0..5).map(next).collect();
        assert_eq!(used, wanted, "{rule:?}");
    }
    let mut conns =
        ConnectionAssigner::<Fails, _>::new(Connections::Shared(2), Transport::Tcp, 0, 1);
    let mut next = |target| conns.next(target, address, ConnState::default);
    let used = ["a", "b", "a", "b", "a"].map(&mut next);
    assert_eq!(used, [0, 2, 1, 3, 0], "targets do not mix");
    assert_eq!(conns.finish().len(), 4);
    for (rule, wanted, made) in [
        (Connections::PerProc, [0, 3, 6], 9),
        (Connections::Shared(2), [0, 3, 0], 6),
    ] {
        let mut wide =
            ConnectionAssigner::<Again, _>::new(rule, Transport::Tcp, 0, 1).with_width(3);
        let used = ["a"; 3].map(|target| wide.next(target, address, ConnState::default));
        assert_eq!((used, wide.finish().len()), (wanted, made), "{rule:?}");
    }
}
