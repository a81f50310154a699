//! The inode table: numbers, generations, the space account and the clock.

use super::dir::{DirData, charge_of_name};
use super::inode::{Body, Inode, Xattrs};
use super::types::{Attr, Cred, FileId, FsError, PreAttr, SetAttr, SetTime};
use super::uncommitted::Uncommitted;
use std::sync::atomic::AtomicU64;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest name in bytes (what PATHCONF says).
pub const NAME_MAX: usize = 255;
/// Longest target of a symbolic link in bytes.
pub const PATH_MAX: usize = 1024;
/// Most names of one file.
pub const LINK_MAX: u32 = 65_000;

/// Inode number of the root.
pub(super) const ROOT: u64 = 1;

#[derive(Debug)]
struct Slot {
    generation: u64,
    inode: Option<Inode>,
}

/// What an inode is charged: the table doubles when it grows.
pub(super) const INODE_BYTES: u64 = 2 * size_of::<Slot>() as u64;

/// All inodes, under the lock of the file system.
#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u64>,
    /// Names in all directories; bounded like the inodes.
    pub(super) names: u64,
    /// Content, inodes and names, by what they take in memory.
    pub(super) used_bytes: u64,
    pub(super) capacity_bytes: u64,
    pub(super) max_files: u64,
    first_generation: u64,
    last_ns: u64,
    pub(super) uncommitted: Uncommitted,
}

/// The system clock in ns since 1970.
pub(super) fn clock_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_nanos() as u64)
}

/// What an inode is charged against the capacity, without the content of a file.
fn charge_of_inode(body: &Body) -> u64 {
    let target = match body {
        Body::Symlink(target) => target.len() as u64,
        _ => 0,
    };
    INODE_BYTES + target
}

