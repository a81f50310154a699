//! io_uring of Linux: reads, writes and fsyncs that the kernel carries out while the thread goes on.
//!
//! A [`Ring`] belongs to one thread. It owns its buffers, one per slot, and a slot has at most one
//! call under way. The rest of the crate only sees slices of buffers that the kernel does not use.
//!
//! Files are given by their place in a table that the kernel holds (`IORING_REGISTER_FILES`), and
//! so are the buffers (`IORING_REGISTER_BUFFERS`) where the limit of locked memory allows it; then
//! the kernel does not look them up, pin and unpin them for each call.
//!
//! Linux 5.11 is needed, for waits with a time limit (`IORING_FEAT_EXT_ARG`).
#![allow(unsafe_code)] // Memory that the kernel reads and writes between two calls; see `Memory`.

use super::async_call::{Call, Ended, FILES_MAX};
use super::{Dir, Errno, File, Result};
use filermark_system::uring::{self, Memory};
use io_uring::types::{CancelBuilder, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};

/// A pause after the kernel could not take a call for the moment, and how long it is tried.
const RETRY_WAIT: Duration = Duration::from_micros(200);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// How long a ring that is dropped waits for calls that are under way.
const DROP_MAX: Duration = Duration::from_secs(1);
/// One wait of those.
const DROP_WAIT: Duration = Duration::from_millis(100);

