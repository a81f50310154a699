//! CHANGE_NOTIFY and the changes that it returns (MS-SMB2 2.2.35, 2.2.36; MS-FSCC 2.7.1).

use super::Request;
use super::directory::following;
use super::file::FileId;
use super::header::Command;
use crate::bytes::{ByteReader, Put};
use crate::error::DecodeError;

/// What is watched for.
#[allow(missing_docs)] // They are called as MS-SMB2 2.2.35 calls them.
pub mod filter {
    pub const FILE_NAME: u32 = 0x001;
    pub const DIR_NAME: u32 = 0x002;
    pub const ATTRIBUTES: u32 = 0x004;
    pub const SIZE: u32 = 0x008;
    pub const LAST_WRITE: u32 = 0x010;
}

/// Waits for a change in a directory. The answer is an [`super::OutputResponse`], after
/// STATUS_PENDING as a rule; CANCEL ends the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeNotifyRequest {
    /// The open directory.
    pub file: FileId,
    /// Also what is below its directories.
    pub watch_tree: bool,
    /// See [`filter`].
    pub filter: u32,
    /// The most that may come back, in bytes.
    pub max_output: u32,
}

impl Request for ChangeNotifyRequest {
    const COMMAND: Command = Command::ChangeNotify;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(32);
        out.put_u16(u16::from(self.watch_tree));
        out.put_u32(self.max_output);
        self.file.encode(out);
        out.put_u32(self.filter);
        out.put_u32(0);
    }

    fn charged_bytes(&self) -> u32 {
        self.max_output
    }
}

/// What happened to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// 1 added, 2 removed, 3 changed, 4 old name, 5 new name (MS-FSCC 2.7.1).
    pub action: u32,
    /// The name from the watched directory on, in UTF-16.
    pub name: &'a [u8],
}

/// The changes of an answer.
#[derive(Clone, Debug)]
pub struct Changes<'a> {
    rest: &'a [u8],
}

impl<'a> Changes<'a> {
    /// Of [`super::OutputResponse::output`].
    pub const fn new(output: &'a [u8]) -> Self {
        Self { rest: output }
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        Some(change(bytes).map(|(change, rest)| {
            self.rest = rest;
            change
        }))
    }
}

fn change(bytes: &[u8]) -> Result<(Change<'_>, &[u8]), DecodeError> {
    let mut r = ByteReader::new(bytes);
    let (next, action, length) = (r.u32()? as usize, r.u32()?, r.u32()? as usize);
    let name = r.take(length)?;
    let rest = following(bytes, next, r.position())?;
    Ok((Change { action, name }, rest))
}
