//! What the users of io_uring have in common: making a ring, and memory that the kernel uses
//! between two calls. Files (`posix`) and sockets (`net`) have their calls in modules of their own.
#![allow(unsafe_code)] // A mapping of memory has no safe wrapper.

#[cfg(feature = "testing")]
pub mod testing;

use io_uring::IoUring;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

/// A ring for `entries` calls that the kernel was not given yet, and `completions` that were not
/// taken (0: twice as many as calls). Calls are completed while the thread that made the ring waits
/// for them, which interrupts it never and costs least (Linux 6.1).
///
/// # Errors
/// EPERM: io_uring is forbidden here. ENOSYS: the kernel has none. EINVAL: it has no such rings.
/// Others of io_uring_setup(2) and mmap(2).
pub fn deferred(entries: u32, completions: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_clamp();
    if completions > 0 {
        builder.setup_cqsize(completions);
    }
    builder.setup_single_issuer().setup_defer_taskrun();
    builder.setup_taskrun_flag();
    builder.build(entries)
}

/// As [`deferred`], or, on older kernels, a ring whose calls are completed at the thread's next
/// system call (5.19), or as soon as they can be.
///
/// # Errors
/// As [`deferred`], without EINVAL for the kind of ring.
pub fn any(entries: u32) -> io::Result<IoUring> {
    let is_refused = |e: &io::Error| Errno::from_io_error(e) == Some(Errno::INVAL);
    match deferred(entries, 0) {
        Err(e) if is_refused(&e) => {}
        made => return made,
    }
    let mut builder = IoUring::builder();
    builder.setup_clamp();
    builder.setup_coop_taskrun().setup_taskrun_flag();
    match builder.build(entries) {
        Err(e) if is_refused(&e) => {}
        made => return made,
    }
    IoUring::builder().setup_clamp().build(entries)
}

/// Zeroed memory of its own mapping, at a page's begin. Other parts of the program never get it
/// while it is mapped, also not by a fork of the process.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    is_leaked: bool,
}

impl Memory {
    /// A new mapping.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub fn new(bytes: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe {
            rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)
        }?;
        // SAFETY: exactly the mapping that was just made, which nothing uses yet.
        let _ = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontFork) };
        Ok(Self {
            start: NonNull::new(start.cast()).ok_or(Errno::NOMEM)?,
            bytes,
            is_leaked: false,
        })
    }

    /// An address in it; its end for a place beyond.
    pub fn at(&self, place: usize) -> *mut u8 {
        // SAFETY: at most one byte beyond the mapping.
        unsafe { self.start.as_ptr().add(place.min(self.bytes)) }
    }

    /// Leaves it mapped for the rest of the process: the kernel may still use it.
    pub fn leak(&mut self) {
        self.is_leaked = true;
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.is_leaked {
            return;
        }
        // SAFETY: made by `new`, unmapped once. Owners hand out no slice that outlives this value,
        // and leak it while the kernel uses it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_begins_at_a_page_and_ends_at_its_end() {
        let mut memory = Memory::new(10_000).expect("memory is left");
        assert_eq!(memory.at(0) as usize % rustix::param::page_size(), 0);
        assert_eq!(memory.at(usize::MAX), memory.at(10_000));
        // SAFETY: both are inside of the mapping, which nothing else uses.
        unsafe {
            memory.at(9_999).write(7);
            assert_eq!((memory.at(0).read(), memory.at(9_999).read()), (0, 7));
        }
        let place = memory.at(9_999);
        memory.leak();
        drop(memory);
        // SAFETY: it was leaked, so it is mapped.
        assert_eq!(unsafe { place.read() }, 7);
    }
}
