//! What only Linux has: handles that only name, resolving without links and
//! mounts, O_DIRECT, raw listings, and what /proc says of a mount.

use super::{Errno, Result, raw, unescaped};
use rustix::fs::{Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::retry_on_intr;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Opens a directory for naming things below it only: costs a file server
/// nothing, unlike an open to read.
pub(super) const NAMING: OFlags = OFlags::PATH;

/// Buffer size of a listing, as in the C library.
const LISTING_BYTES: usize = 32 << 10;

const DIR_FLAGS: OFlags = NAMING
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Kernels before 5.6, and containers that forbid what they do not know.
static NO_OPENAT2: AtomicBool = AtomicBool::new(false);

/// A directory below `dir`; links and mounts in the way are refused.
pub(super) fn open_dir(dir: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd> {
    if !NO_OPENAT2.load(Ordering::Relaxed) {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let open = || rustix::fs::openat2(dir, path, DIR_FLAGS, Mode::empty(), resolve);
        match retry_on_intr(open).map_err(Errno::from) {
            Err(Errno::NOSYS | Errno::PERM) => NO_OPENAT2.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
    open_dir_stepwise(dir, path)
}

/// The same by one call per name; only a mount of the same device goes unnoticed.
fn open_dir_stepwise(dir: BorrowedFd<'_>, path: &CStr) -> Result<OwnedFd> {
    let device = rustix::fs::fstat(dir)?.st_dev;
    let mut at: Option<OwnedFd> = None;
    for name in path.to_bytes().split(|b| *b == b'/') {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let parent = at.as_ref().map_or(dir, |fd| fd.as_fd());
        let next = rustix::fs::openat(parent, &name, DIR_FLAGS, Mode::empty())?;
        if rustix::fs::fstat(&next)?.st_dev != device {
            return Err(Errno::XDEV);
        }
        at = Some(next);
    }
    at.ok_or(Errno::NOENT)
}

/// A handle of a file that is only asked about.
pub(super) fn open_to_name(dir: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| {
        rustix::fs::openat(dir, name, flags, Mode::empty())
    })?)
}

/// The flag of opens past the cache.
pub(super) fn direct_flag(direct: bool) -> OFlags {
    match direct {
        true => OFlags::DIRECT,
        false => OFlags::empty(),
    }
}

/// Nothing more is needed here.
pub(super) fn after_open_direct(_: BorrowedFd<'_>) -> Result<()> {
    Ok(())
}

/// Kernels before 6.6.
static NO_FCHMODAT2: AtomicBool = AtomicBool::new(false);

/// Sets permissions, never those of what a link points to (where the kernel can).
pub(super) fn chmod(dir: BorrowedFd<'_>, name: &CStr, mode: u32) -> Result<()> {
    if !NO_FCHMODAT2.load(Ordering::Relaxed) {
        match raw::chmod_no_follow(dir, name, mode) {
            Err(Errno::NOSYS) => NO_FCHMODAT2.store(true, Ordering::Relaxed),
            other => return other,
        }
    }
    let mode = Mode::from_raw_mode(mode);
    Ok(rustix::fs::chmodat(
        dir,
        name,
        mode,
        rustix::fs::AtFlags::empty(),
    )?)
}

/// Lists an open directory to its end; the number of calls.
pub(super) fn list(dir: OwnedFd, buffer: &mut Vec<u8>) -> Result<u32> {
    buffer.clear();
    buffer.reserve(LISTING_BYTES);
    let mut listing = RawDir::new(dir, buffer.spare_capacity_mut());
    let mut calls = 0;
    loop {
        calls += u32::from(listing.is_buffer_empty());
        match listing.next() {
            None => return Ok(calls),
            Some(Ok(_)) => {}
            Some(Err(rustix::io::Errno::INTR)) => calls -= 1,
            Some(Err(e)) => return Err(e.into()),
        }
    }
}

/// Type, source, place and options of the mount that a directory is on.
pub(super) fn mount_facts(dir: BorrowedFd<'_>) -> Vec<(String, String)> {
    facts_of(dir).unwrap_or_default()
}

fn facts_of(dir: BorrowedFd<'_>) -> Option<Vec<(String, String)>> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", dir.as_raw_fd())).ok()?;
    let id = about
        .lines()
        .find_map(|l| l.strip_prefix("mnt_id:"))?
        .trim();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| facts_in(line, id))
}

/// The facts in a line of mountinfo (proc_pid_mountinfo(5)) if it is of mount `id`.
fn facts_in(line: &str, id: &str) -> Option<Vec<(String, String)>> {
    let (mount, fs) = line.split_once(" - ")?;
    let mount: Vec<&str> = mount.split(' ').collect();
    let fs: Vec<&str> = fs.split(' ').collect();
    if mount.first() != Some(&id) {
        return None;
    }
    let options = [mount.get(5), fs.get(2)];
    let options: Vec<&str> = options.into_iter().flatten().copied().collect();
    let facts = [
        ("file system", unescaped(fs.first()?)),
        ("source", unescaped(fs.get(1)?)),
        ("mount point", unescaped(mount.get(4)?)),
        ("mount options", unescaped(&options.join(","))),
    ];
    Some(facts.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Major and minor of a device number.
pub(crate) fn device_numbers(device: u64) -> (u32, u32) {
    (rustix::fs::major(device), rustix::fs::minor(device))
}

/// The number of the block device at a path.
pub(crate) fn device_at(path: &str) -> Option<u64> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let meta = std::fs::metadata(path).ok()?;
    meta.file_type().is_block_device().then(|| meta.rdev())
}

/// Takes what is written back of a file out of the page cache.
pub(super) fn uncache(file: BorrowedFd<'_>) -> Result<()> {
    Ok(rustix::fs::fadvise(
        file,
        0,
        None,
        rustix::fs::Advice::DontNeed,
    )?)
}

/// Writes out what the file system of an open directory still has to write.
pub(super) fn sync_all(dir: BorrowedFd<'_>) -> Result<()> {
    Ok(rustix::fs::syncfs(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_understood() {
        let line = r"36 35 98:0 / /mnt/a\040b rw,noatime master:1 - nfs4 host:/x rw,vers=4.2";
        let facts = facts_in(line, "36").expect("facts");
        let values: Vec<&str> = facts.iter().map(|(_, v)| v.as_str()).collect();
        let wanted = ["nfs4", "host:/x", "/mnt/a b", "rw,noatime,rw,vers=4.2"];
        assert_eq!(values, wanted);
        assert_eq!(facts_in(line, "3"), None);
        for broken in ["", "36", "36 - ", "36 1 2 3 4 5 - a"] {
            assert_eq!(facts_in(broken, "36"), None, "{broken}");
        }
    }

    #[test]
    fn both_ways_to_a_directory_refuse_links_and_mounts() {
        let top = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir_all(top.path().join("a/b")).expect("dirs");
        std::os::unix::fs::symlink("a", top.path().join("link")).expect("link");
        let flags = NAMING | OFlags::DIRECTORY;
        let dir = rustix::fs::open(top.path(), flags, Mode::empty()).expect("top");
        let root = rustix::fs::open("/", flags, Mode::empty()).expect("root");
        for open in [open_dir, open_dir_stepwise] {
            assert!(open(dir.as_fd(), c"a/b").is_ok());
            assert!(open(dir.as_fd(), c"link/b").is_err());
            assert!(open(dir.as_fd(), c"link").is_err());
            assert!(open(root.as_fd(), c"proc").is_err_and(|e| e == Errno::XDEV));
        }
    }
}
