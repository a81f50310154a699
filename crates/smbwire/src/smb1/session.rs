//! A session's messages on the hot path: marks, lengths, numbers and signatures.

use super::header::{Command, FLAGS2_AT, Header, SIGNATURE_AT, flags2};
use super::writer::{Head, Request, patch};
use crate::bytes::same;
use crate::error::DecodeError;
use crate::frame;
use crate::settings::TransferLimits;
use md5::{Digest, Md5};
use std::fmt;

/// Longest key that signs: Kerberos may have 32 bytes.
const KEY_MAX: usize = 64;
/// Process id of the requests, unless the caller sets another.
const PID: u32 = 0x0F11;

/// A session with its tree.
#[derive(Debug)]
pub struct Session {
    /// The session.
    pub uid: u16,
    /// The tree.
    pub tid: u16,
    /// Requests that may be under way at once, 1 or more.
    pub max_mpx: u16,
    /// Longest message that the server takes, but for large writes, in bytes.
    pub max_buffer: u32,
    /// Capabilities of the server (`caps`).
    pub capabilities: u32,
    /// How large transfers may be.
    pub limits: TransferLimits,
    /// The user was let in as a guest.
    pub guest: bool,
    /// The share is in a DFS tree: paths may be refused with STATUS_PATH_NOT_COVERED.
    pub in_dfs: bool,
    pub(super) signer: Option<Signer>,
    /// Flags2 beyond those of every message.
    pub(super) flags2: u16,
}

impl Session {
    /// Whether messages are signed.
    pub const fn is_signed(&self) -> bool {
        self.signer.is_some()
    }

    /// What the header of a request says.
    pub const fn head(&self, mid: u16) -> Head {
        Head {
            tid: self.tid,
            uid: self.uid,
            pid: PID,
            mid,
            flags2: self.flags2,
        }
    }

    /// Leaves space for the frame's mark; returns its offset.
    pub fn begin(&self, out: &mut Vec<u8>) -> usize {
        frame::begin(out)
    }

    /// Ends the message that began with the mark at `frame_start` and ends with `out`:
    /// fills the mark and signs. What comes back is the number that the answer is
    /// signed with, for [`unprotect`](Self::unprotect).
    pub fn protect(&mut self, out: &mut [u8], frame_start: usize) -> u32 {
        frame::finish(out, frame_start);
        let (Some(signer), Some(message)) =
            (&mut self.signer, out.get_mut(frame_start + frame::MARK..))
        else {
            return 0;
        };
        signer.sign(message)
    }

    /// A whole request: [`begin`](Self::begin), its bytes, [`protect`](Self::protect).
    pub fn put<R: Request>(&mut self, out: &mut Vec<u8>, mid: u16, request: &R) -> u32 {
        let frame_start = self.begin(out);
        self.head(mid).put(out, request);
        self.protect(out, frame_start)
    }

    /// Checks the signature of a message without its mark. A break of an oplock comes
    /// unasked and unsigned.
    ///
    /// # Errors
    /// It is too short, or its signature is wrong.
    pub fn unprotect<'a>(
        &mut self,
        message: &'a mut [u8],
        expected_sequence: u32,
    ) -> Result<&'a [u8], DecodeError> {
        if let Some(signer) = &self.signer
            && !Header::read(message)?.is_oplock_break()
        {
            signer.verify(message, expected_sequence)?;
        }
        Ok(message)
    }
}

/// Signs and checks (MS-CIFS 3.1.4.1, MS-SMB 3.1.4.1): MD5 over the key and the message,
/// with its number in the place of the signature.
pub struct Signer {
    key: [u8; KEY_MAX],
    length: usize,
    next: u32,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Signer {
    /// Number of the answer that ends the login: what asked for it was 0.
    pub(super) const LOGIN_ANSWER: u32 = 1;

    /// With the session's key; `None` if that is longer than any key there is.
    pub fn new(session_key: &[u8]) -> Option<Self> {
        let mut key = [0; KEY_MAX];
        key.get_mut(..session_key.len())?
            .copy_from_slice(session_key);
        Some(Self {
            key,
            length: session_key.len(),
            next: Self::LOGIN_ANSWER + 1,
        })
    }

    /// Signs a request; the number of its answer comes back.
    pub fn sign(&mut self, message: &mut [u8]) -> u32 {
        let number = self.next;
        let answer = number.wrapping_add(1);
        self.next = match is_answered(message) {
            true => answer.wrapping_add(1),
            false => answer,
        };
        if let Some([low, high]) = message.get_mut(FLAGS2_AT..FLAGS2_AT + 2) {
            let flags = u16::from_le_bytes([*low, *high]) | flags2::SIGNED;
            [*low, *high] = flags.to_le_bytes();
        }
        if let Some(signature) = self.signature(message, number) {
            patch(message, SIGNATURE_AT, &signature);
        }
        answer
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// It is too short, or its signature is wrong.
    pub fn verify(&self, message: &[u8], number: u32) -> Result<(), DecodeError> {
        let ours = self
            .signature(message, number)
            .ok_or(DecodeError::TooShort)?;
        match message.get(SIGNATURE_AT..SIGNATURE_AT + 8) {
            Some(theirs) if same(&ours, theirs) => Ok(()),
            _ => Err(DecodeError::Signature),
        }
    }

    fn signature(&self, message: &[u8], number: u32) -> Option<[u8; 8]> {
        let mut hash = Md5::new();
        hash.update(self.key.get(..self.length)?);
        hash.update(message.get(..SIGNATURE_AT)?);
        hash.update(u64::from(number).to_le_bytes());
        hash.update(message.get(SIGNATURE_AT + 8..)?);
        hash.finalize().first_chunk().copied()
    }
}

/// Whether a request has an answer, or at least a number for one. All have but NT_CANCEL:
/// even an oplock that is given back, though servers do not answer that (MS-CIFS 3.2.4.1.3).
fn is_answered(message: &[u8]) -> bool {
    message.get(4) != Some(&Command::NtCancel.code())
}
