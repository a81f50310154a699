//! Stateids of operations: the special ones, the current one, and those of opens and locks (RFC 8881
//! section 8.2).

use super::compound::Compound;
use crate::memfs::FileId;
use crate::nfs4::{FileUse, Undelegated};
use filermark_onc::nfs4::*;

/// What keeps delegations away from a file; `None`: nothing has to.
pub(super) type Held<'c> = Option<Undelegated<'c>>;

impl Compound<'_> {
    /// A stateid as it is meant: the current one has a value of its own.
    ///
    /// # Errors
    /// BAD_STATEID: there is no current one.
    pub(super) fn resolved(&self, stateid: &Stateid4) -> Res<Stateid4> {
        if *stateid != Stateid4::CURRENT {
            return Ok(*stateid);
        }
        let place = self.current.ok_or(Nfsstat4::Nofilehandle)?;
        place.stateid.ok_or(Nfsstat4::BadStateid)
    }

    /// The same for an operation between two files, whose source is the saved file handle.
    pub(super) fn resolved_saved(&self, stateid: &Stateid4) -> Res<Stateid4> {
        if *stateid != Stateid4::CURRENT {
            return Ok(*stateid);
        }
        let place = self.saved.ok_or(Nfsstat4::Nofilehandle)?;
        place.stateid.ok_or(Nfsstat4::BadStateid)
    }

    /// Checks that a stateid allows this access to the file. Without an open no delegation that is in the way
    /// is granted while the result lives: it is held during the access.
    ///
    /// # Errors
    /// BAD_STATEID, OLD_STATEID, OPENMODE; without an open LOCKED where an open denies it.
    pub(super) fn check_stateid(
        &self,
        stateid: &Stateid4,
        id: FileId,
        access: u32,
    ) -> Res<Held<'_>> {
        self.check_resolved(&self.resolved(stateid)?, id, access)
    }

    pub(super) fn check_resolved(
        &self,
        stateid: &Stateid4,
        id: FileId,
        access: u32,
    ) -> Res<Held<'_>> {
        let files = &self.cx.shared.nfs4.files;
        match *stateid {
            Stateid4::ANONYMOUS | Stateid4::READ_BYPASS => {
                let wanted = match access & share::WRITE {
                    0 => FileUse::Read,
                    _ => FileUse::Change,
                };
                let held = self.undelegated([Some(id), None], wanted)?;
                match &held {
                    Some(held) => held.check_anonymous(id, access)?,
                    None => files.check_anonymous(id, access)?,
                }
                Ok(held)
            }
            Stateid4::INVALID => Err(Nfsstat4::BadStateid),
            _ => {
                files.check_access(stateid, (self.client()?, id), access)?;
                Ok(None)
            }
        }
    }

    pub(super) fn test_stateid(&self, args: &TestStateidArgs<'_>) -> Res<Vec<Nfsstat4>> {
        let client = self.client()?;
        let files = &self.cx.shared.nfs4.files;
        let test = |stateid: Stateid4| match stateid.is_special() {
            true => Nfsstat4::BadStateid,
            false => files.test(&stateid, client).err().unwrap_or(Nfsstat4::Ok),
        };
        Ok(args.stateids.iter().map(test).collect())
    }

    pub(super) fn free_stateid(&self, args: &FreeStateidArgs) -> FreeStateidRes {
        let stateid = self.resolved(&args.stateid)?;
        self.cx.shared.nfs4.files.free(&stateid, self.client()?)
    }
}
