//! Reading and writing through memory mappings. Every page is touched; a page that
//! the system cannot give makes the transfer fail with EIO, never the process.
#![allow(unsafe_code)] // Mappings are raw memory; it never leaves this module as a reference.

use super::sigbus::Guard;
use super::{Errno, File, Result};
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, msync, munmap};
use std::ffi::c_void;
use std::ptr::null_mut;

/// A mapping of whole pages of a file, shared with everybody.
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
    #[cfg(target_os = "linux")]
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

    #[cfg(not(target_os = "linux"))]
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

/// Maps `length` bytes at `offset`, reads a byte of every page and, with `copy`,
/// copies all of them there.
pub(crate) fn read(file: &File, offset: u64, length: usize, copy: Option<&mut [u8]>) -> Result<()> {
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
    if let Some(into) = copy {
        let len = into.len().min(length);
        // SAFETY: `len` bytes from there are in the mapping, and `into` is our own.
        unsafe {
            from.add(within)
                .copy_to_nonoverlapping(into.as_mut_ptr(), len)
        };
    }
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
    // SAFETY: the mapping has `within` and `data.len()` bytes, and nobody has a
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
