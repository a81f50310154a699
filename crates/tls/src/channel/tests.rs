use super::*;
use crate::{ClientFiles, ServerFiles};
use filermark_tls::testing::Authority;
use tempfile::TempDir;

const HELLO: &[u8] = b"hello?";
pub(super) const GO: &[u8] = b"go";

fn request() -> StartRequest {
    StartRequest {
        bytes: HELLO.to_vec(),
        judge: |came| match came {
            [b'n', ..] => Answer::No("no".to_owned()),
            came if came.len() < GO.len() => Answer::Incomplete,
            _ => Answer::Yes(GO.len()),
        },
    }
}

/// A client and a server with their certificates.
pub(super) struct Pair {
    _dir: TempDir,
    pub(super) client: ClientTls,
    pub(super) server: ServerTls,
}

pub(super) fn pair(name: &str, with_own: bool) -> Pair {
    let dir = TempDir::new().unwrap();
    let authority = Authority::new(dir.path(), "ca").unwrap();
    let server = authority.sign("server", &["server.test"]).unwrap();
    let own = authority.sign("client", &["client.test"]).unwrap();
    let files = ClientFiles {
        authorities: authority.file().to_owned(),
        own: with_own.then_some((own.certificate, own.key)),
    };
    let server = ServerFiles {
        certificate: server.certificate,
        key: server.key,
        client_authorities: Some(authority.file().to_owned()),
        client_optional: false,
    };
    Pair {
        client: files.read(name, b"test", request()).unwrap(),
        server: server.read(b"test").unwrap(),
        _dir: dir,
    }
}

/// Hands `bytes` to a channel in pieces; returns the plaintext.
pub(super) fn hand(
    to: &mut Channel,
    bytes: &[u8],
    piece: usize,
    out: &mut Vec<u8>,
) -> Result<Vec<u8>, TlsError> {
    let mut scratch = vec![0; SCRATCH_MIN];
    let mut plain = Vec::new();
    for piece in bytes.chunks(piece) {
        let at = to.place(&mut scratch);
        scratch[at..at + piece.len()].copy_from_slice(piece);
        let length = to.receive(&mut scratch, at + piece.len(), None, out)?;
        plain.extend_from_slice(&scratch[..length]);
    }
    Ok(plain)
}

/// Exchanges messages until nothing is left to say; the error of the client, then of the server.
fn exchange(client: &mut Channel, server: &mut Channel, piece: usize) -> Result<(), TlsError> {
    let mut to_server = Vec::new();
    hand(client, GO, piece, &mut to_server)?;
    let mut to_client = Vec::new();
    for _ in 0..4 {
        let got = hand(server, &to_server, piece, &mut to_client);
        to_server.clear();
        let from = std::mem::take(&mut to_client);
        hand(client, &from, piece, &mut to_server)?;
        got?;
    }
    Ok(())
}

pub(super) fn opened(pair: &Pair, piece: usize) -> (Channel, Channel) {
    let mut request = Vec::new();
    let mut client = Channel::client(&pair.client, &mut request);
    assert_eq!(request, HELLO);
    let mut server = Channel::server(&pair.server).unwrap();
    exchange(&mut client, &mut server, piece).unwrap();
    assert!(client.is_open() && server.is_open());
    (client, server)
}

#[test]
fn plaintext_arrives_wherever_the_stream_is_cut() {
    let pair = pair("server.test", true);
    for piece in [1, 5, 17, 1000, 20_000] {
        let (mut client, mut server) = opened(&pair, piece);
        assert!(
            client
                .description()
                .unwrap()
                .starts_with("TLS 1.3 with AES")
        );
        let text: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        for length in [0, 1, 16_384, 16_385, 100_000] {
            let (mut wire, mut back) = (Vec::new(), Vec::new());
            client.seal(&text[..length], &mut wire).unwrap();
            let records = length.div_ceil(RECORD_PLAIN);
            assert_eq!(wire.len(), length + records * RECORD_ADDED);
            let plain = hand(&mut server, &wire, piece, &mut back).unwrap();
            assert_eq!(plain, &text[..length]);
            assert!(back.is_empty());
        }
        let mut wire = Vec::new();
        server.seal(b"reply", &mut wire).unwrap();
        server.close(&mut wire);
        let plain = hand(&mut client, &wire, piece, &mut Vec::new()).unwrap();
        assert_eq!(plain, b"reply");
        assert!(client.is_ended() && !server.is_ended());
    }
}

