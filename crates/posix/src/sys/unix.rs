//! Directories and files of Unix systems, by calls relative to a directory's
//! handle. No name is followed where it is a symbolic link; where a call has no
//! way to say that, `own` and `raw` find one.

use super::{Errno, Kind, Meta, OpenMode, Result, Space, own, raw};
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::retry_on_intr;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Permissions of what we make, before the umask.
const FILE_MODE: u32 = 0o644;
const DIR_MODE: u32 = 0o755;

/// A directory that names are relative to.
#[derive(Debug)]
pub struct Dir(OwnedFd);

/// An open file.
#[derive(Debug)]
pub(crate) struct File(OwnedFd);

/// The names in a directory, being listed.
#[derive(Debug)]
pub struct Names(rustix::fs::Dir);

impl Names {
    /// So many of them at most; none: there are no more.
    pub(crate) fn part(&mut self, count: usize) -> Result<Vec<CString>> {
        let mut names = Vec::new();
        while names.len() < count
            && let Some(entry) = self.0.read()
        {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

/// What a file of ours is opened with, whatever else.
const ALWAYS: OFlags = OFlags::RDWR
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

impl Dir {
    /// The user's own directory; here, and only here, links are followed.
    pub(crate) fn open_top(path: &Path) -> Result<Self> {
        let flags = own::NAMING | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))?;
        Ok(Self(fd))
    }

    /// The directory `path` (one or more names) below this one, without going
    /// through links or into other mounts.
    pub(crate) fn open_dir(&self, path: &CStr) -> Result<Self> {
        own::open_dir(self.0.as_fd(), path).map(Self)
    }

    /// Device and number: the same for the same directory.
    pub(crate) fn id(&self) -> Result<(u64, u64)> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok((stat.st_dev as _, stat.st_ino as _))
    }

    /// Opens a file to read and write; with `create`, makes it if need be.
    pub(crate) fn open_file(&self, name: &CStr, class: OpenMode, create: bool) -> Result<File> {
        let mut flags = ALWAYS;
        flags.set(OFlags::CREATE, create);
        flags.set(OFlags::SYNC, class.sync);
        let flags = flags | own::direct_flag(class.direct);
        let file = File(self.open(name, flags)?);
        if class.direct {
            own::after_open_direct(file.0.as_fd())?;
        }
        Ok(file)
    }

    /// Opens a file to read, at whatever it is.
    pub(crate) fn open_to_read(&self, name: &CStr) -> Result<File> {
        // A FIFO of that name must not hold us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        self.open(name, flags).map(File)
    }

    /// Makes a file, or empties the one that is there.
    pub(crate) fn open_fresh(&self, name: &CStr) -> Result<File> {
        self.open(name, ALWAYS | OFlags::CREATE | OFlags::TRUNC)
            .map(File)
    }

    /// Makes a file that is not there yet.
    pub(crate) fn open_new(&self, name: &CStr) -> Result<File> {
        self.open(name, ALWAYS | OFlags::CREATE | OFlags::EXCL)
            .map(File)
    }

    fn open(&self, name: &CStr, flags: OFlags) -> Result<OwnedFd> {
        let mode = Mode::from_raw_mode(FILE_MODE as _);
        Ok(retry_on_intr(|| {
            rustix::fs::openat(&self.0, name, flags, mode)
        })?)
    }

    /// The attributes of a name.
    pub(crate) fn meta(&self, name: &CStr) -> Result<Meta> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Meta {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Dir,
                _ => Kind::Other,
            },
            size: stat.st_size as u64,
        })
    }

    /// Whether we may read a file. It only returns a result, so a link is harmless.
    pub(crate) fn access(&self, name: &CStr) -> Result<()> {
        let flags = AtFlags::empty();
        Ok(rustix::fs::accessat(&self.0, name, Access::READ_OK, flags)?)
    }

    /// Sets the permissions of a file.
    pub(crate) fn chmod(&self, name: &CStr, mode: u32) -> Result<()> {
        own::chmod(self.0.as_fd(), name, mode & 0o7777)
    }

    /// Makes a directory.
    pub(crate) fn make_dir(&self, name: &CStr) -> Result<()> {
        let mode = Mode::from_raw_mode(DIR_MODE as _);
        Ok(rustix::fs::mkdirat(&self.0, name, mode)?)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &CStr) -> Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR).map_err(Errno::from) {
            // POSIX allows both for a directory that is not empty.
            Err(Errno::EXIST) => Err(Errno::NOTEMPTY),
            other => other,
        }
    }

    /// Removes a file.
    pub(crate) fn unlink(&self, name: &CStr) -> Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Renames `from` in this directory to `to` in the other.
    pub(crate) fn rename(&self, from: &CStr, to_dir: &Self, to: &CStr) -> Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &to_dir.0, to)?)
    }

    /// Lists the directory to its end; the number of calls that returned entries
    /// or the end.
    pub(crate) fn list(&self, buffer: &mut Vec<u8>) -> Result<u32> {
        own::list(self.open_to_list()?, buffer)
    }

    /// The directory itself once more, now to read it.
    fn open_to_list(&self) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.open(c".", flags)
    }

    /// Its names, `.` and `..` left out, part by part. Names may be removed meanwhile.
    pub(crate) fn names(&self) -> Result<Names> {
        Ok(Names(rustix::fs::Dir::new(self.open_to_list()?)?))
    }

    /// The space of the file system that a file is on.
    pub(crate) fn space_at(&self, name: &CStr) -> Result<Space> {
        space(own::open_to_name(self.0.as_fd(), name)?.as_fd())
    }

    /// The space of the directory's own file system.
    pub(crate) fn space(&self) -> Result<Space> {
        space(self.0.as_fd())
    }

    /// The longest name and path at a file.
    pub(crate) fn limits_at(&self, name: &CStr) -> Result<()> {
        raw::limits(own::open_to_name(self.0.as_fd(), name)?.as_fd())
    }

    /// What the system says about the mount: name, value.
    pub(crate) fn mount_facts(&self) -> Vec<(String, String)> {
        own::mount_facts(self.0.as_fd())
    }

    /// What transfers past the cache are tried with first, in bytes: the smallest sector.
    pub(crate) const fn direct_unit(&self) -> u64 {
        512
    }

    /// Makes everything stable that its file system still has to write.
    pub(crate) fn sync_all(&self) -> Result<()> {
        own::sync_all(self.open_to_list()?.as_fd())
    }

    /// Makes its entries stable.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(rustix::fs::fsync(self.open_to_list()?)?)
    }
}

