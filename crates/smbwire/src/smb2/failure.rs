//! ERROR: the body of a response whose status says that it failed (MS-SMB2 2.2.2).
//! Not every failing status has this body: STATUS_BUFFER_OVERFLOW comes with what fits,
//! STATUS_MORE_PROCESSING_REQUIRED and some answers to IOCTL with their own.

use super::{Response, body};
use crate::bytes::ByteReader;
use crate::error::DecodeError;

/// What a failure says besides its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorResponse<'a> {
    /// How many contexts there are (3.1.1).
    count: u8,
    /// All of them, or the data itself where there are none.
    data: &'a [u8],
}

impl<'a> Response<'a> for ErrorResponse<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 9)?;
        let count = r.u8()?;
        r.u8()?;
        let length = r.u32()? as usize;
        let data = r.take(length)?;
        Ok(Self { count, data })
    }
}

impl<'a> ErrorResponse<'a> {
    /// What it says, piece by piece, with the identifier of each.
    pub const fn contexts(&self) -> Contexts<'a> {
        Contexts {
            reader: ByteReader::new(self.data),
            left: self.count,
            is_bare: self.count == 0,
        }
    }

    /// STATUS_BUFFER_TOO_SMALL: how many bytes would have been enough.
    pub fn needed(&self) -> Option<u32> {
        let (_, data) = self.contexts().next()?.ok()?;
        ByteReader::new(data).u32().ok()
    }
}

/// The contexts of a failure, each with its identifier (0: the default one).
#[derive(Clone, Debug)]
pub struct Contexts<'a> {
    reader: ByteReader<'a>,
    left: u8,
    /// There are none, but there may be data.
    is_bare: bool,
}

impl<'a> Iterator for Contexts<'a> {
    type Item = Result<(u32, &'a [u8]), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if std::mem::take(&mut self.is_bare) && !self.reader.rest().is_empty() {
            return Some(Ok((0, self.reader.rest())));
        }
        self.left = self.left.checked_sub(1)?;
        let found = self.context();
        if found.is_err() {
            self.left = 0;
        }
        Some(found)
    }
}

impl<'a> Contexts<'a> {
    fn context(&mut self) -> Result<(u32, &'a [u8]), DecodeError> {
        let r = &mut self.reader;
        let length = r.u32()? as usize;
        let id = r.u32()?;
        let data = r.take(length)?;
        // The last one may do without its padding.
        let lacking = r.position().wrapping_neg() & 7;
        r.take(lacking.min(r.rest().len()))?;
        Ok((id, data))
    }
}
