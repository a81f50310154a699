//! The wire between two honest sides, and what they are told when it does not hold.

use super::*;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Of a prime and its one client.
pub(super) struct Secrets {
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

pub(super) fn identities() -> (Identity, Identity) {
    Secrets::random().identities()
}

/// The two ends of a connection over loopback.
pub(super) fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

type StreamPair = (
    Result<SecureStream, SecureError>,
    Result<SecureStream, SecureError>,
);

/// Both handshakes: `client` begins.
fn meet(client: &Identity, server: &Identity) -> StreamPair {
    let (near, far) = tcp_pair();
    thread::scope(|scope| {
        let server = scope.spawn(|| secure_server(far, server, LIMIT));
        let client = secure_client(near, client, LIMIT);
        (client, server.join().unwrap())
    })
}

fn met() -> (SecureStream, SecureStream) {
    let (prime, agent) = identities();
    let (client, server) = meet(&agent, &prime);
    (client.unwrap(), server.unwrap())
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

fn read_all(mut stream: &UnixStream) -> Vec<u8> {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}

#[test]
fn bytes_and_ends_arrive_in_both_directions() {
    let (client, server) = met();
    let sent = noise(8 << 20);
    thread::scope(|scope| {
        scope.spawn(|| {
            (&client.stream).write_all(&sent).unwrap();
            client.stream.shutdown(Shutdown::Write).unwrap();
        });
        assert!(read_all(&server.stream) == sent, "as it was sent");
        // One direction has ended, the other one goes on.
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

#[test]
fn both_directions_at_once_do_not_block_each_other() {
    let (client, server) = met();
    let sent = noise(4 << 20);
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
fn who_does_not_read_holds_up_who_writes() {
    let (client, server) = met();
    let wait = Duration::from_millis(500);
    client.stream.set_write_timeout(Some(wait)).unwrap();
    let piece = noise(64 << 10);
    let mut written = 0;
    while let Ok(len) = (&client.stream).write(&piece) {
        written += len;
        assert!(written < 64 << 20, "somewhere {written} bytes pile up");
    }
    // What was taken arrives all the same.
    let mut rest = vec![0; 64 << 10];
    let mut read = 0;
    server.stream.set_read_timeout(Some(LIMIT)).unwrap();
    while read < written {
        read += (&server.stream).read(&mut rest).unwrap();
    }
    assert_eq!(read, written);
}

#[test]
fn what_was_said_last_arrives_though_its_speaker_has_gone() {
    let (client, server) = met();
    let sent = noise(100 << 10);
    (&client.stream).write_all(&sent).unwrap();
    drop(client);
    assert!(read_all(&server.stream) == sent);
}

#[test]
fn who_left_is_not_waited_for_long() {
    let (client, server) = met();
    let hold = client.hold.clone();
    drop(client.stream);
    let began = Instant::now();
    // The other side neither reads nor ends: ours ends after a while.
    assert!(hold.wait_ended(LIMIT));
    assert!(began.elapsed() < LIMIT);
    assert!(read_all(&server.stream).is_empty());
}

#[test]
fn a_side_that_is_killed_is_told_from_one_that_ends() {
    let (client, server) = met();
    (&client.stream).write_all(b"last words").unwrap();
    let mut heard = [0; 10];
    (&server.stream).read_exact(&mut heard).unwrap();
    client.hold.cut();
    assert!(read_all(&server.stream).is_empty());
    assert!(server.hold.wait_ended(LIMIT));
    let words = server.hold.failure_text().unwrap();
    assert!(words.contains("cut off"), "{words}");
    assert!((&server.stream).write_all(b"still there?").is_err());
}

#[test]
fn another_key_does_not_fit_and_both_sides_are_told() {
    let ((prime, agent), (other_prime, other_agent)) = (identities(), identities());
    for (client, server) in [
        (&agent, &other_prime),
        (&other_agent, &prime),
        (&prime, &other_agent),
    ] {
        // Who calls looks first.
        let (client, server) = meet(client, server);
        assert_eq!(client.err(), Some(SecureError::WrongKey));
        assert_eq!(server.err(), Some(SecureError::KeyRefused));
    }
}

#[test]
fn two_of_the_same_side_do_not_meet() {
    let (prime, agent) = identities();
    for (side, one) in [(LinkRole::Prime, &prime), (LinkRole::Agent, &agent)] {
        let (client, server) = meet(one, one);
        assert_eq!(client.err(), Some(SecureError::SameSide(side)));
        assert_eq!(server.err(), Some(SecureError::SameSide(side)));
    }
    let (client, server) = meet(&prime, &agent);
    assert!(client.is_ok() && server.is_ok(), "a prime may call, too");
}

/// In each state in which there is nothing to do for a pump.
#[test]
fn a_pump_with_nothing_to_do_sleeps() {
    let quiet = |name: &str, hold: &LinkControl| {
        thread::sleep(Duration::from_millis(200));
        let before = hold.turn_count();
        thread::sleep(Duration::from_millis(300));
        let turns = hold.turn_count() - before;
        assert!(turns <= 2, "{name}: {turns} turns");
    };
    let (client, server) = met();
    quiet("idle", &client.hold);
    client.stream.shutdown(Shutdown::Write).unwrap();
    quiet("said its last", &client.hold);
    quiet("heard the last", &server.hold);

    let (client, server) = met();
    client
        .stream
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    while (&client.stream).write(&[1; 65536]).is_ok() {}
    quiet("held up outward", &client.hold);
    quiet("held up inward", &server.hold);
    let (client_hold, server_hold) = (client.hold.clone(), server.hold.clone());
    drop(client);
    quiet("left with bytes to go", &client_hold);
    drop(server);
    assert!(client_hold.wait_ended(LIMIT) && server_hold.wait_ended(LIMIT));

    let (client, server) = met();
    let hold = client.hold.clone();
    drop(client);
    quiet("left", &hold);
    drop(server);
}
