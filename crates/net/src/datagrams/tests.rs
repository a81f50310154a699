use super::*;
use crate::{Reactor, Ready, path_mtu};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Large enough for the tests' datagrams.
const CAPACITY: usize = 4096;

fn pair(buffers: BufferSizes) -> (Datagrams, UdpSocket) {
    let server = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let limit = Some(Duration::from_secs(10));
    server.set_read_timeout(limit).expect("an option");
    let peer = server.local_addr().expect("bound");
    let ours =
        Datagrams::connect(peer, ConnectOptions::default(), buffers).expect("loopback is there");
    server
        .connect(ours.local_addr().expect("bound"))
        .expect("loopback is there");
    (ours, server)
}

fn ranges(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut at = 0;
    let next = lengths.iter().map(|len| {
        at += len;
        at - len..at
    });
    next.collect()
}

fn wait(reactor: &mut Reactor) -> Vec<Ready> {
    let mut ready = Vec::new();
    reactor
        .wait(Some(Duration::from_secs(10)), &mut ready)
        .expect("wait");
    ready
}

/// Every datagram that is there, cut ones as `None`.
fn drain(ours: &Datagrams, scratch: &mut [u8]) -> Vec<Option<Vec<u8>>> {
    let mut arrivals = Arrivals::new(CAPACITY);
    let mut seen = Vec::new();
    loop {
        match ours.receive(scratch, &mut arrivals) {
            Received::WouldBlock => return seen,
            Received::SocketError(error) => panic!("{error}"),
            Received::Some { count, .. } => {
                let got = |n| Some(arrivals.get(scratch, n)?.0.to_vec());
                seen.extend((0..count).map(got));
            }
        }
    }
}

#[test]
fn datagrams_keep_their_borders_in_both_directions() {
    let (ours, server) = pair(BufferSizes::default());
    let lengths: Vec<usize> = (0..100).map(|n| n * 7 % 90 + 1).collect();
    let bytes: Vec<u8> = (0..lengths.iter().sum::<usize>())
        .map(|n| n as u8)
        .collect();
    let pieces = ranges(&lengths);
    let sent = ours.send(&bytes, &pieces);
    assert_eq!((sent.taken, sent.blocked), (100, false));
    assert!(sent.last_error.is_none());
    let mut buffer = [0; CAPACITY];
    for piece in &pieces {
        let len = server.recv(&mut buffer).expect("came");
        assert_eq!(buffer[..len], bytes[piece.clone()]);
        server.send(&buffer[..len]).expect("sent");
    }
    let mut scratch = vec![0; 1 << 20];
    let seen = drain(&ours, &mut scratch);
    let wanted: Vec<_> = pieces
        .iter()
        .map(|p| Some(bytes[p.clone()].to_vec()))
        .collect();
    assert!(seen == wanted);
}

#[test]
fn a_datagram_that_is_too_long_is_marked_as_cut_and_its_neighbours_are_whole() {
    let (ours, server) = pair(BufferSizes::default());
    for len in [10, CAPACITY + 1, CAPACITY, 0, 20] {
        server.send(&vec![5; len]).expect("sent");
    }
    let mut scratch = vec![0; 3 * CAPACITY];
    let seen = drain(&ours, &mut scratch);
    let lengths: Vec<_> = seen.iter().map(|s| s.as_ref().map(Vec::len)).collect();
    assert_eq!(lengths, [Some(10), None, Some(CAPACITY), Some(0), Some(20)]);
}

