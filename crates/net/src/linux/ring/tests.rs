use super::*;
use crate::{BufferPool, ConnectOptions, FrameProgress, Link};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const LONG: Option<Duration> = Some(Duration::from_secs(20));

/// Such rings are needed for these tests.
fn ring() -> (SocketRing, Reactor) {
    let ring = SocketRing::new().expect("io_uring of Linux 6.1; kernel.io_uring_disabled=0");
    (ring, Reactor::new().expect("files are left"))
}

/// A connection that the ring receives for, with its other end.
fn attached(ring: &mut SocketRing, key: u64) -> (Link, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let peer = listener.local_addr().expect("bound");
    let mut link = Link::connect(peer, ConnectOptions::default()).expect("begun");
    let (far, _) = listener.accept().expect("a connection");
    while !link.connected().expect("no error") {
        std::thread::yield_now();
    }
    assert!(ring.attach(&mut link, key).expect("attached"));
    (link, far)
}

fn slot(link: &Link) -> u32 {
    link.ring_slot().expect("attached")
}

/// Waits until the connection with this key is reported.
fn wait_for(ring: &mut SocketRing, reactor: &mut Reactor, key: u64) -> Ready {
    wait_until(ring, reactor, |ready| ready.key == key)
}

fn wait_until(
    ring: &mut SocketRing,
    reactor: &mut Reactor,
    is_it: impl Fn(&Ready) -> bool,
) -> Ready {
    let mut ready = Vec::new();
    loop {
        ring.wait(reactor, LONG, &mut ready).expect("it waits");
        assert!(!ready.is_empty(), "the wait is over");
        if let Some(found) = ready.iter().find(|ready| is_it(ready)) {
            return *found;
        }
    }
}

/// What comes on a connection, until this many bytes have come.
fn read(ring: &mut SocketRing, reactor: &mut Reactor, link: &Link, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        while let Some(read) = ring.receive(slot(link)).expect("alive") {
            assert_eq!(read.scratch_len, ring.bytes().len());
            all.extend_from_slice(ring.bytes());
        }
        if all.len() < count {
            let mut ready = Vec::new();
            ring.wait(reactor, LONG, &mut ready).expect("it waits");
        }
    }
    all
}

#[test]
fn what_comes_is_received_in_its_order() {
    let (mut ring, mut reactor) = ring();
    let (link, mut far) = attached(&mut ring, 7);
    for number in 0..20u8 {
        far.write_all(&[number; 100]).expect("sent");
        let ready = wait_for(&mut ring, &mut reactor, 7);
        assert!(ready.readable && !ready.ended && !ready.broken && !ready.writable);
        assert_eq!(read(&mut ring, &mut reactor, &link, 100), [number; 100]);
        assert!(ring.receive(slot(&link)).expect("alive").is_none());
    }
}

/// More than all buffers hold: receiving ends for want of them, and goes on when some are free.
#[test]
fn bytes_for_more_than_all_buffers_come_in_order() {
    let (mut ring, mut reactor) = ring();
    let (first, mut far) = attached(&mut ring, 1);
    let (second, mut other) = attached(&mut ring, 2);
    let size = 2 * usize::from(COUNT) * buffers::LEN;
    let bytes: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || {
        far.write_all(&sent).expect("sent");
        far
    });
    // Nothing is read until no buffer is left.
    let mut ready = Vec::new();
    while ring.unarmed.is_empty() {
        ring.wait(&mut reactor, LONG, &mut ready).expect("it waits");
    }
    other.write_all(b"behind").expect("sent");
    assert!(read(&mut ring, &mut reactor, &first, size) == bytes);
    assert_eq!(read(&mut ring, &mut reactor, &second, 6), b"behind");
    drop(sender.join().expect("sender"));
}

#[test]
fn the_end_and_a_reset_are_reported_once_all_was_read() {
    let (mut ring, mut reactor) = ring();
    let (link, mut far) = attached(&mut ring, 7);
    far.write_all(b"last").expect("sent");
    drop(far);
    wait_until(&mut ring, &mut reactor, |ready| ready.ended);
    assert!(ring.receive(slot(&link)).expect("bytes first").is_some());
    assert_eq!(ring.bytes(), b"last");
    let error = ring.receive(slot(&link)).expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    let (link, far) = attached(&mut ring, 8);
    let options = socket2::SockRef::from(&far);
    options.set_linger(Some(Duration::ZERO)).expect("an option");
    drop(far);
    wait_until(&mut ring, &mut reactor, |ready| ready.broken);
    let error = ring.receive(slot(&link)).expect_err("reset");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

/// The kernel's note of an arrival survives until the bytes are read.
#[test]
#[cfg_attr(
    feature = "portable",
    ignore = "links have no arrival times then, and the engine is another one"
)]
fn arrivals_are_those_of_the_kernel() {
    let (mut ring, mut reactor) = ring();
    let (link, mut far) = attached(&mut ring, 7);
    let pause = Duration::from_millis(10);
    // The kernel begins to take notes a little after it was asked to.
    let is_aged = (0..100).any(|_| {
        far.write_all(&[1; 4]).expect("sent");
        wait_for(&mut ring, &mut reactor, 7);
        std::thread::sleep(pause);
        let read = ring.receive(slot(&link)).expect("alive").expect("bytes");
        read.age.0 >= pause.as_nanos() as u64
    });
    assert!(is_aged);
    let mut before = Instant::now();
    // However late the kernel is asked, too: it is not the time of receiving.
    let is_aged = (0..100).any(|_| {
        far.write_all(&[1; 4]).expect("sent");
        before = Instant::now();
        std::thread::sleep(pause);
        wait_for(&mut ring, &mut reactor, 7);
        let read = ring.receive(slot(&link)).expect("alive").expect("bytes");
        read.age.0 >= pause.as_nanos() as u64
    });
    assert!(is_aged);
}

