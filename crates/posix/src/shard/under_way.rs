//! What a shard with a depth keeps: the ring, and the operations that are under way. What is done
//! with them is in `asynchronous`.

use super::file_table::FileTable;
use super::progress::{ReadProgress, WriteProgress};
use super::ranges::{LARGE_ALIGN, Span};
use super::work::OpTally;
use crate::handles::{FileSlot, Handles};
use crate::sys::async_call::{Ended, FILES_MAX};
use crate::sys::uring::{Ring, waits_in_submission};
use crate::sys::{Errno, File, Result};
use filermark_engine::clock::Clock;
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{DriverError, ShardSetup};
use filermark_engine::file_action::Io;
use filermark_model::Nanos;
use filermark_model::survey::AsyncEngine;
use filermark_model::workload::{Attributes, depth_buffer_bytes};
use std::collections::VecDeque;
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
    /// Why a workload cannot have its depth.
    fault: Option<String>,
}

impl Depth {
    /// That of a shard; `None`: each of its procs has one operation at a time.
    pub(crate) fn of(setup: &ShardSetup) -> Option<Self> {
        let trees = setup.procs.iter().filter_map(|proc| proc.tree.as_ref());
        let (mut slots, mut largest, mut is_deep) = (0, 0, false);
        let mut fault = None;
        for tree in trees {
            let depth = tree
                .workload
                .attributes
                .depth
                .clamp(1, Attributes::DEPTH_MAX);
            is_deep |= depth > 1;
            slots = u32::saturating_add(slots, depth).min(SLOTS_MAX);
            fault = fault.or_else(|| tree.workload.depth_fault());
            largest = tree.workload.largest_read_or_write().max(largest);
        }
        let place = setup.procs.first().map(|proc| proc.mount.to_string());
        is_deep.then(|| Self {
            place: place.unwrap_or_default(),
            slots,
            shard_count: setup.shard_count,
            largest,
            fault,
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
    /// Calls that have ended, and when that was seen. At most one of each slot.
    pub(super) ended: VecDeque<(Ended, Nanos)>,
    /// Bytes that were made or compared since the ring was looked at.
    worked_bytes: usize,
    /// When the last system call ended that waited for the file system to open a file.
    pub(super) waited_until: Nanos,
    table: FileTable,
    clock: Clock,
    /// How often the ring was looked at between two pieces of work.
    #[cfg(test)]
    pub(super) looked_count: u64,
}

/// Bytes that are made or compared at most before the ring is looked at. An
/// operation that is seen to end while others are worked on has its time too late by no more.
pub(super) const PIECE_BYTES: usize = 64 << 10;

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
        if let Some(reason) = depth.fault {
            return Err(DriverError {
                place: depth.place,
                step: "set up the workload's depth".to_owned(),
                reason,
                advice: String::new(),
            });
        }
        // A read is extended to whole blocks at both ends.
        let slot_bytes = depth_buffer_bytes(depth.largest);
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
            ended: VecDeque::with_capacity(slots as usize),
            worked_bytes: 0,
            waited_until: Nanos::ZERO,
            table: FileTable::new(files, slots as usize),
            clock,
            #[cfg(test)]
            looked_count: 0,
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

    /// So many bytes are made or compared next: notes the calls that have ended, unless little was
    /// done since that was noted last.
    #[inline]
    pub(super) fn before_work(&mut self, bytes: usize) {
        let worked = self.worked_bytes.saturating_add(bytes);
        if worked > PIECE_BYTES && self.worked_bytes > 0 {
            self.look();
        }
        self.worked_bytes = self.worked_bytes.saturating_add(bytes);
    }

    /// Notes the calls that have ended. A system call only where there are some that need it.
    pub(super) fn look(&mut self) {
        #[cfg(test)]
        {
            self.looked_count += 1;
        }
        if self.ring.has_undelivered() {
            // What fails here fails again in `poll`, which reports it.
            let _ = self.enter(self.clock.now(), None);
        }
        self.note_ended();
    }

    /// Takes the calls that have ended from the ring: all were seen to end now.
    pub(super) fn note_ended(&mut self) {
        self.worked_bytes = 0;
        if self.ring.ended_count() == 0 {
            return;
        }
        let now = self.clock.now();
        while let Some(ended) = self.ring.next_ended() {
            self.ended.push_back((ended, now));
        }
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

/// What carries out reads and writes with a depth on this host: a ring is made for a moment.
pub(crate) fn async_engine() -> AsyncEngine {
    match Ring::new(1, LARGE_ALIGN as usize, 1) {
        Ok(_) => AsyncEngine::IoUring,
        Err(e) => {
            let (why, advice) = refusal(e);
            AsyncEngine::Missing(format!("{why}: {e}; {advice}; or write depth=1"))
        }
    }
}

fn unusable(depth: &Depth, e: Errno) -> DriverError {
    let slots = depth.slots;
    let (why, advice) = refusal(e);
    DriverError {
        place: depth.place.clone(),
        step: format!("set up the workload's depth ({slots} operations under way)"),
        reason: format!("{why}: {e}"),
        advice: format!("{advice}; or write depth=1 and use more procs, each with a thread"),
    }
}

/// Why there is no asynchronous engine, and what to do.
fn refusal(e: Errno) -> (&'static str, &'static str) {
    match e {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::FdShare;
    use crate::sys::async_call::Call;
    use std::io::Write;

    /// One operation, a read of a pipe: it ends when the test writes.
    fn reading(from: std::io::PipeReader) -> UnderWay {
        let depth = Depth {
            place: "host:/mnt".to_owned(),
            slots: 4,
            shard_count: 1,
            largest: 4096,
            fault: None,
        };
        let mut handles = Handles::new(Vec::new(), FdShare { files: 2, dirs: 2 });
        let opened = UnderWay::open(depth, &mut handles, 2, Clock::real());
        let mut under_way = *opened.expect("io_uring; sysctl kernel.io_uring_disabled=0");
        let file = crate::sys::File::of_pipe(from);
        (under_way.ring.set_file(0, Some(&file))).expect("listed");
        let begun = under_way.ring.start(1, Call::Read, 0, 0..10, u64::MAX);
        begun.expect("begun");
        let now = under_way.clock.now();
        under_way.enter(now, None).expect("sent");
        under_way
    }

    /// While data is made and compared, what ends is noted after each piece.
    #[test]
    fn an_operation_that_ends_while_others_are_worked_on_has_its_own_time() {
        let (from, mut to) = std::io::pipe().expect("pipe");
        let mut under_way = reading(from);
        // Little work, and the first piece after the ring was looked at, make no look.
        under_way.before_work(1 << 20);
        under_way.note_ended();
        for _ in 0..PIECE_BYTES / 4096 {
            under_way.before_work(4096);
        }
        assert_eq!(under_way.looked_count, 0);
        to.write_all(b"abc").expect("written");
        let mut pieces = 0_u64;
        while under_way.ended.is_empty() {
            under_way.before_work(PIECE_BYTES);
            pieces += 1;
            std::thread::yield_now();
            assert!(pieces < 100_000_000, "its end is not noted");
        }
        assert!(under_way.looked_count.abs_diff(pieces) <= 1);
        let noted_by = under_way.clock.now();
        // The work on others goes on.
        under_way.before_work(PIECE_BYTES);
        under_way.before_work(PIECE_BYTES);
        let (ended, at) = under_way.ended.pop_front().expect("noted");
        assert_eq!((ended.slot, ended.result), (1, Ok(3)));
        assert!(at <= noted_by);
        assert!(under_way.ended.is_empty() && under_way.ring.busy_count() == 0);
    }

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
            fault: None,
        };
        let mut handles = Handles::new(Vec::new(), FdShare { files: 2, dirs: 2 });
        let opened = UnderWay::open(depth, &mut handles, 2, Clock::real());
        let text = opened.expect_err("refused").to_string();
        assert!(text.contains("half of the host's memory for all"), "{text}");
    }
}
