//! LOCK, LOCKT and LOCKU (RFC 8881 sections 18.10 to 18.12). Locks are advisory: READ and WRITE do not
//! look at them.

use super::compound::{Compound, Results};
use crate::memfs::FileId;
use crate::nfs4::{Holder, LockRequest, Locker, NotLocked, Range, RangeKind};
use filermark_onc::nfs4::*;

fn range(kind: NfsLockType4, offset: u64, length: u64) -> Res<Range> {
    let kind = match kind {
        NfsLockType4::Read | NfsLockType4::Readw => RangeKind::Shared,
        NfsLockType4::Write | NfsLockType4::Writew => RangeKind::Exclusive,
    };
    Range::new(offset, length, kind).ok_or(Nfsstat4::Inval)
}

/// The lock that is in the way, as LOCK and LOCKT report it.
fn denied(holder: &Holder) -> LockFailed<'_> {
    Failed4::With(LockDenied4 {
        offset: holder.range.first,
        length: holder.range.length(),
        locktype: match holder.range.kind {
            RangeKind::Shared => NfsLockType4::Read,
            RangeKind::Exclusive => NfsLockType4::Write,
        },
        owner: StateOwner4 {
            clientid: holder.clientid,
            owner: &holder.owner,
        },
    })
}

impl Compound<'_> {
    fn lockable(&self) -> Res<FileId> {
        let object = self.current()?;
        self.must_be_file(object)?;
        object.file_or(Nfsstat4::Isdir)
    }

    fn locked(&self, args: &LockArgs<'_>) -> Result<Stateid4, NotLocked> {
        let file = self.lockable()?;
        let range = range(args.locktype, args.offset, args.length)?;
        if args.reclaim {
            return Err(Nfsstat4::NoGrace.into());
        }
        let stateid = match &args.locker {
            Locker4::Existing(existing) => self.resolved(&existing.lock_stateid)?,
            Locker4::New(new) => self.resolved(&new.open_stateid)?,
        };
        let locker = match &args.locker {
            Locker4::Existing(_) => Locker::Existing(&stateid),
            Locker4::New(new) => Locker::New(new.lock_owner.owner, &stateid),
        };
        self.cx.shared.nfs4.files.lock(&LockRequest {
            client: self.client()?,
            file,
            range,
            locker,
        })
    }

    pub(super) fn lock(&mut self, args: &LockArgs<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        match self.locked(args) {
            Ok(lock_stateid) => {
                self.set_stateid(lock_stateid);
                results.result::<LockArgs<'_>>(&Ok(LockOk { lock_stateid }))
            }
            Err(NotLocked::Denied(holder)) => results.result::<LockArgs<'_>>(&Err(denied(&holder))),
            Err(NotLocked::Status(status)) => results.fail(Operation::Lock, status),
        }
    }

    pub(super) fn lockt(&self, args: &LocktArgs<'_>, results: &mut Results<'_>) -> Nfsstat4 {
        let tested = self.lockable().and_then(|file| {
            let range = range(args.locktype, args.offset, args.length)?;
            let of = (&**self.client()?, file);
            let files = &self.cx.shared.nfs4.files;
            Ok(files.test_lock(of, args.owner.owner, &range))
        });
        match tested {
            Ok(None) => results.result::<LocktArgs<'_>>(&Ok(())),
            Ok(Some(holder)) => results.result::<LocktArgs<'_>>(&Err(denied(&holder))),
            Err(status) => results.fail(Operation::Lockt, status),
        }
    }

    pub(super) fn locku(&mut self, args: &LockuArgs) -> LockuRes {
        let file = self.current()?.file_or(Nfsstat4::BadStateid)?;
        let range = range(args.locktype, args.offset, args.length)?;
        let stateid = self.resolved(&args.lock_stateid)?;
        let files = &self.cx.shared.nfs4.files;
        let lock_stateid = files.unlock(&stateid, (self.client()?, file), &range)?;
        self.set_stateid(lock_stateid);
        Ok(LockuOk { lock_stateid })
    }
}
