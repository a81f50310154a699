//! Datagrams: lost, late, duplicated, reordered, truncated, and no server at the address.

use super::fake::{ServerAction, good, good_reply, refusal};
use super::*;
use filermark_onc::nfs3::{Args, Nfsstat3};
use std::net::UdpSocket;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// First wait for a reply, in milliseconds.
const FIRST_MS: u64 = 250;

fn udp() -> NfsPlan {
    NfsPlan {
        transport: Transport::Udp,
        udp_timeout_ms: FIRST_MS as u32,
        rpc_timeout_ms: 4 * FIRST_MS as u32,
        rpc_retries: 4,
        ..plan()
    }
}

/// For tests in which no reply is late: nothing is retransmitted because the machine is busy.
fn long_timeouts() -> NfsPlan {
    NfsPlan {
        udp_timeout_ms: 20_000,
        rpc_timeout_ms: 20_000,
        ..udp()
    }
}

fn bench(script: impl FnMut(&ReceivedCall<'_>) -> Vec<ServerAction> + Send + 'static) -> Bench {
    Bench::with(udp(), 1, VerifyLevel::All, script)
}

#[test]
fn operations_go_over_datagrams_without_marks() {
    let mut bench = Bench::with(long_timeouts(), 1, VerifyLevel::All, good);
    let outcome = bench.run(read(0, 5 * SIZE));
    assert_eq!(outcome.status, Status::Ok);
    assert_eq!(
        (outcome.physical, outcome.read_bytes),
        (5, u64::from(5 * SIZE))
    );
    assert_eq!(bench.status(write(7, 3 * SIZE)), Status::Ok);
    assert_eq!(bench.status(create(1)), Status::Ok);
    assert!(bench.handle(ObjectId(101)).is_some());
    let counters = bench.counters();
    assert_eq!(
        (counters["READ"], counters["WRITE"]),
        (5, 3),
        "{counters:?}"
    );
    assert!(!counters.contains_key("retransmits"), "{counters:?}");
}

/// Calls that are due in one turn of the loop are sent in one system call (a batch has 64 at
/// most).
#[test]
fn calls_of_one_turn_are_sent_together() {
    let plan = NfsPlan {
        connections: Connections::Shared(1),
        ..long_timeouts()
    };
    let mut bench = Bench::with(plan, 100, VerifyLevel::Sample, good);
    for (procs, batches) in [(32, 1), (64, 2), (100, 4)] {
        for proc in 0..procs {
            bench.submit(proc, getattr());
        }
        assert_eq!(bench.wait(procs as usize).len(), procs as usize);
        // The first datagram is the NULL call that probes the server.
        let writes = bench.shard.io.system_calls.writes - 1;
        assert_eq!(writes, batches, "{procs} calls");
    }
}

#[test]
fn only_a_lost_call_is_retransmitted_and_with_the_same_xid() {
    let xids = Arc::new(Mutex::new(Vec::new()));
    let seen = xids.clone();
    let mut bench = bench(move |call| {
        seen.lock().expect("ok").push(call.xid);
        match call.nth {
            0 => Vec::new(),
            _ => good(call),
        }
    });
    let outcome = bench.run(read(0, 2 * SIZE));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 2));
    // The time for a reply counts from the first transmission.
    assert!(outcome.done.since(outcome.sent) >= Nanos::from_millis(FIRST_MS));
    assert_eq!(
        bench.counters(),
        counted(&[("READ", 2), ("retransmits", 1)])
    );
    let xids = xids.lock().expect("ok");
    assert_eq!(xids.len(), 3, "the answered call is not retransmitted");
    assert_eq!(xids[0], xids[2]);
}

/// The waits between transmissions double up to the maximum; after the last one the call ends.
#[test]
fn retransmissions_to_a_silent_server_back_off_and_end() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = times.clone();
    let mut bench = bench(move |_| {
        seen.lock().expect("ok").push(Instant::now());
        Vec::new()
    });
    let start = Instant::now();
    let outcome = bench.run(getattr());
    assert_eq!((outcome.status, outcome.physical), (Status::TimedOut, 0));
    let took = outcome.done.since(outcome.sent);
    let waits = FIRST_MS * (1 + 2 + 4 + 4 + 4);
    assert!(took >= Nanos::from_millis(waits), "{took:?}");
    let times = times.lock().expect("ok");
    let after: Vec<u128> = times.iter().map(|t| (*t - start).as_millis()).collect();
    assert_eq!(after.len(), 5);
    // None is sent early. How much later the server receives it is a matter of the machine.
    for (after_ms, factor) in after.iter().zip([0, 1, 1 + 2, 1 + 2 + 4, 1 + 2 + 4 + 4]) {
        assert!(*after_ms >= u128::from(FIRST_MS * factor), "{after:?}");
    }
    assert_eq!(
        bench.counters(),
        counted(&[("GETATTR", 1), ("retransmits", 4)])
    );
}

