//! The operations that version 3 does not have: which calls they consist of. Two of them have a second
//! call: what OPEN has opened is closed, what LOCK has locked is unlocked. A COPY may copy a part, and the
//! next one copies the rest; what the server has not made stable is committed (RFC 7862 section 15.2.3).

use super::compounds::{Row, StateCall};
use super::opens;
use super::state::Sessions;
use crate::driver::core::Core;
use crate::driver::ops::LogicalOp;
use filermark_engine::driver::{Action, Status, V4Action};
use filermark_onc::nfs4::Operation::{self, *};
use filermark_onc::nfs4::{Stateid4, Verf};

/// A call of such an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Work {
    /// Opens a file by its name.
    Open,
    /// Closes it.
    Close,
    /// Locks a range.
    Lock,
    /// Unlocks it, and gives up the state of the lock's owner.
    Unlock,
    /// Reserves space.
    Allocate,
    /// Makes a hole.
    Deallocate,
    /// Finds data or a hole.
    Seek,
    /// Copies a range.
    Copy,
    /// Makes the copy stable.
    CommitCopy,
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
    const fn first(action: V4Action) -> Option<Self> {
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
    pub(super) const fn compound(self) -> Row {
        match self {
            Self::Open => &[Sequence, Putfh, Open, Getfh, Access, Getattr],
            Self::Close => &[Sequence, Putfh, Close],
            Self::Lock => &[Sequence, Putfh, Lock],
            Self::Unlock => &[Sequence, Putfh, Locku, FreeStateid],
            Self::Allocate => &[Sequence, Putfh, Allocate, Getattr],
            Self::Deallocate => &[Sequence, Putfh, Deallocate, Getattr],
            Self::Seek => &[Sequence, Putfh, Seek],
            Self::Copy => &[Sequence, Putfh, Savefh, Putfh, Operation::Copy],
            Self::CommitCopy => &[Sequence, Putfh, Commit],
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
            Self::Seek | Self::Getxattr | Self::Listxattrs | Self::CommitCopy
        )
    }

    /// Whether it has the stateid of a file that the driver keeps open.
    pub(super) const fn uses_open(self) -> bool {
        matches!(
            self,
            Self::Lock | Self::Allocate | Self::Deallocate | Self::Seek | Self::Copy | Self::Clone
        )
    }
}

/// What such an operation keeps between its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkState {
    /// The call that comes next.
    pub(super) next: Option<Work>,
    /// The state of its open, or of its lock.
    pub(super) stateid: Stateid4,
    /// The file that is not closed before the operation has ended.
    pinned: Option<u32>,
    /// COPY: bytes that were copied.
    pub(super) copied: u64,
    /// COPY: the verifier of what is not stable.
    pub(super) verf: Option<Verf>,
}

impl Core<Sessions> {
    /// Begins an operation that is no transfer.
    pub(super) fn begin_work(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let proc = logical.proc;
        let Action::V4(action) = logical.action else {
            return;
        };
        let works = &mut self.own.works;
        if works.len() <= op as usize {
            works.resize(op as usize + 1, WorkState::default());
        }
        works[op as usize] = WorkState::default();
        if let Some(first) = Work::first(action) {
            let conn = self.procs[proc as usize].conn;
            self.own_call(conn, Some(op), StateCall::Work(first));
        }
    }

    /// All calls of an operation have ended: makes its next one.
    pub(super) fn continue_work(&mut self, op: u32) {
        let logical = self.ops.get(op);
        if !matches!(logical.action, Action::V4(_)) {
            return;
        }
        let (proc, status) = (logical.proc, logical.outcome.status);
        let conn = self.procs[proc as usize].conn;
        let next = self.own.works[op as usize].next.take();
        if let (Some(next), Status::Ok) = (next, status)
            && self.own_call(conn, Some(op), StateCall::Work(next))
        {
            return;
        }
        self.unpin(op);
    }

    /// Keeps the file of this call open until the operation has ended.
    pub(super) fn pin(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (op, Some(key)) = (call.op, call.own.used) else {
            return;
        };
        let proc = self.ops.get(op).proc;
        let state = &mut self.own.works[op as usize];
        if state.pinned.is_none()
            && let Some(file) = self.own.opens[proc as usize].find(key)
        {
            state.pinned = Some(key);
            file.users += 1;
        }
    }

    fn unpin(&mut self, op: u32) {
        let proc = self.ops.get(op).proc;
        if let Some(key) = self.own.works[op as usize].pinned.take()
            && let Some(file) = self.own.opens[proc as usize].find(key)
        {
            file.users = file.users.saturating_sub(1);
        }
    }

    /// The files that a call needs open: their keys.
    pub(super) fn keys_of_work(&self, op: &LogicalOp, work: Work) -> [Option<u32>; 2] {
        let Action::V4(action) = op.action else {
            return [None; 2];
        };
        match work.uses_open() {
            true => {
                [Some(action.object()), action.target()].map(|object| object.map(opens::of_object))
            }
            false => [None; 2],
        }
    }
}
