//! The platform: directories and files by handles, and what differs between
//! systems. Everything above uses [`Dir`], [`File`] and [`Errno`].
//!
//! | module | contents |
//! |---|---|
//! | `unix` | directories and files of all Unix systems |
//! | `linux` | what only Linux has; [`own`] for the rest |
//! | `other_unix` | the same functions for macOS and the BSDs (run on Linux only so far, with the feature `portable`) |
//! | `uring`, `no_uring` | calls that are under way while the thread goes on: io_uring of Linux; there is none elsewhere |
//! | `async_call` | what they are asked for and answer |
//! | `raw` | system calls of Unix without a safe wrapper |
//! | `mapped`, `sigbus` | memory mappings of Unix, and what happens when a file shrinks below one |
//! | `unix_pipes` | programs that are asked through pipes |
//! | `windows` | all of this for Windows |

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::{Dir, FOREIGN, File, Names, message_of, name_of, raise_file_limit};

#[cfg(unix)]
pub(crate) mod mapped;
#[cfg(unix)]
#[path = "sys/unix_pipes.rs"]
pub(crate) mod pipes;
#[cfg(unix)]
mod raw;
#[cfg(all(test, target_os = "linux", not(feature = "portable")))]
pub(crate) use raw::takes_read_lease;
#[cfg(unix)]
mod sigbus;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "sys/linux.rs"]
mod own;
#[cfg(all(unix, any(feature = "portable", not(target_os = "linux"))))]
#[path = "sys/other_unix.rs"]
mod own;

#[cfg(unix)]
pub(crate) use own::{device_at, device_numbers};

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::{
    Dir, FOREIGN, File, Names, device_at, device_numbers, mapped, message_of, name_of, pipes,
    raise_file_limit,
};

pub(crate) mod async_call;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) mod uring;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
#[path = "sys/no_uring.rs"]
pub(crate) mod uring;

/// An error number of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub u32);

#[cfg(unix)]
use libc as n;
#[cfg(windows)]
use windows::numbers as n;

#[allow(missing_docs, reason = "the names are those of the manuals")]
impl Errno {
    pub(crate) const NOENT: Self = Self(n::ENOENT as u32);
    pub(crate) const IO: Self = Self(n::EIO as u32);
    pub(crate) const EXIST: Self = Self(n::EEXIST as u32);
    pub(crate) const NOTDIR: Self = Self(n::ENOTDIR as u32);
    pub(crate) const ISDIR: Self = Self(n::EISDIR as u32);
    pub(crate) const INVAL: Self = Self(n::EINVAL as u32);
    pub(crate) const NFILE: Self = Self(n::ENFILE as u32);
    pub(crate) const MFILE: Self = Self(n::EMFILE as u32);
    pub(crate) const NOSPC: Self = Self(n::ENOSPC as u32);
    pub(crate) const ROFS: Self = Self(n::EROFS as u32);
    pub(crate) const INTR: Self = Self(n::EINTR as u32);
    pub(crate) const NOMEM: Self = Self(n::ENOMEM as u32);
    pub(crate) const PIPE: Self = Self(n::EPIPE as u32);
    pub(crate) const PERM: Self = Self(n::EPERM as u32);
    pub(crate) const ACCES: Self = Self(n::EACCES as u32);
    pub(crate) const AGAIN: Self = Self(n::EAGAIN as u32);
    pub(crate) const NOSYS: Self = Self(n::ENOSYS as u32);
    pub(crate) const NOTEMPTY: Self = Self(n::ENOTEMPTY as u32);
    pub(crate) const LOOP: Self = Self(n::ELOOP as u32);
    pub(crate) const XDEV: Self = Self(n::EXDEV as u32);
    pub(crate) const STALE: Self = Self(n::ESTALE as u32);
    pub(crate) const DQUOT: Self = Self(n::EDQUOT as u32);
    pub(crate) const TIMEDOUT: Self = Self(n::ETIMEDOUT as u32);
    pub(crate) const NOTCONN: Self = Self(n::ENOTCONN as u32);
    pub(crate) const NODEV: Self = Self(n::ENODEV as u32);
    pub(crate) const NXIO: Self = Self(n::ENXIO as u32);
    pub(crate) const BUSY: Self = Self(n::EBUSY as u32);
    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    pub(crate) const TIME: Self = Self(n::ETIME as u32);
    pub(crate) const CANCELED: Self = Self(n::ECANCELED as u32);
}

#[cfg(unix)]
impl From<rustix::io::Errno> for Errno {
    fn from(e: rustix::io::Errno) -> Self {
        Self(e.raw_os_error() as u32)
    }
}

#[cfg(unix)]
impl From<std::io::Error> for Errno {
    fn from(e: std::io::Error) -> Self {
        e.raw_os_error().map_or(Self::IO, |n| Self(n as u32))
    }
}

/// What came of a system call.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// How a file is opened for transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenMode {
    /// Past the client's cache.
    pub direct: bool,
    /// O_SYNC.
    pub sync: bool,
}

impl OpenMode {
    /// Every one.
    pub(crate) const ALL: [Self; 4] = [
        Self::new(false, false),
        Self::new(true, false),
        Self::new(false, true),
        Self::new(true, true),
    ];

    /// One of them.
    pub(crate) const fn new(direct: bool, sync: bool) -> Self {
        Self { direct, sync }
    }

    /// As a number below four.
    pub(crate) const fn number(self) -> u64 {
        self.direct as u64 | (self.sync as u64) << 1
    }
}

/// What is behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Anything else.
    Other,
}

/// The attributes of a name that we look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta {
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
}

/// What a file system says about its space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// Its block, in bytes.
    pub block_bytes: u64,
    /// All of it, in bytes.
    pub total_bytes: u64,
    /// What we may still take, in bytes.
    pub free_bytes: u64,
    /// Files that can still be made; 0 where the file system has no such limit.
    pub free_files: u64,
}

impl From<Space> for filermark_model::survey::Space {
    fn from(space: Space) -> Self {
        Self {
            free_bytes: space.free_bytes,
            total_bytes: space.total_bytes,
        }
    }
}

/// Undoes the octal escapes of mountinfo: `\040` is a space.
pub(crate) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 4);
        match digits.and_then(|d| u8::from_str_radix(d, 8).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}
