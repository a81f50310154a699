//! READ and WRITE (MS-SMB2 2.2.19 to 2.2.22).

use super::file::FileId;
use super::header::{Command, LEN};
use super::{Request, Response, body, part, patch};
use crate::bytes::Put;
use crate::error::DecodeError;

/// Reads of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadRequest {
    /// Which.
    pub file: FileId,
    /// From where.
    pub offset: u64,
    /// How many bytes at most.
    pub length: u32,
    /// Fewer are an error (STATUS_END_OF_FILE).
    pub minimum: u32,
}

impl Request for ReadRequest {
    const COMMAND: Command = Command::Read;

    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(49);
        out.push((LEN + 16) as u8); // where the data is to begin in the response
        out.push(0);
        out.put_u32(self.length);
        out.put_u64(self.offset);
        self.file.encode(out);
        out.put_u32(self.minimum);
        out.put_u32(0); // channel
        out.put_u32(0); // remaining
        out.put_u32(0); // channel information
        out.push(0); // there must be a byte
    }

    fn charged_bytes(&self) -> u32 {
        self.length
    }
}

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadResponse<'a> {
    /// The bytes.
    pub data: &'a [u8],
}

impl<'a> Response<'a> for ReadResponse<'a> {
    #[inline]
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 17)?;
        let offset = usize::from(r.u8()?);
        r.u8()?;
        let length = r.u32()? as usize;
        r.u64()?; // remaining, flags
        Ok(Self {
            data: part(&r, offset, length)?,
        })
    }
}

/// Writes to an open file. The data is appended by the caller, in place: [`Self::begin`],
/// the data, [`OpenWrite::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// Which.
    pub file: FileId,
    /// Whither.
    pub offset: u64,
    /// Whether it is to be on stable storage before the answer (2.1 and later).
    pub write_through: bool,
}

/// A WRITE whose data is being appended.
#[derive(Clone, Copy, Debug)]
#[must_use = "its length has to be filled in"]
pub struct OpenWrite {
    body: usize,
}

/// Bytes of WRITE's body before the data.
const WRITE_FIXED: usize = 48;

impl WriteRequest {
    /// Appends all of the body that is before the data; the header is right before it.
    #[inline]
    pub fn begin(&self, out: &mut Vec<u8>) -> OpenWrite {
        let open = OpenWrite { body: out.len() };
        out.put_u16(49);
        out.put_u16((LEN + WRITE_FIXED) as u16);
        out.put_u32(0); // the data's length
        out.put_u64(self.offset);
        self.file.encode(out);
        out.put_u32(0); // channel
        out.put_u32(0); // remaining
        out.put_u32(0); // channel information
        out.put_u32(u32::from(self.write_through));
        open
    }
}

impl OpenWrite {
    /// Fills in how long the data is, which ends with `out`.
    #[inline]
    pub fn finish(self, out: &mut [u8]) {
        let length = out.len().saturating_sub(self.body + WRITE_FIXED) as u32;
        patch(out, self.body + 4, &length.to_le_bytes());
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteResponse {
    /// Bytes.
    pub count: u32,
}

impl Response<'_> for WriteResponse {
    #[inline]
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 17)?;
        r.u16()?;
        let count = r.u32()?;
        r.u64()?; // remaining, channel information
        Ok(Self { count })
    }
}
