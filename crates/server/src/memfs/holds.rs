//! Open files: what is open stays when its last name is removed, until it is closed.

use super::MemFs;
use super::types::{FileId, FsError};
use std::sync::atomic::Ordering;

impl MemFs {
    /// Keeps the file, also without a name, until [`MemFs::release`] is called as often as this.
    ///
    /// # Errors
    /// `Stale`.
    pub fn hold(&self, id: FileId) -> Result<(), FsError> {
        let table = self.read();
        table.get(id)?.holds.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Takes one [`MemFs::hold`] back. A file without a name and without holds is gone.
    pub fn release(&self, id: FileId) {
        let table = self.read();
        let Ok(inode) = table.get(id) else { return };
        let before = inode
            .holds
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |holds| {
                holds.checked_sub(1)
            });
        let is_last = before == Ok(1) && inode.nlink == 0;
        drop(table);
        if !is_last {
            return;
        }
        let mut table = self.write_lock();
        // It may have been held again meanwhile.
        let is_free = table
            .get_mut(id)
            .is_ok_and(|inode| inode.nlink == 0 && *inode.holds.get_mut() == 0);
        if is_free {
            table.discard(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::memfs::{CreateHow, Cred, FsConfig, FsError, MemFs, SetAttr};

    #[test]
    fn a_held_file_stays_without_a_name_until_the_last_release() {
        let fs = MemFs::new(FsConfig::default());
        let root = fs.root();
        let made = fs.create(
            root,
            b"f",
            &CreateHow::Guarded(SetAttr::default()),
            &Cred::ROOT,
        );
        let id = made.result.expect("a file").id;
        let free = |fs: &MemFs| fs.fsstat(root).1.expect("figures").free_bytes;
        fs.hold(id).expect("held");
        fs.hold(id).expect("held");
        fs.remove(root, b"f", &Cred::ROOT).result.expect("removed");
        assert_eq!(fs.getattr(id).expect("still there").nlink, 0);
        assert_eq!(fs.lookup(root, b"f", &Cred::ROOT).1, Err(FsError::NoEnt));
        fs.release(id);
        assert!(fs.getattr(id).is_ok());
        let before = free(&fs);
        fs.release(id);
        assert_eq!(fs.getattr(id), Err(FsError::Stale));
        assert!(free(&fs) > before);
        fs.release(id); // one too many is no harm
        assert_eq!(fs.hold(id), Err(FsError::Stale));
    }

    #[test]
    fn a_file_with_a_name_stays_when_it_is_released() {
        let fs = MemFs::new(FsConfig::default());
        let how = CreateHow::Guarded(SetAttr::default());
        let made = fs.create(fs.root(), b"f", &how, &Cred::ROOT);
        let id = made.result.expect("a file").id;
        fs.hold(id).expect("held");
        fs.release(id);
        assert!(fs.getattr(id).is_ok());
    }
}
