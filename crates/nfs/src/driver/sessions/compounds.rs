//! Which operations each call has: the translation of the procedures of version 3, and the
//! calls that keep the state.

use super::layouts::Access as LayoutAccess;
use super::state::SessionCall;
use super::work_calls::Work;
use crate::driver::calls::Call;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::Operation::{self, *};

/// The operations of a COMPOUND, in order.
pub(super) type Row = &'static [Operation];

/// A call that version 3 does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateCall {
    /// Opens the file under this key of the proc's table.
    Open(u32),
    /// Version 4.0: confirms the open of the file under this key.
    Confirm(u32),
    /// Closes this one of the files that are being closed.
    Close(u32),
    /// Returns the delegation of this one.
    Return(u32),
    /// Confirms that the server has revoked that delegation.
    Free(u32),
    /// Asks for a layout of this one of the files that are being closed or asked about.
    Layoutget(u32, LayoutAccess),
    /// Asks where this data server of the client is.
    Getdeviceinfo(u32),
    /// Reports what was written with the layouts of this one: LAYOUTCOMMIT.
    CommitLayout(u32),
    /// Returns the layouts of this one of the files that are being closed; `true`: LAYOUTCOMMIT first.
    ReturnLayout(u32, bool),
    /// The same, and closes it.
    CloseReturning(u32, bool),
    /// SEQUENCE alone, in version 4.0 RENEW: renews the lease.
    Renew,
    /// Ends the session.
    DestroySession,
    /// Ends the client.
    DestroyClientid,
    /// Version 4.0: ends the owner of locks with this number of a proc.
    ReleaseOwner { proc: u32, number: u32 },
    /// A call of an operation that version 3 does not have.
    Work(Work),
}

impl StateCall {
    const fn compound(self, minor: MinorVersion) -> Row {
        match self {
            Self::Open(_) => &[Sequence, Putfh, Open, Getattr],
            Self::Confirm(_) => &[Sequence, Putfh, OpenConfirm],
            Self::Close(_) => &[Sequence, Putfh, Close],
            Self::Return(_) => &[Sequence, Putfh, Delegreturn],
            Self::Free(_) => &[Sequence, FreeStateid],
            Self::Layoutget(..) => &[Sequence, Putfh, Layoutget],
            Self::Getdeviceinfo(_) => &[Sequence, Getdeviceinfo],
            Self::CommitLayout(_) => &[Sequence, Putfh, Layoutcommit],
            Self::ReturnLayout(_, false) => &[Sequence, Putfh, Layoutreturn],
            Self::ReturnLayout(_, true) => &[Sequence, Putfh, Layoutcommit, Layoutreturn],
            Self::CloseReturning(_, false) => &[Sequence, Putfh, Layoutreturn, Close],
            Self::CloseReturning(_, true) => &[Sequence, Putfh, Layoutcommit, Layoutreturn, Close],
            Self::Renew => &[Sequence],
            Self::DestroySession => &[Operation::DestroySession],
            Self::DestroyClientid => &[Operation::DestroyClientid],
            Self::ReleaseOwner { .. } => &[ReleaseLockowner],
            Self::Work(work) => work.compound(minor),
        }
    }
}

/// The operations of a call; NULL has none and is no COMPOUND. Version 4.0 has the same without SEQUENCE.
pub(super) fn of(call: &Call<SessionCall>, minor: MinorVersion) -> Row {
    let row = match call.own.kind {
        Some(kind) => kind.compound(minor),
        None if call.own.is_plus && call.procedure == Procedure::Read => {
            &[Sequence, Putfh, ReadPlus]
        }
        None => of_procedure(call.procedure),
    };
    match (row, call.own.kind) {
        _ if minor.has_sessions() => row,
        (_, Some(StateCall::Renew)) => &[Operation::Renew],
        ([Sequence, behind @ ..], _) => behind,
        _ => row,
    }
}

