//! What every system's module must do; included by each, which says how a reactor is made
//! (`new_reactor`).

use super::*;
use crate::ready::{BATCH, ReceivedDatagram};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Instant;

const LONG: Option<Duration> = Some(Duration::from_secs(10));

fn reactor() -> Reactor {
    new_reactor().expect("files are left")
}

pub(super) fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let (far, _) = listener.accept().expect("a connection");
    near.set_nonblocking(true).expect("an option");
    (near, far)
}

/// The events of one wait that is expected to bring some.
fn wait(reactor: &mut Reactor) -> Vec<Ready> {
    let mut ready = Vec::new();
    reactor.wait(LONG, &mut ready).expect("it waits");
    ready
}

/// Whether a wait that must not be for long brings nothing.
fn is_quiet(reactor: &mut Reactor) -> bool {
    let mut ready = Vec::new();
    let now = Some(Duration::ZERO);
    reactor.wait(now, &mut ready).expect("it waits");
    ready.is_empty()
}

/// Waits until the socket with this key may be read.
fn wait_readable(reactor: &mut Reactor, key: u64) -> Ready {
    loop {
        let ready = wait(reactor);
        assert!(!ready.is_empty(), "the wait is over");
        if let Some(found) = ready.iter().find(|r| r.key == key && r.readable) {
            return *found;
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "the system reports no changes of readiness")]
fn an_edge_is_reported_once_and_again_with_new_bytes() {
    let (mut near, mut far) = pair();
    let mut reactor = reactor();
    reactor.add(&near, 7).expect("added");
    let first = wait(&mut reactor);
    assert!(first.iter().all(|r| r.key == 7 && r.writable), "{first:?}");
    assert!(is_quiet(&mut reactor), "an edge is reported once");
    for _ in 0..3 {
        far.write_all(&[1, 2]).expect("sent");
        wait_readable(&mut reactor, 7);
        let mut one = [0];
        near.read_exact(&mut one).expect("came");
        assert!(is_quiet(&mut reactor), "a byte is left, and no edge");
    }
    drop(far);
    assert!(wait_readable(&mut reactor, 7).ended);
    let mut rest = Vec::new();
    near.read_to_end(&mut rest).expect("to its end");
    assert_eq!(rest.len(), 3);
    reactor.forget(&near);
}

/// A socket that was added is reported as writable when it takes bytes again after it was full,
/// and not while the caller does not wait for it.
pub(super) fn check_space(mut reactor: Reactor) {
    let (near, mut far) = pair();
    reactor.add(&near, 7).expect("added");
    wait(&mut reactor);
    let want = |reactor: &Reactor, wanted| {
        reactor.want_space(&near, 7, wanted).expect("changed");
    };
    want(&reactor, false);
    assert!(is_quiet(&mut reactor), "space is not wanted");
    far.write_all(&[1]).expect("sent");
    assert!(wait_readable(&mut reactor, 7).readable);
    (&near).read_exact(&mut [0]).expect("came");
    assert!(is_quiet(&mut reactor));
    let mut sent = 0;
    // The other end takes bytes for a while after the first refusal.
    while let Ok(count) = (&near).write(&[0; 1 << 16]) {
        sent += count;
    }
    want(&reactor, true);
    let mut taken = 0;
    let mut bytes = vec![0; 1 << 16];
    while taken < sent {
        taken += far.read(&mut bytes).expect("it comes");
    }
    let ready = wait(&mut reactor);
    assert!(ready.iter().any(|r| r.key == 7 && r.writable), "{ready:?}");
    want(&reactor, false);
    assert!(is_quiet(&mut reactor), "space is not wanted any more");
    reactor.forget(&near);
}

#[test]
fn space_is_reported_while_it_is_wanted() {
    check_space(reactor());
}

#[test]
fn a_level_is_reported_as_long_as_it_lasts_and_wanted() {
    let (mut near, mut far) = pair();
    let mut reactor = reactor();
    reactor.watch(&near, 3, Interest::Read).expect("added");
    assert!(is_quiet(&mut reactor), "write readiness is not requested");
    far.write_all(&[1, 2]).expect("sent");
    wait_readable(&mut reactor, 3);
    wait_readable(&mut reactor, 3);
    let change = |reactor: &Reactor, near: &TcpStream, interest| {
        reactor.change(near, 3, interest).expect("changed");
    };
    change(&reactor, &near, Interest::Nothing);
    assert!(is_quiet(&mut reactor));
    change(&reactor, &near, Interest::Write);
    let ready = wait(&mut reactor);
    assert!(
        ready
            .iter()
            .all(|r| r.key == 3 && r.writable && !r.readable),
        "{ready:?}"
    );
    change(&reactor, &near, Interest::Read);
    wait_readable(&mut reactor, 3);
    near.read_exact(&mut [0; 2]).expect("came");
    assert!(is_quiet(&mut reactor));
    reactor.forget(&near);
}

/// What a server does: a listener, and other threads that hand work over.
#[test]
fn a_listener_is_readable_and_a_waker_ends_the_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("an option");
    let mut reactor = reactor();
    reactor.watch(&listener, 1, Interest::Read).expect("added");
    let waker = reactor.waker(9).expect("a waker");
    let address = listener.local_addr().expect("bound");
    let client = std::thread::spawn(move || TcpStream::connect(address).expect("it listens"));
    wait_readable(&mut reactor, 1);
    listener.accept().expect("it waits");
    client.join().expect("connected");
    for _ in 0..3 {
        let other = waker.clone();
        let thread = std::thread::spawn(move || other.wake());
        assert_eq!(wait_readable(&mut reactor, 9).key, 9);
        thread.join().expect("it woke us");
    }
    // A wake-up while no thread waits is not lost, and is reported once.
    waker.wake();
    waker.wake();
    wait_readable(&mut reactor, 9);
    assert!(is_quiet(&mut reactor));
}

