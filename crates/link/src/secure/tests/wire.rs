//! Connections between two valid sides, and the errors of invalid ones.

use super::super::*;
use crate::local::LocalStream;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

pub(crate) const LIMIT: Duration = Duration::from_secs(10);

/// Of a prime and its one client.
pub(crate) struct Secrets {
    pub prime: Secret,
    pub agent: Secret,
}

impl Secrets {
    pub fn random() -> Self {
        Self {
            prime: Secret::random().unwrap(),
            agent: Secret::random().unwrap(),
        }
    }

    /// Prime and agent.
    pub fn identities(&self) -> (Identity, Identity) {
        let key = |secret| PublicKey::of(secret).unwrap();
        (
            Identity::new(&self.prime, LinkRole::Prime, [key(&self.agent)]).unwrap(),
            Identity::new(&self.agent, LinkRole::Agent, [key(&self.prime)]).unwrap(),
        )
    }
}

pub(crate) fn identities() -> (Identity, Identity) {
    Secrets::random().identities()
}

/// The two ends of a connection over loopback.
pub(crate) fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

type StreamPair = (
    Result<SecureStream, SecureError>,
    Result<SecureStream, SecureError>,
);

/// Both handshakes: `client` begins.
fn handshake(client: &Identity, server: &Identity) -> StreamPair {
    handshake_over(tcp_pair(), client, server)
}

fn handshake_over(
    (near, far): (TcpStream, TcpStream),
    client: &Identity,
    server: &Identity,
) -> StreamPair {
    thread::scope(|scope| {
        let server = scope.spawn(|| secure_server(far, server, LIMIT));
        let client = secure_client(near, client, LIMIT);
        (client, server.join().unwrap())
    })
}

fn connected() -> (SecureStream, SecureStream) {
    let (prime, agent) = identities();
    let (client, server) = handshake(&agent, &prime);
    (client.unwrap(), server.unwrap())
}

fn random_bytes(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn read_all(mut stream: &LocalStream) -> Vec<u8> {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn bytes_and_ends_arrive_in_both_directions() {
    let (client, server) = connected();
    let sent = random_bytes(8 << 20);
    thread::scope(|scope| {
        scope.spawn(|| {
            (&client.stream).write_all(&sent).unwrap();
            client.stream.shutdown(Shutdown::Write).unwrap();
        });
        assert!(read_all(&server.stream) == sent, "as it was sent");
        // One direction has ended, the other one continues.
        scope.spawn(|| {
            (&server.stream).write_all(&sent).unwrap();
            server.stream.shutdown(Shutdown::Write).unwrap();
        });
        assert!(read_all(&client.stream) == sent, "and back");
    });
    for end in [client, server] {
        assert!(end.hold.wait_ended(LIMIT));
        assert_eq!(end.hold.failure_text(), None);
    }
}

/// On Windows the end of one direction is reported like that of both: what the other one still
/// carries must not be cut off a while later.
#[test]
#[cfg_attr(not(windows), ignore = "takes longer than LINGER, for Windows alone")]
fn a_direction_may_go_on_long_after_the_other_one_has_ended() {
    let (client, server) = connected();
    client.stream.shutdown(Shutdown::Write).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(read_all(&server.stream).is_empty());
            for piece in 0..8 {
                (&server.stream).write_all(&[piece; 100_000]).unwrap();
                thread::sleep(Duration::from_secs(1));
            }
            server.stream.shutdown(Shutdown::Write).unwrap();
        });
        assert_eq!(read_all(&client.stream).len(), 800_000);
    });
    for end in [client, server] {
        assert!(end.hold.wait_ended(LIMIT));
        assert_eq!(end.hold.failure_text(), None);
    }
}

#[test]
fn both_directions_at_once_do_not_block_each_other() {
    let (client, server) = connected();
    let sent = random_bytes(4 << 20);
    thread::scope(|scope| {
        for end in [&client, &server] {
            scope.spawn(|| {
                (&end.stream).write_all(&sent).unwrap();
                end.stream.shutdown(Shutdown::Write).unwrap();
            });
            scope.spawn(|| assert!(read_all(&end.stream) == sent));
        }
    });
}

#[test]
fn a_slow_reader_blocks_the_writer() {
    let (client, server) = connected();
    let wait = Duration::from_millis(500);
    client.stream.set_write_timeout(Some(wait)).unwrap();
    let piece = random_bytes(64 << 10);
    let mut written = 0;
    while let Ok(len) = (&client.stream).write(&piece) {
        written += len;
        assert!(written < 64 << 20, "{written} bytes are buffered");
    }
    // The data that was accepted arrives nevertheless.
    let mut rest = vec![0; 64 << 10];
    let mut read = 0;
    server.stream.set_read_timeout(Some(LIMIT)).unwrap();
    while read < written {
        read += (&server.stream).read(&mut rest).unwrap();
    }
    assert_eq!(read, written);
}