/// Sends to several connections are one system call, and so is a wait that receives from all.
#[test]
fn many_connections_need_few_system_calls() {
    let (mut ring, mut reactor) = ring();
    let mut pairs: Vec<_> = (0..SENDS_MAX as u64)
        .map(|key| attached(&mut ring, key))
        .collect();
    ring.send_queued().expect("nothing to do");
    // The receives are submitted with the first sends.
    let before = ring.entered_count();
    for (number, (link, _)) in pairs.iter().enumerate() {
        assert!(!ring.is_full() && !ring.is_queued(slot(link)));
        let mut bytes = vec![number as u8; 200 + number];
        assert!(ring.send(slot(link), &mut bytes));
        assert!(bytes.is_empty() && ring.is_queued(slot(link)));
        assert!(!ring.send(slot(link), &mut vec![1]), "it would be behind");
    }
    assert!(ring.is_full());
    ring.send_queued().expect("sent");
    assert_eq!(ring.entered_count(), before + 1);
    let mut keys = Vec::new();
    while let Some(sent) = ring.next_sent() {
        assert_eq!(sent.taken.expect("alive"), 200 + sent.key as usize);
        keys.push(sent.key);
        ring.give_back(sent.bytes);
    }
    keys.sort_unstable();
    assert_eq!(keys, [0, 1, 2, 3]);
    assert!(!ring.has_sends());
    for (number, (_, far)) in pairs.iter_mut().enumerate() {
        let mut came = vec![0; 200 + number];
        far.read_exact(&mut came).expect("came");
        assert_eq!(came, vec![number as u8; 200 + number]);
        far.write_all(&came).expect("sent back");
    }
    let (before, mut ready) = (ring.entered_count(), Vec::new());
    let mut waits = 0;
    while ready.len() < pairs.len() {
        let mut some = Vec::new();
        ring.wait(&mut reactor, LONG, &mut some).expect("it waits");
        ready.append(&mut some);
        waits += 1;
    }
    assert_eq!(ring.entered_count() - before, waits);
    for (number, (link, _)) in pairs.iter().enumerate() {
        let came = read(&mut ring, &mut reactor, link, 200 + number);
        assert_eq!(came, vec![number as u8; 200 + number]);
    }
    assert_eq!(ring.entered_count() - before, waits, "reads are none");
}

/// What the socket does not take is kept by the link, and goes on with the reactor.
#[test]
fn a_full_socket_goes_on_with_the_reactor() {
    let (mut ring, mut reactor) = ring();
    let mut pool = BufferPool::new(64 << 20);
    let (mut link, mut far) = attached(&mut ring, 7);
    let bytes: Vec<u8> = (0..16u32 << 20).map(|n| (n % 251) as u8).collect();
    let mut queued = bytes.clone();
    let place = queued.as_ptr();
    assert!(ring.send(slot(&link), &mut queued));
    ring.send_queued().expect("it does not wait");
    let mut sent = ring.next_sent().expect("a send");
    let taken = sent.taken.expect("alive");
    assert!(taken < bytes.len(), "the socket took 16 MiB at once");
    link.keep_unsent(&mut sent.bytes, taken, &mut pool);
    assert_eq!(link.unsent_len(), bytes.len() - taken);
    assert_eq!(link.unsent_place(), place, "no copy was made");
    ring.give_back(sent.bytes);
    far.write_all(b"while leaving").expect("sent");
    ring.leave(slot(&link)).expect("begun");
    assert!(!ring.is_attached(slot(&link)));
    let reader = std::thread::spawn(move || {
        let mut all = vec![0; 16 << 20];
        far.read_exact(&mut all).expect("read");
        (far, all)
    });
    let mut came = Vec::new();
    while !ring.has_left(slot(&link)) {
        match ring.receive(slot(&link)).expect("alive") {
            Some(_) => came.extend_from_slice(ring.bytes()),
            None => drop(wait_for(&mut ring, &mut reactor, 7)),
        }
    }
    link.set_ring_slot(None);
    reactor.add(&link, 7).expect("added");
    let (mut ready, mut scratch) = (Vec::new(), vec![0; 64]);
    while link.unsent_len() > 0 || came.len() < b"while leaving".len() {
        ring.wait(&mut reactor, LONG, &mut ready).expect("it waits");
        link.send_rest(&mut pool).expect("alive");
        while let Some(read) = link.receive(&mut scratch).expect("alive") {
            came.extend_from_slice(&scratch[..read.scratch_len]);
        }
    }
    assert_eq!(came, b"while leaving");
    let (_far, all) = reader.join().expect("reader");
    assert!(all == bytes);
}

