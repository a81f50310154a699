//! System calls that no crate wraps safely: byte-range locks, fpathconf and, on
//! Linux, fchmodat2. Each takes plain values and a borrowed handle; none keeps a
//! pointer beyond the call.
#![allow(unsafe_code)] // The calls themselves; nothing else is in here.

use super::{Errno, Result};
use std::os::fd::{AsRawFd, BorrowedFd};

fn last_errno() -> Errno {
    std::io::Error::last_os_error().into()
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
const SET_LOCK: libc::c_int = libc::F_OFD_SETLK;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
const SET_LOCK: libc::c_int = libc::F_SETLK;

/// Sets or clears a lock without waiting. On Linux locks belong to the open file,
/// so that threads exclude each other as processes do, and closing another handle
/// of the file drops none; elsewhere they belong to the process.
pub(super) fn lock(fd: BorrowedFd<'_>, kind: i16, offset: u64, length: u64) -> Result<()> {
    // SAFETY: a flock is plain numbers, for which zero is a value.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as _;
    range.l_whence = libc::SEEK_SET as _;
    range.l_start = offset.try_into().map_err(|_| Errno::INVAL)?;
    range.l_len = length.try_into().map_err(|_| Errno::INVAL)?;
    // SAFETY: the handle is open and the call only reads `range`.
    match unsafe { libc::fcntl(fd.as_raw_fd(), SET_LOCK, &raw const range) } {
        -1 => Err(last_errno()),
        _ => Ok(()),
    }
}

/// Asks for the longest name and path. PC_LINK_MAX is left out: for it the C library
/// of Linux may read /proc/mounts, which says nothing about a file server.
pub(super) fn limits(fd: BorrowedFd<'_>) -> Result<()> {
    for name in [libc::_PC_NAME_MAX, libc::_PC_PATH_MAX] {
        // SAFETY: plain numbers and an open handle.
        let value = unsafe { libc::fpathconf(fd.as_raw_fd(), name) };
        // -1 with errno untouched means "no limit"; the manual wants it cleared
        // first, but an errno that is left over could only be reported as a failure
        // of a call that failed anyway: ask the system itself.
        if value == -1 {
            rustix::fs::fstatvfs(fd)?;
        }
    }
    Ok(())
}

/// Sets permissions of the name itself, never of what a link points to.
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) fn chmod_no_follow(dir: BorrowedFd<'_>, name: &std::ffi::CStr, mode: u32) -> Result<()> {
    // The number is the same on all architectures (Linux 6.6).
    const FCHMODAT2: libc::c_long = 452;
    // SAFETY: `name` ends with a NUL and lives through the call.
    let code = unsafe {
        libc::syscall(
            FCHMODAT2,
            dir.as_raw_fd(),
            name.as_ptr(),
            mode,
            libc::AT_SYMLINK_NOFOLLOW,
        )
    };
    match code {
        -1 => Err(last_errno()),
        _ => Ok(()),
    }
}

/// Whether a read lease of a file can be had: no process has it open for writing (fcntl(2)). It ends
/// with the handle.
#[cfg(all(test, target_os = "linux", not(feature = "portable")))]
pub(crate) fn takes_read_lease(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: plain numbers and an open handle.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    #[test]
    fn locks_of_two_handles_exclude_each_other() {
        let file = tempfile::NamedTempFile::new().expect("file");
        let other = file.reopen().expect("reopen");
        let (a, b) = (file.as_file().as_fd(), other.as_fd());
        let (write, read) = (libc::F_WRLCK as i16, libc::F_RDLCK as i16);
        lock(a, write, 0, 10).expect("first");
        assert_eq!(lock(b, read, 5, 1), Err(Errno::AGAIN));
        lock(b, write, 10, 1).expect("beside it");
        lock(a, libc::F_UNLCK as i16, 0, 10).expect("unlock");
        lock(b, read, 5, 1).expect("free now");
        assert_eq!(lock(a, write, u64::MAX, 1), Err(Errno::INVAL));
    }

    /// The locks belong to the process: its handles do not exclude each other.
    #[cfg(any(feature = "portable", not(target_os = "linux")))]
    #[test]
    fn locks_are_set_and_cleared() {
        let file = tempfile::NamedTempFile::new().expect("file");
        let other = file.reopen().expect("reopen");
        let (a, b) = (file.as_file().as_fd(), other.as_fd());
        let write = libc::F_WRLCK as i16;
        lock(a, write, 0, 10).expect("first");
        lock(b, write, 5, 10).expect("the same process");
        lock(a, libc::F_UNLCK as i16, 0, 20).expect("unlock");
        assert_eq!(lock(a, write, u64::MAX, 1), Err(Errno::INVAL));
    }

    #[test]
    fn limits_are_there() {
        let file = tempfile::NamedTempFile::new().expect("file");
        assert_eq!(limits(file.as_file().as_fd()), Ok(()));
    }

    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    #[test]
    fn chmod_does_not_go_through_a_link() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let dir = tempfile::tempdir().expect("dir");
        let path = dir.path().join("f");
        std::fs::write(&path, b"").expect("file");
        symlink(&path, dir.path().join("l")).expect("link");
        let fd = std::fs::File::open(dir.path()).expect("open");
        match chmod_no_follow(fd.as_fd(), c"f", 0o600) {
            Err(Errno::NOSYS) => return,
            other => other.expect("chmod"),
        }
        assert!(chmod_no_follow(fd.as_fd(), c"l", 0o777).is_err());
        let mode = std::fs::metadata(&path).expect("stat").mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
