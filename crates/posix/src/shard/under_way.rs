//! What a shard with a depth keeps: the ring, and the operations that are under way. What is done
//! with them is in `asynchronous`.

use super::file_table::FileTable;
use super::progress::{ReadProgress, WriteProgress};
use super::ranges::{LARGE_ALIGN, Span};
use super::work::OpTally;
use crate::handles::{FileSlot, Handles};
use crate::sys::async_call::FILES_MAX;
use crate::sys::uring::{Ring, waits_in_submission};
use crate::sys::{Errno, File, Result};
use filermark_engine::clock::Clock;
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{DriverError, ShardSetup};
use filermark_engine::file_action::Io;
use filermark_model::Nanos;
use filermark_model::workload::Attributes;
use std::time::Duration;

/// Most bytes of the buffers of a shard: they stay in memory. Those of all shards have at most half
/// of the host's memory.
const BUFFERS_MAX: u64 = 1 << 30;

/// Most operations of a shard at a time: each may use a file of its own of the kernel's table.
const SLOTS_MAX: u32 = 1 << 14;

/// An operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    pub(super) token: u32,
    pub(super) proc: u32,
    pub(super) span: Span,
    pub(super) io: Io,
    /// What its transfer is aligned to; 0: it goes through the cache.
    pub(super) align: u64,
    /// The place in the table of files that it uses.
    pub(super) file: Option<u32>,
    /// Its phase was broken off: it ends with the call that is under way.
    pub(super) is_broken_off: bool,
    /// When its first call was sent; `None`: it was not yet.
    pub(super) sent: Option<Nanos>,
    pub(super) step: Step,
    pub(super) work: OpTally,
}

/// The call that an operation waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Of a read that began after this event of the history.
    Read(ReadProgress, u64),
    Write(WriteProgress, WriteMark),
    Sync(WriteMark),
}

/// What the procs of a shard want to have under way.
#[derive(Clone, Debug)]
pub(crate) struct Depth {
    /// The first of their mount points, for messages.
    place: String,
    /// Operations at a time.
    slots: u32,
    /// Shards of this agent.
    shard_count: u32,
    /// The largest transfer, in bytes.
    largest: u32,
    /// The share of direct transfers of a workload that has others, too, in percent.
    mixed_direct_pcnt: Option<f64>,
}

impl Depth {
    /// That of a shard; `None`: each of its procs has one operation at a time.
    pub(crate) fn of(setup: &ShardSetup) -> Option<Self> {
        let trees = setup.procs.iter().filter_map(|proc| proc.tree.as_ref());
        let (mut slots, mut largest, mut is_deep) = (0, 0, false);
        let mut mixed_direct_pcnt = None;
        for tree in trees {
            let depth = tree
                .workload
                .attributes
                .depth
                .clamp(1, Attributes::DEPTH_MAX);
            is_deep |= depth > 1;
            slots = u32::saturating_add(slots, depth).min(SLOTS_MAX);
            let direct_pcnt = tree.workload.attributes.direct_pcnt;
            if direct_pcnt > 0.0 && direct_pcnt < 100.0 {
                mixed_direct_pcnt = Some(direct_pcnt);
            }
            let sequential = tree.workload.attributes.sequential_read_bytes;
            let transfer = tree.workload.transfer_bytes_max();
            largest = transfer.max(sequential.unwrap_or(0)).max(largest);
        }
        let place = setup.procs.first().map(|proc| proc.mount.to_string());
        is_deep.then(|| Self {
            place: place.unwrap_or_default(),
            slots,
            shard_count: setup.shard_count,
            largest,
            mixed_direct_pcnt,
        })
    }
}

/// The operations of a shard that are under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    pub(super) ring: Ring,
    pub(super) ops: Vec<Option<Op>>,
    /// The largest transfer that a buffer is large enough for, in bytes.
    pub(super) largest: u32,
    /// Slots without an operation.
    pub(super) free: Vec<u32>,
    /// Slots whose first call is queued.
    pub(super) unsent: Vec<u32>,
    table: FileTable,
    clock: Clock,
}

