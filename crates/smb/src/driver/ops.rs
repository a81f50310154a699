//! The logical operations under way, by slot.

use super::calls::FileId;
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{Action, Outcome, Request, Status};
use filermark_model::Nanos;

/// Most of them in a shard.
const OPS_MAX: usize = 1 << 18;
/// Nothing of it has been handed to the system.
const NOT_SENT: Nanos = Nanos::MAX;

/// Where an operation is that takes several calls one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its only calls, or the first of them.
    First,
    /// Data goes to or comes from an open file.
    Data,
    /// Its own file: the size is set.
    Size,
    /// Its own file: what was written is made stable.
    Flush,
    /// Its own file is closed.
    Close,
}

/// A logical operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogicalOp {
    pub(crate) token: u32,
    pub(crate) proc: u32,
    pub(crate) action: Action,
    pub(crate) step: Step,
    pub(crate) outcome: Outcome,
    /// Calls under way.
    pub(crate) outstanding: u32,
    /// Transfers: the next byte to ask for, and the end.
    pub(crate) next: u64,
    pub(crate) end: u64,
    /// The file that it works on: the proc's, or its own.
    pub(crate) file: FileId,
    /// Of which connection the file is (see `Core::epochs`).
    pub(crate) epoch: u32,
    /// It has a file of its own open, to be closed whatever happens.
    pub(crate) owns_file: bool,
    /// Writing: its place in the history of writes.
    pub(crate) mark: WriteMark,
    /// Reading: the writes that were over when it began.
    pub(crate) since: u64,
}

impl LogicalOp {
    /// The first thing that goes wrong is how the operation ends.
    pub(crate) fn fail(&mut self, status: Status) {
        if self.outcome.status == Status::Ok {
            self.outcome.status = status;
        }
    }

    /// A call of it is handed to the system just after `now`.
    #[inline]
    pub(crate) fn stamp_sent(&mut self, now: Nanos) {
        if self.outcome.sent == NOT_SENT {
            self.outcome.sent = now;
        }
    }
}

/// The operations of a shard.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    slots: Vec<LogicalOp>,
    free: Vec<u32>,
}

impl Ops {
    /// Whether another one can begin.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < OPS_MAX
    }

    pub(crate) fn begin(&mut self, request: &Request) -> u32 {
        let op = LogicalOp {
            token: request.token,
            proc: request.proc,
            action: request.action,
            step: Step::First,
            outcome: Outcome {
                status: Status::Ok,
                sent: NOT_SENT,
                done: Nanos::ZERO,
                physical: 0,
                read_bytes: 0,
                written_bytes: 0,
                end: false,
            },
            outstanding: 0,
            next: 0,
            end: 0,
            file: FileId::NONE,
            epoch: 0,
            owns_file: false,
            mark: WriteMark::default(),
            since: 0,
        };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = op;
                slot
            }
            None => {
                self.slots.push(op);
                self.slots.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, op: u32) -> &LogicalOp {
        &self.slots[op as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, op: u32) -> &mut LogicalOp {
        &mut self.slots[op as usize]
    }

    /// Ends it; gives what it came to.
    pub(crate) fn end(&mut self, op: u32, now: Nanos) -> (u32, Outcome) {
        let ended = &mut self.slots[op as usize];
        if ended.outcome.sent == NOT_SENT {
            ended.outcome.sent = now;
        }
        // Arrivals are noted on another clock, which somebody may have set.
        ended.outcome.done = now.max(ended.outcome.sent);
        self.free.push(op);
        (ended.token, ended.outcome)
    }
}
