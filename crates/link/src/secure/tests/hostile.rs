//! Foreign peers on the listening side and on the side that connects.

use super::super::hello::{HelloLine, read_line, refuse};
use super::super::*;
use super::wire::{LIMIT, identities, tcp_pair};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// The error of a listening prime for these bytes.
fn error_of_prime(bytes: &[u8], then_end: bool) -> SecureError {
    let (near, far) = tcp_pair();
    let (prime, _) = identities();
    // It may close before all bytes are sent.
    let _ = (&near).write_all(bytes);
    if then_end {
        let _ = near.shutdown(Shutdown::Write);
    }
    let limit = Duration::from_millis(500);
    let error = secure_server(far, &prime, limit).err();
    error.expect("a foreign peer is not accepted")
}

#[test]
fn a_peer_without_tls_is_reported_with_its_bytes() {
    let web = error_of_prime(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", false);
    assert!(
        matches!(&web, SecureError::NotTls(sent) if sent.contains("GET /")),
        "{web}"
    );
    let agent = error_of_prime(b"filermark-agent client1\n", false);
    assert!(matches!(agent, SecureError::NotTls(_)), "{agent}");
    for garbage in [&[0; 4096][..], &[0xff; 4096], &[0x80; 70_000]] {
        let error = error_of_prime(garbage, false);
        assert!(matches!(error, SecureError::NotTls(_)), "{error}");
    }
}

#[test]
fn broken_tls_is_refused() {
    let huge_record = [&[22, 3, 1, 0xff, 0xff][..], &[1; 70_000]].concat();
    let huge_message = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; 16_384]].concat();
    let old_version = [&[22, 3, 0, 0, 4][..], &[1, 0, 0, 0]].concat();
    for bytes in [huge_record, huge_message, old_version] {
        let error = error_of_prime(&bytes, false);
        assert!(matches!(error, SecureError::Tls(_)), "{error}");
    }
}

#[test]
fn timeouts_and_early_ends_are_reported() {
    assert!(matches!(
        error_of_prime(b"", false),
        SecureError::TimedOut(_)
    ));
    assert_eq!(error_of_prime(b"", true), SecureError::Closed);
    assert_eq!(error_of_prime(&[22, 3, 1], true), SecureError::Closed);
}

#[test]
fn slow_bytes_do_not_extend_the_time_limit() {
    let (near, far) = tcp_pair();
    let (prime, _) = identities();
    let limit = Duration::from_millis(600);
    let began = Instant::now();
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            for byte in [22, 3, 1, 0x40, 0].into_iter().chain([1; 60]) {
                if (&near).write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(30));
            }
        });
        secure_server(far, &prime, limit).err()
    });
    assert_eq!(error, Some(SecureError::TimedOut(limit)));
    assert!(began.elapsed() < limit * 6, "{:?}", began.elapsed());
}

#[test]
fn the_connecting_side_reports_foreign_answers() {
    let (prime, _) = identities();
    let (near, far) = tcp_pair();
    (&far).write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").unwrap();
    let error = secure_client(near, &prime, LIMIT).err().unwrap();
    assert!(error.to_string().contains("SSH-2.0"), "{error}");
    assert!(!error.is_temporary());

    let (near, far) = tcp_pair();
    drop(far);
    let error = secure_client(near, &prime, LIMIT).err().unwrap();
    assert_eq!(error, SecureError::Closed);
    let (near, _far) = tcp_pair();
    let error = secure_client(near, &prime, Duration::from_millis(100)).err();
    assert!(matches!(error, Some(SecureError::TimedOut(_))));
}

/// Forwards the bytes of a client and keeps a copy.
fn recorded(to: TcpListener) -> (TcpListener, Arc<Mutex<Vec<u8>>>, thread::JoinHandle<()>) {
    let recorder = TcpListener::bind("127.0.0.1:0").unwrap();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (inside, keeps) = (recorder.try_clone().unwrap(), kept.clone());
    let thread = thread::spawn(move || {
        let (caller, _) = inside.accept().unwrap();
        let callee = TcpStream::connect(to.local_addr().unwrap()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = io::copy(&mut &callee, &mut &caller);
                let _ = caller.shutdown(Shutdown::Write);
            });
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = (&caller).read(&mut bytes) {
                keeps.lock().unwrap().extend_from_slice(&bytes[..len]);
                if (&callee).write_all(&bytes[..len]).is_err() {
                    break;
                }
            }
            let _ = callee.shutdown(Shutdown::Write);
        });
    });
    (recorder, kept, thread)
}