#[test]
fn a_refused_connection_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = free.local_addr().expect("bound");
    drop(free);
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    socket.set_nonblocking(true).expect("an option");
    let _ = socket.connect(&peer.into());
    let mut reactor = reactor();
    reactor.add(&socket, 1).expect("added");
    let ready = wait(&mut reactor);
    assert!(ready.iter().all(|r| r.key == 1), "{ready:?}");
    assert!(ready.iter().any(|r| r.writable || r.broken), "{ready:?}");
    let error = socket.take_error().expect("it knows").expect("refused");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn waits_end_with_their_time_and_not_before() {
    let mut reactor = reactor();
    let mut ready = Vec::new();
    let began = Instant::now();
    for _ in 0..20 {
        let short = Some(Duration::from_micros(100));
        reactor.wait(short, &mut ready).expect("it waits");
        assert!(ready.is_empty());
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(2), "{took:?}");
}

#[test]
fn reads_bring_what_is_there_behind_what_was() {
    let (near, mut far) = pair();
    far.write_all(b"one two").expect("sent");
    let mut reactor = reactor();
    reactor.watch(&near, 1, Interest::Read).expect("added");
    wait_readable(&mut reactor, 1);
    let mut four = [0; 4];
    let (came, age) = read(&near, &mut four).expect("came");
    assert_eq!((came, &four), (4, b"one "));
    assert!(age < filermark_model::Nanos::from_secs(1));
    let mut into = Vec::with_capacity(64);
    into.extend_from_slice(b"and ");
    let (came, _) = read_behind(&near, &mut into).expect("came");
    assert_eq!((came, into.as_slice()), (3, b"and two".as_slice()));
    let nothing = read_behind(&near, &mut into).expect_err("all is read");
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    assert_eq!(into, b"and two");
}

#[test]
fn datagrams_go_and_come_in_batches_with_their_borders() {
    let near = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let far = UdpSocket::bind("127.0.0.1:0").expect("a port");
    near.connect(far.local_addr().expect("bound"))
        .expect("local");
    far.connect(near.local_addr().expect("bound"))
        .expect("local");
    far.set_nonblocking(true).expect("an option");
    let bytes: Vec<u8> = (0..=99).collect();
    let pieces = [0..1, 1..50, 50..100];
    assert_eq!(send_many(&near, &bytes, &pieces).expect("sent"), 3);
    let mut reactor = reactor();
    reactor.watch(&far, 1, Interest::Read).expect("added");
    let mut came = [ReceivedDatagram::NONE; BATCH];
    let mut into = vec![0; 49 * BATCH];
    let mut all = Vec::new();
    while all.len() < 3 {
        wait_readable(&mut reactor, 1);
        let count = receive_many(&far, &mut into, 49, &mut came).expect("came");
        all.extend(came[..count].iter().map(|d| (d.len, d.cut)));
    }
    assert_eq!(all, [(1, false), (49, false), (49, true)]);
    let nothing = receive_many(&far, &mut into, 49, &mut came).expect_err("all is read");
    assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
}