#[test]
fn a_second_reply_to_a_retransmitted_call_is_a_duplicate() {
    let mut first = None;
    let mut bench = bench(move |call| match (call.nth, first.take()) {
        (0, _) => {
            first = Some(good_reply(call));
            Vec::new()
        }
        // Both replies, the late one last, and the late one again.
        (_, Some(late)) => [good_reply(call), late.clone(), late]
            .map(ServerAction::Send)
            .into(),
        _ => good(call),
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(bench.status(getattr()), Status::Ok);
    let wanted = counted(&[("GETATTR", 2), ("retransmits", 1), ("duplicate_replies", 2)]);
    assert_eq!(bench.counters(), wanted);
}

/// The network duplicated a datagram.
#[test]
fn a_second_reply_to_a_call_sent_once_is_a_duplicate_too() {
    let mut bench = Bench::with(long_timeouts(), 1, VerifyLevel::All, |call| {
        let reply = good_reply(call);
        match call.nth {
            0 => [reply.clone(), reply].map(ServerAction::Send).into(),
            _ => vec![ServerAction::Send(reply)],
        }
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(bench.status(getattr()), Status::Ok);
    let wanted = counted(&[("GETATTR", 2), ("duplicate_replies", 1)]);
    assert_eq!(bench.counters(), wanted);
}

#[test]
fn a_reply_to_a_call_that_was_given_up_is_late_and_any_other_is_stale() {
    let mut first = None;
    let plan = NfsPlan {
        rpc_retries: 0,
        ..udp()
    };
    let mut bench = Bench::with(plan, 1, VerifyLevel::Sample, move |call| {
        match (call.nth, first.take()) {
            (0, _) => {
                first = Some(good_reply(call));
                Vec::new()
            }
            (_, Some(late)) => {
                let mut unknown_xid = good_reply(call);
                unknown_xid[3] ^= 1;
                [late, unknown_xid, good_reply(call), good_reply(call)]
                    .map(ServerAction::Send)
                    .into()
            }
            _ => good(call),
        }
    });
    assert_eq!(bench.status(getattr()), Status::TimedOut);
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(bench.status(getattr()), Status::Ok);
    let counters = bench.counters();
    assert_eq!(
        ["late_replies", "stale_replies", "duplicate_replies"].map(|name| counters[name]),
        [1; 3],
        "{counters:?}"
    );
}

#[test]
fn replies_may_come_in_any_order() {
    let mut held = Vec::new();
    let plan = NfsPlan {
        biod_max_reads: 4,
        ..long_timeouts()
    };
    let mut bench = Bench::with(plan, 1, VerifyLevel::All, move |call| {
        held.push(good_reply(call));
        match held.len() {
            4 => held.drain(..).rev().map(ServerAction::Send).collect(),
            _ => Vec::new(),
        }
    });
    let outcome = bench.run(read(0, 8 * SIZE));
    assert_eq!((outcome.status, outcome.physical), (Status::Ok, 8));
    assert_eq!(bench.counters(), counted(&[("READ", 8)]));
}

#[test]
fn datagrams_that_are_no_replies_are_counted_and_the_call_is_retransmitted() {
    let mut bench = bench(|call| match call.nth {
        0 => {
            let mut cut = good_reply(call);
            cut.truncate(6);
            let mut no_reply = good_reply(call);
            no_reply[7] = 0;
            let mut too_long = good_reply(call);
            too_long.resize(60_000, 0);
            vec![
                ServerAction::Raw(Vec::new()),
                ServerAction::Raw(cut),
                ServerAction::Raw(no_reply),
                ServerAction::Raw(too_long),
            ]
        }
        _ => good(call),
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    let wanted = counted(&[("GETATTR", 1), ("bad_replies", 4), ("retransmits", 1)]);
    assert_eq!(bench.counters(), wanted);
}

/// The reply to the first transmission of a REMOVE is lost; the server has no reply cache
/// and answers that there is no such file.
#[test]
fn a_refusal_of_the_second_transmission_shows_that_the_first_was_executed() {
    let mut bench = bench(|call| match (call.nth, call.args) {
        (0, _) => Vec::new(),
        (_, Args::Remove(_)) => refusal(call, Nfsstat3::Noent),
        _ => good(call),
    });
    let remove = Action::Remove {
        dir: PROC_DIR,
        name: name(NameKind::Small, 1),
    };
    assert_eq!(bench.status(remove), Status::Ok);
    let wanted = counted(&[("REMOVE", 1), ("retransmits", 1), ("replays_accepted", 1)]);
    assert_eq!(bench.counters(), wanted);
}

#[test]
#[cfg_attr(windows, ignore = "Wine 8 reports a closed port late")]
fn an_unreachable_port_disconnects() {
    let mut bench = bench(good);
    assert_eq!(bench.status(getattr()), Status::Ok);
    drop(bench.server.take());
    let outcome = bench.run(getattr());
    assert_eq!(outcome.status, Status::Disconnected);
    let counters = bench.counters();
    assert_eq!(counters["retransmits"], 4);
    assert!(counters["port_unreachable"] >= 4, "{counters:?}");
}

#[test]
#[cfg_attr(windows, ignore = "Wine 8 reports a closed port late")]
fn a_server_that_comes_back_gets_the_lost_calls_again() {
    let mut bench = bench(good);
    let address = bench
        .server
        .take()
        .map(|server| server.address)
        .expect("one");
    bench.submit(0, getattr());
    let mut done = Vec::new();
    let soon = bench.shard.core.state.clock.now() + Nanos::from_millis(FIRST_MS / 2);
    bench.shard.poll(soon, &mut done).expect("sockets work");
    assert!(done.is_empty());
    let socket = UdpSocket::bind(address).expect("the port is free");
    let answer = std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        let (_, peer) = socket
            .recv_from(&mut buffer)
            .expect("the call is retransmitted");
        let xid = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]);
        let refused = super::fake::reply(xid, &Nfsstat3::Stale);
        socket.send_to(&refused, peer).expect("sent");
    });
    let outcome = bench.wait(1)[&0];
    answer.join().expect("it answers");
    assert_eq!(outcome.status, Status::Refused(Nfsstat3::Stale.to_u32()));
}

#[test]
fn opening_a_shard_reports_that_no_server_answers() {
    // A port that is free, and one that no process reads from.
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let refused = free.local_addr().expect("bound");
    drop(free);
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("bound");
    let plan = NfsPlan {
        connect_timeout_ms: 3 * FIRST_MS as u32 + 100,
        ..udp()
    };
    for (address, words) in [(refused, "no process listens"), (silent_at, "no answer")] {
        let error = open(&plan, address)
            .expect_err("no server is there")
            .to_string();
        assert!(error.contains(words) && error.contains("TCP=on"), "{error}");
    }
    // The NULL call was sent more than once.
    silent.set_nonblocking(true).expect("an option");
    let mut buffer = [0; 1024];
    let asked = (0..9).filter(|_| silent.recv(&mut buffer).is_ok()).count();
    assert!((2..=4).contains(&asked), "{asked}");
}

/// A shard with one proc on a server at this address.
fn open(plan: &NfsPlan, address: std::net::SocketAddr) -> Result<Shard, DriverError> {
    let driver = NfsDriver::new(plan.clone());
    let setup = setup(1, VerifyLevel::Sample);
    let place = MountState {
        host: "server.test".to_owned(),
        address,
        file_system: file_system(),
    };
    let key = (mount(), setup.claim.dir_name.clone());
    driver.mounts.lock().expect("unlocked").insert(key, place);
    driver.shard(setup)
}

#[test]
fn a_stop_request_ends_the_wait_within_its_limit() {
    let plan = NfsPlan {
        udp_timeout_ms: 60_000,
        rpc_timeout_ms: 60_000,
        ..udp()
    };
    let mut bench = Bench::with(plan, 1, VerifyLevel::Sample, |_| Vec::new());
    bench.submit(0, getattr());
    bench.stop.raise();
    let began = Instant::now();
    let outcome = bench.wait(1)[&0];
    assert_eq!(outcome.status, Status::TimedOut);
    let took = began.elapsed();
    assert!(
        took >= Duration::from_millis(1900) && took < Duration::from_secs(6),
        "{took:?}"
    );
}

#[test]
fn a_call_refused_with_jukebox_is_repeated_with_a_new_xid() {
    let xids = Arc::new(Mutex::new(Vec::new()));
    let seen = xids.clone();
    let mut bench = Bench::with(long_timeouts(), 1, VerifyLevel::All, move |call| {
        seen.lock().expect("ok").push(call.xid);
        match call.nth {
            0 => refusal(call, Nfsstat3::Jukebox),
            _ => good(call),
        }
    });
    assert_eq!(bench.status(getattr()), Status::Ok);
    assert_eq!(
        bench.counters(),
        counted(&[("GETATTR", 1 + 1), ("jukebox_waits", 1)])
    );
    let xids = xids.lock().expect("ok");
    assert_ne!(xids[0], xids[1]);
}