impl UnderWay {
    /// A ring with its buffers, and a table of this many files.
    ///
    /// # Errors
    /// There is no io_uring for it, or not enough memory.
    pub(crate) fn open(
        depth: Depth,
        handles: &mut Handles,
        files: usize,
        clock: Clock,
    ) -> std::result::Result<Box<Self>, DriverError> {
        let slots = depth.slots;
        if let Some(percent) = depth.mixed_direct_pcnt {
            return Err(mixed(&depth, percent));
        }
        // A read is extended to whole blocks at both ends.
        let slot_bytes = u64::from(depth.largest).next_multiple_of(LARGE_ALIGN) + LARGE_ALIGN;
        let limit = buffers_max(filermark_system::mem_bytes(), depth.shard_count);
        if u64::from(slots).saturating_mul(slot_bytes) > limit {
            return Err(too_large(&depth, slot_bytes, limit));
        }
        let ring = Ring::new(slots, slot_bytes as usize, files + slots as usize);
        let mut ring = ring.map_err(|e| unusable(&depth, e))?;
        let mut dirs = handles.procs.iter().map(|proc| &proc.place.dir);
        if dirs.any(waits_in_submission) {
            ring.set_always_async();
        }
        handles.note_closed_files();
        Ok(Box::new(Self {
            ring,
            largest: depth.largest,
            ops: vec![None; slots as usize],
            free: (0..slots).rev().collect(),
            unsent: Vec::with_capacity(slots as usize),
            table: FileTable::new(files, slots as usize),
            clock,
        }))
    }

    /// Most files of a shard that may be open: they have places in the kernel's table, beside
    /// closed ones that operations use.
    pub(crate) const FILES_MAX: usize = FILES_MAX - SLOTS_MAX as usize;

    /// The operation uses the file in a slot of the cache, in place of the one before.
    ///
    /// # Errors
    /// The kernel does not take the file.
    pub(super) fn hold(
        &mut self,
        op: &mut Op,
        slot: FileSlot,
        handles: &mut Handles,
    ) -> Result<()> {
        self.let_go(op);
        self.unlist_closed(handles);
        let at = match self.table.of_slot(slot.number()) {
            Some(at) => at,
            None => {
                let at = self.table.add(slot.number()).ok_or(Errno::NFILE)?;
                let listed = handles
                    .file_at(slot)
                    .and_then(|file| self.set_file(at, Some(file)));
                if let Err(e) = listed {
                    self.table.close(slot.number());
                    return Err(e);
                }
                at
            }
        };
        self.table.hold(at);
        op.file = Some(at);
        Ok(())
    }

    /// The operation uses its file no more.
    pub(super) fn let_go(&mut self, op: &mut Op) {
        if let Some(at) = op.file.take()
            && let Some(at) = self.table.let_go(at)
        {
            self.unlist(at);
        }
    }

    /// Takes files that were closed, and that no operation uses, out of the kernel's table, which
    /// would keep them open.
    pub(super) fn unlist_closed(&mut self, handles: &mut Handles) {
        while let Some(slot) = handles.take_closed_file() {
            if let Some(at) = self.table.close(slot) {
                self.unlist(at);
            }
        }
    }

    fn unlist(&mut self, at: u32) {
        // The kernel refuses none of its places; a file that stays listed stays open only, until
        // another one gets the place.
        let _ = self.set_file(at, None);
    }

    /// Changes the kernel's table, which gets what is queued before.
    fn set_file(&mut self, at: u32, file: Option<&File>) -> Result<()> {
        if self.ring.queued_count() > 0 {
            self.stamp(self.clock.now());
        }
        self.ring.set_file(at, file)
    }

    /// Asks the kernel to end what is under way.
    pub(super) fn cancel(&mut self) {
        for op in self.ops.iter_mut().flatten() {
            op.is_broken_off = true;
        }
        // The kernel can only end what it was given; what fails here fails again in `poll`.
        let _ = self.enter(self.clock.now(), None);
        self.ring.cancel();
    }