#[test]
fn the_last_data_arrives_after_the_sender_has_closed() {
    let (client, server) = connected();
    let sent = random_bytes(100 << 10);
    (&client.stream).write_all(&sent).unwrap();
    drop(client);
    assert!(read_all(&server.stream) == sent);
}

#[test]
fn the_wait_for_a_closed_end_is_limited() {
    let (client, server) = connected();
    let hold = client.hold.clone();
    drop(client.stream);
    let began = Instant::now();
    // The peer neither reads nor ends: this side ends after a while.
    assert!(hold.wait_ended(LIMIT));
    assert!(began.elapsed() < LIMIT);
    assert!(read_all(&server.stream).is_empty());
}

#[test]
fn a_killed_side_is_distinguished_from_one_that_ends() {
    let (client, server) = connected();
    (&client.stream).write_all(b"last bytes").unwrap();
    let mut received = [0; 10];
    (&server.stream).read_exact(&mut received).unwrap();
    client.hold.cut();
    assert!(read_all(&server.stream).is_empty());
    assert!(server.hold.wait_ended(LIMIT));
    let reason = server.hold.failure_text().unwrap();
    assert!(reason.contains("cut off"), "{reason}");
    // Windows buffers bytes once more before it reports the end.
    let began = Instant::now();
    while (&server.stream).write_all(b"still there?").is_ok() {
        assert!(began.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(10));
    }
}

/// What is between the sides passes on bytes, but not the end of the connection.
#[test]
fn a_cut_ends_a_link_whose_peer_does_not_notice() {
    let ((near, near_between), (far_between, far)) = (tcp_pair(), tcp_pair());
    let pass_on = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = io::copy(&mut from, &mut to);
    };
    thread::scope(|scope| {
        scope.spawn(|| pass_on(&near_between, &far_between));
        scope.spawn(|| pass_on(&far_between, &near_between));
        let (prime, agent) = identities();
        let (client, server) = handshake_over((near, far), &agent, &prime);
        let (client, server) = (client.unwrap(), server.unwrap());
        client.hold.cut();
        assert!(client.hold.wait_ended(LIMIT));
        let reason = client.hold.failure_text().unwrap();
        assert!(reason.contains("cut off"), "{reason}");
        assert!(!server.hold.has_ended());
        assert!(read_all(&client.stream).is_empty());
    });
}

#[test]
fn a_wrong_key_is_reported_on_both_sides() {
    let ((prime, agent), (other_prime, other_agent)) = (identities(), identities());
    for (client, server) in [
        (&agent, &other_prime),
        (&other_agent, &prime),
        (&prime, &other_agent),
    ] {
        // The connecting side checks first.
        let (client, server) = handshake(client, server);
        assert_eq!(client.err(), Some(SecureError::WrongKey));
        assert_eq!(server.err(), Some(SecureError::KeyRefused));
    }
}

#[test]
fn two_sides_of_one_role_do_not_connect() {
    let (prime, agent) = identities();
    for (side, one) in [(LinkRole::Prime, &prime), (LinkRole::Agent, &agent)] {
        let (client, server) = handshake(one, one);
        assert_eq!(client.err(), Some(SecureError::SameSide(side)));
        assert_eq!(server.err(), Some(SecureError::SameSide(side)));
    }
    let (client, server) = handshake(&prime, &agent);
    assert!(client.is_ok() && server.is_ok(), "a prime may connect, too");
}

/// In each state in which a relay has nothing to do.
#[test]
fn an_idle_relay_sleeps() {
    let quiet = |name: &str, hold: &LinkControl| {
        let began = Instant::now();
        loop {
            let before = hold.wake_count();
            thread::sleep(Duration::from_millis(300));
            let turns = hold.wake_count() - before;
            if turns <= 2 {
                break;
            }
            // The system may still move bytes from one buffer to another.
            assert!(began.elapsed() < LIMIT, "{name}: woke {turns} times");
        }
    };
    let (client, server) = connected();
    quiet("idle", &client.hold);
    client.stream.shutdown(Shutdown::Write).unwrap();
    quiet("sent its last bytes", &client.hold);
    quiet("received the last bytes", &server.hold);

    let (client, server) = connected();
    client
        .stream
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    while (&client.stream).write(&[1; 65536]).is_ok() {}
    quiet("blocked outward", &client.hold);
    quiet("blocked inward", &server.hold);
    let (client_hold, server_hold) = (client.hold.clone(), server.hold.clone());
    drop(client);
    quiet("closed with bytes to send", &client_hold);
    drop(server);
    assert!(client_hold.wait_ended(LIMIT) && server_hold.wait_ended(LIMIT));

    let (client, server) = connected();
    let hold = client.hold.clone();
    drop(client);
    quiet("left", &hold);
    drop(server);
}
