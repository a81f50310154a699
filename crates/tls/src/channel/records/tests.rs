//! The library itself is the other side; and records that it would not send.

use super::*;
use crate::channel::tests::{GO, hand, opened, pair};
use crate::channel::{Channel, HELD_MAX, Stage};
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData};
use std::io::{Read, Write};
use std::sync::Arc;

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 239) as u8).collect()
}

/// What the library has to send.
fn wire_of<Data: SideData>(library: &mut ConnectionCommon<Data>) -> Vec<u8> {
    let mut wire = Vec::new();
    while library.wants_write() {
        library.write_tls(&mut wire).unwrap();
    }
    wire
}

/// Hands bytes to the library; returns its plaintext.
fn hand_library<Data: SideData>(library: &mut ConnectionCommon<Data>, mut wire: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    while !wire.is_empty() {
        library.read_tls(&mut wire).unwrap();
        let state = library.process_new_packets().unwrap();
        let came = plain.len();
        plain.resize(came + state.plaintext_bytes_to_read(), 0);
        library.reader().read_exact(&mut plain[came..]).unwrap();
    }
    plain
}

/// A channel and the library on the other side.
fn exchange<Data: SideData>(channel: &mut Channel, library: &mut ConnectionCommon<Data>) {
    let mut out = Vec::new();
    for _ in 0..4 {
        let wire = wire_of(library);
        assert!(hand(channel, &wire, 700, &mut out).unwrap().is_empty());
        assert!(hand_library(library, &std::mem::take(&mut out)).is_empty());
    }
    assert!(channel.is_open() && !library.is_handshaking());
}

/// Data in both directions, with new keys of either side in between.
fn exchange_data<Data: SideData>(channel: &mut Channel, library: &mut ConnectionCommon<Data>) {
    for round in 0..3 {
        let (mut wire, data) = (Vec::new(), text(40_000 + round));
        // Another key after the next record.
        let records = records_of(channel);
        records.tx.records_max = records.tx.number + 1;
        channel.seal(&data, &mut wire).unwrap();
        assert!(hand_library(library, &wire) == data);
        library.writer().write_all(&data).unwrap();
        library.refresh_traffic_keys().unwrap();
        library.writer().write_all(b"behind").unwrap();
        let mut answer = Vec::new();
        let came = hand(channel, &wire_of(library), 9000, &mut answer).unwrap();
        assert!(came == [&data[..], b"behind"].concat());
        // The library has asked for another key, and has got it.
        assert!(!answer.is_empty());
        assert!(hand_library(library, &answer).is_empty());
    }
    let mut wire = Vec::new();
    channel.close(&mut wire);
    assert!(hand_library(library, &wire).is_empty());
    assert_eq!(library.reader().read(&mut [0]).unwrap(), 0, "the end");
    library.send_close_notify();
    hand(channel, &wire_of(library), 9000, &mut Vec::new()).unwrap();
    assert!(channel.is_ended());
}

fn records_of(channel: &mut Channel) -> &mut Records {
    match &mut channel.stage {
        Stage::Open(records) => records,
        _ => panic!("the session is open"),
    }
}

fn suites() -> impl Iterator<Item = rustls::SupportedCipherSuite> {
    let suites = rustls::crypto::ring::ALL_CIPHER_SUITES.iter().copied();
    suites.filter(|suite| suite.tls13().is_some())
}

/// A server of the library with this cipher suite alone, which sends tickets.
fn library_server(
    server: &crate::ServerTls,
    suite: rustls::SupportedCipherSuite,
    sends_early: bool,
) -> ServerConnection {
    let mut provider = rustls::crypto::ring::default_provider();
    provider.cipher_suites = vec![suite];
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(server.config.cert_resolver.clone());
    config.alpn_protocols = server.config.alpn_protocols.clone();
    config.send_tls13_tickets = 3;
    config.send_half_rtt_data = sends_early;
    ServerConnection::new(Arc::new(config)).unwrap()
}