/// The reactor's sockets are reported by the same wait, and timeouts are kept.
#[test]
fn a_wait_is_also_one_for_the_reactor() {
    let (mut ring, mut reactor) = ring();
    let (_link, _far) = attached(&mut ring, 7);
    let (near, mut far) = UnixStream::pair().expect("sockets");
    near.set_nonblocking(true).expect("an option");
    reactor
        .watch(&near, 3, crate::Interest::Read)
        .expect("added");
    let waker = reactor.waker(9).expect("a waker");
    let mut ready = Vec::new();
    let short = Some(Duration::from_micros(100));
    let began = Instant::now();
    for _ in 0..20 {
        ring.wait(&mut reactor, short, &mut ready).expect("waits");
        assert!(ready.is_empty());
    }
    assert!(began.elapsed() >= Duration::from_millis(2));
    for _ in 0..3 {
        far.write_all(&[1]).expect("sent");
        assert!(wait_for(&mut ring, &mut reactor, 3).readable);
        assert!(wait_for(&mut ring, &mut reactor, 3).readable, "a level");
        (&near).read_exact(&mut [0]).expect("came");
        waker.wake();
        wait_for(&mut ring, &mut reactor, 9);
    }
}

/// The other end sees the end of a connection at once, and a slot is used again only when the
/// kernel has done with it.
#[test]
fn a_closed_connection_ends_and_its_slot_is_used_again() {
    let (mut ring, mut reactor) = ring();
    let mut pool = BufferPool::new(1 << 20);
    for _ in 0..50 {
        let (mut link, mut far) = attached(&mut ring, 7);
        far.write_all(b"unread").expect("sent");
        assert!(ring.send(slot(&link), &mut vec![1]));
        wait_for(&mut ring, &mut reactor, 7);
        ring.forget(&mut link);
        assert!(link.ring_slot().is_none() && !ring.has_sends());
        link.close(&mut pool);
        let mut rest = Vec::new();
        let end = far.read_to_end(&mut rest);
        assert!(end.is_err() || rest.is_empty(), "nothing was sent");
    }
    let (link, mut far) = attached(&mut ring, 8);
    far.write_all(b"new").expect("sent");
    assert_eq!(read(&mut ring, &mut reactor, &link, 3), b"new");
    assert!(ring.slots.len() <= 10, "{} slots", ring.slots.len());
    let taken = ring.calls.buffers.taken_count();
    assert!(taken <= 1, "{taken} buffers were not given back");
}

/// Short messages are shown where they were received, long ones are better read elsewhere.
#[test]
fn a_long_message_is_noticed() {
    let (mut ring, mut reactor) = ring();
    let mut pool = BufferPool::new(1 << 20);
    let (mut link, mut far) = attached(&mut ring, 7);
    far.write_all(&[1; 100]).expect("sent");
    wait_for(&mut ring, &mut reactor, 7);
    ring.receive(slot(&link)).expect("alive").expect("bytes");
    let mut feed = |wanted| {
        link.feed(ring.bytes(), &mut pool, |_| {
            Ok::<_, ()>(FrameProgress {
                consumed: 0,
                wanted,
            })
        })
        .expect("no error");
        link.lacks_much()
    };
    // The same hundred bytes again are a part of what was lacking.
    assert!(!feed(100));
    assert!(feed(200_000));
}

/// A sandbox that forbids io_uring: there is no ring, and the reactor is used.
#[test]
#[cfg_attr(
    feature = "portable",
    ignore = "links have no arrival times then, and the engine is another one"
)]
fn where_io_uring_is_forbidden_there_is_no_ring() {
    use crate::SocketEngine;
    use filermark_system::uring::testing::forbid;
    let thread = std::thread::spawn(|| {
        assert!(forbid(libc::EPERM as u32), "seccomp");
        let none = SocketEngine::Auto.ring().expect("no ring is needed");
        let error = SocketEngine::Ring.ring().expect_err("forbidden");
        SocketEngine::prescribe(Some(SocketEngine::Auto));
        (none.is_none(), error.to_string(), crate::engine_text())
    });
    let (none, error, text) = thread.join().expect("no panic");
    assert!(none);
    assert!(error.contains("kernel.io_uring_disabled=0"), "{error}");
    assert!(text.contains("epoll: io_uring is forbidden"), "{text}");
}
