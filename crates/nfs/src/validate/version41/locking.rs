//! LOCK, LOCKT and LOCKU of a client of the checks.

use super::client::Client;
use super::numbers::Owner;
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
        let (locker, opener, owner) = self.numbered_locker(locker)?;
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
        for numbered in opener.iter().chain([&owner]) {
            self.numbers.answered(numbered, &locked);
        }
        if let Ok(stateid) = locked {
            self.numbers.note(&owner, stateid);
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
            owner: StateOwner4 {
                clientid: self.clientid()?,
                owner: name,
            },
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
        let owner = self.numbers.owner_of(&lock_stateid);
        let args = |seqid| LockuArgs {
            locktype: range.kind,
            seqid,
            lock_stateid,
            offset: range.offset,
            length: range.length,
        };
        let unlocked = self.numbered(&owner, file, args, |res| res.map(|ok| ok.lock_stateid))?;
        if let Ok(stateid) = unlocked {
            self.numbers.note(&owner, stateid);
        }
        Ok(unlocked)
    }

    /// The same with what version 4.0 needs: client ID and numbers. With the owners of the open, if it is to be
    /// counted, and of the locks.
    fn numbered_locker<'a>(
        &mut self,
        locker: Locker4<'a>,
    ) -> Result<(Locker4<'a>, Option<Owner>, Owner), ClientError> {
        let clientid = self.clientid()?;
        Ok(match locker {
            Locker4::New(new) => {
                let owner = Owner::of_locks(new.lock_owner.owner);
                let opener = self.numbers.owner_of(&new.open_stateid);
                let mut new = new;
                if self.has_numbers {
                    new.open_seqid = self.numbers.next(&opener);
                    new.lock_seqid = self.numbers.next(&owner);
                    new.lock_owner.clientid = clientid;
                }
                (Locker4::New(new), Some(opener), owner)
            }
            Locker4::Existing(existing) => {
                let owner = self.numbers.owner_of(&existing.lock_stateid);
                let mut existing = existing;
                if self.has_numbers {
                    existing.lock_seqid = self.numbers.next(&owner);
                }
                (Locker4::Existing(existing), None, owner)
            }
        })
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