#[test]
fn a_server_of_the_library_that_sends_tickets_understands_a_client() {
    let pair = pair("server.test", false);
    let mut count = 0;
    for suite in suites() {
        let mut library = library_server(&pair.server, suite, false);
        let mut channel = Channel::client(&pair.client, &mut Vec::new());
        let mut hello = Vec::new();
        hand(&mut channel, GO, 2, &mut hello).unwrap();
        assert!(hand_library(&mut library, &hello).is_empty());
        exchange(&mut channel, &mut library);
        exchange_data(&mut channel, &mut library);
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn a_client_of_the_library_understands_a_server() {
    let pair = pair("server.test", true);
    let mut channel = Channel::server(&pair.server).unwrap();
    let (config, name) = (pair.client.config.clone(), pair.client.name.clone());
    let mut library = ClientConnection::new(config, name).unwrap();
    exchange(&mut channel, &mut library);
    exchange_data(&mut channel, &mut library);
}

/// The type and the plaintext of a record.
type Typed<'a> = (u8, &'a [u8]);

/// The only record in `wire`, which is an alert: its level and description.
fn alert_in(wire: &mut [u8], to: &mut Channel) -> (u8, AlertDescription) {
    let (header, body) = wire.split_first_chunk_mut::<HEADER>().unwrap();
    let rx = &mut records_of(to).rx;
    let nonce = rx.next_nonce();
    let opened = rx.key.open_in_place(nonce, Aad::from(*header), body);
    let [level, description, ALERT] = *opened.unwrap() else {
        panic!("not an alert");
    };
    (level, description.into())
}

/// Records of these types from the client.
fn wire_from(client: &mut Channel, records: &[Typed<'_>]) -> Vec<u8> {
    let mut wire = Vec::new();
    for (kind, plain) in records {
        let sealing = records_of(client);
        sealing.append(*kind, plain, &mut wire).unwrap();
    }
    wire
}

/// What a server makes of such records, and what it says to them.
fn refusal(records: &[Typed<'_>]) -> (Result<Vec<u8>, TlsError>, u8, AlertDescription) {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let (wire, mut alert) = (wire_from(&mut client, records), Vec::new());
    let got = hand(&mut server, &wire, 30_000, &mut alert);
    let (level, description) = alert_in(&mut alert, &mut client);
    (got, level, description)
}

#[test]
fn records_that_are_not_allowed_end_the_session_with_an_alert() {
    const PART: Typed<'_> = (HANDSHAKE, &[KEY_UPDATE, 0]);
    let cases: [&[Typed<'_>]; 12] = [
        // No content type, an unknown one, a change of the cipher.
        &[(0, &[0; 9])],
        &[(99, b"what")],
        &[(20, &[1])],
        // Messages that are sent no more, to a server, empty, of another form, with more behind.
        &[(HANDSHAKE, &[20, 0, 0, 0])],
        &[(HANDSHAKE, &[NEW_SESSION_TICKET, 0, 0, 1, 0])],
        &[(HANDSHAKE, &[])],
        &[(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 2])],
        &[(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0, KEY_UPDATE])],
        // Other records between the parts of a message.
        &[PART, (DATA, b"data")],
        &[PART, (ALERT, &[WARNING, 90])],
        &[PART, (ALERT, &[WARNING, 0])],
        &[(ALERT, &[1])],
    ];
    for records in cases {
        let (got, level, alert) = refusal(records);
        let is_broken = matches!(got, Err(TlsError::Broken(_)));
        assert!(is_broken, "{records:?}: {got:?}");
        let due = match records {
            [(ALERT, _)] => AlertDescription::DecodeError,
            _ => AlertDescription::UnexpectedMessage,
        };
        assert_eq!((level, alert), (FATAL, due), "{records:?}");
    }
}

#[test]
fn records_that_are_no_records_end_the_session() {
    let pair = pair("server.test", true);
    let wires: [(&[u8], AlertDescription); 4] = [
        (
            &[HANDSHAKE, 3, 3, 0, 1, 0],
            AlertDescription::UnexpectedMessage,
        ),
        (&[DATA, 2, 3, 0, 1, 0], AlertDescription::UnexpectedMessage),
        // Longer than any, and too short for a tag.
        (&[DATA, 3, 3, 0x41, 1], AlertDescription::RecordOverflow),
        (&[DATA, 3, 3, 0, 2, 0, 0], AlertDescription::BadRecordMac),
    ];
    for (wire, due) in wires {
        let (mut client, mut server) = opened(&pair, 4096);
        let mut alert = Vec::new();
        let got = hand(&mut server, wire, 4096, &mut alert);
        assert!(matches!(got, Err(TlsError::Broken(_))), "{wire:?}: {got:?}");
        assert_eq!(alert_in(&mut alert, &mut client), (FATAL, due), "{wire:?}");
        alert.clear();
        let again = hand(&mut server, wire, 4096, &mut alert);
        assert!(again.is_err() && server.seal(b"reply", &mut alert).is_err());
        assert!(alert.is_empty(), "nothing is sent behind the alert");
    }
}

#[test]
fn the_messages_of_a_peer_have_an_end() {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let mut wire = Vec::new();
    for _ in 0..=MESSAGES_MAX {
        records_of(&mut client).update_tx(&mut wire).unwrap();
    }
    let got = hand(&mut server, &wire, 4096, &mut Vec::new());
    assert!(matches!(got, Err(TlsError::Broken(_))), "{got:?}");
    // A message that is announced longer than any is not collected.
    let (mut client, mut server) = opened(&pair, 4096);
    let (mut wire, part) = (Vec::new(), [0xff; RECORD_PLAIN]);
    for _ in 0..5 {
        records_of(&mut client)
            .append(HANDSHAKE, &part, &mut wire)
            .unwrap();
    }
    let got = hand(&mut server, &wire, 4096, &mut Vec::new());
    assert!(matches!(got, Err(TlsError::Broken(_))), "{got:?}");
    assert!(server.held_bytes() <= 2 * HELD_MAX);
}

/// Behind data there may be more messages, but not behind data of no length and alerts that end nothing.
#[test]
fn more_messages_are_allowed_behind_data_alone() {
    let pair = pair("server.test", true);
    let update: Typed<'_> = (HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0]);
    let cancelled: Typed<'_> = (ALERT, &[WARNING, 90]);
    let cases: [(&[Typed<'_>], bool); 4] = [
        (&[update, (DATA, b"")], false),
        (&[cancelled], false),
        (&[(DATA, b"")], true),
        (&[update, cancelled, (DATA, b"d")], true),
    ];
    for (records, is_allowed) in cases {
        let (mut client, mut server) = opened(&pair, 4096);
        let mut got = Ok(Vec::new());
        for _ in 0..=MESSAGES_MAX {
            if got.is_err() {
                break;
            }
            for record in records {
                let wire = wire_from(&mut client, &[*record]);
                if *record == update {
                    let client = records_of(&mut client);
                    client.tx = client.keys.next(true).unwrap();
                }
                got = got.and_then(|_| hand(&mut server, &wire, 4096, &mut Vec::new()));
            }
        }
        assert_eq!(got.is_ok(), is_allowed, "{records:?}: {got:?}");
    }
}

/// What came in front of a bad record is delivered, and can be answered; then there is the error.
#[test]
fn data_in_front_of_a_bad_record_is_delivered() {
    let pair = pair("server.test", true);
    for begun_missing in [0, 3, 4] {
        let (mut client, mut server) = opened(&pair, 4096);
        let mut wire = wire_from(&mut client, &[(DATA, b"call"), (DATA, b""), (DATA, b"bad")]);
        *wire.last_mut().unwrap() ^= 1;
        let mut scratch = vec![0; crate::SCRATCH_MIN];
        let at = server.place(&mut scratch);
        scratch[at..at + wire.len()].copy_from_slice(&wire);
        let (mut message, mut out) = (Vec::new(), Vec::new());
        let mut begun = Begun {
            message: &mut message,
            missing: begun_missing,
        };
        let got = server.receive(&mut scratch, at + wire.len(), Some(&mut begun), &mut out);
        let got = got.unwrap();
        assert_eq!([&message, &scratch[..got]].concat(), b"call");
        assert_eq!((message.len(), server.held_bytes()), (begun_missing, 0));
        assert!(out.is_empty() && server.has_failure());
        server.seal(b"reply", &mut out).unwrap();
        assert_eq!(
            hand(&mut client, &out, 99, &mut Vec::new()).unwrap(),
            b"reply"
        );
        out.clear();
        match begun_missing {
            0 => assert!(server.failure(&mut out).is_some()),
            3 => server.close(&mut out),
            _ => assert!(hand(&mut server, b"more", 4, &mut out).is_err()),
        }
        let due = (FATAL, AlertDescription::BadRecordMac);
        assert_eq!(alert_in(&mut out, &mut client), due);
        assert!(!server.has_failure() && server.failure(&mut out).is_none());
        assert!(server.seal(b"reply", &mut out).is_err());
    }
}

/// The same in one read with the end of the handshake.
#[test]
fn data_behind_the_handshake_is_delivered_in_front_of_a_bad_record() {
    for texts in [&["one", "bad"][..], &["one", "two", "bad"]] {
        data_behind_the_handshake(texts);
    }
}

fn data_behind_the_handshake(texts: &[&str]) {
    let pair = pair("server.test", true);
    let mut channel = Channel::server(&pair.server).unwrap();
    let (config, name) = (pair.client.config.clone(), pair.client.name.clone());
    let mut library = ClientConnection::new(config, name).unwrap();
    let mut flight = Vec::new();
    hand(&mut channel, &wire_of(&mut library), 4096, &mut flight).unwrap();
    assert!(hand_library(&mut library, &flight).is_empty());
    let mut wire = wire_of(&mut library);
    for text in texts {
        library.writer().write_all(text.as_bytes()).unwrap();
        wire.extend(wire_of(&mut library));
    }
    *wire.last_mut().unwrap() ^= 1;
    let mut out = Vec::new();
    let got = hand(&mut channel, &wire, wire.len(), &mut out);
    let good = texts[..texts.len() - 1].concat();
    assert_eq!(got.unwrap(), good.as_bytes());
    assert!(channel.is_open() && channel.has_failure() && out.is_empty());
}

/// A client whose server sends data with its part of the handshake.
#[test]
fn data_of_a_server_with_the_handshake_is_delivered_in_front_of_a_bad_record() {
    let pair = pair("server.test", false);
    let suite = suites().next().unwrap();
    let mut library = library_server(&pair.server, suite, true);
    let mut channel = Channel::client(&pair.client, &mut Vec::new());
    let mut out = Vec::new();
    hand(&mut channel, GO, 2, &mut out).unwrap();
    hand_library(&mut library, &std::mem::take(&mut out));
    library.writer().write_all(b"data").unwrap();
    let mut wire = wire_of(&mut library);
    library.writer().write_all(b"more").unwrap();
    wire.extend(wire_of(&mut library));
    *wire.last_mut().unwrap() ^= 1;
    let got = hand(&mut channel, &wire, wire.len(), &mut out);
    assert_eq!(got.unwrap(), b"data");
    assert!(channel.is_open() && channel.has_failure());
    // The end of the handshake is in it.
    assert!(hand_library(&mut library, &out).is_empty());
    assert!(!library.is_handshaking());
}

#[test]
fn what_comes_behind_the_end_is_ignored() {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let closing: Typed<'_> = (ALERT, &[WARNING, 0]);
    let wire = wire_from(&mut client, &[(DATA, b"last"), closing, (DATA, b"late")]);
    let mut out = Vec::new();
    assert_eq!(hand(&mut server, &wire, 9000, &mut out).unwrap(), b"last");
    assert!(server.is_ended() && server.held_bytes() == 0);
    let late = wire_from(&mut client, &[(DATA, b"late"), (99, b"what")]);
    for wire in [&late[..], b"what is no record", b""] {
        let length = server.receive(&mut vec![0; crate::SCRATCH_MIN], 0, None, &mut out);
        assert_eq!(length, Ok(0));
        assert!(hand(&mut server, wire, 9000, &mut out).unwrap().is_empty());
        assert!(server.is_ended() && server.held_bytes() == 0);
    }
    // The other direction is still open.
    server.seal(b"reply", &mut out).unwrap();
    assert_eq!(
        hand(&mut client, &out, 99, &mut Vec::new()).unwrap(),
        b"reply"
    );
}
