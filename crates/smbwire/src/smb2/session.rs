//! A session with its tree, as the load driver uses it: how requests are begun, protected
//! and sent, and how what comes is opened. No allocation in any of it.

use super::chain;
use super::credits::Credits;
use super::header::{self, Command, Header, flags};
use super::negotiate::capability;
use super::setup::{share_capability, share_flag};
use super::{Request, credit_charge};
use crate::crypto::seal::{TRANSFORM, TRANSFORM_ID};
use crate::crypto::{Opener, Sealer, Signer};
use crate::error::DecodeError;
use crate::frame;
use crate::settings::TransferLimits;
use crate::status;
use filermark_model::smb::Dialect;

/// How many credits every request asks for, besides those it takes.
pub const CREDITS_ASKED: u16 = 64;

/// A session that a handshake has made, with its tree.
#[derive(Debug)]
pub struct Session {
    /// The dialect in use.
    pub dialect: Dialect,
    /// The session.
    pub session_id: u64,
    /// The tree.
    pub tree_id: u32,
    /// How large transfers may be.
    pub limits: TransferLimits,
    /// Credits granted so far and not used, and the next message id.
    pub credits: Credits,
    /// The server's identity.
    pub server_guid: [u8; 16],
    /// What the server can: see [`capability`].
    pub capabilities: u32,
    /// The share.
    pub share: Share,
    /// Who the server takes the user for.
    pub user: User,
    /// What requests say about lost channels.
    pub(super) marks: Marks,
    /// Whether and how messages are protected.
    pub(super) protection: Protection,
    /// The server's first token, for logging in once more.
    pub(super) token: Box<[u8]>,
}

/// A share, from the reply to TREE_CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// See [`share_flag`].
    pub flags: u32,
    /// See [`share_capability`].
    pub capabilities: u32,
    /// The most that the user may do in it: see [`super::file::access`].
    pub maximal_access: u32,
}

impl Share {
    /// Whether it is in a distributed file system: some paths may be elsewhere.
    pub const fn is_dfs(&self) -> bool {
        self.flags & (share_flag::DFS | share_flag::DFS_ROOT) != 0
            || self.capabilities & share_capability::DFS != 0
    }
}

/// Who the server takes the user for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The authenticated user.
    Known,
    /// A guest.
    Guest,
    /// An anonymous user.
    Anonymous,
}

/// What requests of a session with several channels say (MS-SMB2 2.2.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// How many channels have been lost (ChannelSequence): the server refuses what was sent
    /// before such a loss and comes after it (MS-SMB2 3.3.5.2.10).
    pub channel_sequence: u16,
    /// The request was sent on a channel that was lost (SMB2_FLAGS_REPLAY_OPERATION).
    pub is_replay: bool,
}

/// What protects the messages of a session.
#[derive(Debug, Default)]
pub(super) struct Protection {
    /// The session's signer; `None` for guests and anonymous users.
    pub signer: Option<Signer>,
    /// Whether it is used for everything.
    pub sign: bool,
    /// Encryption takes the place of signatures.
    pub seal: Option<(Sealer, Opener)>,
}

