//! LOCK, LOCKT and LOCKU (RFC 8881 sections 18.10 to 18.12): arguments and results, field by field in the
//! RFC's order.

use super::state::{StateOwner4, Stateid4};
use super::status::{Failed4, Res};

xdr_enum! {
    /// `nfs_lock_type4`: kind of a lock.
    pub enum NfsLockType4 {
        /// Shared.
        Read = 1 "READ_LT",
        /// Exclusive.
        Write = 2 "WRITE_LT",
        /// Shared; the client will try again if it is denied.
        Readw = 3 "READW_LT",
        /// Exclusive; the client will try again if it is denied.
        Writew = 4 "WRITEW_LT",
    }
}

xdr_struct! {
    /// `open_to_lock_owner4`: the first lock of an owner.
    pub struct OpenToLockOwner4<'a> {
        /// Sequence number of the open's owner (minor version 0).
        open_seqid: u32,
        /// The open.
        open_stateid: Stateid4,
        /// Sequence number of the lock's owner (minor version 0).
        lock_seqid: u32,
        /// Who locks.
        lock_owner: StateOwner4<'a>,
    }
}

xdr_struct! {
    /// `exist_lock_owner4`: a further lock of an owner.
    pub struct ExistLockOwner4 {
        /// The owner's locks of this file.
        lock_stateid: Stateid4,
        /// Sequence number of the lock's owner (minor version 0).
        lock_seqid: u32,
    }
}

xdr_union! {
    /// `locker4`: who locks.
    pub enum Locker4<'a> {
        /// An owner with locks of this file.
        Existing(ExistLockOwner4) = 0,
        /// An owner without.
        New(OpenToLockOwner4<'a>) = 1,
    }
}

xdr_struct! {
    /// Arguments of LOCK.
    pub struct LockArgs<'a> {
        /// Kind.
        locktype: NfsLockType4,
        /// Whether it was held before the server's restart.
        reclaim: bool,
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// Who locks.
        locker: Locker4<'a>,
    }
}

xdr_struct! {
    /// What LOCK returns.
    pub struct LockOk {
        /// The owner's locks of this file.
        lock_stateid: Stateid4,
    }
}

xdr_struct! {
    /// `LOCK4denied`: the lock that is in the way.
    pub struct LockDenied4<'a> {
        /// From this byte.
        offset: u64,
        /// This many bytes.
        length: u64,
        /// Kind.
        locktype: NfsLockType4,
        /// Who holds it.
        owner: StateOwner4<'a>,
    }
}

/// LOCK or LOCKT failed: with NFS4ERR_DENIED there is the lock that is in the way.
pub type LockFailed<'a> = Failed4<LockDenied4<'a>, 10010>;

/// Results of LOCK.
pub type LockRes<'a> = Result<LockOk, LockFailed<'a>>;

xdr_struct! {
    /// Arguments of LOCKT.
    pub struct LocktArgs<'a> {
        /// Kind.
        locktype: NfsLockType4,
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
        /// Who asks.
        owner: StateOwner4<'a>,
    }
}

/// Results of LOCKT.
pub type LocktRes<'a> = Result<(), LockFailed<'a>>;

xdr_struct! {
    /// Arguments of LOCKU.
    pub struct LockuArgs {
        /// Kind.
        locktype: NfsLockType4,
        /// Sequence number of the lock's owner (minor version 0).
        seqid: u32,
        /// The owner's locks of this file.
        lock_stateid: Stateid4,
        /// From this byte.
        offset: u64,
        /// This many bytes; all ones for "to the end".
        length: u64,
    }
}

xdr_struct! {
    /// What LOCKU returns.
    pub struct LockuOk {
        /// The owner's locks of this file.
        lock_stateid: Stateid4,
    }
}

/// Results of LOCKU.
pub type LockuRes = Res<LockuOk>;
