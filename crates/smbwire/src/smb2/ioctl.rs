//! IOCTL, and the one function of it that a session needs (MS-SMB2 2.2.31, 2.2.32).

use super::file::FileId;
use super::header::{Command, LEN};
use super::{Request, Response, body, part, patch};
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;
use filermark_model::smb::Dialect;

/// Returns what was negotiated, in a signed message.
pub const FSCTL_VALIDATE_NEGOTIATE_INFO: u32 = 0x0014_0204;
/// Where the input is in the body of IOCTL.
const INPUT: usize = 56;
const INPUT_COUNT: usize = 28;

/// A function of the file system, with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlRequest<'a> {
    /// Which function.
    pub code: u32,
    /// On which file; [`FileId::RELATED`] (all ones) for those on none.
    pub file: FileId,
    /// The input.
    pub input: &'a [u8],
    /// The most that may come back, in bytes.
    pub max_output: u32,
}

impl Request for IoctlRequest<'_> {
    const COMMAND: Command = Command::Ioctl;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_front(out, self.code, self.file, self.max_output);
        out.extend_from_slice(self.input);
        finish(out, start);
    }

    fn charged_bytes(&self) -> u32 {
        self.max_output.max(self.input.len() as u32)
    }
}

fn put_front(out: &mut Vec<u8>, code: u32, file: FileId, max_output: u32) {
    out.put_u16(57);
    out.put_u16(0);
    out.put_u32(code);
    file.encode(out);
    out.put_u32((LEN + INPUT) as u32);
    out.put_u32(0); // the input's length
    out.put_u32(0); // most input that may come back
    out.put_u32(0); // output
    out.put_u32(0);
    out.put_u32(max_output);
    out.put_u32(1); // a function of the file system
    out.put_u32(0);
}

fn finish(out: &mut [u8], start: usize) {
    let count = out.len().saturating_sub(start + INPUT) as u32;
    patch(out, start + INPUT_COUNT, &count.to_le_bytes());
}

/// What a function gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoctlResponse<'a> {
    /// Which function.
    pub code: u32,
    /// Its output.
    pub output: &'a [u8],
}

impl<'a> Response<'a> for IoctlResponse<'a> {
    fn decode(message: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 49)?;
        r.u16()?;
        let code = r.u32()?;
        FileId::decode(&mut r)?;
        r.u64()?; // input
        let (offset, length) = (r.u32()? as usize, r.u32()? as usize);
        r.u64()?; // flags, reserved
        Ok(Self {
            code,
            output: part(&r, offset, length)?,
        })
    }
}

/// The client's values in NEGOTIATE (MS-SMB2 2.2.31.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidateRequest<'a> {
    /// Its capabilities.
    pub capabilities: u32,
    /// Its identity.
    pub client_guid: [u8; 16],
    /// Its security mode.
    pub security_mode: u16,
    /// Its dialects.
    pub dialects: &'a [Dialect],
}

impl Request for ValidateRequest<'_> {
    const COMMAND: Command = Command::Ioctl;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        put_front(out, FSCTL_VALIDATE_NEGOTIATE_INFO, FileId::RELATED, 24);
        out.put_u32(self.capabilities);
        out.extend_from_slice(&self.client_guid);
        out.put_u16(self.security_mode);
        out.put_u16(self.dialects.len() as u16);
        for dialect in self.dialects {
            out.put_u16(dialect.revision());
        }
        finish(out, start);
    }
}

/// The server's values in NEGOTIATE (MS-SMB2 2.2.32.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidateResponse {
    /// Its capabilities.
    pub capabilities: u32,
    /// Its identity.
    pub server_guid: [u8; 16],
    /// Its security mode.
    pub security_mode: u16,
    /// The number of the dialect it chose.
    pub revision: u16,
}

impl Response<'_> for ValidateResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = ByteReader::new(IoctlResponse::decode(message)?.output);
        Ok(Self {
            capabilities: r.u32()?,
            server_guid: r.array()?,
            security_mode: r.u16()?,
            revision: r.u16()?,
        })
    }
}
