//! The handshake's entry point for the fuzzer. Random bytes never carry a right signature:
//! here they get one where the handshake asks for it, so that what is behind it is reached.

use super::super::header::{LEN, PROTOCOL_ID};
use super::super::setup::SessionSetupResponse;
use super::*;
use crate::auth::AuthError;
use crate::crypto::seal::{TRANSFORM, TRANSFORM_ID};
use crate::crypto::{Sealer, Signer};
use crate::frame::{Front, MARK};
use filermark_model::smb::{Dialect, Encryption, Signing};

/// More messages than these no handshake has.
const MESSAGES_MAX: usize = 16;
/// The key that every login gives.
const KEY: [u8; 16] = *b"sixteen byte key";

/// Takes every token for a good one.
struct Believer;

impl Authenticator for Believer {
    fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        match token {
            b"no" => Err(AuthError::Token("it says no")),
            _ => Ok(token.to_vec()),
        }
    }

    fn session_key(&self) -> Option<&[u8]> {
        Some(&KEY)
    }
}

/// What the first byte makes of the settings.
fn settings(choice: u8) -> Settings {
    let (low, high) = match choice & 3 {
        0 => (Dialect::V202, Dialect::V311),
        1 => (Dialect::V202, Dialect::V210),
        2 => (Dialect::V300, Dialect::V302),
        _ => (Dialect::V311, Dialect::V311),
    };
    Settings {
        dialects: (low, high),
        signing: match choice >> 2 & 3 {
            0 => Signing::Auto,
            1 => Signing::Off,
            2 => Signing::Required,
            _ => Signing::AesCmac,
        },
        encryption: match choice >> 4 & 3 {
            0 => Encryption::Auto,
            1 => Encryption::Off,
            2 => Encryption::Required,
            _ => Encryption::Aes256Gcm,
        },
        server: "server".to_owned(),
        share: "share".to_owned(),
        guest_allowed: choice & 0x40 != 0,
        client_guid: [5; 16],
        random: [6; 32],
    }
}

/// Messages with their marks, as a server's answers to a handshake. The first byte chooses
/// the settings; its highest bit, that a session that is ready is logged in once more.
pub fn smb2_handshake(data: &[u8]) {
    sessions(data);
}

/// The same, and how many sessions came of it.
pub fn sessions(data: &[u8]) -> usize {
    let Some((&choice, mut stream)) = data.split_first() else {
        return 0;
    };
    let mut ready = 0;
    let mut handshake = Handshake::new(settings(choice), Box::new(Believer));
    let mut out = Vec::new();
    let mut started = handshake.first(&mut out).is_ok();
    for _ in 0..MESSAGES_MAX {
        let Ok(Front::Complete(length)) = frame::front(stream, 1 << 16) else {
            return ready;
        };
        let (message, rest) = stream[MARK..].split_at(length);
        stream = rest;
        let message = handshake.made_plausible(message);
        if !started {
            return ready;
        }
        out.clear();
        match handshake.reply(&message, &mut out) {
            Ok(Next::Ready(mut session)) => {
                ready += 1;
                is_usable(&mut session);
                if choice & 0x80 == 0 {
                    return ready;
                }
                let believer = Box::new(Believer);
                handshake = Handshake::again(&session, settings(choice), believer);
                started = handshake.first(&mut out).is_ok();
            }
            Ok(Next::Send) => assert!(out.len() > MARK + LEN, "something is to be sent"),
            Ok(Next::Pending) => assert!(out.is_empty()),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                let over = handshake.reply(&message, &mut out);
                assert!(over.is_err(), "it is over");
                return ready;
            }
        }
    }
    ready
}

/// What a handshake promises of the session it gives.
fn is_usable(session: &mut Session) {
    let limits = session.limits;
    let all = [limits.read_max, limits.write_max, limits.transact_max];
    assert!(all.iter().all(|max| (4096..=0x00FF_0000).contains(max)));
    let most = all.into_iter().max().unwrap_or(0);
    assert!(session.has_multi_credit() || most <= 65_536);
    let mut out = vec![1; 3];
    let frame = session.begin(&mut out);
    session.request(&mut out, 9, &super::super::EchoRequest);
    session.protect(&mut out, frame);
    assert_eq!(frame, 3);
    assert_eq!(out.len(), 3 + session.overhead() + LEN + 4);
}

impl Handshake {
    /// The message as the server that has the keys would send it: an answer to what was
    /// asked, signed or encrypted.
    fn made_plausible(&self, message: &[u8]) -> Vec<u8> {
        let mut message = message.to_vec();
        if message.len() < LEN || message.starts_with(&TRANSFORM_ID) {
            return message;
        }
        message[..4].copy_from_slice(&PROTOCOL_ID);
        message[16] |= 1; // from the server
        message[24..32].copy_from_slice(&self.asked.to_le_bytes());
        let is_last = self.step == Step::Setup
            && Header::decode(&message).is_ok_and(|h| h.status == status::SUCCESS)
            && SessionSetupResponse::decode(&message).is_ok();
        if let (true, Some(agreed)) = (is_last, &self.negotiated) {
            let keys = Keys::derive(agreed.dialect, agreed.cipher, &KEY, &self.preauth);
            Signer::new(agreed.signing, &keys.signing).sign(&mut message);
            return message;
        }
        let Some(session) = &self.session else {
            return message;
        };
        match (&session.protection.seal, &session.protection.signer) {
            (Some((sealer, _)), _) if self.step != Step::MoreProcessing => {
                let cipher = sealer.cipher();
                let keys = Keys::derive(session.dialect, Some(cipher), &KEY, &self.preauth);
                let mut frame = vec![0; TRANSFORM];
                frame.extend(message);
                Sealer::new(cipher, &keys.server_to_client).seal(session.session_id, &mut frame);
                frame
            }
            (_, Some(signer)) => {
                // A compound is signed message by message; the first is enough here.
                message[20..24].fill(0);
                signer.sign(&mut message);
                message
            }
            _ => message,
        }
    }
}
