//! Reading and writing through memory mappings. Every page is touched; a page that
//! the system cannot give makes the transfer fail with EIO, never the process.
#![allow(unsafe_code)] // Mappings are raw memory; it never leaves this module as a reference.

use super::sigbus::Guard;
use super::{Errno, File, Result};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A mapping of whole pages of a file, shared with all processes.
struct Mapping {
    start: *mut c_void,
    len: usize,
}

impl Mapping {
    fn new(file: &File, offset: u64, len: usize, prot: ProtFlags) -> Result<Self> {
        // SAFETY: no address is asked for, so nothing of ours is covered.
        let start = unsafe { mmap(null_mut(), len, prot, MapFlags::SHARED, file, offset)? };
        Ok(Self { start, len })
    }

    /// Lets the system bring in all pages at once where it can; a page that cannot
    /// be had is an error then, and no signal.
    #[cfg(all(target_os = "linux", not(feature = "portable")))]
    fn populate(&self, for_writing: bool) -> Result<()> {
        use rustix::mm::{Advice, madvise};
        let advice = match for_writing {
            true => Advice::LinuxPopulateWrite,
            false => Advice::LinuxPopulateRead,
        };
        // SAFETY: this advice changes no contents.
        match unsafe { madvise(self.start, self.len, advice) }.map_err(Errno::from) {
            // Kernels before 5.14, and mappings that cannot be filled in advance:
            // touching does it.
            Err(Errno::INVAL | Errno::NOSYS) | Ok(()) => Ok(()),
            Err(e) if e.0 == libc::EFAULT as u32 => Err(Errno::IO),
            Err(e) => Err(e),
        }
    }

    #[cfg(any(feature = "portable", not(target_os = "linux")))]
    fn populate(&self, _: bool) -> Result<()> {
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping's (or the handler's zero pages over it).
        let _ = unsafe { munmap(self.start, self.len) };
    }
}

/// The size of a page of memory, in bytes.
pub(crate) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Where the page that holds `offset` begins, and how far into it that is.
fn split(offset: u64) -> (u64, usize) {
    let within = offset % page_bytes() as u64;
    (offset - within, within as usize)
}

/// Maps `length` bytes at `offset`, reads a byte of every page, and copies what is to
/// be copied: from where in these bytes, and to where.
pub(crate) fn read(
    file: &File,
    offset: u64,
    length: usize,
    (skip, copy): (usize, &mut [u8]),
) -> Result<()> {
    let (start, within) = split(offset);
    let mapping = Mapping::new(file, start, within + length, ProtFlags::READ)?;
    mapping.populate(false)?;
    let guard = Guard::new(
        mapping.start as usize,
        mapping.len.next_multiple_of(page_bytes()),
    );
    let from = mapping.start.cast::<u8>();
    let mut sum = 0u8;
    for at in (0..mapping.len).step_by(page_bytes()) {
        // SAFETY: within the mapping; volatile, because others may write to it.
        sum = sum.wrapping_add(unsafe { from.add(at).read_volatile() });
    }
    std::hint::black_box(sum);
    let skip = skip.min(length);
    let len = copy.len().min(length - skip);
    // SAFETY: `len` bytes from there are in the mapping, and `copy` is our own.
    unsafe {
        from.add(within + skip)
            .copy_to_nonoverlapping(copy.as_mut_ptr(), len)
    };
    match guard.was_hit() {
        true => Err(Errno::IO),
        false => Ok(()),
    }
}

/// Maps the place of `data` at `offset` and copies it there; with `commit`, waits
/// until it is stable.
pub(crate) fn write(file: &File, offset: u64, data: &[u8], commit: bool) -> Result<()> {
    let (start, within) = split(offset);
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    let mapping = Mapping::new(file, start, within + data.len(), prot)?;
    mapping.populate(true)?;
    let guard = Guard::new(
        mapping.start as usize,
        mapping.len.next_multiple_of(page_bytes()),
    );
    let into = mapping.start.cast::<u8>();
    // SAFETY: the mapping has `within` and `data.len()` bytes, and there is no
    // reference into it.
    unsafe {
        data.as_ptr()
            .copy_to_nonoverlapping(into.add(within), data.len())
    };
    // The copy must be over before the flag is looked at.
    std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst);
    if guard.was_hit() {
        return Err(Errno::IO);
    }
    if commit {
        // SAFETY: the range is the mapping's.
        unsafe { msync(mapping.start, mapping.len, MsyncFlags::SYNC)? };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Dir, OpenMode};
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    /// A mapping of three pages of a file that has none any more.
    fn hollow() -> Mapping {
        let top = tempfile::tempdir().expect("tempdir");
        let dir = Dir::open_top(top.path()).expect("dir");
        let file = dir
            .open_file(c"f", OpenMode::default(), true)
            .expect("file");
        let len = 3 * page_bytes();
        file.truncate(len as u64).expect("extended");
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let mapping = Mapping::new(&file, 0, len, prot).expect("mapped");
        file.truncate(0).expect("cut");
        mapping
    }

    #[test]
    fn a_fault_in_a_guarded_range_is_noted_and_survived() {
        for round in 0..3 {
            let mapping = hollow();
            let guard = Guard::new(mapping.start as usize, mapping.len);
            assert!(!guard.was_hit());
            let at = mapping.start.cast::<u8>().wrapping_add(page_bytes() + 5);
            // SAFETY: in the mapping; the handler puts a page there.
            let byte = unsafe {
                if round == 1 {
                    at.write_volatile(7);
                }
                at.read_volatile()
            };
            assert_eq!(byte, if round == 1 { 7 } else { 0 });
            assert!(guard.was_hit());
        }
        // And without a fault nothing is noted.
        let page = [0u8; 8];
        assert!(!Guard::new(page.as_ptr() as usize, 8).was_hit());
    }

    /// In a process of its own, which ends of it.
    #[test]
    fn a_fault_elsewhere_still_ends_the_process() {
        const MARK: &str = "FILERMARK_TEST_FAULT";
        if std::env::var_os(MARK).is_some() {
            let (guarded, other) = (hollow(), hollow());
            let _guard = Guard::new(guarded.start as usize, guarded.len);
            // SAFETY: in a mapping that is there; the fault is what is wanted.
            let byte = unsafe { other.start.cast::<u8>().read_volatile() };
            println!("survived with {byte}");
            return;
        }
        let name = "sys::mapped::tests::a_fault_elsewhere_still_ends_the_process";
        let status = Command::new(std::env::current_exe().expect("exe"))
            .args(["--exact", name])
            .env(MARK, "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert_eq!(status.expect("run").signal(), Some(libc::SIGBUS));
    }
}
