//! One object: its attributes, its content by type, and who may do what with it.

use super::data::FileData;
use super::dir::DirData;
use super::types::{Attr, Cred, FileKind, PreAttr, Rights};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an attribute takes in memory beside the bytes of its name and value, at most: two references in a B-tree
/// whose nodes are half full, and two allocations. Rounded up.
pub(super) const XATTR_ENTRY_BYTES: usize = 160;

/// What an attribute is charged, in bytes.
pub(super) const fn charge_of_xattr(name: &[u8], value_len: usize) -> u64 {
    (XATTR_ENTRY_BYTES + name.len() + value_len) as u64
}

/// Permission to read, in one of the three groups of mode bits.
pub(super) const MAY_READ: u32 = 4;
/// Permission to write.
pub(super) const MAY_WRITE: u32 = 2;
/// Permission to execute a file or search a directory.
pub(super) const MAY_EXEC: u32 = 1;

/// Content by type.
#[derive(Debug)]
pub(super) enum Body {
    Regular(FileData),
    Directory(DirData),
    Symlink(Arc<[u8]>),
    BlockDevice(u32, u32),
    CharDevice(u32, u32),
    Socket,
    Fifo,
}

/// Extended attributes, by name. Without any nothing is allocated.
pub(super) type Xattrs = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// An object.
#[derive(Debug)]
pub(super) struct Inode {
    pub(super) body: Body,
    pub(super) mode: u32,
    pub(super) nlink: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Changed by reads, which share the lock.
    pub(super) atime_ns: AtomicU64,
    pub(super) mtime_ns: u64,
    pub(super) ctime_ns: u64,
    /// When it was made; a directory's cookie verifier.
    pub(super) born_ns: u64,
    /// The verifier of the exclusive CREATE that made it.
    pub(super) exclusive: Option<u64>,
    /// Extended attributes.
    pub(super) xattrs: Xattrs,
    /// How many opens keep it when its last name is gone. Changed under the shared lock.
    pub(super) holds: AtomicU64,
}

impl Inode {
    pub(super) fn kind(&self) -> FileKind {
        match self.body {
            Body::Regular(_) => FileKind::Regular,
            Body::Directory(_) => FileKind::Directory,
            Body::Symlink(_) => FileKind::Symlink,
            Body::BlockDevice(..) => FileKind::BlockDevice,
            Body::CharDevice(..) => FileKind::CharDevice,
            Body::Socket => FileKind::Socket,
            Body::Fifo => FileKind::Fifo,
        }
    }

    /// What its extended attributes are charged, in bytes.
    pub(super) fn xattr_bytes(&self) -> u64 {
        let pairs = self.xattrs.iter();
        pairs
            .map(|(name, value)| charge_of_xattr(name, value.len()))
            .sum()
    }

    pub(super) fn is_dir(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::Regular(data) => data.size(),
            // Grows with the names, as on a disk, in blocks.
            Body::Directory(dir) => (dir.len() as u64 * 64 + 1).next_multiple_of(4096),
            Body::Symlink(target) => target.len() as u64,
            _ => 0,
        }
    }

    pub(super) fn attr(&self, fileid: u64) -> Attr {
        let size = self.size();
        Attr {
            kind: self.kind(),
            mode: self.mode,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            size,
            used: match &self.body {
                Body::Regular(data) => data.charged(),
                _ => size,
            },
            rdev: match self.body {
                Body::BlockDevice(major, minor) | Body::CharDevice(major, minor) => (major, minor),
                _ => (0, 0),
            },
            fileid,
            atime_ns: self.atime_ns.load(Ordering::Relaxed),
            mtime_ns: self.mtime_ns,
            ctime_ns: self.ctime_ns,
        }
    }

    pub(super) fn pre_attr(&self) -> PreAttr {
        PreAttr {
            size: self.size(),
            mtime_ns: self.mtime_ns,
            ctime_ns: self.ctime_ns,
        }
    }

    /// The content changed.
    pub(super) fn touch(&mut self, now_ns: u64) {
        self.mtime_ns = now_ns;
        self.ctime_ns = now_ns;
    }

    /// Whether the mode bits, or being root, give every right in `want`.
    pub(super) fn permits(&self, cred: &Cred<'_>, want: u32) -> bool {
        if cred.is_root() {
            // Root may execute a file only if some execute bit is set, as in Linux.
            let needs_x = want & MAY_EXEC != 0 && !self.is_dir();
            return !needs_x || self.mode & 0o111 != 0;
        }
        let bits = if cred.uid == self.uid {
            self.mode >> 6
        } else if cred.in_group(self.gid) {
            self.mode >> 3
        } else {
            self.mode
        };
        bits & want == want
    }

    /// READ and WRITE let the owner in whatever the mode says: the client has checked
    /// it when the file was opened, and the mode may have changed since (RFC 1813, 4.4).
    pub(super) fn permits_io(&self, cred: &Cred<'_>, want: u32) -> bool {
        cred.uid == self.uid || self.permits(cred, want)
    }

    pub(super) fn rights(&self, cred: &Cred<'_>) -> Rights {
        Rights {
            read: self.permits(cred, MAY_READ),
            write: self.permits(cred, MAY_WRITE),
            execute: self.permits(cred, MAY_EXEC),
            directory: self.is_dir(),
        }
    }
}
