//! SET_INFO (MS-SMB2 2.2.39, 2.2.40; MS-FSCC 2.4).

use super::file::FileId;
use super::header::{Command, LEN};
use super::query::BasicInfo;
use super::{Request, Response, body, patch};
use crate::bytes::Put;
use crate::error::DecodeError;

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Times and attributes; 0 leaves one as it is.
    Basic(BasicInfo),
    /// The length of the file.
    EndOfFile(u64),
    /// The bytes that it takes.
    Allocation(u64),
    /// Whether it goes when it is closed.
    Disposition {
        /// It does.
        delete: bool,
    },
    /// Its name.
    Rename {
        /// From the share's root, with backslashes and none in front.
        path: &'a str,
        /// What has this name already gives way.
        replace: bool,
    },
}

impl Change<'_> {
    const fn class(&self) -> u8 {
        match self {
            Self::Basic(_) => 4,
            Self::Rename { .. } => 10,
            Self::Disposition { .. } => 13,
            Self::Allocation(_) => 19,
            Self::EndOfFile(_) => 20,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Basic(info) => {
                out.put_u64(info.creation_time);
                out.put_u64(info.last_access_time);
                out.put_u64(info.last_write_time);
                out.put_u64(info.change_time);
                out.put_u32(info.attributes);
                out.put_u32(0);
            }
            Self::EndOfFile(size) | Self::Allocation(size) => out.put_u64(size),
            Self::Disposition { delete } => out.push(u8::from(delete)),
            Self::Rename { path, replace } => put_rename(out, path, replace),
        }
    }
}

/// FileRenameInformation as SMB2 has it (MS-FSCC 2.4.42.2); it has 24 bytes at least.
fn put_rename(out: &mut Vec<u8>, path: &str, replace: bool) {
    let start = out.len();
    out.put_u64(u64::from(replace));
    out.put_u64(0); // root directory
    out.put_u32(0); // the name's length
    out.put_utf16(path);
    let length = (out.len() - start - 20) as u32;
    patch(out, start + 16, &length.to_le_bytes());
    let lacking = 24_usize.saturating_sub(out.len() - start);
    out.extend_from_slice(&[0; 4][..lacking.min(4)]);
}

/// Sets something of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoRequest<'a> {
    /// The open file.
    pub file: FileId,
    /// What is set.
    pub change: Change<'a>,
}

/// Where the new value is in the body.
const BUFFER: usize = 32;

impl Request for SetInfoRequest<'_> {
    const COMMAND: Command = Command::SetInfo;

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.put_u16(33);
        out.push(1); // of the file
        out.push(self.change.class());
        out.put_u32(0); // the value's length
        out.put_u16((LEN + BUFFER) as u16);
        out.put_u16(0);
        out.put_u32(0);
        self.file.encode(out);
        self.change.encode(out);
        let length = (out.len() - start - BUFFER) as u32;
        patch(out, start + 4, &length.to_le_bytes());
    }
}

/// It is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetInfoResponse;

impl Response<'_> for SetInfoResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        body(message, 2).map(|_| Self)
    }
}
