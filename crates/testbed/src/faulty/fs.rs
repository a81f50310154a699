//! Performs each request on a directory of the host, after [`Faults`] has been applied.

use super::faults::{Faults, Kind};
use super::tree::Tree;
use fuser::{Errno, FileAttr, FileHandle, FileType, FopenFlags, INodeNo, OpenAccMode, OpenFlags};
use rustix::fs::{AtFlags, CWD, Timestamps};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// The entries that an open directory had when it was opened.
pub(super) type Listing = Arc<Vec<(FileType, OsString)>>;

#[derive(Debug)]
pub(super) struct FaultyFs {
    pub(super) faults: Arc<Faults>,
    pub(super) direct_io: bool,
    pub(super) root: PathBuf,
    pub(super) tree: Mutex<Tree>,
    /// Open files by handle, with their inode number.
    pub(super) files: Mutex<HashMap<u64, (u64, Arc<File>)>>,
    pub(super) listings: Mutex<HashMap<u64, Listing>>,
    pub(super) handles: AtomicU64,
}

pub(super) type FuseReply<T> = Result<T, Errno>;

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FaultyFs {
    pub(super) fn new(root: PathBuf, faults: Arc<Faults>, direct_io: bool) -> Self {
        Self {
            faults,
            direct_io,
            tree: Mutex::new(Tree::new(root.clone())),
            root,
            files: Mutex::default(),
            listings: Mutex::default(),
            handles: AtomicU64::new(0),
        }
    }

    pub(super) fn path(&self, number: INodeNo) -> FuseReply<PathBuf> {
        locked(&self.tree).path(number.0).ok_or(Errno::ESTALE)
    }

    pub(super) fn child(&self, parent: INodeNo, name: &OsStr) -> FuseReply<PathBuf> {
        let tree = locked(&self.tree);
        tree.child(parent.0, name).ok_or(Errno::ESTALE)
    }

    fn file(&self, handle: FileHandle) -> FuseReply<Arc<File>> {
        locked(&self.files)
            .get(&handle.0)
            .map(|(_, file)| Arc::clone(file))
            .ok_or(Errno::EBADF)
    }

    pub(super) fn keep(&self, number: u64, file: File) -> (FileHandle, FopenFlags) {
        let handle = self.handles.fetch_add(1, Ordering::Relaxed);
        locked(&self.files).insert(handle, (number, Arc::new(file)));
        let flags = match self.direct_io {
            true => FopenFlags::FOPEN_DIRECT_IO,
            false => FopenFlags::empty(),
        };
        (FileHandle(handle), flags)
    }

    /// Attributes of a file by its number or, after it was unlinked, by a handle.
    pub(super) fn attributes(
        &self,
        number: INodeNo,
        handle: Option<FileHandle>,
    ) -> FuseReply<FileAttr> {
        let meta = match (handle.map(|handle| self.file(handle)), self.path(number)) {
            (Some(Ok(file)), _) => file.metadata()?,
            (_, Ok(path)) => path.symlink_metadata()?,
            // The kernel's fstat does not pass the handle.
            (_, Err(gone)) => {
                let files = locked(&self.files);
                let open = files.values().find(|(of, _)| *of == number.0);
                open.ok_or(gone)?.1.metadata()?
            }
        };
        attributes(number.0, &meta)
    }

    pub(super) fn look_up(&self, parent: INodeNo, name: &OsStr) -> FuseReply<FileAttr> {
        self.faults.apply(Kind::Lookup)?;
        let meta = self.child(parent, name)?.symlink_metadata()?;
        let number = locked(&self.tree).found(parent.0, name);
        attributes(number, &meta)
    }

    pub(super) fn make_dir(&self, parent: INodeNo, name: &OsStr, mode: u32) -> FuseReply<FileAttr> {
        self.faults.apply(Kind::Mkdir)?;
        let path = self.child(parent, name)?;
        std::fs::create_dir(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
        let meta = path.symlink_metadata()?;
        let number = locked(&self.tree).made(parent.0, name);
        attributes(number, &meta)
    }

    pub(super) fn make_file(
        &self,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
    ) -> FuseReply<(FileAttr, File)> {
        self.faults.apply(Kind::Create)?;
        self.faults.take_space(0)?;
        let path = self.child(parent, name)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(mode);
        let file = options.open(&path)?;
        let meta = file.metadata()?;
        let number = locked(&self.tree).made(parent.0, name);
        Ok((attributes(number, &meta)?, file))
    }

    pub(super) fn open_file(&self, number: INodeNo, flags: OpenFlags) -> FuseReply<File> {
        self.faults.apply(Kind::Open)?;
        let write = flags.acc_mode() != OpenAccMode::O_RDONLY;
        let mut options = OpenOptions::new();
        options.read(true).write(write);
        Ok(options.open(self.path(number)?)?)
    }

    pub(super) fn read_range(
        &self,
        handle: FileHandle,
        offset: u64,
        size: u32,
    ) -> FuseReply<Vec<u8>> {
        self.faults.apply(Kind::Read)?;
        let file = self.file(handle)?;
        let mut bytes = vec![0; size as usize];
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    pub(super) fn write_range(
        &self,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
    ) -> FuseReply<u32> {
        self.faults.apply(Kind::Write)?;
        self.faults.take_space(data.len())?;
        let file = self.file(handle)?;
        if !self.faults.forgets_writes() {
            file.write_all_at(data, offset)?;
        }
        u32::try_from(data.len()).map_err(|_| Errno::EINVAL)
    }

    pub(super) fn list(&self, number: INodeNo) -> FuseReply<Listing> {
        self.faults.apply(Kind::Opendir)?;
        let mut listing = vec![
            (FileType::Directory, OsString::from(".")),
            (FileType::Directory, OsString::from("..")),
        ];
        for entry in std::fs::read_dir(self.path(number)?)? {
            let entry = entry?;
            let kind = FileType::from_std(entry.file_type()?).ok_or(Errno::EIO)?;
            listing.push((kind, entry.file_name()));
        }
        Ok(Arc::new(listing))
    }

    pub(super) fn list_on(&self, handle: FileHandle) -> FuseReply<Listing> {
        self.faults.apply(Kind::Readdir)?;
        locked(&self.listings)
            .get(&handle.0)
            .cloned()
            .ok_or(Errno::EBADF)
    }

    pub(super) fn remove(&self, kind: Kind, parent: INodeNo, name: &OsStr) -> FuseReply<()> {
        self.faults.apply(kind)?;
        let path = self.child(parent, name)?;
        match kind {
            Kind::Rmdir => std::fs::remove_dir(path)?,
            _ => std::fs::remove_file(path)?,
        }
        locked(&self.tree).removed(parent.0, name);
        Ok(())
    }

    pub(super) fn move_name(
        &self,
        from: (INodeNo, &OsStr),
        to: (INodeNo, &OsStr),
    ) -> FuseReply<()> {
        self.faults.apply(Kind::Rename)?;
        std::fs::rename(self.child(from.0, from.1)?, self.child(to.0, to.1)?)?;
        let (from, to) = ((from.0.0, from.1), (to.0.0, to.1));
        locked(&self.tree).renamed(from, to);
        Ok(())
    }

    /// Performs chmod, chown, truncate or utimes.
    pub(super) fn change(
        &self,
        number: INodeNo,
        handle: Option<FileHandle>,
        to: &Change,
    ) -> FuseReply<FileAttr> {
        self.faults.apply(Kind::Setattr)?;
        if let Some(size) = to.size {
            match handle.map(|handle| self.file(handle)) {
                Some(Ok(file)) => file.set_len(size)?,
                _ => OpenOptions::new()
                    .write(true)
                    .open(self.path(number)?)?
                    .set_len(size)?,
            }
        }
        if to.mode.is_some() || to.owner != (None, None) || to.times.is_some() {
            to.apply_to_path(&self.path(number)?)?;
        }
        self.attributes(number, handle)
    }
}

/// What one setattr changes.
pub(super) struct Change {
    pub(super) mode: Option<u32>,
    pub(super) owner: (Option<u32>, Option<u32>),
    pub(super) size: Option<u64>,
    pub(super) times: Option<Timestamps>,
}

impl Change {
    fn apply_to_path(&self, path: &Path) -> io::Result<()> {
        if let Some(mode) = self.mode {
            std::fs::set_permissions(path, Permissions::from_mode(mode & 0o7777))?;
        }
        if self.owner != (None, None) {
            std::os::unix::fs::lchown(path, self.owner.0, self.owner.1)?;
        }
        if let Some(times) = &self.times {
            rustix::fs::utimensat(CWD, path, times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        Ok(())
    }
}

fn attributes(number: u64, meta: &Metadata) -> FuseReply<FileAttr> {
    let time = |seconds: i64, ns: i64| {
        let ns = u32::try_from(ns).unwrap_or(0);
        UNIX_EPOCH + Duration::new(u64::try_from(seconds).unwrap_or(0), ns)
    };
    Ok(FileAttr {
        ino: INodeNo(number),
        size: meta.size(),
        blocks: meta.blocks(),
        atime: time(meta.atime(), meta.atime_nsec()),
        mtime: time(meta.mtime(), meta.mtime_nsec()),
        ctime: time(meta.ctime(), meta.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind: FileType::from_std(meta.file_type()).ok_or(Errno::EIO)?,
        perm: (meta.mode() & 0o7777) as u16,
        nlink: u32::try_from(meta.nlink()).unwrap_or(u32::MAX),
        uid: meta.uid(),
        gid: meta.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    })
}
