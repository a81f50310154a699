//! LOCK, LOCKT and LOCKU of a client of the checks.

use super::client::{Client, owner};
use crate::client::{ClientError, Reply4};
use filermark_onc::nfs4::*;

/// A range and the kind of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) kind: NfsLockType4,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl Range {
    /// An exclusive lock.
    pub(super) const fn write(offset: u64, length: u64) -> Self {
        Self {
            kind: NfsLockType4::Write,
            offset,
            length,
        }
    }

    /// A shared lock.
    pub(super) const fn read(offset: u64, length: u64) -> Self {
        Self {
            kind: NfsLockType4::Read,
            offset,
            length,
        }
    }
}

/// Why LOCK or LOCKT was not granted: the status, and the lock that is in the way with the name of
/// its owner.
#[derive(Clone, Debug)]
pub(super) struct NotGranted {
    pub(super) status: Nfsstat4,
    pub(super) holder: Option<(Range, Vec<u8>)>,
}

impl crate::validate::bench::Refused for NotGranted {
    type Status = Nfsstat4;

    fn status(&self) -> Nfsstat4 {
        self.status
    }

    fn is_for_later(&self) -> bool {
        self.status == Nfsstat4::Delay
    }
}

/// The answer to LOCK or LOCKT.
pub(super) type Granted<T> = Result<Result<T, NotGranted>, ClientError>;

impl Client {
    /// LOCK. Returns the state of the owner's locks.
    pub(super) fn lock(
        &mut self,
        file: &Fh4,
        range: Range,
        locker: Locker4<'_>,
    ) -> Granted<Stateid4> {
        let args = LockArgs {
            locktype: range.kind,
            reclaim: false,
            offset: range.offset,
            length: range.length,
            locker,
        };
        let mut holder = None;
        let locked = self.on(file, &args, |res| {
            res.map(|ok| ok.lock_stateid).map_err(|failed| {
                holder = holder_of(&failed);
                failed.status()
            })
        })?;
        if let Ok(stateid) = locked {
            self.hold(*file, stateid, Some(range));
        }
        Ok(locked.map_err(|status| NotGranted { status, holder }))
    }

    /// LOCKT.
    pub(super) fn test_lock(&mut self, file: &Fh4, range: Range, name: &[u8]) -> Granted<()> {
        let args = LocktArgs {
            locktype: range.kind,
            offset: range.offset,
            length: range.length,
            owner: owner(name),
        };
        let mut holder = None;
        let tested = self.on(file, &args, |res| {
            res.map_err(|failed| {
                holder = holder_of(&failed);
                failed.status()
            })
        })?;
        Ok(tested.map_err(|status| NotGranted { status, holder }))
    }

    /// LOCKU. Returns the state of the owner's locks.
    pub(super) fn unlock(
        &mut self,
        file: &Fh4,
        lock_stateid: Stateid4,
        range: Range,
    ) -> Reply4<Stateid4> {
        let args = LockuArgs {
            locktype: range.kind,
            seqid: 0,
            lock_stateid,
            offset: range.offset,
            length: range.length,
        };
        self.on(file, &args, |res| res.map(|ok| ok.lock_stateid))
    }
}

fn holder_of(failed: &LockFailed<'_>) -> Option<(Range, Vec<u8>)> {
    let Failed4::With(denied) = failed else {
        return None;
    };
    let range = Range {
        kind: denied.locktype,
        offset: denied.offset,
        length: denied.length,
    };
    Some((range, denied.owner.owner.to_vec()))
}
