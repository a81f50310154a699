use super::super::Link;
use crate::{BufferPool, ConnectOptions, Reactor};
use filermark_tls::testing::{Authority, accept};
use filermark_tls::{
    Answer, ClientFiles, ClientTls, SCRATCH_MIN, ServerFiles, ServerTls, StartRequest, TlsError,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tempfile::TempDir;

const HELLO: &[u8] = b"hello?";
const GO: &[u8] = b"go";

/// Client and server with certificates.
fn both() -> (ClientTls, ServerTls) {
    let dir = TempDir::new().expect("a directory");
    let authority = Authority::new(dir.path(), "ca").expect("written");
    let own = authority.sign("server", &["server.test"]).expect("written");
    let request = StartRequest {
        bytes: HELLO.to_vec(),
        judge: |came| match came.len() < GO.len() {
            true => Answer::Incomplete,
            false => Answer::Yes(GO.len()),
        },
    };
    let client = ClientFiles {
        authorities: authority.file().to_owned(),
        own: None,
    };
    let server = ServerFiles {
        certificate: own.certificate,
        key: own.key,
        client_authorities: None,
        client_optional: false,
    };
    let client = client.read("server.test", b"test", request);
    (
        client.expect("files"),
        server.read(b"test").expect("files of the server"),
    )
}

/// Completes the handshake of a server, and sends `plain`, and behind it in the same write what is no record.
fn serve(mut stream: TcpStream, tls: &ServerTls, plain: &[u8], junk: &[u8]) -> TcpStream {
    let channel = accept(&mut stream, tls, HELLO.len(), GO);
    let (mut channel, mut out) = (channel.expect("a handshake"), Vec::new());
    channel.seal(plain, &mut out).expect("sealed");
    out.extend_from_slice(junk);
    stream.write_all(&out).expect("sent");
    stream
}

/// A link that asks for TLS, with the other end, and the reactor it is added to.
fn begun(client: &ClientTls) -> (Link, TcpStream, Reactor) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let peer = listener.local_addr().expect("address");
    let mut link = Link::connect(peer, ConnectOptions::default()).expect("connect");
    let mut reactor = Reactor::new().expect("a reactor");
    reactor.add(&link, 7).expect("added");
    let (stream, _) = listener.accept().expect("a connection");
    while !link.connected().expect("no error") {
        wait(&mut reactor);
    }
    link.secure(client).expect("begun");
    (link, stream, reactor)
}

fn wait(reactor: &mut Reactor) {
    let timeout = Some(Duration::from_millis(100));
    reactor.wait(timeout, &mut Vec::new()).expect("wait");
}

/// The arrival of a reply is noted between the two: decryption must not be in front of it.
#[test]
fn a_read_does_not_decrypt() {
    let (client, server) = both();
    let (mut link, stream, mut reactor) = begun(&client);
    let plain: Vec<u8> = b"plaintext".repeat(10_000);
    let sent = plain.clone();
    let thread = std::thread::spawn(move || serve(stream, &server, &sent, b""));
    let mut got = Vec::new();
    while got.len() < plain.len() {
        let mut scratch = vec![0; 2 * SCRATCH_MIN];
        let Some(mut read) = link.receive(&mut scratch).expect("alive") else {
            wait(&mut reactor);
            continue;
        };
        assert_eq!(read.scratch_len, 0);
        let is_readable = scratch.windows(9).any(|bytes| bytes == b"plaintext");
        assert!(!is_readable, "decrypted before the clock was read");
        link.open(&mut read, &mut scratch).expect("decrypted");
        got.extend_from_slice(&scratch[..read.scratch_len]);
        // Once decrypted, it is not decrypted again.
        let mut again = read;
        link.open(&mut again, &mut scratch).expect("nothing to do");
        assert_eq!(again, read);
    }
    assert!(link.is_secured() && got == plain);
    drop(thread.join().expect("the server"));
}

/// A reply in front of a record that breaks the session, in one read: it is delivered, and then there is the error,
/// without waiting for more. The server learns why.
#[test]
fn a_reply_in_front_of_a_bad_record_is_delivered() {
    let (client, server) = both();
    let (mut link, stream, mut reactor) = begun(&client);
    let junk = [
        23, 3, 3, 0, 20, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
    ];
    let thread = std::thread::spawn(move || serve(stream, &server, b"reply", &junk));
    let mut scratch = vec![0; 2 * SCRATCH_MIN];
    while !link.is_secured() {
        match link.receive(&mut scratch).expect("alive") {
            Some(mut read) => link.open(&mut read, &mut scratch).expect("a handshake"),
            None => wait(&mut reactor),
        }
    }
    // Both records: the server sends nothing before the handshake is complete.
    let wire_len = 5 + b"reply".len() + 1 + 16 + junk.len();
    while link.stream.peek(&mut scratch).unwrap_or_default() < wire_len {
        wait(&mut reactor);
    }
    let mut read = link.receive(&mut scratch).expect("alive").expect("bytes");
    link.open(&mut read, &mut scratch).expect("a reply");
    assert_eq!(&scratch[..read.scratch_len], b"reply");
    assert!(read.more, "the error would wait for more bytes");
    let error = link.receive(&mut scratch).expect_err("the bad record");
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    assert!(matches!(of_tls, Some(TlsError::Broken(_))), "{error}");
    let mut stream = thread.join().expect("the server");
    link.close(&mut BufferPool::new(1 << 16));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the end");
    // One alert: header, two bytes, content type, tag.
    assert_eq!(rest.len(), 5 + 2 + 1 + 16);
}

/// With bytes unsent, messages of TLS are not sent by themselves: what the system takes of the plaintext before them
/// would not be counted, and calls would count as not sent for ever.
#[test]
fn plaintext_in_front_of_messages_is_counted() {
    let (client, _) = both();
    let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
    let peer = listener.local_addr().expect("address");
    let mut link = Link::connect(peer, ConnectOptions::default()).expect("connect");
    let (_stream, _) = listener.accept().expect("a connection");
    while !link.connected().expect("no error") {
        std::thread::yield_now();
    }
    let mut tls = super::Secure::new(&client);
    tls.out = vec![2; 30];
    tls.plain_len = 100;
    link.tls = Some(Box::new(tls));
    // The system had not taken these 122 bytes of a sealed record.
    link.unsent = vec![1; 122];
    link.send_messages().expect("alive");
    assert_eq!(link.unsent_len(), 152);
    let mut pool = BufferPool::new(1 << 16);
    assert_eq!(link.send_rest(&mut pool).expect("alive"), 100);
    assert_eq!(link.unsent_len(), 0);
    // Without anything in front they go at once.
    if let Some(tls) = &mut link.tls {
        tls.out = vec![2; 30];
    }
    link.send_messages().expect("alive");
    assert_eq!((link.unsent_len(), link.buffer_bytes()), (0, 0));
}