/// `.` and `..` are names of directories, but no names that can be made or removed.
pub(super) fn is_dots(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

/// Whether a name can stand in a directory.
pub(super) fn check_name(name: &[u8]) -> Result<(), FsError> {
    if name.len() > NAME_MAX {
        return Err(FsError::NameTooLong);
    }
    if name.is_empty() || name.contains(&b'/') || name.contains(&0) {
        return Err(FsError::Inval);
    }
    Ok(())
}

impl Table {
    pub(super) fn new(capacity_bytes: u64, max_files: u64, root_mode: u32) -> Table {
        let now = clock_ns();
        let mut table = Table {
            slots: Vec::new(),
            free: Vec::new(),
            names: 0,
            used_bytes: 0,
            capacity_bytes,
            max_files: max_files.max(1),
            // Handles of an earlier server are stale to this one.
            first_generation: now,
            last_ns: now,
            uncommitted: Uncommitted::default(),
        };
        let root = table.blank(Body::Directory(DirData::new(ROOT)), root_mode, (0, 0));
        // The first inode gets number 1; a table of at least one file cannot be full yet.
        table.slots.push(Slot {
            generation: table.first_generation,
            inode: Some(root),
        });
        table
    }

    /// The time, later than any time given before.
    pub(super) fn now(&mut self) -> u64 {
        self.last_ns = clock_ns().max(self.last_ns + 1);
        self.last_ns
    }

    pub(super) fn root(&self) -> FileId {
        self.id_of(ROOT)
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        self.slots.get(number.checked_sub(1)? as usize)
    }

    /// The handle of an inode that is known to live.
    pub(super) fn id_of(&self, number: u64) -> FileId {
        let generation = self.slot(number).map_or(0, |slot| slot.generation);
        FileId { number, generation }
    }

    pub(super) fn get(&self, id: FileId) -> Result<&Inode, FsError> {
        self.slot(id.number)
            .filter(|slot| slot.generation == id.generation)
            .and_then(|slot| slot.inode.as_ref())
            .ok_or(FsError::Stale)
    }

    pub(super) fn get_mut(&mut self, id: FileId) -> Result<&mut Inode, FsError> {
        let index = id.number.checked_sub(1).ok_or(FsError::Stale)? as usize;
        self.slots
            .get_mut(index)
            .filter(|slot| slot.generation == id.generation)
            .and_then(|slot| slot.inode.as_mut())
            .ok_or(FsError::Stale)
    }

    pub(super) fn attr(&self, id: FileId) -> Option<Attr> {
        self.get(id).ok().map(|inode| inode.attr(id.number))
    }

    pub(super) fn pre_attr(&self, id: FileId) -> Option<PreAttr> {
        self.get(id).ok().map(Inode::pre_attr)
    }

    /// The names in a directory.
    pub(super) fn dir(&self, id: FileId) -> Result<(&Inode, &DirData), FsError> {
        let inode = self.get(id)?;
        match &inode.body {
            Body::Directory(dir) => Ok((inode, dir)),
            _ => Err(FsError::NotDir),
        }
    }

    pub(super) fn dir_mut(&mut self, id: FileId) -> Result<&mut DirData, FsError> {
        match &mut self.get_mut(id)?.body {
            Body::Directory(dir) => Ok(dir),
            _ => Err(FsError::NotDir),
        }
    }

    pub(super) fn inodes(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// A new inode without a number yet.
    pub(super) fn blank(&mut self, body: Body, mode: u32, owner: (u32, u32)) -> Inode {
        let now = self.now();
        Inode {
            nlink: if matches!(body, Body::Directory(_)) {
                2
            } else {
                1
            },
            body,
            mode: mode & 0o7777,
            uid: owner.0,
            gid: owner.1,
            atime_ns: AtomicU64::new(now),
            mtime_ns: now,
            ctime_ns: now,
            born_ns: now,
            exclusive: None,
            xattrs: Xattrs::default(),
            holds: AtomicU64::new(0),
        }
    }

    /// Bytes that are free. Places of removed inodes count as free: inodes may have them.
    pub(super) fn free_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.used_bytes)
    }

    /// Whether one more name may be made, and, with `body`, an inode under it.
    pub(super) fn check_space_for_name(
        &self,
        name: &[u8],
        body: Option<&Body>,
    ) -> Result<(), FsError> {
        let many = self.inodes() >= self.max_files;
        let bytes = charge_of_name(name) + body.map_or(0, charge_of_inode);
        if self.names >= self.max_files || (body.is_some() && many) || !self.fits(bytes) {
            return Err(FsError::NoSpc);
        }
        Ok(())
    }

    /// Whether so many bytes more fit. Places of inodes that were removed are kept for the next
    /// ones, and take memory until then.
    fn fits(&self, bytes: u64) -> bool {
        let kept = self.free.len() as u64 * INODE_BYTES;
        let used = self.used_bytes.saturating_add(kept).saturating_add(bytes);
        used <= self.capacity_bytes
    }

    /// Whether a name may get so many bytes longer.
    pub(super) fn check_space_for_growth(&self, bytes: u64) -> Result<(), FsError> {
        if self.fits(bytes) {
            Ok(())
        } else {
            Err(FsError::NoSpc)
        }
    }

    /// Puts a name into a directory. The caller has checked that it fits.
    pub(super) fn add_name(
        &mut self,
        dir: FileId,
        name: &[u8],
        number: u64,
    ) -> Result<(), FsError> {
        self.dir_mut(dir)?.put(name, number);
        self.names += 1;
        self.used_bytes += charge_of_name(name);
        Ok(())
    }

    /// Takes a name out of a directory.
    pub(super) fn drop_name(&mut self, dir: FileId, name: &[u8]) -> Result<(), FsError> {
        self.dir_mut(dir)?.remove(name);
        self.names -= 1;
        self.used_bytes -= charge_of_name(name);
        Ok(())
    }

    /// Gives the inode a number.
    pub(super) fn insert(&mut self, inode: Inode) -> FileId {
        self.used_bytes += charge_of_inode(&inode.body);
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.slots.push(Slot {
                    generation: self.first_generation,
                    inode: None,
                });
                self.slots.len() as u64
            }
        };
        let slot = &mut self.slots[number as usize - 1];
        slot.inode = Some(inode);
        FileId {
            number,
            generation: slot.generation,
        }
    }

    /// Takes one name away from an inode; the last one takes the inode along.
    pub(super) fn unlink(&mut self, id: FileId, now: u64) {
        let Ok(inode) = self.get_mut(id) else { return };
        inode.ctime_ns = now;
        inode.nlink = inode.nlink.saturating_sub(1);
        let is_held = *inode.holds.get_mut() > 0;
        if (inode.nlink > 0 || is_held) && !inode.is_dir() {
            return;
        }
        self.discard(id);
    }

    /// Takes an inode that has no name out of the table.
    pub(super) fn discard(&mut self, id: FileId) {
        let Ok(inode) = self.get(id) else { return };
        let content = match &inode.body {
            Body::Regular(data) => data.charged(),
            _ => 0,
        };
        let freed = content + charge_of_inode(&inode.body) + inode.xattr_bytes();
        self.used_bytes -= freed;
        let slot = &mut self.slots[id.number as usize - 1];
        slot.inode = None;
        slot.generation += 1;
        self.free.push(id.number);
    }

    /// Charges bytes against the capacity, or refuses.
    pub(super) fn charge(&mut self, bytes: u64) -> Result<(), FsError> {
        if bytes > 0 && !self.fits(bytes) {
            return Err(FsError::NoSpc);
        }
        self.used_bytes += bytes;
        Ok(())
    }

    /// Checks the changes in `set` against ownership and mode (POSIX chmod, chown, utimes).
    pub(super) fn check_setattr(
        &self,
        id: FileId,
        set: &SetAttr,
        cred: &Cred<'_>,
    ) -> Result<(), FsError> {
        let inode = self.get(id)?;
        let owner = cred.is_root() || cred.uid == inode.uid;
        let chown = set.uid.is_some_and(|uid| uid != inode.uid) && !cred.is_root();
        let chgrp = set.gid.is_some_and(|gid| {
            gid != inode.gid && !cred.is_root() && !(owner && cred.in_group(gid))
        });
        let explicit = |time: SetTime| matches!(time, SetTime::To(_));
        if (set.mode.is_some() && !owner) || chown || chgrp {
            return Err(FsError::Perm);
        }
        if (explicit(set.atime) || explicit(set.mtime)) && !owner {
            return Err(FsError::Perm);
        }
        let may_write = || inode.permits(cred, super::inode::MAY_WRITE);
        if (set.atime == SetTime::Now || set.mtime == SetTime::Now) && !owner && !may_write() {
            return Err(FsError::Acces);
        }
        if let Some(size) = set.size {
            match inode.body {
                Body::Regular(_) => {}
                Body::Directory(_) => return Err(FsError::IsDir),
                _ => return Err(FsError::Inval),
            }
            if !owner && !may_write() {
                return Err(FsError::Acces);
            }
            if size > super::data::MAX_FILE_SIZE {
                return Err(FsError::FBig);
            }
        }
        Ok(())
    }

    /// Applies what has been checked.
    pub(super) fn apply_setattr(&mut self, id: FileId, set: &SetAttr, cred: &Cred<'_>) {
        if *set == SetAttr::default() {
            return;
        }
        let now = self.now();
        let Ok(inode) = self.get_mut(id) else { return };
        let mut freed = 0;
        if let (Some(size), Body::Regular(data)) = (set.size, &mut inode.body) {
            freed = data.set_size(size);
            inode.mtime_ns = now;
        }
        let moved = set.uid.is_some_and(|uid| uid != inode.uid)
            || set.gid.is_some_and(|gid| gid != inode.gid);
        inode.uid = set.uid.unwrap_or(inode.uid);
        inode.gid = set.gid.unwrap_or(inode.gid);
        if moved && !cred.is_root() && !inode.is_dir() {
            inode.mode &= !0o6000; // a changed owner does not inherit set-id
        }
        if let Some(mode) = set.mode {
            let foreign_group = !cred.is_root() && !cred.in_group(inode.gid);
            inode.mode = mode & if foreign_group { 0o5777 } else { 0o7777 };
        }
        match set.atime {
            SetTime::Keep => {}
            SetTime::Now => *inode.atime_ns.get_mut() = now,
            SetTime::To(ns) => *inode.atime_ns.get_mut() = ns,
        }
        match set.mtime {
            SetTime::Keep => {}
            SetTime::Now => inode.mtime_ns = now,
            SetTime::To(ns) => inode.mtime_ns = ns,
        }
        inode.ctime_ns = now;
        self.used_bytes -= freed;
    }
}
