//! The functions of `linux` for macOS and the BSDs. Run on
//! Linux only so far (feature `portable`).

use super::{Errno, Result};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::retry_on_intr;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// There are no handles that only name.
pub(super) const NAMING: OFlags = OFlags::RDONLY;

/// A directory below `dir`, name by name; links and other devices are refused.
pub(super) fn open_dir(dir: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd> {
    let flags = NAMING | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let device = rustix::fs::fstat(dir)?.st_dev;
    let mut at: Option<OwnedFd> = None;
    for name in path.to_bytes().split(|b| *b == b'/') {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let parent = at.as_ref().map_or(dir, |fd| fd.as_fd());
        let next = rustix::fs::openat(parent, &name, flags, Mode::empty())?;
        if rustix::fs::fstat(&next)?.st_dev != device {
            return Err(Errno::XDEV);
        }
        at = Some(next);
    }
    at.ok_or(Errno::NOENT)
}

/// A handle of a file that is only asked about.
pub(super) fn open_to_name(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| {
        rustix::fs::openat(dir, name, flags, Mode::empty())
    })?)
}

/// FreeBSD and NetBSD have the flag (and Linux, where the tests run); macOS has a switch instead.
pub(super) fn direct_flag(direct: bool) -> OFlags {
    #[cfg(any(
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "dragonfly",
        target_os = "linux"
    ))]
    if direct {
        return OFlags::DIRECT;
    }
    let _ = direct;
    OFlags::empty()
}

/// macOS: switches the cache off for an open file.
#[cfg(target_vendor = "apple")]
pub(super) fn after_open_direct(file: BorrowedFd<'_>) -> Result<()> {
    Ok(rustix::fs::fcntl_nocache(file, true)?)
}

/// OpenBSD and others have nothing of the kind.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn after_open_direct(_: BorrowedFd<'_>) -> Result<()> {
    match direct_flag(true).is_empty() {
        true => Err(Errno::INVAL),
        false => Ok(()),
    }
}

/// Sets the permissions of the name itself.
pub(super) fn chmod(dir: BorrowedFd<'_>, name: &CStr, mode: u32) -> Result<()> {
    let mode = Mode::from_raw_mode(mode as _);
    Ok(rustix::fs::chmodat(
        dir,
        name,
        mode,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// Lists an open directory to its end; the number of calls is not known here.
pub(super) fn list(dir: OwnedFd, _: &mut Vec<u8>) -> Result<u32> {
    for entry in rustix::fs::Dir::new(dir)? {
        entry?;
    }
    Ok(1)
}

/// Only the space is known.
pub(super) fn mount_facts(_: BorrowedFd<'_>) -> Vec<(String, String)> {
    Vec::new()
}

/// Nothing counts here what is read.
pub(crate) fn device_numbers(_: u64) -> (u32, u32) {
    (0, 0)
}
pub(crate) fn device_at(_: &str) -> Option<u64> {
    None
}

/// Not all of them have the call.
pub(super) fn uncache(_: BorrowedFd<'_>) -> Result<()> {
    Err(Errno::NOSYS)
}

/// There is no call for one file system: all of them.
pub(super) fn sync_all(_: BorrowedFd<'_>) -> Result<()> {
    rustix::fs::sync();
    Ok(())
}
