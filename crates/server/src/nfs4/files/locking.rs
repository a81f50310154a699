//! LOCK, LOCKT and LOCKU (RFC 8881 sections 18.10 to 18.12).

use super::{Client, Files, Locks, Nfsstat4, RANGES_MAX, Shard, State, Stateid4, next};
use crate::memfs::FileId;
use crate::nfs4::locks::{Range, RangeKind, Ranges};
use filermark_onc::nfs4::share;
use std::sync::Arc;

/// Most ranges of one owner in one file.
const RANGES_OF_OWNER_MAX: usize = 4096;

/// The lock that is in the way, and who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) range: Range,
    pub(crate) clientid: u64,
    pub(crate) owner: Box<[u8]>,
}

/// Why a lock is not granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotLocked {
    Denied(Holder),
    Status(Nfsstat4),
}

impl From<Nfsstat4> for NotLocked {
    fn from(status: Nfsstat4) -> NotLocked {
        NotLocked::Status(status)
    }
}

/// Who locks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Locker<'a> {
    /// An owner with locks of the file: their stateid.
    Existing(&'a Stateid4),
    /// An owner by name, and the stateid of the open.
    New(&'a [u8], &'a Stateid4),
}

/// A LOCK.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockRequest<'a> {
    pub(crate) client: &'a Arc<Client>,
    pub(crate) file: FileId,
    pub(crate) range: Range,
    pub(crate) locker: Locker<'a>,
}

impl Shard {
    /// A lock of another owner that excludes this range.
    fn holder(&self, file: FileId, owner: (u64, &[u8]), range: &Range) -> Option<Holder> {
        let others = self
            .locks(file)
            .filter(|(_, locks)| (locks.client.id, &*locks.owner) != owner);
        let mut conflicts = others.filter_map(|(_, locks)| {
            let range = locks.ranges.conflict(range)?;
            Some(Holder {
                range,
                clientid: locks.client.id,
                owner: locks.owner.clone(),
            })
        });
        conflicts.next()
    }

    /// Changes the ranges of an owner. If `grows` says that there may be more afterwards, the limits must
    /// allow it.
    fn change_ranges(
        &mut self,
        id: u64,
        grows: impl FnOnce(&Ranges) -> bool,
        change: impl FnOnce(&mut Ranges),
    ) -> Result<u32, Nfsstat4> {
        let is_full = self.ranges >= RANGES_MAX;
        let locks = self.locks_mut(id)?;
        let before = locks.ranges.len();
        if (is_full || before >= RANGES_OF_OWNER_MAX) && grows(&locks.ranges) {
            return Err(Nfsstat4::Delay);
        }
        change(&mut locks.ranges);
        locks.seqid = next(locks.seqid);
        let (seqid, after) = (locks.seqid, locks.ranges.len());
        self.ranges = self.ranges - before + after;
        Ok(seqid)
    }

    fn locks_mut(&mut self, id: u64) -> Result<&mut Locks, Nfsstat4> {
        match self.states.get_mut(&id) {
            Some(State::Locks(locks)) => Ok(locks),
            _ => Err(Nfsstat4::BadStateid),
        }
    }
}

/// The access that a lock of this kind needs.
const fn access_for(kind: RangeKind) -> u32 {
    match kind {
        RangeKind::Shared => share::READ,
        RangeKind::Exclusive => share::WRITE,
    }
}

impl Files {
    /// The owner's locks of the file, if there are some, its name, and its open.
    fn locker<'s>(
        &self,
        shard: &'s Shard,
        request: &LockRequest<'s>,
    ) -> Result<(Option<u64>, &'s [u8], u64), Nfsstat4> {
        let of = (&**request.client, request.file);
        match request.locker {
            Locker::Existing(stateid) => match self.find_of_file(shard, stateid, of)? {
                (id, State::Locks(locks)) => Ok((Some(id), &locks.owner, locks.open)),
                _ => Err(Nfsstat4::BadStateid),
            },
            Locker::New(owner, stateid) => {
                let (open, state) = self.find_of_file(shard, stateid, of)?;
                if !matches!(state, State::Open(_)) {
                    return Err(Nfsstat4::BadStateid);
                }
                let mut locks = shard.locks(request.file);
                let own = |locks: &Locks| locks.client.id == of.0.id && *locks.owner == *owner;
                let existing = locks.find(|(_, locks)| own(locks)).map(|(id, _)| id);
                Ok((existing, owner, open))
            }
        }
    }

    /// LOCK.
    ///
    /// # Errors
    /// The lock that is in the way, or a status.
    pub(crate) fn lock(&self, request: &LockRequest<'_>) -> Result<Stateid4, NotLocked> {
        let LockRequest { file, range, .. } = *request;
        let shard = &mut *self.write(Files::shard_of(file));
        let (existing, owner, open) = self.locker(shard, request)?;
        let share = match shard.states.get(&open) {
            Some(State::Open(open)) => open.share,
            _ => return Err(Nfsstat4::BadStateid.into()),
        };
        if share.access & access_for(range.kind) == 0 {
            return Err(Nfsstat4::Openmode.into());
        }
        if let Some(holder) = shard.holder(file, (request.client.id, owner), &range) {
            return Err(NotLocked::Denied(holder));
        }
        let id = match existing {
            Some(id) => id,
            None => {
                let id = self.new_id(file);
                let locks = Locks {
                    file,
                    client: request.client.clone(),
                    owner: owner.into(),
                    seqid: 0,
                    open,
                    ranges: Ranges::default(),
                };
                shard.add(id, State::Locks(locks))?;
                id
            }
        };
        let changed = shard.change_ranges(id, |_| true, |ranges| ranges.lock(range));
        if changed.is_err() && existing.is_none() {
            // What the client does not learn of must not stay.
            shard.remove(id);
        }
        Ok(self.stateid(id, changed?))
    }

    /// LOCKT: the lock that would be in the way of this client's owner.
    pub(crate) fn test_lock(
        &self,
        (client, file): (&Client, FileId),
        owner: &[u8],
        range: &Range,
    ) -> Option<Holder> {
        let shard = &*self.read(Files::shard_of(file));
        shard.holder(file, (client.id, owner), range)
    }

    /// LOCKU.
    ///
    /// # Errors
    /// What is wrong with the stateid.
    pub(crate) fn unlock(
        &self,
        stateid: &Stateid4,
        of: (&Client, FileId),
        range: &Range,
    ) -> Result<Stateid4, Nfsstat4> {
        let shard = &mut *self.write(Files::shard_of(of.1));
        let (id, _) = self.find_of_file(shard, stateid, of)?;
        let splits = |ranges: &Ranges| ranges.splits(range);
        let seqid = shard.change_ranges(id, splits, |ranges| ranges.unlock(range))?;
        Ok(self.stateid(id, seqid))
    }
}
