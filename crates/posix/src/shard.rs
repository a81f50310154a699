//! One shard: takes a request, makes its system calls, gives the outcome.
//!
//! | module | operations |
//! |---|---|
//! | `work` | what is noted while one is under way |
//! | `asynchronous`, `under_way` | reads and writes of workloads with a depth |
//! | `file_table` | files in the kernel's table, for those |
//! | `progress` | which bytes the next system call of a transfer moves |
//! | `ranges` | read, write, rmw of a range; the loops that all transfers use |
//! | `whole` | read_file, write_file, copyfile |
//! | `mapped` | mmap_read, mmap_write |
//! | `attributes` | those on names, attributes and directories; locks; custom ones |
//! | `tree` | INIT and CLEANUP |
//! | `uncache` | taking files out of the client's cache |

mod asynchronous;
mod attributes;
mod file_table;
mod mapped;
mod progress;
mod ranges;
#[cfg(test)]
mod tests;
mod tree;
mod uncache;
mod under_way;
mod whole;
mod work;

use crate::buffer::Buffer;
use crate::counters::Counters;
use crate::custom::CustomPrograms;
use crate::handles::Handles;
use crate::status::RUN_DIR_GONE;
use crate::sys::{Errno, Result};
use filermark_engine::clock::{Clock, ThreadClock};
use filermark_engine::driver::{
    Action, Completion, DriverError, ObjectId, Outcome, Request, ShardDriver, Status, StopFlag,
    Submit,
};
use filermark_engine::file_action::FileAction;
use filermark_model::Nanos;
use std::collections::BTreeMap;
pub(crate) use under_way::{Depth, UnderWay, async_engine};
use work::OpTally;

/// What a shard is made of.
#[derive(Debug)]
pub(crate) struct ShardParts {
    pub(crate) handles: Handles,
    pub(crate) customs: CustomPrograms,
    pub(crate) no_fsync: bool,
    pub(crate) clock: Clock,
    pub(crate) stop: StopFlag,
    /// What its reads and writes are carried out by, where they have a depth.
    pub(crate) under_way: Option<Box<UnderWay>>,
}

/// Carries out the operations of its procs, one after the other.
#[derive(Debug)]
pub struct PosixShard {
    parts: ShardParts,
    /// The clock of `parts`, read before and after each operation.
    timer: ThreadClock,
    /// What was read.
    buffer: Buffer,
    /// What is written.
    outgoing: Buffer,
    /// Buffer for directory listings.
    listing: Vec<u8>,
    counters: Counters,
    transfer_bytes: (u32, u32),
}

impl PosixShard {
    pub(crate) fn new(parts: ShardParts) -> Self {
        let workloads = parts.handles.procs.iter().map(|proc| &proc.tree.workload);
        let largest = workloads.fold((0, 0), |(read, write), w| {
            (
                w.read_transfers.max_bytes().max(read),
                w.write_transfers.max_bytes().max(write),
            )
        });
        Self {
            outgoing: Buffer::default(),
            timer: ThreadClock::of(parts.clock.clone()),
            parts,
            buffer: Buffer::default(),
            listing: Vec::new(),
            counters: Counters::new(),
            transfer_bytes: match largest {
                (0, 0) => (1 << 20, 1 << 20),
                some => some,
            },
        }
    }

    /// Does what `calls` does, with the time taken around it.
    #[inline]
    fn timed(&mut self, calls: impl FnOnce(&mut Self, &mut OpTally) -> Result<()>) -> Outcome {
        let mut work = OpTally::default();
        let sent = self.timer.now();
        let result = calls(self, &mut work);
        work.outcome(sent, self.timer.now(), result)
    }

    /// An operation that could not begin.
    fn refused(&self, e: Errno) -> Outcome {
        let now = self.parts.clock.now();
        OpTally::default().outcome(now, now, Err(e))
    }

