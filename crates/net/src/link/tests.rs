use super::receiving::DIRECT_MIN;
use super::*;
use crate::{Reactor, Ready};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Messages of one length byte and that many bytes.
fn split(seen: &mut Vec<Vec<u8>>, bytes: &[u8]) -> FrameProgress {
    let mut at = 0;
    while let Some(len) = bytes.get(at).map(|l| usize::from(*l)) {
        match bytes.get(at + 1..at + 1 + len) {
            Some(message) => seen.push(message.to_vec()),
            None => {
                return FrameProgress {
                    consumed: at,
                    wanted: at + 1 + len - bytes.len(),
                };
            }
        }
        at += 1 + len;
    }
    FrameProgress {
        consumed: at,
        wanted: 0,
    }
}

fn wait(reactor: &mut Reactor, timeout: Duration) -> Vec<Ready> {
    let mut ready = Vec::new();
    reactor.wait(Some(timeout), &mut ready).expect("wait");
    ready
}

fn connected() -> (Reactor, Link, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let peer = listener.local_addr().expect("address");
    let link = Link::connect(peer, ConnectOptions::default()).expect("connect");
    let mut reactor = Reactor::new().expect("reactor");
    reactor.add(&link, 7).expect("add");
    let (server, _) = listener.accept().expect("accept");
    while !link.connected().expect("no error") {
        wait(&mut reactor, Duration::from_millis(100));
    }
    (reactor, link, server)
}

#[test]
fn messages_come_out_whole_wherever_the_stream_is_cut() {
    let (_, mut link, _server) = connected();
    let mut pool = BufferPool::new(1 << 20);
    let stream: Vec<u8> = (0..40u8)
        .flat_map(|n| std::iter::once(n).chain(std::iter::repeat_n(n, usize::from(n))))
        .collect();
    let mut whole = Vec::new();
    split(&mut whole, &stream);
    assert_eq!(whole.len(), 40);
    for cut in 1..60 {
        let mut seen = Vec::new();
        for piece in stream.chunks(cut) {
            link.feed(&mut piece.to_vec(), &mut pool, |b| {
                Ok::<_, ()>(split(&mut seen, b))
            })
            .expect("no error");
        }
        assert_eq!(seen, whole, "pieces of {cut}");
        assert_eq!(link.partial.capacity(), 0, "the buffer went back");
    }
}

#[test]
fn large_messages_are_read_in_place() {
    let (mut reactor, mut link, mut server) = connected();
    let mut pool = BufferPool::new(1 << 20);
    let mut scratch = vec![0; 64];
    let size = 100_000;
    let sender = std::thread::spawn(move || {
        server.write_all(&vec![9; size]).expect("send");
        server.write_all(&[1; 10]).expect("send");
        server
    });
    let (mut first, mut rest) = (0, 0);
    while rest < 10 {
        wait(&mut reactor, Duration::from_secs(1));
        while let Some(input) = link.receive(&mut scratch).expect("alive") {
            link.feed(&mut scratch[..input.scratch_len], &mut pool, |bytes| {
                if first == 0 && bytes.len() < size {
                    let wanted = size - bytes.len();
                    return Ok::<_, ()>(FrameProgress {
                        consumed: 0,
                        wanted,
                    });
                }
                let nines = bytes.iter().filter(|b| **b == 9).count();
                first += nines;
                rest += bytes.len() - nines;
                Ok(FrameProgress {
                    consumed: bytes.len(),
                    wanted: 0,
                })
            })
            .expect("no error");
        }
    }
    assert_eq!((first, rest), (size, 10));
    drop(sender.join().expect("sender"));
    let end = link.receive(&mut scratch).expect_err("closed");
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn what_the_system_does_not_take_is_kept_and_goes_later() {
    let (mut reactor, mut link, mut server) = connected();
    let mut pool = BufferPool::new(32 << 20);
    let bytes: Vec<u8> = (0..16u32 << 20).map(|n| (n % 251) as u8).collect();
    let mut sent = link.send(&mut bytes.clone(), &mut pool).expect("send");
    assert!(sent < bytes.len(), "the socket took 16 MiB at once");
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        server.read_to_end(&mut all).expect("read");
        all
    });
    while link.unsent_len() > 0 {
        let ready = wait(&mut reactor, Duration::from_secs(5));
        let expected = Ready {
            key: 7,
            readable: false,
            writable: true,
            ended: false,
            broken: false,
        };
        assert_eq!(ready, [expected]);
        sent += link.send_rest(&mut pool).expect("send");
    }
    assert_eq!(sent, bytes.len());
    link.close(&mut pool);
    assert!(pool.kept_bytes() > 0);
    assert!(reader.join().expect("reader") == bytes);
}

/// Of a large message most is left as a rule: its buffer is kept, and another one is there
/// for the next messages. A small rest does not keep a large buffer.
#[test]
fn a_large_rest_is_kept_without_a_copy_and_a_small_one_in_a_small_buffer() {
    let (_, mut link, _server) = connected();
    let mut pool = BufferPool::new(32 << 20);
    let mut spare = Vec::with_capacity(100);
    pool.give_back(&mut spare);
    let mut bytes = vec![7; 16 << 20];
    let place = bytes.as_ptr();
    let taken = link.send(&mut bytes, &mut pool).expect("send");
    assert_eq!(link.unsent_len(), (16 << 20) - taken);
    assert_eq!(link.unsent.as_ptr(), place, "it is the same buffer");
    assert_eq!((bytes.len(), bytes.capacity()), (0, 100), "the pool's");
    link.close(&mut pool);
    let (_, mut link, _server) = connected();
    while link.unsent_len() == 0 {
        let mut bytes = Vec::with_capacity(64 << 20);
        bytes.resize(64 << 10, 7);
        link.send(&mut bytes, &mut pool).expect("send");
        assert!(bytes.capacity() == 64 << 20, "the caller's own");
    }
}

