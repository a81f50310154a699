//! Making and removing names.

use super::MemFs;
use super::dir::DirData;
use super::inode::{Body, MAY_EXEC, MAY_WRITE};
use super::table::{LINK_MAX, PATH_MAX, Table, check_name, is_dots};
use super::types::{
    Changed, CreateHow, Cred, FileId, FsError, ObjectAttr, SetAttr, SpecialKind, Wcc,
};

/// Mode of a file whose maker names none.
const FILE_MODE: u32 = 0o644;
/// Mode of a directory whose maker names none.
const DIR_MODE: u32 = 0o755;

/// What a name may lead to that is removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Removable {
    /// Anything but a directory.
    File,
    /// An empty directory.
    Directory,
    /// Either.
    Any,
}

impl Table {
    fn found(&self, id: FileId) -> Result<ObjectAttr, FsError> {
        Ok(ObjectAttr {
            id,
            attr: self.attr(id).ok_or(FsError::Stale)?,
        })
    }

    /// The directory may be searched by the caller; returns what the name leads to.
    pub(super) fn search(
        &self,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
    ) -> Result<Option<FileId>, FsError> {
        let (inode, names) = self.dir(dir)?;
        check_name(name)?;
        if !inode.permits(cred, MAY_EXEC) {
            return Err(FsError::Acces);
        }
        Ok(names.get(name).map(|number| self.id_of(number)))
    }

    pub(super) fn check_dir_writable(&self, dir: FileId, cred: &Cred<'_>) -> Result<(), FsError> {
        let (inode, _) = self.dir(dir)?;
        if inode.permits(cred, MAY_WRITE | MAY_EXEC) {
            Ok(())
        } else {
            Err(FsError::Acces)
        }
    }

    /// In a sticky directory only the owners of name or directory may take a name away.
    pub(super) fn check_sticky(
        &self,
        dir: FileId,
        victim: FileId,
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        let (dir, victim) = (self.get(dir)?, self.get(victim)?);
        let sticky = dir.mode & 0o1000 != 0;
        if sticky && !cred.is_root() && cred.uid != dir.uid && cred.uid != victim.uid {
            return Err(FsError::Perm);
        }
        Ok(())
    }

    /// Everything that must hold before a new name is made.
    fn check_new_name(
        &self,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
        body: Option<&Body>,
    ) -> Result<(), FsError> {
        if is_dots(name) {
            self.dir(dir)?;
            return Err(FsError::Exist);
        }
        if self.search(dir, name, cred)?.is_some() {
            return Err(FsError::Exist);
        }
        self.check_dir_writable(dir, cred)?;
        self.check_space_for_name(name, body)
    }

    /// Makes an object under a new name; everything is checked before anything changes.
    fn make(
        &mut self,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
        body: Body,
        default_mode: u32,
        set: &SetAttr,
    ) -> Result<ObjectAttr, FsError> {
        self.check_new_name(dir, name, cred, Some(&body))?;
        let (dir_gid, dir_mode) = self.get(dir).map(|inode| (inode.gid, inode.mode))?;
        let is_dir = matches!(body, Body::Directory(_));
        let inherits = dir_mode & 0o2000 != 0; // set-gid directories hand their group down
        let gid = if inherits { dir_gid } else { cred.gid };
        let inode = self.blank(body, default_mode, (cred.uid, gid));
        let id = self.insert(inode);
        if let Err(error) = self.check_setattr(id, set, cred) {
            if let Ok(inode) = self.get_mut(id) {
                inode.nlink = 1;
            }
            self.unlink(id, 0);
            return Err(error);
        }
        self.apply_setattr(id, set, cred);
        if inherits && is_dir {
            self.get_mut(id)?.mode |= 0o2000;
        }
        let now = self.now();
        self.add_name(dir, name, id.number)?;
        let parent = self.get_mut(dir)?;
        parent.nlink += u32::from(is_dir);
        parent.touch(now);
        self.found(id)
    }

    fn create(
        &mut self,
        dir: FileId,
        name: &[u8],
        how: &CreateHow,
        cred: &Cred<'_>,
    ) -> Result<ObjectAttr, FsError> {
        let existing = if is_dots(name) {
            None
        } else {
            self.search(dir, name, cred)?
        };
        if let Some(id) = existing {
            let inode = self.get(id)?;
            let regular = matches!(inode.body, Body::Regular(_));
            match how {
                CreateHow::Exclusive(verifier, _) if inode.exclusive == Some(*verifier) => {}
                CreateHow::Unchecked(_) if inode.is_dir() => return Err(FsError::IsDir),
                CreateHow::Unchecked(set) if regular => {
                    let set = SetAttr {
                        size: set.size,
                        ..SetAttr::default()
                    };
                    self.check_setattr(id, &set, cred)?;
                    self.apply_setattr(id, &set, cred);
                    self.uncommitted.settle(id);
                }
                _ => return Err(FsError::Exist),
            }
            return self.found(id);
        }
        let body = Body::Regular(Default::default());
        match how {
            CreateHow::Unchecked(set) | CreateHow::Guarded(set) => {
                self.make(dir, name, cred, body, FILE_MODE, set)
            }
            CreateHow::Exclusive(verifier, set) => {
                let made = self.make(dir, name, cred, body, FILE_MODE, set)?;
                self.get_mut(made.id)?.exclusive = Some(*verifier);
                Ok(made)
            }
        }
    }