#[test]
fn a_recorded_handshake_cannot_be_replayed() {
    let (prime, agent) = identities();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (recorder, kept, tapping) = recorded(listener.try_clone().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| {
            let tcp = TcpStream::connect(recorder.local_addr().unwrap()).unwrap();
            let secured = secure_client(tcp, &agent, LIMIT).unwrap();
            (&secured.stream)
                .write_all(b"filermark-agent client1\n")
                .unwrap();
        });
        let (tcp, _) = listener.accept().unwrap();
        let secured = secure_server(tcp, &prime, LIMIT).unwrap();
        let line = read_line(&secured, Instant::now() + LIMIT).unwrap();
        assert!(matches!(line, HelloLine::Agent(_)));
    });
    tapping.join().unwrap();

    let recorded = kept.lock().unwrap().clone();
    assert!(recorded.len() > 500, "{}", recorded.len());
    let (near, far) = tcp_pair();
    (&near).write_all(&recorded).unwrap();
    let error = secure_server(far, &prime, LIMIT).err().unwrap();
    assert!(matches!(error, SecureError::Tls(_)), "{error}");
}

/// Both ends of a secured connection, agent and prime.
fn secured() -> (SecureStream, SecureStream) {
    let (prime, agent) = identities();
    let (near, far) = tcp_pair();
    thread::scope(|scope| {
        let prime = scope.spawn(|| secure_server(far, &prime, LIMIT).unwrap());
        let agent = secure_client(near, &agent, LIMIT).unwrap();
        (agent, prime.join().unwrap())
    })
}

#[test]
fn introductions_are_limited_also_with_valid_keys() {
    let (agent, prime) = secured();
    (&agent.stream).write_all(&[b'x'; 8192]).unwrap();
    let error = read_line(&prime, Instant::now() + LIMIT).unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");

    let (agent, prime) = secured();
    (&agent.stream)
        .write_all(b"filermark-agent a\0b\n")
        .unwrap();
    let error = read_line(&prime, Instant::now() + LIMIT).unwrap_err();
    assert!(matches!(error, SecureError::Malformed(_)), "{error}");

    let (agent, prime) = secured();
    let began = Instant::now();
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            for byte in b"filermark-agent client-with-a-long-name".iter().cycle() {
                thread::sleep(Duration::from_millis(20));
                if (&agent.stream).write_all(&[*byte]).is_err() {
                    return;
                }
            }
        });
        let error = read_line(&prime, Instant::now() + Duration::from_millis(300));
        prime.hold.cut();
        error.unwrap_err()
    });
    assert!(matches!(error, SecureError::TimedOut(_)), "{error}");
    assert!(began.elapsed() < LIMIT);

    let (agent, prime) = secured();
    drop(agent);
    let error = read_line(&prime, Instant::now() + LIMIT).unwrap_err();
    assert_eq!(error, SecureError::Closed);
}

#[test]
fn exactly_one_line_is_consumed() {
    let (agent, prime) = secured();
    let sent = b"filermark-agent n1\nfilermark-agent n1\n\0\xff";
    (&agent.stream).write_all(sent).unwrap();
    agent.stream.shutdown(Shutdown::Write).unwrap();
    assert!(matches!(
        read_line(&prime, Instant::now() + LIMIT),
        Ok(HelloLine::Agent(_))
    ));
    let mut rest = Vec::new();
    (&prime.stream).read_to_end(&mut rest).unwrap();
    assert_eq!(rest, &sent[19..], "a second introduction is not read");
}

#[test]
fn a_refusal_arrives_although_more_bytes_follow() {
    let (agent, prime) = secured();
    (&agent.stream).write_all(&[b'x'; 100_000]).unwrap();
    refuse(&prime, "no client of that name".into());
    drop(prime);
    let line = read_line(&agent, Instant::now() + LIMIT).unwrap();
    assert_eq!(line, HelloLine::Refused("no client of that name".into()));
}
