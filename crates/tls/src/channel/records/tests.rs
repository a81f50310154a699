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
    ServerConnection::new(Arc::new(config)).unwrap()
}

#[test]
fn a_server_of_the_library_that_sends_tickets_understands_a_client() {
    let pair = pair("server.test", false);
    let mut count = 0;
    for suite in suites() {
        let mut library = library_server(&pair.server, suite);
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

/// A record of this type from the client, and what the server says to it.
fn refusal(records: &[(u8, &[u8])]) -> (Result<Vec<u8>, TlsError>, Vec<u8>) {
    let pair = pair("server.test", true);
    let (mut client, mut server) = opened(&pair, 4096);
    let (mut wire, mut alert) = (Vec::new(), Vec::new());
    for (kind, plain) in records {
        let sealing = records_of(&mut client);
        sealing.append(*kind, plain, &mut wire).unwrap();
    }
    let got = hand(&mut server, &wire, 30_000, &mut alert);
    (got, alert)
}

#[test]
fn records_that_are_not_allowed_end_the_session_with_an_alert() {
    let cases: [&[(u8, &[u8])]; 10] = [
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
        // Data between the parts of a message.
        &[(HANDSHAKE, &[KEY_UPDATE, 0]), (DATA, b"data")],
        &[(ALERT, &[1])],
    ];
    for records in cases {
        let (got, alert) = refusal(records);
        assert!(
            matches!(got, Err(TlsError::Broken(_))),
            "{records:?}: {got:?}"
        );
        assert_eq!(alert.len(), RECORD_ADDED + 2, "{records:?}");
    }
}

#[test]
fn records_that_are_no_records_end_the_session() {
    let pair = pair("server.test", true);
    let wires: [&[u8]; 4] = [
        &[HANDSHAKE, 3, 3, 0, 1, 0],
        &[DATA, 2, 3, 0, 1, 0],
        // Longer than any, and too short for a tag.
        &[DATA, 3, 3, 0x41, 1],
        &[DATA, 3, 3, 0, 2, 0, 0],
    ];
    for wire in wires {
        let (_, mut server) = opened(&pair, 4096);
        let mut alert = Vec::new();
        let got = hand(&mut server, wire, 4096, &mut alert);
        assert!(matches!(got, Err(TlsError::Broken(_))), "{wire:?}: {got:?}");
        assert_eq!(alert.len(), RECORD_ADDED + 2);
        let again = hand(&mut server, wire, 4096, &mut alert);
        assert!(again.is_err() && server.seal(b"reply", &mut alert).is_err());
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
