//! Compounds: several messages in one frame (MS-SMB2 3.2.4.1.4, 3.2.5.1.10).

use super::header::{Header, LEN};
use super::{align8, patch};
use crate::error::DecodeError;

/// Where `NextCommand` is in a header.
const NEXT_COMMAND: usize = 20;

/// Closes the message that began at `message` and ends with `out`, and gives where the next
/// one of the compound is to begin: at a multiple of 8.
pub fn next(out: &mut Vec<u8>, message: usize) -> usize {
    align8(out, message);
    let length = out.len().saturating_sub(message) as u32;
    patch(out, message + NEXT_COMMAND, &length.to_le_bytes());
    out.len()
}

/// The messages of what was received, one after another.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Of bytes without mark and transform header.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<(Header, &'a [u8]), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        Some(split(bytes).map(|(header, message, rest)| {
            self.rest = rest;
            (header, message)
        }))
    }
}

/// The first message, with its padding, and what follows it.
fn split(bytes: &[u8]) -> Result<(Header, &[u8], &[u8]), DecodeError> {
    let header = Header::decode(bytes)?;
    let at = checked_next(header.next_command, bytes.len())?;
    let (message, rest) = bytes.split_at(at);
    Ok((header, message, rest))
}

/// Where the message after this one begins; `len` where it is the last.
pub(crate) fn checked_next(next_command: u32, len: usize) -> Result<usize, DecodeError> {
    let next = next_command as usize;
    match next {
        0 => Ok(len),
        _ if next < LEN || !next.is_multiple_of(8) => {
            Err(DecodeError::Bad("the next command's offset"))
        }
        _ if next >= len => Err(DecodeError::TooShort),
        _ => Ok(next),
    }
}

/// Walks over the messages of a buffer so that each can be changed.
pub(crate) fn for_each_mut(
    mut bytes: &mut [u8],
    mut each: impl FnMut(Header, &mut [u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    while !bytes.is_empty() {
        let header = Header::decode(bytes)?;
        let at = checked_next(header.next_command, bytes.len())?;
        let (message, rest) = bytes.split_at_mut(at);
        each(header, message)?;
        bytes = rest;
    }
    Ok(())
}
