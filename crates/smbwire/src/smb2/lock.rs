//! LOCK (MS-SMB2 2.2.26, 2.2.27).

use super::Request;
use super::file::FileId;
use super::header::Command;
use crate::bytes::Put;

/// What is done with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Others may read it and lock it so too.
    Shared,
    /// No other open may read, write or lock it.
    Exclusive,
    /// It is free again.
    Unlock,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRange {
    /// From where.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// What is done with it.
    pub kind: LockKind,
    /// A range that another open has locked is an error at once (STATUS_LOCK_NOT_GRANTED);
    /// without this the answer waits (STATUS_PENDING first), and CANCEL ends the wait.
    /// Means nothing for [`LockKind::Unlock`].
    pub fail_immediately: bool,
}

/// Locks ranges, or unlocks them: all of one or all of the other. Those that may wait go
/// alone (MS-SMB2 3.3.5.14.2). Answered by [`super::EmptyResponse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest<'a> {
    /// On which file.
    pub file: FileId,
    /// One at least.
    pub ranges: &'a [LockRange],
}

impl Request for LockRequest<'_> {
    const COMMAND: Command = Command::Lock;

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_u16(48);
        out.put_u16(self.ranges.len() as u16);
        out.put_u32(0); // lock sequence
        self.file.encode(out);
        for range in self.ranges {
            let at_once = u32::from(range.fail_immediately) << 4;
            let flags = match range.kind {
                LockKind::Shared => 1 | at_once,
                LockKind::Exclusive => 2 | at_once,
                LockKind::Unlock => 4, // which never waits, and must not say so
            };
            out.put_u64(range.offset);
            out.put_u64(range.length);
            out.put_u32(flags);
            out.put_u32(0);
        }
    }
}
