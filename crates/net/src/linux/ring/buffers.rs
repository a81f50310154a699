//! The buffers that the kernel puts received bytes into (IORING_REGISTER_PBUF_RING).
//!
//! A buffer is the kernel's from [`Buffers::give`] until a completion names it, and the program's
//! from [`Buffers::take`] until it is given again. The program sees slices of its own ones only.
#![allow(unsafe_code)] // Memory that the kernel writes between two calls.

use filermark_system::uring::Memory;
use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

/// How many there are. They are used in turn, so that small replies touch as many pages.
pub(super) const COUNT: u16 = 128;
/// The length of each in bytes: a reply with 8 KiB of data fits in, or a hundred without data.
pub(super) const LEN: usize = 16 << 10;
/// Their number for calls.
pub(super) const GROUP: u16 = 0;

/// Buffers of one ring.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The kernel's list of the buffers that it may use.
    list: Memory,
    bytes: Memory,
    /// Where the next one is put into the list.
    tail: u16,
    /// Those of the program.
    taken: [bool; COUNT as usize],
}

impl Buffers {
    /// Gives the kernel of `ring` all buffers.
    ///
    /// # Errors
    /// EINVAL: the kernel has no such list (Linux 5.19). ENOMEM.
    pub(super) fn register(ring: &IoUring) -> io::Result<Self> {
        let list = Memory::new(usize::from(COUNT) * size_of::<BufRingEntry>())?;
        let bytes = Memory::new(usize::from(COUNT) * LEN)?;
        let address = list.at(0) as u64;
        // SAFETY: the list is mapped, zeroed, and has the length of its entries. It is unmapped
        // after the ring was dropped with nothing under way, or never (`leak`).
        unsafe {
            (ring.submitter()).register_buf_ring_with_flags(address, COUNT, GROUP, 0)?;
        }
        let mut buffers = Self {
            list,
            bytes,
            tail: 0,
            taken: [true; COUNT as usize],
        };
        for id in 0..COUNT {
            buffers.give(id);
        }
        Ok(buffers)
    }

    /// A completion has named this buffer: it is the program's.
    pub(super) fn take(&mut self, id: u16) {
        if let Some(taken) = self.taken.get_mut(usize::from(id)) {
            *taken = true;
        }
    }

    /// A part of a buffer of the program; nothing of those of the kernel.
    pub(super) fn get(&mut self, id: u16, part: Range<usize>) -> &mut [u8] {
        let index = usize::from(id);
        let is_taken = self.taken.get(index).copied().unwrap_or(false);
        if !is_taken || part.start > part.end || part.end > LEN {
            return &mut [];
        }
        let start = self.bytes.at(index * LEN + part.start);
        // SAFETY: the bytes are mapped and initialised, and inside of this buffer, which the
        // kernel does not use: a completion has named it, and it was not given again. The slice
        // borrows `self`, so that it is not given while the slice lives.
        unsafe { std::slice::from_raw_parts_mut(start, part.len()) }
    }

    /// Gives a buffer of the program to the kernel.
    pub(super) fn give(&mut self, id: u16) {
        let index = usize::from(id);
        match self.taken.get_mut(index) {
            Some(taken) if *taken => *taken = false,
            _ => return,
        }
        let place = usize::from(self.tail % COUNT) * size_of::<BufRingEntry>();
        let entry = self.list.at(place).cast::<BufRingEntry>();
        // SAFETY: the entry is inside of the list, aligned, and not among those that the kernel
        // reads: of these there are as many as buffers of the kernel, this one not yet.
        let entry = unsafe { &mut *entry };
        entry.set_addr(self.bytes.at(index * LEN) as u64);
        entry.set_len(LEN as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the list begins with an entry, whose last field is the tail.
        let tail = unsafe { BufRingEntry::tail(self.list.at(0).cast()) };
        // SAFETY: it is aligned and mapped, and both sides access it by atomic operations. The
        // kernel reads entries in front of it only, which are complete by this release.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// How many are the program's.
    #[cfg(test)]
    pub(super) fn taken_count(&self) -> usize {
        self.taken.iter().filter(|taken| **taken).count()
    }

    /// Leaves the memory mapped: the kernel may still write there.
    pub(super) fn leak(&mut self) {
        self.list.leak();
        self.bytes.leak();
    }
}