    /// Each action is named here. The functions behind it refuse what is not theirs.
    #[deny(clippy::wildcard_enum_match_arm)]
    fn perform(&mut self, proc: u32, action: &FileAction) -> Outcome {
        use FileAction as A;
        match *action {
            A::Read { .. } | A::Write { .. } | A::Rmw { .. } => self.range(proc, action),
            A::ReadFile { .. } | A::WriteFile { .. } | A::Copy { .. } => {
                self.run_whole_file(proc, action)
            }
            A::MmapRead { .. } | A::MmapWrite { .. } => self.mapped(proc, action),
            A::MakeTree
            | A::MakeDirs { .. }
            | A::Fill { .. }
            | A::Truncate { .. }
            | A::RemoveDirs { .. }
            | A::RemoveTree => self.tree(proc, action),
            A::Access { .. }
            | A::Stat { .. }
            | A::Chmod { .. }
            | A::Statfs { .. }
            | A::Pathconf { .. }
            | A::Mkdir { .. }
            | A::Rmdir { .. }
            | A::Create { .. }
            | A::Unlink { .. }
            | A::Rename { .. }
            | A::Readdir { .. }
            | A::Lock { .. }
            | A::Custom { .. } => self.attribute(proc, action),
        }
    }

    /// Gives a failure that the loss of the mount has its own number.
    #[inline]
    fn explain(&mut self, proc: u32, outcome: &mut Outcome) {
        if let Status::Refused(code) = outcome.status
            && matches!(Errno(code), Errno::NOENT | Errno::NOTDIR | Errno::IO)
        {
            self.explain_missing(proc, outcome);
        }
    }

    /// Where a name is missing, looks whether everything is: an unmounted file
    /// system leaves an empty directory behind.
    #[cold]
    fn explain_missing(&mut self, proc: u32, outcome: &mut Outcome) {
        if let Ok(proc) = self.parts.handles.proc(proc)
            && !proc.place.is_there()
        {
            outcome.status = Status::Refused(RUN_DIR_GONE.0);
        }
    }
}

impl ShardDriver for PosixShard {
    #[inline]
    fn submit(&mut self, request: &Request) -> Submit {
        let Action::File(action) = &request.action else {
            return Submit::Done(self.refused(Errno::NOSYS));
        };
        if let Some(mut under_way) = self.parts.under_way.take() {
            let submitted = self.submit_beside(&mut under_way, request, action);
            self.parts.under_way = Some(under_way);
            return submitted;
        }
        let mut outcome = self.perform(request.proc, action);
        self.explain(request.proc, &mut outcome);
        Submit::Done(outcome)
    }

    /// What is queued is sent by [`Self::poll`], which waits with the same system call.
    fn flush(&mut self) {}

    fn poll(
        &mut self,
        deadline: Nanos,
        done: &mut Vec<Completion>,
    ) -> std::result::Result<(), DriverError> {
        let Some(mut under_way) = self.parts.under_way.take() else {
            self.parts.clock.sleep_until(deadline);
            return Ok(());
        };
        let polled = self.poll_ring(&mut under_way, deadline, done);
        self.parts.under_way = Some(under_way);
        polled
    }

    fn waited_until(&self) -> Nanos {
        let under_way = self.parts.under_way.as_ref();
        under_way.map_or(Nanos::ZERO, |under_way| under_way.waited_until)
    }

    fn break_off(&mut self) {
        if let Some(under_way) = &mut self.parts.under_way {
            under_way.cancel();
        }
    }

    fn drop_caches(&mut self) -> std::result::Result<u64, DriverError> {
        self.uncache()
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        self.counters.take(into);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        self.transfer_bytes
    }

    /// Objects have no numbers here; what is open of the proc is closed.
    fn forget_objects(&mut self, proc: u32, _: ObjectId) {
        self.parts.handles.forget_proc(proc);
        if let Some(mut under_way) = self.parts.under_way.take() {
            under_way.unlist_closed(&mut self.parts.handles);
            self.parts.under_way = Some(under_way);
        }
    }
}
