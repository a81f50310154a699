//! Windows: what the standard library gives there. Type-checked only, never run. Transfers, names and listings
//! work; links in the way are seen by their attributes. Locks, mappings, pathconf and
//! permissions answer ENOSYS, direct transfers EINVAL, which makes the shard go through
//! the cache.

use super::{Errno, Kind, Meta, OpenMode, Result, Space};
use std::ffi::{CStr, CString};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Open a reparse point itself, never what it points to.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_FLAG_WRITE_THROUGH: u32 = 0x8000_0000;

/// The C library's numbers, for messages.
pub(super) mod numbers {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const EIO: i32 = 5;
    pub(crate) const ENXIO: i32 = 6;
    pub(crate) const EAGAIN: i32 = 11;
    pub(crate) const EACCES: i32 = 13;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const EXDEV: i32 = 18;
    pub(crate) const ENODEV: i32 = 19;
    pub(crate) const ENOTDIR: i32 = 20;
    pub(crate) const EISDIR: i32 = 21;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ENFILE: i32 = 23;
    pub(crate) const EMFILE: i32 = 24;
    pub(crate) const ENOSPC: i32 = 28;
    pub(crate) const EROFS: i32 = 30;
    pub(crate) const EPIPE: i32 = 32;
    pub(crate) const EINTR: i32 = 4;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const ENOSYS: i32 = 40;
    pub(crate) const ENOTEMPTY: i32 = 41;
    pub(crate) const ECANCELED: i32 = 105;
    pub(crate) const ELOOP: i32 = 114;
    pub(crate) const ENOTCONN: i32 = 126;
    pub(crate) const ETIMEDOUT: i32 = 138;
    pub(crate) const ESTALE: i32 = 1001;
    pub(crate) const EDQUOT: i32 = 1002;
}

/// The kinds of errors of the system that have a number here; all others are EIO.
const KINDS: [(ErrorKind, Errno); 19] = [
    (ErrorKind::NotFound, Errno::NOENT),
    (ErrorKind::PermissionDenied, Errno::ACCES),
    (ErrorKind::AlreadyExists, Errno::EXIST),
    (ErrorKind::DirectoryNotEmpty, Errno::NOTEMPTY),
    (ErrorKind::NotADirectory, Errno::NOTDIR),
    (ErrorKind::IsADirectory, Errno::ISDIR),
    (ErrorKind::CrossesDevices, Errno::XDEV),
    (ErrorKind::StorageFull, Errno::NOSPC),
    (ErrorKind::QuotaExceeded, Errno::DQUOT),
    (ErrorKind::ReadOnlyFilesystem, Errno::ROFS),
    (ErrorKind::InvalidInput, Errno::INVAL),
    (ErrorKind::OutOfMemory, Errno::NOMEM),
    (ErrorKind::BrokenPipe, Errno::PIPE),
    (ErrorKind::TimedOut, Errno::TIMEDOUT),
    (ErrorKind::Unsupported, Errno::NOSYS),
    (ErrorKind::ResourceBusy, Errno::BUSY),
    (ErrorKind::Interrupted, Errno::INTR),
    (ErrorKind::WouldBlock, Errno::AGAIN),
    (ErrorKind::NotConnected, Errno::NOTCONN),
];

/// The number of an error.
pub(super) fn errno(e: &std::io::Error) -> Errno {
    let known = KINDS.iter().find(|(kind, _)| *kind == e.kind());
    known.map_or(Errno::IO, |(_, number)| *number)
}

/// The message for an error number of this module. The system has other numbers.
pub(crate) fn message_of(number: i32) -> String {
    let known = KINDS.iter().find(|(_, errno)| errno.0 == number as u32);
    known.map_or_else(
        || "input or output error".to_owned(),
        |(kind, _)| kind.to_string(),
    )
}

fn mapped<T>(result: std::io::Result<T>) -> Result<T> {
    result.map_err(|e| errno(&e))
}

/// A directory that names are relative to.
#[derive(Debug)]
pub struct Dir(PathBuf);

/// An open file.
#[derive(Debug)]
pub(crate) struct File(fs::File);

/// The names in a directory, being listed.
#[derive(Debug)]
pub struct Names(fs::ReadDir);

impl Names {
    pub(crate) fn part(&mut self, count: usize) -> Result<Vec<CString>> {
        let mut names = Vec::new();
        while names.len() < count
            && let Some(entry) = self.0.next()
        {
            let name = mapped(entry)?.file_name().to_string_lossy().into_owned();
            names.extend(CString::new(name));
        }
        Ok(names)
    }
}

