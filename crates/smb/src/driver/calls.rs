//! Calls under way. A call is one message, or a compound of several in one frame. A
//! connection finds it by the message's id (see `window`).

use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::CallBase;
use filermark_engine::driver::Status;
use filermark_model::Nanos;

/// The server's id of an open file: both halves with SMB2, the second with SMB1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(pub(crate) u64, pub(crate) u64);

impl FileId {
    /// No open file.
    pub(crate) const NONE: Self = Self(u64::MAX, u64::MAX);
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// It succeeded.
    Ok,
    /// A file was opened.
    Opened(FileId),
    /// So many bytes were read or written.
    Transferred(u32),
    /// The end of the file was reached: nothing was read.
    End,
    /// The server refused it.
    Failed(u32),
    /// It ends the operation with this status.
    Ends(Status),
}

/// The kind of a call; the number of its messages depends on the protocol.
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
    /// Whether it uses an open file.
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

    /// Whether it uses a path below the proc's directory.
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
    base: CallBase,
    pub(crate) kind: Kind,
    /// Offset of the transfer, or the new size, in bytes.
    pub(crate) offset: u64,
    /// Length of the transfer, in bytes.
    pub(crate) length: u32,
    /// Messages that have not been answered.
    pub(crate) left: u8,
    /// The first refusal among its messages; 0: none.
    pub(crate) status: u32,
    /// It had an invalid answer.
    pub(crate) is_garbage: bool,
    /// The session ended before it was done.
    pub(crate) is_lost: bool,
    /// How often it was sent again on another channel, and since when.
    pub(crate) replays: u8,
    pub(crate) lost_at: Nanos,
    /// How often it has waited then.
    pub(crate) replay_waits: u16,
    /// SMB1: bytes received of the answer to a transaction.
    pub(crate) received: u32,
    /// SMB1, signed: the number that its reply is signed with.
    pub(crate) reply_sequence: u32,
}

extends!(Call, CallBase);

impl From<CallBase> for Call {
    fn from(base: CallBase) -> Self {
        Self {
            base,
            kind: Kind::Echo,
            offset: 0,
            length: 0,
            left: 0,
            status: 0,
            is_garbage: false,
            is_lost: false,
            replays: 0,
            lost_at: Nanos::ZERO,
            replay_waits: 0,
            received: 0,
            reply_sequence: 0,
        }
    }
}