fn space(fd: BorrowedFd<'_>) -> Result<Space> {
    let fs = rustix::fs::fstatvfs(fd)?;
    Ok(Space {
        block_bytes: fs.f_bsize as u64,
        total_bytes: (fs.f_blocks as u64).saturating_mul(fs.f_frsize as u64),
        free_bytes: (fs.f_bavail as u64).saturating_mul(fs.f_frsize as u64),
        free_files: fs.f_favail as u64,
    })
}

impl File {
    #[cfg(test)]
    pub(crate) fn of_pipe(from: std::io::PipeReader) -> Self {
        Self(from.into())
    }

    /// One read.
    #[inline]
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        Ok(retry_on_intr(|| {
            rustix::io::pread(&self.0, &mut *into, offset)
        })?)
    }

    /// One write.
    #[inline]
    pub(crate) fn write_at(&self, from: &[u8], offset: u64) -> Result<usize> {
        Ok(retry_on_intr(|| rustix::io::pwrite(&self.0, from, offset))?)
    }

    /// Makes contents and attributes stable.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.0))?)
    }

    /// Its size, in bytes.
    pub(crate) fn size(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.0)?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Takes what is written back out of this host's cache.
    pub(crate) fn uncache(&self) -> Result<()> {
        own::uncache(self.0.as_fd())
    }

    /// Cuts or extends to a size.
    pub(crate) fn truncate(&self, size: u64) -> Result<()> {
        Ok(retry_on_intr(|| rustix::fs::ftruncate(&self.0, size))?)
    }

    /// Tries once to lock a range; false: another process has a lock on it.
    pub(crate) fn try_lock(&self, offset: u64, length: u64, exclusive: bool) -> Result<bool> {
        let kind = match exclusive {
            true => libc::F_WRLCK,
            false => libc::F_RDLCK,
        };
        match raw::lock(self.0.as_fd(), kind as _, offset, length) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCES) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Gives a range free again.
    pub(crate) fn unlock(&self, offset: u64, length: u64) -> Result<()> {
        raw::lock(self.0.as_fd(), libc::F_UNLCK as _, offset, length)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// All error numbers are those of the system.
pub(crate) const FOREIGN: u32 = 0;

macro_rules! names {
    ($($name:ident)*) => {
        const NAMES: &[(i32, &str)] = &[$((libc::$name, stringify!($name))),*];
    };
}

names! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EFAULT EBUSY EEXIST EXDEV ENODEV
    ENOTDIR EISDIR EINVAL ENFILE EMFILE ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDEADLK
    ENAMETOOLONG ENOLCK ENOSYS ENOTEMPTY ELOOP EPROTO EOVERFLOW EOPNOTSUPP ETIMEDOUT
    ECONNREFUSED ECONNRESET ECONNABORTED EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH ENOTCONN
    EALREADY EINPROGRESS ESTALE EDQUOT ECANCELED
}

/// The name of an error number.
pub(crate) fn name_of(number: i32) -> Option<&'static str> {
    let found = NAMES.iter().find(|(n, _)| *n == number)?;
    Some(found.1)
}

/// The system's message for an error number.
pub(crate) fn message_of(number: i32) -> String {
    std::io::Error::from_raw_os_error(number).to_string()
}

/// Raises the soft limit of open files to the hard one; gives what is in force, `None`
/// for no limit.
pub(crate) fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let mut wanted = limit;
        wanted.current = limit.maximum;
        // macOS refuses more than OPEN_MAX although its hard limit says otherwise.
        if setrlimit(Resource::Nofile, wanted).is_ok() {
            limit = wanted;
        }
    }
    limit.current
}