    /// Gives the kernel what is queued, and waits for the end of a call until `limit`.
    pub(super) fn enter(&mut self, now: Nanos, limit: Option<Duration>) -> Result<()> {
        self.stamp(now);
        self.ring.wait(limit)
    }

    /// The queued operations are sent now.
    #[inline]
    fn stamp(&mut self, now: Nanos) {
        for slot in self.unsent.drain(..) {
            if let Some(Some(op)) = self.ops.get_mut(slot as usize) {
                op.sent.get_or_insert(now);
            }
        }
    }
}

/// Where a cached and a direct transfer of the same pages collide, Linux reports EIO, to one of
/// them or to a later fsync (`dio_warn_stale_pagecache` in fs/iomap and mm).
fn mixed(depth: &Depth, direct_pcnt: f64) -> DriverError {
    DriverError {
        place: depth.place.clone(),
        step: "set up the workload's depth".to_owned(),
        reason: format!(
            "direct_pcnt is {direct_pcnt}: cached and direct transfers of one file under way at a \
             time collide, and the kernel fails some of them with EIO"
        ),
        advice: "use direct_pcnt 0 or 100, or depth=1".to_owned(),
    }
}

/// Most bytes of the buffers of one of so many shards, on a host with this memory, if it is known.
fn buffers_max(mem_bytes: Option<u64>, shard_count: u32) -> u64 {
    let share = mem_bytes.map(|all| all / 2 / u64::from(shard_count.max(1)));
    share.unwrap_or(BUFFERS_MAX).min(BUFFERS_MAX)
}

fn too_large(depth: &Depth, slot_bytes: u64, limit: u64) -> DriverError {
    let (slots, shards) = (depth.slots, depth.shard_count);
    DriverError {
        place: depth.place.clone(),
        step: "allocate buffers for the workload's depth".to_owned(),
        reason: format!(
            "{slots} operations under way with {slot_bytes} bytes each take more than {limit} bytes, \
             the limit of each of {shards} threads: 1 GiB, and half of the host's memory for all"
        ),
        advice: "lower depth, the largest transfer or the number of procs".to_owned(),
    }
}

/// Why there is no asynchronous engine, and what to do.
fn unusable(depth: &Depth, e: Errno) -> DriverError {
    let slots = depth.slots;
    let (why, advice) = match e {
        Errno::PERM | Errno::ACCES => (
            "io_uring is forbidden here",
            "allow it (sysctl kernel.io_uring_disabled=0; in a container its seccomp profile)",
        ),
        Errno::NOSYS | Errno::INVAL => (
            "this system has no io_uring that can be used",
            "use Linux 5.11 or later",
        ),
        // Before Linux 5.12 the rings themselves were locked memory.
        Errno::NOMEM => (
            "too little memory, or its limit for locked memory is too low",
            "raise it (ulimit -l), lower depth",
        ),
        Errno::MFILE => (
            "its table of files is larger than the limit of open files",
            "raise it (ulimit -n), lower depth",
        ),
        _ => ("io_uring cannot be set up", "see io_uring_setup(2)"),
    };
    DriverError {
        place: depth.place.clone(),
        step: format!("set up the workload's depth ({slots} operations under way)"),
        reason: format!("{why}: {e}"),
        advice: format!("{advice}; or write depth=1 and use more procs, each with a thread"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FdShare;

    #[test]
    fn the_buffers_of_all_shards_have_half_of_the_memory() {
        assert_eq!(buffers_max(None, 9), 1 << 30);
        assert_eq!(buffers_max(Some(64 << 30), 1), 1 << 30);
        assert_eq!(buffers_max(Some(64 << 30), 64), 512 << 20);
        let depth = Depth {
            place: "host:/mnt".to_owned(),
            slots: 64,
            shard_count: u32::MAX,
            largest: 4096,
            mixed_direct_pcnt: None,
        };
        let mut handles = Handles::new(Vec::new(), FdShare { files: 2, dirs: 2 });
        let opened = UnderWay::open(depth, &mut handles, 2, Clock::real());
        let text = opened.expect_err("refused").to_string();
        assert!(text.contains("half of the host's memory for all"), "{text}");
    }
}