impl Dir {
    fn at(&self, name: &CStr) -> Result<PathBuf> {
        Ok(self.0.join(name.to_str().map_err(|_| Errno::INVAL)?))
    }
    fn open(&self, name: &CStr, options: &mut OpenOptions, flags: u32) -> Result<File> {
        let options = options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT | flags);
        mapped(options.open(self.at(name)?)).map(File)
    }
    pub(crate) fn open_top(path: &Path) -> Result<Self> {
        match mapped(fs::metadata(path))?.is_dir() {
            true => Ok(Self(path.to_owned())),
            false => Err(Errno::NOTDIR),
        }
    }
    pub(crate) fn open_dir(&self, path: &CStr) -> Result<Self> {
        let mut at = self.0.clone();
        for name in path.to_str().map_err(|_| Errno::INVAL)?.split('/') {
            at.push(name);
            // A link or junction is none here.
            if !mapped(fs::symlink_metadata(&at))?.is_dir() {
                return Err(Errno::NOTDIR);
            }
        }
        Ok(Self(at))
    }
    pub(crate) fn id(&self) -> Result<(u64, u64)> {
        mapped(fs::metadata(&self.0)).map(|_| (0, 0))
    }
    pub(crate) fn open_file(&self, name: &CStr, class: OpenMode, create: bool) -> Result<File> {
        if class.direct {
            return Err(Errno::INVAL);
        }
        let flags = if class.sync {
            FILE_FLAG_WRITE_THROUGH
        } else {
            0
        };
        let mut options = OpenOptions::new();
        self.open(name, options.read(true).write(true).create(create), flags)
    }
    pub(crate) fn open_to_read(&self, name: &CStr) -> Result<File> {
        self.open(name, OpenOptions::new().read(true), 0)
    }
    pub(crate) fn open_fresh(&self, name: &CStr) -> Result<File> {
        let mut options = OpenOptions::new();
        self.open(name, options.write(true).create(true).truncate(true), 0)
    }
    pub(crate) fn open_new(&self, name: &CStr) -> Result<File> {
        let mut options = OpenOptions::new();
        self.open(name, options.read(true).write(true).create_new(true), 0)
    }
    pub(crate) fn meta(&self, name: &CStr) -> Result<Meta> {
        let meta = mapped(fs::symlink_metadata(self.at(name)?))?;
        let kind = match (meta.is_file(), meta.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Dir,
            _ => Kind::Other,
        };
        let size = meta.len();
        Ok(Meta { kind, size })
    }
    pub(crate) fn access(&self, name: &CStr) -> Result<()> {
        self.meta(name).map(drop)
    }
    pub(crate) fn chmod(&self, _: &CStr, _: u32) -> Result<()> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn make_dir(&self, name: &CStr) -> Result<()> {
        mapped(fs::create_dir(self.at(name)?))
    }
    pub(crate) fn remove_dir(&self, name: &CStr) -> Result<()> {
        mapped(fs::remove_dir(self.at(name)?))
    }
    pub(crate) fn unlink(&self, name: &CStr) -> Result<()> {
        mapped(fs::remove_file(self.at(name)?))
    }
    pub(crate) fn rename(&self, from: &CStr, to_dir: &Self, to: &CStr) -> Result<()> {
        mapped(fs::rename(self.at(from)?, to_dir.at(to)?))
    }
    pub(crate) fn list(&self, _: &mut Vec<u8>) -> Result<u32> {
        self.names()?.part(usize::MAX).map(|_| 1)
    }
    pub(crate) fn names(&self) -> Result<Names> {
        mapped(fs::read_dir(&self.0)).map(Names)
    }
    pub(crate) fn space_at(&self, _: &CStr) -> Result<Space> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn space(&self) -> Result<Space> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn limits_at(&self, _: &CStr) -> Result<()> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn sync_all(&self) -> Result<()> {
        Ok(())
    }
    pub(crate) fn mount_facts(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl File {
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        mapped(self.0.seek_read(into, offset))
    }
    pub(crate) fn write_at(&self, from: &[u8], offset: u64) -> Result<usize> {
        mapped(self.0.seek_write(from, offset))
    }
    pub(crate) fn sync(&self) -> Result<()> {
        mapped(self.0.sync_all())
    }
    /// There is no call for one file.
    pub(crate) fn uncache(&self) -> Result<()> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn size(&self) -> Result<u64> {
        mapped(self.0.metadata().map(|meta| meta.len()))
    }
    pub(crate) fn truncate(&self, size: u64) -> Result<()> {
        mapped(self.0.set_len(size))
    }
    pub(crate) fn try_lock(&self, _: u64, _: u64, _: bool) -> Result<bool> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn unlock(&self, _: u64, _: u64) -> Result<()> {
        Err(Errno::NOSYS)
    }
}

/// There is no limit to raise.
pub(crate) fn raise_file_limit() -> Option<u64> {
    None
}

/// No mappings.
pub(crate) mod mapped {
    use super::{Errno, File, Result};

    pub(crate) fn read(_: &File, _: u64, _: usize, _: (usize, &mut [u8])) -> Result<()> {
        Err(Errno::NOSYS)
    }
    pub(crate) fn write(_: &File, _: u64, _: &[u8], _: bool) -> Result<()> {
        Err(Errno::NOSYS)
    }
}

/// Nothing counts here what is read.
pub(crate) fn unescaped(text: &str) -> String {
    text.to_owned()
}
pub(crate) fn device_numbers(_: u64) -> (u32, u32) {
    (0, 0)
}
pub(crate) fn device_at(_: &str) -> Option<u64> {
    None
}