const fn of_procedure(procedure: Procedure) -> Row {
    match procedure {
        Procedure::Null => &[],
        Procedure::Getattr | Procedure::Fsstat | Procedure::Fsinfo | Procedure::Pathconf => {
            &[Sequence, Putfh, Getattr]
        }
        Procedure::Setattr => &[Sequence, Putfh, Setattr, Getattr],
        Procedure::Lookup => &[Sequence, Putfh, Lookup, Getfh, Getattr],
        Procedure::Access => &[Sequence, Putfh, Access, Getattr],
        Procedure::Readlink => &[Sequence, Putfh, Readlink],
        Procedure::Read => &[Sequence, Putfh, Read],
        Procedure::Write => &[Sequence, Putfh, Write, Getattr],
        Procedure::Create => &[Sequence, Putfh, Open, Getfh, Access, Getattr],
        Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
            &[Sequence, Putfh, Create, Getfh, Getattr]
        }
        Procedure::Remove | Procedure::Rmdir => &[Sequence, Putfh, Remove],
        Procedure::Rename => &[Sequence, Putfh, Savefh, Putfh, Rename],
        Procedure::Link => &[Sequence, Putfh, Savefh, Putfh, Link, Restorefh, Getattr],
        Procedure::Readdir | Procedure::Readdirplus => &[Sequence, Putfh, Readdir],
        Procedure::Commit => &[Sequence, Putfh, Commit],
    }
}

/// Whether the call is NULL, and so no COMPOUND.
#[inline]
pub(super) fn is_null(call: &Call<SessionCall>) -> bool {
    call.own.kind.is_none() && call.procedure == Procedure::Null
}

/// Whether the call begins with SEQUENCE, and so needs a slot. Version 4.0 has none.
#[inline]
pub(super) fn needs_slot(call: &Call<SessionCall>) -> bool {
    match call.own.kind {
        None => call.procedure != Procedure::Null,
        Some(kind) => !matches!(kind, StateCall::DestroySession | StateCall::DestroyClientid),
    }
}

/// Whether the call has an operation that an owner of opens numbers (RFC 7530 section 9.1.7), and is to be
/// given that owner: OPEN.
pub(super) fn is_open(call: &Call<SessionCall>) -> bool {
    match call.own.kind {
        Some(kind) => matches!(kind, StateCall::Open(_) | StateCall::Work(Work::Open)),
        None => call.procedure == Procedure::Create,
    }
}

/// Whether the call renews the lease of version 4.0: it has a client ID or an open (RFC 7530 section 9.5).
pub(super) fn renews_lease(call: &Call<SessionCall>) -> bool {
    match call.own.kind {
        Some(_) => true,
        None => matches!(
            call.procedure,
            Procedure::Create | Procedure::Read | Procedure::Write
        ),
    }
}

/// Whether the server is asked to keep the reply: the call must not be executed twice, and
/// its reply is short.
pub(super) fn is_cached(call: &Call<SessionCall>) -> bool {
    match call.own.kind {
        Some(StateCall::Work(work)) => work.is_cached(),
        Some(kind) => matches!(
            kind,
            StateCall::Open(_)
                | StateCall::Close(_)
                | StateCall::Return(_)
                | StateCall::Free(_)
                | StateCall::Layoutget(..)
                | StateCall::CommitLayout(_)
                | StateCall::ReturnLayout(..)
                | StateCall::CloseReturning(..)
        ),
        None => matches!(
            call.procedure,
            Procedure::Setattr
                | Procedure::Create
                | Procedure::Mkdir
                | Procedure::Symlink
                | Procedure::Mknod
                | Procedure::Remove
                | Procedure::Rmdir
                | Procedure::Rename
                | Procedure::Link
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_driver_kit::sockets::Calls;
    use filermark_model::Nanos;

    /// The quick answers are those of the table.
    #[test]
    fn null_has_no_operations_and_calls_with_a_slot_begin_with_sequence() {
        let kinds = [
            None,
            Some(StateCall::Open(1)),
            Some(StateCall::Confirm(1)),
            Some(StateCall::Close(1)),
            Some(StateCall::Return(1)),
            Some(StateCall::Free(1)),
            Some(StateCall::Renew),
            Some(StateCall::DestroySession),
            Some(StateCall::DestroyClientid),
            Some(StateCall::Work(Work::Copy)),
        ];
        let mut calls = Calls::<Call<SessionCall>>::new(1, 1, 0);
        let call = calls.begin(0, 0, Nanos::ZERO).expect("a free place");
        for kind in kinds {
            for procedure in Procedure::ALL {
                (call.own.kind, call.procedure) = (kind, *procedure);
                let row = of(call, MinorVersion::V1);
                assert_eq!(is_null(call), row.is_empty(), "{kind:?} {procedure:?}");
                let begins = row.first() == Some(&Sequence);
                assert_eq!(needs_slot(call), begins, "{kind:?} {procedure:?}");
                assert_eq!(is_null(call), of(call, MinorVersion::V0).is_empty());
            }
        }
    }
}
