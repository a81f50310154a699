//! SMB 2.0.2 to 3.1.1 (MS-SMB2): messages, how they are protected, and how a session comes to be.
//!
//! A request is a small value that appends itself to a buffer; a response borrows from the
//! message it is decoded from. A message is the slice from its header on: every offset in it
//! counts from there. What goes over the wire is a frame: four bytes of length, then (where
//! the session is encrypted) a transform header, then one message or a compound of them.
//!
//! ```text
//! let frame = session.begin(&mut out);                 // space for mark and transform header
//! let message = session.request(&mut out, id, &create); // header and body
//! let message = chain::next(&mut out, message);         // a compound: another one
//! session.related(&mut out, id + 1, &close);
//! session.protect(&mut out, frame);                     // lengths, signatures or encryption
//! ...
//! let plain = session.unprotect(&mut received)?;        // decrypts in place, checks signatures
//! for message in Messages::new(plain) { let (header, message) = message?; ... }
//! ```
//!
//! It uses no sockets, no clock and no threads, and keeps no state of files that are
//! read or written. [`Handshake`] is the way to a [`Session`].

pub mod chain;
pub mod close;
mod codec;
pub mod contexts;
pub mod create;
pub mod credits;
pub mod directory;
pub mod failure;
pub mod file;
pub mod fuzzing;
pub mod handshake;
pub mod header;
pub mod io;
pub mod ioctl;
pub mod lock;
pub mod negotiate;
pub mod notify;
pub mod oplock;
pub mod query;
pub mod security;
pub mod session;
pub mod set;
pub mod setup;
#[cfg(test)]
mod tests;

pub use chain::Messages;
pub use close::{CloseRequest, CloseResponse, FlushRequest};
pub use create::{CreateRequest, CreateResponse, GrantedLease, OplockLevel, RequestedOplock};
pub use credits::{Credits, credit_charge};
pub use directory::{DirectoryClass, Entries, OutputResponse, QueryDirectoryRequest, Scan};
pub use failure::ErrorResponse;
pub use file::{FileFacts, FileId};
pub use handshake::Handshake;
pub use header::{Command, Header};
pub use io::{ReadRequest, ReadResponse, WriteRequest, WriteResponse};
pub use ioctl::{IoctlRequest, IoctlResponse};
pub use lock::{LockKind, LockRange, LockRequest};
pub use notify::ChangeNotifyRequest;
pub use oplock::{LeaseAcknowledgment, OplockAcknowledgment, OplockBreak};
pub use query::{FileClass, FsClass, Query, QueryInfoRequest};
pub use session::{Session, User};
pub use set::{SetInfoRequest, SetInfoResponse};
pub use setup::{CancelRequest, EchoRequest, EmptyResponse, LogoffRequest, TreeDisconnectRequest};

use crate::bytes::ByteReader;
use crate::error::DecodeError;

/// The body of a request.
pub trait Request {
    /// Its command.
    const COMMAND: Command;

    /// Appends the body; the header is right before it, at the end of `out`.
    fn encode(&self, out: &mut Vec<u8>);

    /// Bytes of payload it carries or asks for, whichever is more: what its credit charge
    /// is made of (MS-SMB2 3.2.4.1.5).
    fn charged_bytes(&self) -> u32 {
        0
    }
}

/// The body of a response.
pub trait Response<'a>: Sized {
    /// Decodes the message that begins with its header.
    ///
    /// # Errors
    /// It is cut, points outside of itself, or is of another structure.
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError>;
}

/// A reader behind the header and the structure size, which must be `size`.
pub(crate) fn body(message: &[u8], size: u16) -> Result<ByteReader<'_>, DecodeError> {
    let mut r = ByteReader::new(message);
    r.take(header::LEN)?;
    match r.u16()? == size {
        true => Ok(r),
        false => Err(DecodeError::Bad("the structure's size")),
    }
}

/// `len` bytes at an offset from the header; the offset means nothing where there are none.
pub(crate) fn part<'a>(
    r: &ByteReader<'a>,
    offset: usize,
    len: usize,
) -> Result<&'a [u8], DecodeError> {
    match len {
        0 => Ok(&[]),
        _ if offset < header::LEN => Err(DecodeError::Bad("an offset into the header")),
        _ => r.at(offset, len),
    }
}

/// Overwrites bytes that are there already.
pub(crate) fn patch(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at.saturating_add(bytes.len())) {
        place.copy_from_slice(bytes);
    }
}

/// Appends zeros until what began at `start` has a length of a multiple of 8.
pub(crate) fn align8(out: &mut Vec<u8>, start: usize) {
    let lacking = out.len().saturating_sub(start).wrapping_neg() & 7;
    out.extend_from_slice(&[0; 7][..lacking]);
}
