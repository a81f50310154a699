//! Entry points for the fuzzer (`fuzz/`) and for the tests with cut and corrupted messages.

use super::info::{AllInfo, BasicInfo, Entries, FsSize, StandardInfo};
use super::*;
use crate::auth::{AuthError, Authenticator};
use crate::codec::Answer;
use crate::codec::fuzzing::read_all;
use crate::frame::MARK;
use crate::settings::{Next, Settings};
use filermark_model::smb::{Dialect, Encryption, Signing};

/// Longest answer that is put together.
const MAX: usize = 1 << 20;

/// One message in every way it can be read.
pub fn smb1(data: &[u8]) {
    let Ok(reply) = Reply::read(data) else {
        return;
    };
    let mut again = Vec::new();
    reply.header.put(&mut again);
    assert_eq!(Header::read(&again), Ok(reply.header));
    let _ = Created::read(&reply);
    let _ = Written::read(&reply);
    let _ = Echoed::read(&reply);
    let _ = OplockBreak::read(&reply);
    let _ = Negotiated::read(&reply);
    let _ = ReadData::read(&reply).map(|read| assert!(read.data.len() <= data.len()));
    codec(&reply, Transaction::default());
    let Ok(part) = Part::read(&reply) else {
        return;
    };
    let mut pieces = Pieces::new(MAX);
    for _ in 0..3 {
        if let Ok(Some(answer)) = pieces.add(&part) {
            transaction(&answer);
            codec(&reply, answer);
        }
    }
    if let Some(answer) = part.whole() {
        transaction(&answer);
        pieces.clear();
        assert_eq!(pieces.add(&part), Ok(Some(answer)));
    }
}

/// As the codec that both protocols share reads it.
fn codec(reply: &Reply<'_>, transaction: Transaction<'_>) {
    let message = reply.message;
    let answer = Answer {
        message,
        transaction,
    };
    read_all::<Session>(reply.header.command.into(), &answer);
}

fn transaction(answer: &Transaction<'_>) {
    let _ = FindFirstReply::read(answer);
    let _ = FindNextReply::read(answer);
    let _ = SecurityReply::read(answer).map(|security| security.is_sound());
    let _ = BasicInfo::read(answer.data);
    let _ = StandardInfo::read(answer.data);
    let _ = AllInfo::read(answer.data);
    let _ = FsSize::read(answer.data);
    let _ = FsSize::read_full(answer.data);
    let entries = Entries::new(answer.data, u16::MAX).count();
    assert!(entries <= answer.data.len() / 94 + 1, "entries overlap");
}

/// Takes every token for a good one.
struct Believer;

impl Authenticator for Believer {
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        Ok(match token.first() {
            Some(1) => vec![2; 20],
            _ => Vec::new(),
        })
    }
    fn session_key(&self) -> Option<&[u8]> {
        Some(&[7; 16])
    }
}

/// What settings the handshakes below have.
pub fn settings(signing: Signing) -> Settings {
    Settings {
        dialects: (Dialect::Nt1, Dialect::Nt1),
        signing,
        encryption: Encryption::Auto,
        server: "server".into(),
        share: "share".into(),
        guest_allowed: false,
        client_guid: [1; 16],
        random: [2; 32],
    }
}

/// Answers to a handshake: framed messages one after the other.
pub fn smb1_handshake(data: &[u8]) {
    for signing in [Signing::Auto, Signing::Off, Signing::Required] {
        let mut handshake = Handshake::new(settings(signing), Box::new(Believer));
        let mut out = Vec::new();
        handshake.first(&mut out);
        let mut rest = data;
        while let Ok(crate::frame::Front::Complete(length)) = crate::frame::front(rest, 1 << 17) {
            let (message, after) = rest.split_at(MARK + length);
            rest = after;
            out.clear();
            match handshake.reply(&message[MARK..], &mut out) {
                Ok(Next::Send) => assert!(out.len() > MARK + HEADER),
                Ok(Next::Pending) => {}
                Ok(Next::Ready(session)) => {
                    assert!(session.limits.read_max > 0 && session.limits.write_max > 0);
                    break;
                }
                Err(error) => {
                    let _ = error.to_string();
                    break;
                }
            }
        }
    }
}
