//! The calls of the operations that version 3 does not have: what they consist of, and what an operation keeps
//! between them.

use super::owners::Owner;
use filermark_engine::driver::V4Action;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::Operation::{self, *};
use filermark_onc::nfs4::{Stateid4, Verf};

/// A call of an operation that version 3 does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Work {
    /// Opens a file by its name.
    Open,
    /// Version 4.0: confirms that.
    Confirm,
    /// Closes it.
    Close,
    /// Locks a range.
    Lock,
    /// Unlocks it; in a session also gives up the state of the lock's owner.
    Unlock,
    /// Reserves space.
    Allocate,
    /// Makes a hole.
    Deallocate,
    /// Finds data or a hole.
    Seek,
    /// Copies a range.
    Copy,
    /// Asks how far a copy is that goes on after the reply.
    CopyStatus,
    /// Makes the copy stable.
    CommitCopy,
    /// Reads back what was copied.
    ReadBack,
    /// Copies a range by sharing blocks.
    Clone,
    /// Reads an extended attribute.
    Getxattr,
    /// Sets one.
    Setxattr,
    /// Lists their names.
    Listxattrs,
    /// Removes one.
    Removexattr,
}

impl Work {
    /// The first call of an operation; `None`: it is a transfer.
    pub(super) const fn first(action: V4Action) -> Option<Self> {
        Some(match action {
            V4Action::Open { .. } => Self::Open,
            V4Action::Lock { .. } => Self::Lock,
            V4Action::Allocate { .. } => Self::Allocate,
            V4Action::Deallocate { .. } => Self::Deallocate,
            V4Action::Seek { .. } => Self::Seek,
            V4Action::ReadPlus { .. } => return None,
            V4Action::Copy { .. } => Self::Copy,
            V4Action::Clone { .. } => Self::Clone,
            V4Action::Getxattr { .. } => Self::Getxattr,
            V4Action::Setxattr { .. } => Self::Setxattr,
            V4Action::Listxattrs { .. } => Self::Listxattrs,
            V4Action::Removexattr { .. } => Self::Removexattr,
        })
    }

    /// The operations of the call.
    pub(super) const fn compound(self, minor: MinorVersion) -> &'static [Operation] {
        match self {
            Self::Open => &[Sequence, Putfh, Open, Getfh, Access, Getattr],
            Self::Confirm => &[Sequence, Putfh, OpenConfirm],
            Self::Close => &[Sequence, Putfh, Close],
            Self::Lock => &[Sequence, Putfh, Lock],
            Self::Unlock if minor.has_sessions() => &[Sequence, Putfh, Locku, FreeStateid],
            Self::Unlock => &[Sequence, Putfh, Locku],
            Self::Allocate => &[Sequence, Putfh, Allocate, Getattr],
            Self::Deallocate => &[Sequence, Putfh, Deallocate, Getattr],
            Self::Seek => &[Sequence, Putfh, Seek],
            Self::Copy => &[Sequence, Putfh, Savefh, Putfh, Operation::Copy],
            Self::CopyStatus => &[Sequence, OffloadStatus],
            Self::CommitCopy => &[Sequence, Putfh, Commit],
            Self::ReadBack => &[Sequence, Putfh, Read],
            Self::Clone => &[Sequence, Putfh, Savefh, Putfh, Operation::Clone, Getattr],
            Self::Getxattr => &[Sequence, Putfh, Getxattr],
            Self::Setxattr => &[Sequence, Putfh, Setxattr, Getattr],
            Self::Listxattrs => &[Sequence, Putfh, Listxattrs],
            Self::Removexattr => &[Sequence, Putfh, Removexattr, Getattr],
        }
    }

    /// Whether the server is asked to keep the reply: the call must not be executed twice.
    pub(super) const fn is_cached(self) -> bool {
        !matches!(
            self,
            Self::Seek
                | Self::Getxattr
                | Self::Listxattrs
                | Self::CopyStatus
                | Self::CommitCopy
                | Self::ReadBack
        )
    }

    /// Whether it has the stateid of a file that the driver keeps open.
    pub(super) const fn uses_open(self) -> bool {
        matches!(
            self,
            Self::Lock
                | Self::Allocate
                | Self::Deallocate
                | Self::Seek
                | Self::Copy
                | Self::Clone
                | Self::ReadBack
        )
    }
}

/// A copy that goes on after the reply to its COPY.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offload {
    pub(super) stateid: Stateid4,
    /// The verifier of what it writes.
    pub(super) verf: Verf,
    /// How often the server was asked for it.
    pub(super) asked: u16,
    /// The slot of the call that asks.
    pub(super) call: u32,
}

/// What such an operation keeps between its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkState {
    /// The call that comes next.
    pub(super) next: Option<Work>,
    /// The state of its open, or of its lock.
    pub(super) stateid: Stateid4,
    /// Version 4.0: the owner of its open.
    pub(super) owner: Option<Owner>,
    /// The file that is not closed before the operation has ended.
    pub(super) pinned: Option<u32>,
    /// COPY: bytes that were copied. READ of them: bytes that were read back.
    pub(super) copied: u64,
    /// READ of what was copied: bytes that the call under way asks for. The transfer size may change meanwhile.
    pub(super) asked: u32,
    /// COPY: the verifier of what is not stable.
    pub(super) verf: Option<Verf>,
    /// COPY: the copy under way that goes on after the reply.
    pub(super) offload: Option<Offload>,
    /// COPY: how often it was begun again.
    pub(super) restarts: u8,
    /// What changes a scratch file: its number among the operations that do; no other one was under way.
    pub(super) number: u64,
    pub(super) is_alone: bool,
    /// The writes that had ended when it began.
    pub(super) since: u64,
    /// SETXATTR: what its value is made of.
    pub(super) generation: u64,
}