/// A ring with its buffers.
pub(crate) struct Ring {
    ring: IoUring,
    memory: Memory,
    slot_bytes: usize,
    /// Slots whose call is under way or queued: their buffers are the kernel's.
    busy: Vec<bool>,
    busy_count: usize,
    /// Calls that the kernel has not been given yet.
    queued_count: usize,
    registered_buffers: bool,
    /// Calls are begun by a thread of the kernel.
    always_async: bool,
    file_count: usize,
    drop_max: Duration,
    /// As if the kernel had no way to cancel.
    #[cfg(test)]
    never_cancels: bool,
    /// System calls so far that gave the kernel something or waited.
    #[cfg(test)]
    entered_count: u64,
    /// The kernel takes calls from the thread that made the ring (IORING_SETUP_SINGLE_ISSUER).
    _one_thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring")
            .field("slots", &self.busy.len())
            .field("slot_bytes", &self.slot_bytes)
            .field("busy", &self.busy_count)
            .finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring for this many calls at a time, each with a buffer of `slot_bytes`, and a table of
    /// this many files.
    ///
    /// # Errors
    /// EPERM: io_uring is forbidden here. ENOSYS: the kernel has none, or one that cannot wait
    /// with a limit. ENOMEM: too much memory is locked. Others of io_uring_setup(2) and mmap(2).
    pub(crate) fn new(slots: u32, slot_bytes: usize, file_count: usize) -> Result<Self> {
        let count = slots.max(1) as usize;
        let slot_bytes = slot_bytes.max(1).next_multiple_of(crate::buffer::ALIGN);
        let file_count = file_count.clamp(1, FILES_MAX);
        let ring = uring::any(slots.max(1))?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(Errno::NOSYS);
        }
        ring.submitter().register_files(&vec![-1; file_count])?;
        // File systems that cannot begin a call without waiting (FUSE, NFS) get a thread of the
        // kernel for each; by default there are four for each processor (Linux 5.15).
        let _ = (ring.submitter()).register_iowq_max_workers(&mut [slots.max(1), 0]);
        let bytes = slot_bytes.checked_mul(count).ok_or(Errno::NOMEM)?;
        let memory = Memory::new(bytes)?;
        let buffers: Vec<libc::iovec> = (0..count)
            .map(|slot| libc::iovec {
                iov_base: memory.at(slot * slot_bytes).cast(),
                iov_len: slot_bytes,
            })
            .collect();
        // SAFETY: the memory is mapped, and is unmapped only after the ring was dropped with
        // nothing under way (`drop`).
        let registered = unsafe { ring.submitter().register_buffers(&buffers) };
        Ok(Self {
            ring,
            memory,
            slot_bytes,
            busy: vec![false; count],
            busy_count: 0,
            queued_count: 0,
            registered_buffers: registered.is_ok(),
            always_async: false,
            file_count,
            drop_max: DROP_MAX,
            #[cfg(test)]
            never_cancels: false,
            #[cfg(test)]
            entered_count: 0,
            _one_thread: PhantomData,
        })
    }

    /// Calls are begun by threads of the kernel from now on: for file systems whose calls wait in
    /// the one that submits them, though they are asked not to (IOSQE_ASYNC).
    pub(crate) fn set_always_async(&mut self) {
        self.always_async = true;
    }

    /// Whether the kernel holds the buffers between calls.
    pub(crate) fn has_registered_buffers(&self) -> bool {
        self.registered_buffers
    }

    /// Calls under way, with those that are queued.
    pub(crate) fn busy_count(&self) -> usize {
        self.busy_count
    }

    /// Calls that the kernel has not been given yet.
    pub(crate) fn queued_count(&self) -> usize {
        self.queued_count
    }

    /// System calls so far that gave the kernel calls or waited for their end.
    #[cfg(test)]
    pub(crate) fn entered_count(&self) -> u64 {
        self.entered_count
    }

    /// The buffer of a slot, from an address that is a multiple of [`crate::buffer::ALIGN`];
    /// `None` while a call of the slot is under way.
    pub(crate) fn buffer(&mut self, slot: u32) -> Option<&mut [u8]> {
        let slot = slot as usize;
        if *self.busy.get(slot)? {
            return None;
        }
        let start = self.memory.at(slot * self.slot_bytes);
        // SAFETY: these bytes are mapped and initialised (zeroed by mmap), belong to this slot
        // only, and the kernel does not use them, since no call of the slot is under way. The
        // slice borrows `self`, so that none can begin while it lives.
        Some(unsafe { std::slice::from_raw_parts_mut(start, self.slot_bytes) })
    }

    /// Puts a file into the table, or takes it out: the table keeps a file open. What is queued is
    /// submitted before, since it means the file that is there now.
    ///
    /// # Errors
    /// Those of io_uring_register(2).
    pub(crate) fn set_file(&mut self, at: u32, file: Option<&File>) -> Result<()> {
        self.set_fd(at, file.map(AsFd::as_fd))
    }

    fn set_fd(&mut self, at: u32, file: Option<BorrowedFd<'_>>) -> Result<()> {
        if self.queued_count > 0 {
            let end = Instant::now() + RETRY_MAX;
            while self.queued_count > 0 {
                self.enter(0, None)?;
                if self.queued_count > 0 && Instant::now() >= end {
                    return Err(Errno::AGAIN);
                }
            }
        }
        let fd = file.map_or(-1, |file| file.as_raw_fd());
        self.ring.submitter().register_files_update(at, &[fd])?;
        Ok(())
    }

    /// Queues a call for a part of a slot's buffer and a place in a file of the table. The kernel
    /// gets it with the next [`Self::wait`].
    ///
    /// # Errors
    /// EBUSY: a call of the slot is under way. EINVAL: there is no such slot, part or file.
    pub(crate) fn start(
        &mut self,
        slot: u32,
        call: Call,
        file: u32,
        part: Range<usize>,
        offset: u64,
    ) -> Result<()> {
        match self.busy.get(slot as usize) {
            None => return Err(Errno::INVAL),
            Some(true) => return Err(Errno::BUSY),
            Some(false) => {}
        }
        let is_inside = part.start <= part.end && part.end <= self.slot_bytes;
        if !is_inside || file as usize >= self.file_count {
            return Err(Errno::INVAL);
        }
        let entry = self.entry(slot, call, Fixed(file), part, offset);
        // SAFETY: the entry's buffer is a part of this slot's memory, which stays mapped until
        // the call has ended (`drop`), and which nothing else uses while the slot is busy.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // One entry per slot: there is always a place.
        pushed.map_err(|_| Errno::BUSY)?;
        self.busy[slot as usize] = true;
        self.busy_count += 1;
        self.queued_count += 1;
        Ok(())
    }

    fn entry(
        &self,
        slot: u32,
        call: Call,
        file: Fixed,
        part: Range<usize>,
        offset: u64,
    ) -> squeue::Entry {
        let buffer = self.memory.at(slot as usize * self.slot_bytes + part.start);
        let length = part.len() as u32;
        let index = slot as u16;
        let entry = match (call, self.registered_buffers) {
            (Call::Sync, _) => opcode::Fsync::new(file).build(),
            (Call::Read, true) => opcode::ReadFixed::new(file, buffer, length, index)
                .offset(offset)
                .build(),
            (Call::Read, false) => opcode::Read::new(file, buffer, length)
                .offset(offset)
                .build(),
            (Call::Write, true) => opcode::WriteFixed::new(file, buffer, length, index)
                .offset(offset)
                .build(),
            (Call::Write, false) => opcode::Write::new(file, buffer, length)
                .offset(offset)
                .build(),
        };
        let flags = match self.always_async {
            true => squeue::Flags::ASYNC,
            false => squeue::Flags::empty(),
        };
        entry.flags(flags).user_data(u64::from(slot))
    }

    /// Gives the kernel what is queued, and waits until a call has ended, not longer than the
    /// limit; `None` does not wait. One system call, or none where there is nothing to be done.
    ///
    /// # Errors
    /// Those of io_uring_enter(2) that do not pass.
    pub(crate) fn wait(&mut self, limit: Option<Duration>) -> Result<()> {
        let has_ended = !self.ring.completion().is_empty();
        match limit {
            _ if has_ended && self.queued_count == 0 => Ok(()),
            Some(limit) if !has_ended => self.enter(1, Some(limit)),
            _ => self.enter(0, None),
        }
    }

    fn enter(&mut self, want: usize, limit: Option<Duration>) -> Result<()> {
        let timespec = limit.map(Timespec::from);
        let mut args = SubmitArgs::new();
        if let Some(timespec) = &timespec {
            args = args.timespec(timespec);
        }
        #[cfg(test)]
        {
            self.entered_count += 1;
        }
        let entered = self.ring.submitter().submit_with_args(want, &args);
        self.queued_count = self.ring.submission().len();
        match entered.map_err(Errno::from) {
            Ok(_) | Err(Errno::TIME | Errno::INTR) => Ok(()),
            // The kernel is short of memory for a moment, or its queue of ended calls is full.
            Err(Errno::AGAIN | Errno::BUSY) => {
                std::thread::sleep(RETRY_WAIT);
                Ok(())
            }
            Err(e) => Err(e),
        }
    }

    /// Whether calls have ended that [`Self::next_ended`] does not give before another
    /// [`Self::wait`]: the kernel has a few words left to write, which needs a system call.
    pub(crate) fn has_undelivered(&mut self) -> bool {
        self.ring.submission().taskrun()
    }

    /// Calls that have ended and were not taken yet.
    pub(crate) fn ended_count(&mut self) -> usize {
        self.ring.completion().len()
    }

    /// A call that has ended; its slot is free again.
    pub(crate) fn next_ended(&mut self) -> Option<Ended> {
        loop {
            let entry = self.ring.completion().next()?;
            let slot = u32::try_from(entry.user_data()).unwrap_or(u32::MAX);
            let Some(busy) = self.busy.get_mut(slot as usize).filter(|busy| **busy) else {
                continue;
            };
            *busy = false;
            self.busy_count -= 1;
            let code = entry.result();
            let result = usize::try_from(code).map_err(|_| Errno(code.unsigned_abs()));
            return Some(Ended { slot, result });
        }
    }

    /// Asks the kernel to end what is under way (Linux 6.0). Calls of a disk or of a server that
    /// does not answer may go on; each has its [`Ended`] when it is over.
    pub(crate) fn cancel(&mut self) {
        #[cfg(test)]
        if self.never_cancels {
            return;
        }
        let limit = Timespec::from(DROP_WAIT);
        let all = CancelBuilder::any().all();
        let _ = (self.ring.submitter()).register_sync_cancel(Some(limit), all);
    }

    /// Waits until the kernel uses no buffer any more; whether it does not.
    fn drain(&mut self) -> bool {
        // What was never submitted is not under way.
        if self.busy_count == self.queued_count {
            return true;
        }
        self.cancel();
        let end = Instant::now() + self.drop_max;
        loop {
            while self.next_ended().is_some() {}
            if self.busy_count == 0 {
                return true;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.enter(1, Some(left.min(DROP_WAIT))).is_err() {
                return false;
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.drain() {
            // The kernel may still write there, whenever the file system answers.
            self.memory.leak();
        }
    }
}

/// Whether calls of the file system of a directory wait in io_uring_enter: FUSE (Linux 6.18) takes
/// the request not to wait, and waits for the answer of its server.
pub(crate) fn waits_in_submission(dir: &Dir) -> bool {
    let found = rustix::fs::fstatfs(dir.as_fd());
    found.is_ok_and(|found| found.f_type as u64 == libc::FUSE_SUPER_MAGIC as u64)
}

#[cfg(test)]
#[path = "uring/tests.rs"]
mod tests;