/// Messages of 1 MiB in both directions: what is copied besides the copies of the system. Of those that
/// are sent it is a quarter of a buffer at most, of those that are received their beginnings.
#[test]
fn long_messages_are_copied_once() {
    const LEN: usize = 1 << 20;
    const COUNT: usize = 32;
    let (mut reactor, mut link, mut server) = connected();
    let mut pool = BufferPool::new(32 << 20);
    let reader = std::thread::spawn(move || {
        let mut message = vec![0; LEN];
        for _ in 0..COUNT {
            server.read_exact(&mut message).expect("read");
        }
        for _ in 0..COUNT {
            server.write_all(&message).expect("sent");
        }
        server
    });
    let mut bytes = Vec::with_capacity(LEN);
    for _ in 0..COUNT {
        bytes.resize(LEN, 7);
        let before = link.copied;
        link.send(&mut bytes, &mut pool).expect("alive");
        assert!(link.copied - before < bytes.capacity().max(LEN) / KEPT_WHOLE);
        while link.unsent_len() > 0 {
            wait(&mut reactor, Duration::from_secs(5));
            link.send_rest(&mut pool).expect("alive");
        }
        bytes.clear();
    }
    let (sent, mut count) = (link.copied, 0);
    assert!(sent < COUNT * LEN / KEPT_WHOLE, "{sent} bytes");
    let mut scratch = vec![0; LEN];
    while count < COUNT {
        wait(&mut reactor, Duration::from_secs(5));
        while let Some(input) = link.receive(&mut scratch).expect("alive") {
            link.feed(&mut scratch[..input.scratch_len], &mut pool, |bytes| {
                let consumed = bytes.len() / LEN * LEN;
                count += bytes.len() / LEN;
                Ok::<_, ()>(FrameProgress {
                    consumed,
                    wanted: LEN - (bytes.len() - consumed),
                })
            })
            .expect("no error");
        }
    }
    let received = link.copied - sent;
    // Only of the first one it is not known that it is long.
    let most = LEN + COUNT * DIRECT_MIN;
    assert!(received <= most, "{received} bytes");
    drop(reader.join().expect("the other end"));
}

/// After a long message, short ones are read together again.
#[test]
fn after_a_long_message_reads_are_long_again() {
    let (mut reactor, mut link, mut server) = connected();
    let mut pool = BufferPool::new(1 << 20);
    link.is_long = true;
    let mut scratch = vec![0; 1 << 20];
    server.write_all(&[9; DIRECT_MIN]).expect("sent");
    wait(&mut reactor, Duration::from_secs(5));
    let mut came = 0;
    while came < DIRECT_MIN {
        let Some(input) = link.receive(&mut scratch).expect("alive") else {
            wait(&mut reactor, Duration::from_secs(5));
            continue;
        };
        came += input.scratch_len;
        link.feed(&mut scratch[..input.scratch_len], &mut pool, |bytes| {
            Ok::<_, ()>(FrameProgress {
                consumed: bytes.len(),
                wanted: 0,
            })
        })
        .expect("no error");
    }
    assert!(!link.is_long);
}

#[test]
fn a_refused_connection_is_an_error() {
    let free = TcpListener::bind("127.0.0.1:0").expect("listen");
    let peer = free.local_addr().expect("address");
    drop(free);
    let outcome = Link::connect(peer, ConnectOptions::default()).and_then(|link| {
        let mut reactor = Reactor::new()?;
        reactor.add(&link, 1)?;
        wait(&mut reactor, Duration::from_secs(5));
        link.connected()
    });
    let error = outcome.expect_err("the port is closed");
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn short_waits_are_short() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut reactor = Reactor::new().expect("reactor");
    let start = std::time::Instant::now();
    for _ in 0..20 {
        assert!(wait(&mut reactor, Duration::from_micros(100)).is_empty());
    }
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(2), "{took:?}");
}

/// The kernel's note of an arrival survives until the bytes are read, on both
/// ways of reading.
#[test]
#[cfg_attr(
    any(feature = "portable", not(target_os = "linux")),
    ignore = "Linux alone knows"
)]
fn arrivals_are_known_however_late_they_are_read() {
    let (_, mut link, mut server) = connected();
    let mut scratch = vec![0; 1 << 16];
    let pause = Duration::from_millis(10);
    // The kernel begins to take notes a little after it was asked to.
    let mut aged = |link: &mut Link| {
        (0..100).any(|_| {
            server.write_all(&[1; 4]).expect("write");
            std::thread::sleep(pause);
            let input = link.receive(&mut scratch).expect("no error");
            input.is_some_and(|i| i.age.0 >= pause.as_nanos() as u64)
        })
    };
    assert!(aged(&mut link), "into the scratch buffer");
    link.wanted = 1 << 20;
    assert!(aged(&mut link), "straight to where it belongs");
}
