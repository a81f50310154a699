//! Reads big-endian words from bytes that nobody has vouched for, and knows where it is.

use super::error::{What, WireError};

/// A view into a datagram. `base` is where `bytes` begins in the datagram, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    base: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, base: 0 }
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// The next `length` bytes.
    pub(super) fn take(
        &mut self,
        length: usize,
        field: &'static str,
    ) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(self.error(
                field,
                What::Short {
                    wanted: length,
                    left: self.bytes.len(),
                },
            ));
        };
        self.bytes = rest;
        self.base += length;
        Ok(taken)
    }

    /// The next `length` bytes as a view of their own.
    pub(super) fn part(&mut self, length: usize, field: &'static str) -> Result<Self, WireError> {
        let base = self.base;
        let bytes = self.take(length, field)?;
        Ok(Self { bytes, base })
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        self.array(field).map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// An XDR opaque or string of at most `limit` bytes, with its padding.
    pub(super) fn opaque(
        &mut self,
        limit: u32,
        field: &'static str,
    ) -> Result<&'a [u8], WireError> {
        let start = *self;
        let length = self.u32(field)?;
        if length > limit {
            return Err(start.error(
                field,
                What::TooLarge {
                    found: length,
                    limit,
                },
            ));
        }
        let bytes = self.take(length as usize, field)?;
        // Some agents leave the padding of the last opaque away: what is not there is not missed.
        let padding = (length as usize).wrapping_neg() & 3;
        let there = padding.min(self.remaining());
        self.take(there, field)?;
        Ok(bytes)
    }

    /// An error at the next byte.
    pub(super) fn error(&self, field: &'static str, what: What) -> WireError {
        WireError {
            offset: self.base,
            field,
            what,
        }
    }
}
