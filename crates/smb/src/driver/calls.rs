//! What is under way on the wire: calls, and the queues of those that wait for their
//! connection, for credits, or for room.
//!
//! A call is one message or a compound of several that go in one frame. It lives in a
//! slot of a slab; a connection finds it again by the message's id (see `window`).

use filermark_engine::driver::Status;
use filermark_model::Nanos;

/// Most calls of a shard that are waiting or under way.
const CALLS_MAX: usize = 1 << 18;

/// What the server calls an open file: both halves with SMB2, the second with SMB1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u64, pub(crate) u64);

impl FileId {
    /// Nothing is open.
    pub(crate) const NONE: Self = Self(u64::MAX, u64::MAX);
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// As it should.
    Ok,
    /// A file was opened.
    Opened(FileId),
    /// So many bytes were read or written.
    Moved(u32),
    /// The end of the file was met: nothing was read.
    End,
    /// The server refused it.
    Failed(u32),
    /// It ends the operation like this.
    Ends(Status),
}

/// What is asked of the server; how many messages that is depends on the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Echo,
    Open,
    Close,
    Read,
    Write,
    Flush,
    Lock,
    QueryFile,
    QuerySecurity,
    SetTimes,
    SetSize,
    SetDelete,
    QueryPath,
    QueryFs,
    Find,
    MakeDir,
    RemoveFile,
    RemoveDir,
}

impl Kind {
    /// Whether it is on something that is open.
    pub(crate) const fn is_on_file(self) -> bool {
        matches!(
            self,
            Self::Close
                | Self::Read
                | Self::Write
                | Self::Flush
                | Self::Lock
                | Self::QueryFile
                | Self::QuerySecurity
                | Self::SetTimes
                | Self::SetSize
                | Self::SetDelete
        )
    }

    /// Whether it is on a path below the proc's directory.
    pub(crate) const fn is_on_path(self) -> bool {
        matches!(
            self,
            Self::Open
                | Self::QueryPath
                | Self::Find
                | Self::MakeDir
                | Self::RemoveFile
                | Self::RemoveDir
        )
    }
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// The operation it belongs to.
    pub(crate) op: u32,
    pub(crate) kind: Kind,
    /// Offset of the transfer, or the new size, in bytes.
    pub(crate) offset: u64,
    /// Length of the transfer, in bytes.
    pub(crate) length: u32,
    /// Messages that have not been answered.
    pub(crate) left: u8,
    /// The first refusal among its messages; 0: none.
    pub(crate) status: u32,
    /// It was answered with something that makes no sense.
    pub(crate) is_garbage: bool,
    /// The session ended before it was done.
    pub(crate) is_lost: bool,
    /// Some of it has been handed to the system: it may be answered.
    pub(crate) is_sent: bool,
    /// Since when its reply is waited for.
    pub(crate) since: Nanos,
    /// SMB1: bytes that have come of the answer to a transaction.
    pub(crate) received: u32,
    /// SMB1, signed: the number that its reply is signed with.
    pub(crate) reply_sequence: u32,
}

/// All calls of a shard.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    slots: Vec<Option<Call>>,
    free: Vec<u32>,
}

impl Calls {
    /// Whether so many more may begin.
    #[inline]
    pub(crate) fn has_room(&self, count: usize) -> bool {
        self.free.len() + (CALLS_MAX - self.slots.len().min(CALLS_MAX)) >= count
    }

    /// A new call.
    #[inline]
    pub(crate) fn begin(&mut self, call: Call) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(call);
                slot
            }
            None => {
                self.slots.push(Some(call));
                self.slots.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Call> {
        self.slots.get(slot as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Call> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// It is over.
    #[inline]
    pub(crate) fn end(&mut self, slot: u32) -> Option<Call> {
        let call = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(call)
    }
}
