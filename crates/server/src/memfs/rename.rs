//! RENAME, the operation with the most ways to fail.

use super::MemFs;
use super::inode::{Body, MAY_WRITE};
use super::table::{ROOT, Table, is_dots};
use super::types::{Cred, FileId, FsError, Wcc};

/// A name in a directory.
#[derive(Debug, Clone, Copy)]
pub struct DirEntryName<'a> {
    /// The directory.
    pub dir: FileId,
    /// The name in it.
    pub name: &'a [u8],
}

impl Table {
    /// Whether `dir` is `above` or lies under it.
    fn is_under(&self, dir: FileId, above: FileId) -> bool {
        let mut at = dir.number;
        loop {
            if at == above.number {
                return true;
            }
            match self.dir(self.id_of(at)) {
                Ok((_, names)) if at != ROOT => at = names.parent,
                _ => return false,
            }
        }
    }

    /// The source, the target if there is one; every reason to refuse is found here.
    fn check_rename(
        &self,
        from: DirEntryName<'_>,
        to: DirEntryName<'_>,
        cred: &Cred<'_>,
    ) -> Result<(FileId, Option<FileId>), FsError> {
        self.dir(from.dir)?;
        self.dir(to.dir)?;
        if is_dots(from.name) || is_dots(to.name) {
            return Err(FsError::Inval);
        }
        let source = self.search(from.dir, from.name, cred)?;
        let target = self.search(to.dir, to.name, cred)?;
        let source = source.ok_or(FsError::NoEnt)?;
        self.check_dir_writable(from.dir, cred)?;
        self.check_dir_writable(to.dir, cred)?;
        self.check_sticky(from.dir, source, cred)?;
        let inode = self.get(source)?;
        if inode.is_dir() {
            if self.is_under(to.dir, source) {
                return Err(FsError::Inval);
            }
            // Its ".." changes, which is a write to it.
            if from.dir != to.dir && !inode.permits(cred, MAY_WRITE) {
                return Err(FsError::Acces);
            }
        }
        if let Some(target) = target.filter(|target| *target != source) {
            self.check_sticky(to.dir, target, cred)?;
            match (inode.is_dir(), &self.get(target)?.body) {
                (true, Body::Directory(names)) if names.len() > 0 => return Err(FsError::NotEmpty),
                (true, Body::Directory(_)) => {}
                (true, _) => return Err(FsError::NotDir),
                (false, Body::Directory(_)) => return Err(FsError::IsDir),
                (false, _) => {}
            }
        }
        Ok((source, target))
    }

    fn rename(
        &mut self,
        from: DirEntryName<'_>,
        to: DirEntryName<'_>,
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        let (source, target) = self.check_rename(from, to, cred)?;
        if target == Some(source) {
            return Ok(()); // two names of one file: nothing happens (RFC 1813, 3.3.14)
        }
        if target.is_none() && to.name.len() > from.name.len() {
            self.check_space_for_growth((to.name.len() - from.name.len()) as u64)?;
        }
        let now = self.now();
        let is_dir = self.get(source)?.is_dir();
        self.drop_name(from.dir, from.name)?;
        match target {
            Some(target) => {
                self.dir_mut(to.dir)?.put(to.name, source.number);
                self.unlink(target, now);
            }
            None => self.add_name(to.dir, to.name, source.number)?,
        }
        if is_dir {
            self.dir_mut(source)?.parent = to.dir.number;
            self.get_mut(from.dir)?.nlink -= 1;
            self.get_mut(to.dir)?.nlink += u32::from(target.is_none());
        }
        self.get_mut(source)?.ctime_ns = now;
        self.get_mut(from.dir)?.touch(now);
        self.get_mut(to.dir)?.touch(now);
        Ok(())
    }
}

impl MemFs {
    /// Moves a name, over an existing one if need be. Returns the changes to both
    /// directories.
    ///
    /// # Errors
    /// As POSIX rename: `IsDir`, `NotDir`, `NotEmpty` for targets that do not fit, `Inval`
    /// for a directory under itself and for the dots.
    pub fn rename(
        &self,
        from: DirEntryName<'_>,
        to: DirEntryName<'_>,
        cred: &Cred<'_>,
    ) -> (Wcc, Wcc, Result<(), FsError>) {
        let mut table = self.write_lock();
        let before = (table.pre_attr(from.dir), table.pre_attr(to.dir));
        let alive = before.0.is_some() && before.1.is_some();
        let result = match alive {
            true if self.read_only => Err(FsError::RoFs),
            _ => table.rename(from, to, cred),
        };
        self.count_refusal(&result);
        (
            Wcc {
                before: before.0,
                after: table.attr(from.dir),
            },
            Wcc {
                before: before.1,
                after: table.attr(to.dir),
            },
            result,
        )
    }
}