    /// Takes away a name and what it leads to, if that was its last name.
    fn remove(
        &mut self,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
        what: Removable,
    ) -> Result<(), FsError> {
        if is_dots(name) {
            self.dir(dir)?;
            // RFC 1813 has INVAL for rmdir "." and EXIST for "..".
            return Err(if name == b"." {
                FsError::Inval
            } else {
                FsError::Exist
            });
        }
        let id = self.search(dir, name, cred)?.ok_or(FsError::NoEnt)?;
        self.check_dir_writable(dir, cred)?;
        self.check_sticky(dir, id, cred)?;
        let is_dir = match (&self.get(id)?.body, what) {
            (Body::Directory(_), Removable::File) => return Err(FsError::IsDir),
            (Body::Directory(names), _) if names.len() > 0 => return Err(FsError::NotEmpty),
            (Body::Directory(_), _) => true,
            (_, Removable::Directory) => return Err(FsError::NotDir),
            (_, _) => false,
        };
        let now = self.now();
        self.drop_name(dir, name)?;
        self.unlink(id, now);
        let parent = self.get_mut(dir)?;
        parent.nlink -= u32::from(is_dir);
        parent.touch(now);
        Ok(())
    }

    fn link(
        &mut self,
        id: FileId,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        let inode = self.get(id)?;
        self.dir(dir)?;
        if inode.is_dir() {
            return Err(FsError::IsDir);
        }
        if inode.nlink >= LINK_MAX {
            return Err(FsError::MLink);
        }
        self.check_new_name(dir, name, cred, None)?;
        let now = self.now();
        self.add_name(dir, name, id.number)?;
        self.get_mut(dir)?.touch(now);
        let inode = self.get_mut(id)?;
        inode.nlink += 1;
        inode.ctime_ns = now;
        Ok(())
    }
}

impl MemFs {
    /// Makes, or finds, a regular file (CREATE).
    pub fn create(
        &self,
        dir: FileId,
        name: &[u8],
        how: &CreateHow,
        cred: &Cred<'_>,
    ) -> Changed<ObjectAttr> {
        self.change(dir, |table| table.create(dir, name, how, cred))
    }

    /// Makes a directory (MKDIR).
    pub fn mkdir(
        &self,
        dir: FileId,
        name: &[u8],
        set: &SetAttr,
        cred: &Cred<'_>,
    ) -> Changed<ObjectAttr> {
        let body = Body::Directory(DirData::new(dir.number));
        self.change(dir, |table| {
            table.make(dir, name, cred, body, DIR_MODE, set)
        })
    }

    /// Makes a symbolic link (SYMLINK).
    pub fn symlink(
        &self,
        dir: FileId,
        name: &[u8],
        target: &[u8],
        set: &SetAttr,
        cred: &Cred<'_>,
    ) -> Changed<ObjectAttr> {
        self.change(dir, |table| {
            if target.len() > PATH_MAX {
                return Err(FsError::NameTooLong);
            }
            if target.is_empty() || target.contains(&0) {
                return Err(FsError::Inval);
            }
            table.make(dir, name, cred, Body::Symlink(target.into()), 0o777, set)
        })
    }

    /// Makes a device, socket or FIFO (MKNOD). Devices are for root.
    pub fn mknod(
        &self,
        dir: FileId,
        name: &[u8],
        kind: SpecialKind,
        set: &SetAttr,
        cred: &Cred<'_>,
    ) -> Changed<ObjectAttr> {
        let (body, device) = match kind {
            SpecialKind::BlockDevice(major, minor) => (Body::BlockDevice(major, minor), true),
            SpecialKind::CharDevice(major, minor) => (Body::CharDevice(major, minor), true),
            SpecialKind::Socket => (Body::Socket, false),
            SpecialKind::Fifo => (Body::Fifo, false),
        };
        self.change(dir, |table| {
            table.dir(dir)?;
            if device && !cred.is_root() {
                return Err(FsError::Perm);
            }
            table.make(dir, name, cred, body, FILE_MODE, set)
        })
    }

    /// Removes the name of anything but a directory (REMOVE).
    pub fn remove(&self, dir: FileId, name: &[u8], cred: &Cred<'_>) -> Changed<()> {
        self.change(dir, |table| table.remove(dir, name, cred, Removable::File))
    }

    /// Removes an empty directory (RMDIR).
    pub fn rmdir(&self, dir: FileId, name: &[u8], cred: &Cred<'_>) -> Changed<()> {
        self.change(dir, |table| {
            table.remove(dir, name, cred, Removable::Directory)
        })
    }

    /// Removes the name of anything, of a directory if it is empty (REMOVE of version 4).
    pub fn remove_any(&self, dir: FileId, name: &[u8], cred: &Cred<'_>) -> Changed<()> {
        self.change(dir, |table| table.remove(dir, name, cred, Removable::Any))
    }

    /// Gives a file one more name (LINK). Returns the file's attributes, and the change
    /// to the directory.
    pub fn link(
        &self,
        id: FileId,
        dir: FileId,
        name: &[u8],
        cred: &Cred<'_>,
    ) -> (Option<super::Attr>, Changed<()>) {
        let mut table = self.write_lock();
        let before = table.pre_attr(dir);
        let result = if self.read_only && before.is_some() {
            Err(FsError::RoFs)
        } else {
            table.link(id, dir, name, cred)
        };
        self.count_refusal(&result);
        let wcc = Wcc {
            before,
            after: table.attr(dir),
        };
        (table.attr(id), Changed { wcc, result })
    }
}
