//! Changes to one object: attributes and content.

use super::MemFs;
use super::data::MAX_FILE_SIZE;
use super::inode::{Body, MAY_WRITE};
use super::types::{Changed, Cred, FileId, FsError, SetAttr};

impl MemFs {
    /// Sets attributes (SETATTR). With `guard_ctime_ns`, only where the object's ctime is
    /// still that one, else `NotSync`.
    pub fn setattr(
        &self,
        id: FileId,
        set: &SetAttr,
        guard_ctime_ns: Option<u64>,
        cred: &Cred<'_>,
    ) -> Changed<()> {
        self.change(id, |table| {
            if guard_ctime_ns.is_some_and(|guard| table.get(id).is_ok_and(|i| i.ctime_ns != guard))
            {
                return Err(FsError::NotSync);
            }
            table.check_setattr(id, set, cred)?;
            table.apply_setattr(id, set, cred);
            table.uncommitted.settle(id);
            Ok(())
        })
    }

    /// Stores the data at the offset, all of it or nothing (WRITE).
    pub fn write_file(&self, id: FileId, offset: u64, data: &[u8], cred: &Cred<'_>) -> Changed<()> {
        self.write(id, offset, data, (cred, true))
    }

    /// The same; until the file's next COMMIT, stable WRITE or SETATTR,
    /// [`MemFs::revert_uncommitted`] takes it back.
    pub fn write_unstable(
        &self,
        id: FileId,
        offset: u64,
        data: &[u8],
        cred: &Cred<'_>,
    ) -> Changed<()> {
        self.write(id, offset, data, (cred, false))
    }

    fn write(
        &self,
        id: FileId,
        offset: u64,
        data: &[u8],
        (cred, is_stable): (&Cred<'_>, bool),
    ) -> Changed<()> {
        self.change(id, |table| {
            let inode = table.get(id)?;
            let content = match &inode.body {
                Body::Regular(content) => content,
                Body::Directory(_) => return Err(FsError::IsDir),
                _ => return Err(FsError::Inval),
            };
            if !inode.permits_io(cred, MAY_WRITE) {
                return Err(FsError::Acces);
            }
            let end = offset.checked_add(data.len() as u64);
            if end.is_none_or(|end| end > MAX_FILE_SIZE) {
                return Err(FsError::FBig);
            }
            if data.is_empty() {
                return Ok(());
            }
            table.charge(content.growth(offset, data.len()))?;
            match is_stable {
                true => table.uncommitted.settle(id),
                false => table.keep_before(id, offset, data.len()),
            }
            let now = table.now();
            let inode = table.get_mut(id)?;
            if let Body::Regular(content) = &mut inode.body {
                content.write(offset, data);
            }
            if !cred.is_root() {
                inode.mode &= !0o6000; // changed content loses set-id
            }
            inode.touch(now);
            Ok(())
        })
    }

    /// Makes sure that written data is safe (COMMIT): [`MemFs::revert_uncommitted`] leaves it.
    /// What counts is [`MemFs::write_verifier`], which goes back with the answer.
    pub fn commit(&self, id: FileId, cred: &Cred<'_>) -> Changed<()> {
        // Not through `change`: nothing changes, so the lock is shared, and a read-only
        // file system has nothing to refuse.
        let table = self.read();
        let result = table.get(id).and_then(|inode| match inode.body {
            Body::Regular(_) if inode.permits_io(cred, MAY_WRITE) => Ok(()),
            Body::Regular(_) => Err(FsError::Acces),
            Body::Directory(_) => Err(FsError::IsDir),
            _ => Err(FsError::Inval),
        });
        let wcc = super::Wcc {
            before: table.pre_attr(id),
            after: table.attr(id),
        };
        let is_held = table.uncommitted.has(id);
        drop(table);
        if is_held && result.is_ok() {
            self.write_lock().uncommitted.settle(id);
        }
        Changed { wcc, result }
    }
}
