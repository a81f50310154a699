//! CLOSE and FLUSH (MS-SMB2 2.2.15 to 2.2.18).

use super::file::{FileFacts, FileId};
use super::header::Command;
use super::{Request, Response, body};
use crate::bytes::Put;
use crate::error::DecodeError;

/// Flag of CLOSE: return times, sizes and attributes.
const POSTQUERY_ATTRIB: u16 = 1;

/// Closes an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseRequest {
    /// Which.
    pub file: FileId,
    /// Whether its facts are requested.
    pub facts: bool,
}

impl Request for CloseRequest {
    const COMMAND: Command = Command::Close;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(24);
        out.put_u16(if self.facts { POSTQUERY_ATTRIB } else { 0 });
        out.put_u32(0);
        self.file.encode(out);
    }
}

/// It is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseResponse {
    /// Its facts, if they were requested and the server returned them.
    pub facts: Option<FileFacts>,
}

impl Response<'_> for CloseResponse {
    fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut r = body(message, 60)?;
        let flags = r.u16()?;
        r.u32()?;
        let facts = FileFacts::decode(&mut r)?;
        Ok(Self {
            facts: (flags & POSTQUERY_ATTRIB != 0).then_some(facts),
        })
    }
}

/// Brings an open file to stable storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushRequest {
    /// Which.
    pub file: FileId,
}

impl Request for FlushRequest {
    const COMMAND: Command = Command::Flush;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(24);
        out.put_u16(0);
        out.put_u32(0);
        self.file.encode(out);
    }
}