impl Session {
    /// Leaves space for what comes before the messages of a frame, and returns where the frame
    /// begins; [`Self::protect`] fills the space.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        let at = frame::begin(out);
        if self.protection.seal.is_some() {
            out.extend_from_slice(&[0; TRANSFORM]);
        }
        at
    }

    /// Finishes the frame that began at `frame_start` and ends with `out`: fills in its
    /// length, and signs or encrypts its messages in place.
    #[inline]
    pub fn protect(&mut self, out: &mut [u8], frame_start: usize) {
        frame::finish(out, frame_start);
        let messages = out.get_mut(frame_start + frame::MARK..).unwrap_or_default();
        if let Some((sealer, _)) = &mut self.protection.seal {
            sealer.seal(self.session_id, messages);
        } else if let (true, Some(signer)) = (self.protection.sign, &self.protection.signer) {
            sign_all(signer, messages);
        }
    }

    /// Opens what was received (without the frame's mark): decrypts it in place, and checks
    /// the signature of each message where the session is signed. [`chain::Messages`] takes
    /// it apart. Interim replies and breaks may come unsigned; on an encrypted session
    /// nothing but breaks may come in the clear.
    ///
    /// # Errors
    /// It is not what this session's server can have sent.
    #[inline]
    pub fn unprotect<'a>(&mut self, message: &'a mut [u8]) -> Result<&'a [u8], DecodeError> {
        let is_sealed = message.starts_with(&TRANSFORM_ID);
        match (&self.protection.seal, is_sealed) {
            (Some((_, opener)), true) => {
                let plain = opener.open(self.session_id, message)?;
                match plain.starts_with(&header::PROTOCOL_ID) {
                    true => Ok(plain),
                    false => Err(DecodeError::Bad("the decrypted message's mark")),
                }
            }
            // smbd sends breaks in the clear, whatever the session (seen with 4.17).
            (Some(_), false) if is_lone_break(message) => Ok(message),
            (Some(_), false) => Err(DecodeError::Bad(
                "a message in the clear on an encrypted session",
            )),
            (None, true) => Err(DecodeError::Bad(
                "an encrypted message on a session that is not",
            )),
            (None, false) => {
                if let (true, Some(signer)) = (self.protection.sign, &self.protection.signer) {
                    verify_all(signer, message)?;
                }
                Ok(message)
            }
        }
    }

    /// The header of a request of this session and tree, which takes `charge` credits and
    /// asks for those again and [`CREDITS_ASKED`] more.
    #[inline]
    pub const fn header(&self, command: Command, message_id: u64, charge: u16) -> Header {
        Header {
            tree_id: self.tree_id,
            session_id: self.session_id,
            credit_charge: if self.has_multi_credit() { charge } else { 0 },
            credits: charge.saturating_add(CREDITS_ASKED),
            status: self.marks.channel_sequence as u32,
            flags: match self.marks.is_replay {
                true => flags::REPLAY,
                false => 0,
            },
            ..Header::request(command, message_id)
        }
    }

    /// What the next requests say about lost channels. (For dialects from 3.0 on; others have
    /// no such field.)
    #[inline]
    pub const fn mark(&mut self, marks: Marks) {
        self.marks = marks;
    }

    /// The same session for other connections that are to be bound to it.
    #[must_use]
    pub fn share(&self) -> Self {
        self.fork()
    }

    /// Appends a request, and gives where it begins. What it takes is [`Self::charge`] of
    /// [`Request::charged_bytes`].
    #[inline]
    pub fn request<R: Request>(&self, out: &mut Vec<u8>, message_id: u64, request: &R) -> usize {
        let charge = self.charge(request.charged_bytes());
        let header = self.header(R::COMMAND, message_id, charge);
        header::append(out, &header, request)
    }

    /// The same for what is related to the message before it in the compound: its file is
    /// [`super::FileId::RELATED`].
    #[inline]
    pub fn related<R: Request>(&self, out: &mut Vec<u8>, message_id: u64, request: &R) -> usize {
        let charge = self.charge(request.charged_bytes());
        let mut header = self.header(R::COMMAND, message_id, charge);
        header.flags |= flags::RELATED;
        header::append(out, &header, request)
    }

    /// Appends the message that takes a request back, and gives where it begins. The id is the
    /// request's; where it was answered with STATUS_PENDING, the async id of that answer goes
    /// with it. A CANCEL takes no credit and has no answer of its own: the request gets
    /// STATUS_CANCELLED (MS-SMB2 3.2.4.24).
    pub fn cancel(&self, out: &mut Vec<u8>, message_id: u64, async_id: Option<u64>) -> usize {
        let header = Header {
            credit_charge: 0,
            credits: 0,
            flags: async_id.map_or(0, |_| flags::ASYNC),
            async_id: async_id.unwrap_or(0),
            ..self.header(Command::Cancel, message_id, 0)
        };
        header::append(out, &header, &super::CancelRequest)
    }

    /// How many credits, and message ids, a request takes that carries or asks for so many
    /// bytes.
    #[inline]
    pub const fn charge(&self, bytes: u32) -> u16 {
        match self.has_multi_credit() {
            true => credit_charge(bytes),
            false => 1,
        }
    }

    /// Whether a request may take more than one credit, and carry more than 64 KiB.
    #[inline]
    pub const fn has_multi_credit(&self) -> bool {
        self.capabilities & capability::LARGE_MTU != 0
    }

    /// Whether other connections can be bound to the session, as the server says.
    pub const fn has_channels(&self) -> bool {
        let has_keys = self.protection.signer.is_some();
        has_keys
            && self.capabilities & capability::MULTI_CHANNEL != 0
            && matches!(self.dialect, Dialect::V300 | Dialect::V302 | Dialect::V311)
    }

    /// Whether leases can be asked for; version 2 of them from 3.0 on.
    pub const fn has_leases(&self) -> bool {
        self.capabilities & capability::LEASING != 0
    }

    /// The name of the signing algorithm in use, or `none`.
    pub fn signing_name(&self) -> &'static str {
        match (
            &self.protection.seal,
            self.protection.sign,
            &self.protection.signer,
        ) {
            (None, true, Some(signer)) => signer.algorithm().name(),
            _ => "none",
        }
    }

    /// The name of the cipher in use, or `none`.
    pub fn cipher_name(&self) -> &'static str {
        match &self.protection.seal {
            Some((sealer, _)) => sealer.cipher().name(),
            None => "none",
        }
    }

    /// Bytes before the message in a frame.
    #[inline]
    pub const fn overhead(&self) -> usize {
        match self.protection.seal {
            Some(_) => frame::MARK + TRANSFORM,
            None => frame::MARK,
        }
    }

    /// The same session for a new login: with nonces of its own.
    pub(super) fn fork(&self) -> Self {
        let seal = self.protection.seal.as_ref();
        Self {
            token: self.token.clone(),
            protection: Protection {
                signer: self.protection.signer.clone(),
                sign: self.protection.sign,
                seal: seal.map(|(sealer, opener)| (sealer.fork(), opener.clone())),
            },
            ..*self
        }
    }
}