#[test]
fn a_closed_port_is_an_error_and_the_socket_stays_usable() {
    let (ours, server) = pair(BufferSizes::default());
    let peer = server.local_addr().expect("bound");
    drop(server);
    let two = ranges(&[4, 4]);
    ours.send(&[1; 8], &two);
    let mut scratch = vec![0; CAPACITY];
    let mut arrivals = Arrivals::new(CAPACITY);
    let mut reactor = Reactor::new().expect("reactor");
    reactor.add(&ours, 3).expect("add");
    let error = loop {
        match ours.receive(&mut scratch, &mut arrivals) {
            Received::SocketError(error) => break error,
            Received::WouldBlock => drop(wait(&mut reactor)),
            Received::Some { .. } => panic!("the port is closed"),
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    // All are taken, though every one meets the answer to the one before.
    let sent = ours.send(&[1; 8], &two);
    assert_eq!((sent.taken, sent.blocked), (2, false));
    assert!(sent.unreachable <= 2 && sent.unsent == 0, "{sent:?}");
    let server = UdpSocket::bind(peer).expect("the port is free");
    server
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("an option");
    ours.send(&[7; 4], &ranges(&[4]));
    let mut buffer = [0; 16];
    let len = server.recv(&mut buffer).expect("came");
    assert_eq!(buffer[..len], [7; 4]);
}

#[test]
fn what_this_host_does_not_send_is_not_counted_as_unreachable() {
    let (ours, server) = pair(BufferSizes::default());
    // More than any datagram holds, between two that go.
    let sent = ours.send(&[1; 70_008], &ranges(&[4, 70_000, 4]));
    assert_eq!((sent.taken, sent.blocked), (3, false));
    assert_eq!((sent.unsent, sent.unreachable), (1, 0));
    assert!(!is_unreachable(&sent.last_error.expect("an error")));
    let mut buffer = [0; 16];
    for _ in 0..2 {
        assert_eq!(server.recv(&mut buffer).expect("came"), 4);
    }
}

#[test]
fn a_full_socket_is_reported_and_becomes_writable_again() {
    // The loopback takes everything at once; a pair of local sockets does not.
    let (near, server) = UnixDatagram::pair().expect("a pair");
    near.set_nonblocking(true).expect("an option");
    let ours = Datagrams {
        socket: UdpSocket::from(OwnedFd::from(near)),
        buffers: BufferSizes::default(),
    };
    let mut reactor = Reactor::new().expect("reactor");
    reactor.add(&ours, 3).expect("add");
    assert!(wait(&mut reactor).iter().all(|r| r.writable && r.key == 3));
    let len = 8 << 10;
    let many = ranges(&vec![len; 1000]);
    let bytes = vec![1; len * 1000];
    let sent = ours.send(&bytes, &many);
    assert!(sent.blocked && sent.taken < 1000, "{sent:?}");
    let mut buffer = vec![0; len];
    for _ in 0..sent.taken {
        server.recv(&mut buffer).expect("came");
    }
    assert!(wait(&mut reactor).iter().any(|r| r.writable));
    let rest = ours.send(&bytes, &many[sent.taken..]);
    assert!(rest.taken > 0);
}

#[test]
fn buffers_grow_as_far_as_the_system_permits() {
    let wanted = BufferSizes {
        receive: 150 << 10,
        send: 150 << 10,
    };
    let (ours, _server) = pair(wanted);
    let got = ours.buffers();
    assert!(
        got.receive >= wanted.receive && got.send >= wanted.send,
        "{got:?}"
    );
}

#[test]
#[cfg_attr(feature = "portable", ignore = "Linux alone knows")]
fn the_way_to_the_loopback_has_a_known_mtu() {
    let (ours, _server) = pair(BufferSizes::default());
    let mtu = path_mtu(&ours.socket).expect("Linux knows it");
    assert!((576..=1 << 16).contains(&mtu), "{mtu}");
}

#[test]
#[cfg_attr(feature = "portable", ignore = "Linux alone knows")]
fn arrivals_are_known_however_late_they_are_read() {
    let (ours, server) = pair(BufferSizes::default());
    let mut scratch = vec![0; CAPACITY];
    let mut arrivals = Arrivals::new(CAPACITY);
    let pause = Duration::from_millis(10);
    // The kernel begins to take notes a little after it was asked to.
    let aged = (0..100).any(|_| {
        server.send(&[1; 4]).expect("sent");
        std::thread::sleep(pause);
        let Received::Some { count: 1, .. } = ours.receive(&mut scratch, &mut arrivals) else {
            return false;
        };
        let age = arrivals.get(&mut scratch, 0).map(|(_, age)| age);
        age.is_some_and(|age| age.0 >= pause.as_nanos() as u64)
    });
    assert!(aged);
}

#[test]
fn a_reserved_port_is_not_shared() {
    let peer = "127.0.0.1:9".parse().expect("sound");
    let options = ConnectOptions {
        reserved_port: true,
    };
    let made: io::Result<Vec<_>> = (0..3)
        .map(|_| Datagrams::connect(peer, options, BufferSizes::default()))
        .collect();
    let Ok(made) = made else {
        eprintln!("skipped: reserved ports need a privilege");
        return;
    };
    let mut ports: Vec<u16> = made
        .iter()
        .map(|d| d.local_addr().expect("bound").port())
        .collect();
    assert!(
        ports
            .iter()
            .all(|p| super::super::RESERVED_PORTS.contains(p))
    );
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3);
}