#[test]
fn plaintext_completes_the_message_that_has_begun() {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let text: Vec<u8> = (0..50_000u32).map(|n| (n % 241) as u8).collect();
    let (mut wire, mut scratch) = (vec![9; 3], vec![0; SCRATCH_MIN + 60_000]);
    client.seal(&text, &mut wire).unwrap();
    assert_eq!(wire[..3], [9; 3]);
    let mut message = b"front".to_vec();
    let mut begun = Begun {
        message: &mut message,
        missing: 40_000,
    };
    let at = server.place(&mut scratch);
    let end = at + wire.len() - 3;
    scratch[at..end].copy_from_slice(&wire[3..]);
    let left = server.receive(&mut scratch, end, Some(&mut begun), &mut Vec::new());
    assert_eq!((left, begun.missing), (Ok(10_000), 0));
    assert_eq!(scratch[..10_000], text[40_000..]);
    assert_eq!(message, [b"front", &text[..40_000]].concat());
}

#[test]
fn data_is_sealed_between_the_parts_of_a_record() {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let mut wire = Vec::new();
    server.seal(&[7; 9000], &mut wire).unwrap();
    let early = hand(&mut client, &wire[..5000], 5000, &mut Vec::new()).unwrap();
    assert!(early.is_empty());
    let mut up = Vec::new();
    client.seal(b"call", &mut up).unwrap();
    assert_eq!(hand(&mut server, &up, 9, &mut Vec::new()).unwrap(), b"call");
    let rest = hand(&mut client, &wire[5000..], 9000, &mut Vec::new()).unwrap();
    assert_eq!(rest, [7; 9000]);
}

#[test]
fn a_changed_record_ends_the_session() {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let mut wire = Vec::new();
    client.seal(b"remove this file", &mut wire).unwrap();
    wire[12] ^= 1;
    let mut alert = Vec::new();
    let got = hand(&mut server, &wire, 4096, &mut alert);
    assert!(matches!(got, Err(TlsError::Broken(_))), "{got:?}");
    let answer = hand(&mut client, &alert, 4096, &mut Vec::new());
    assert_eq!(answer, Err(TlsError::Alert("BadRecordMac".to_owned())));
}

#[test]
fn refusals_have_their_reason() {
    let pair = pair("other.test", false);
    let mut request = Vec::new();
    let mut client = Channel::client(&pair.client, &mut request);
    let refused = hand(&mut client, b"no", 1, &mut Vec::new());
    assert_eq!(refused, Err(TlsError::NotOffered("no".to_owned())));

    let mut client = Channel::client(&pair.client, &mut request);
    let more = hand(&mut client, b"go on", 5, &mut Vec::new());
    assert!(
        matches!(more, Err(TlsError::Broken(_))),
        "bytes in the clear: {more:?}"
    );

    let mut client = Channel::client(&pair.client, &mut request);
    let mut server = Channel::server(&pair.server).unwrap();
    let error = exchange(&mut client, &mut server, 4096).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server's certificate is not for other.test, but for server.test"
    );
}

#[test]
fn a_client_without_a_certificate_learns_why() {
    let pair = pair("server.test", false);
    let mut request = Vec::new();
    let mut client = Channel::client(&pair.client, &mut request);
    let mut server = Channel::server(&pair.server).unwrap();
    let error = exchange(&mut client, &mut server, 4096).unwrap_err();
    assert_eq!(error, TlsError::ClientCertificateRequired);
}

#[test]
fn bytes_that_are_no_tls_are_refused_and_memory_is_limited() {
    let pair = pair("server.test", true);
    for junk in [
        &b"GET / HTTP/1.0\r\n\r\n"[..],
        &[0x16, 3, 3, 0xff, 0xff, 1],
        &[0; 64],
    ] {
        let mut server = Channel::server(&pair.server).unwrap();
        let got = hand(&mut server, junk, 4096, &mut Vec::new());
        assert!(got.is_err(), "{junk:?}");
    }
    // A ClientHello of the longest length that is announced, in records of one byte.
    let mut server = Channel::server(&pair.server).unwrap();
    let mut wire = vec![0x16, 3, 1, 0, 4, 1, 0, 0xff, 0xfb];
    for _ in 0..SCRATCH_MIN {
        wire.extend_from_slice(&[0x16, 3, 1, 0, 1, 0]);
    }
    let got = hand(&mut server, &wire, 4096, &mut Vec::new());
    assert!(got.is_err());
    assert!(
        server.held_bytes() <= 2 * HELD_MAX,
        "{}",
        server.held_bytes()
    );
}