/// Whether all of it is one break that the server sends of its own accord.
fn is_lone_break(message: &[u8]) -> bool {
    Header::decode(message).is_ok_and(|header| header.is_break() && header.next_command == 0)
}

/// Signs every message of a compound.
fn sign_all(signer: &Signer, messages: &mut [u8]) {
    // This crate puts nothing but messages into a frame; anything else is sent as it is.
    let _ = chain::for_each_mut(messages, |_, message| {
        signer.sign(message);
        Ok(())
    });
}

/// Checks every message of a compound.
fn verify_all(signer: &Signer, messages: &mut [u8]) -> Result<(), DecodeError> {
    chain::for_each_mut(messages, |header, message| {
        match header.flags & flags::SIGNED != 0 {
            true if signer.verify(message) => Ok(()),
            // smbd 4.17 says that this is signed, by the signature of the request.
            true if header.status == status::USER_SESSION_DELETED => Ok(()),
            false if may_be_unsigned(&header) => Ok(()),
            _ => Err(DecodeError::Signature),
        }
    })
}

/// Interim replies, breaks, and that the session is no more (its keys are gone with it).
const fn may_be_unsigned(header: &Header) -> bool {
    header.is_interim()
        || header.is_break()
        || header.status == status::USER_SESSION_DELETED
        || header.status == status::NETWORK_SESSION_EXPIRED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u32, message_id: u64, command: Command) -> Vec<u8> {
        let header = Header {
            status,
            flags: flags::SIGNED | flags::SERVER_TO_REDIR,
            signature: [7; 16],
            ..Header::request(command, message_id)
        };
        header.to_bytes().to_vec()
    }

    #[test]
    fn only_the_end_of_a_session_may_come_with_a_wrong_signature() {
        let signer = Signer::new(crate::crypto::SigningAlgorithm::AesCmac, &[1; 16]);
        let mut gone = answer(status::USER_SESSION_DELETED, 5, Command::Read);
        assert_eq!(verify_all(&signer, &mut gone), Ok(()));
        for status in [
            status::SUCCESS,
            status::NETWORK_SESSION_EXPIRED,
            status::ACCESS_DENIED,
        ] {
            let mut other = answer(status, 5, Command::Read);
            let verdict = verify_all(&signer, &mut other);
            assert_eq!(verdict, Err(DecodeError::Signature), "{status:#x}");
        }
    }

    #[test]
    fn only_a_break_alone_may_come_in_the_clear() {
        let clear = answer(0, header::UNSOLICITED, Command::OplockBreak);
        assert!(is_lone_break(&clear));
        assert!(!is_lone_break(&answer(0, 5, Command::OplockBreak)));
        assert!(!is_lone_break(&answer(
            0,
            header::UNSOLICITED,
            Command::Read
        )));
        let mut chained = clear;
        chained[20] = 64;
        assert!(!is_lone_break(&chained));
        assert!(!is_lone_break(&[]));
    }
}
