//! The logical operations under way, by slot.

use super::Entry;
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{Action, Outcome, Request, Status};
use filermark_model::Nanos;

/// Most operations under way in a shard.
const OPS_MAX: usize = 1 << 18;
/// Stands for "nothing sent yet".
pub const NOT_SENT: Nanos = Nanos::MAX;

/// What every protocol keeps of an operation.
#[derive(Clone, Copy, Debug)]
pub struct OpBase {
    /// The engine's name for it.
    pub token: u32,
    /// Index into the shard's procs.
    pub proc: u32,
    /// What is asked for.
    pub action: Action,
    /// What has come of it so far.
    pub outcome: Outcome,
    /// Calls under way.
    pub outstanding: u32,
    /// Transfers: the next byte to ask for.
    pub next: u64,
    /// Transfers: the end.
    pub end: u64,
    /// Writing: its place in the history of writes.
    pub mark: WriteMark,
    /// Reading: the writes that were over when it began.
    pub since: u64,
}

impl OpBase {
    /// The first thing that goes wrong is how the operation ends.
    #[inline]
    pub fn fail(&mut self, status: Status) {
        if self.outcome.status == Status::Ok {
            self.outcome.status = status;
        }
    }

    /// A call of it is handed to the system just after `now`.
    #[inline]
    pub fn stamp_sent(&mut self, now: Nanos) {
        if self.outcome.sent == NOT_SENT {
            self.outcome.sent = now;
        }
    }

    /// It has no call under way any more, and the last reply came by `now`.
    pub fn note_done(&mut self, now: Nanos) {
        self.stamp_sent(now);
        // Arrivals are noted on the clock of the day, which may have been set meanwhile.
        self.outcome.done = now.max(self.outcome.sent);
    }
}

impl From<&Request> for OpBase {
    fn from(request: &Request) -> Self {
        Self {
            token: request.token,
            proc: request.proc,
            action: request.action,
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
            mark: WriteMark::default(),
            since: 0,
        }
    }
}

/// The operations of a shard.
#[derive(Debug)]
pub struct Ops<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Ops<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Entry<OpBase>> Ops<T> {
    /// Whether another one can begin.
    #[inline]
    pub fn has_free_slot(&self) -> bool {
        !self.free.is_empty() || self.slots.len() < OPS_MAX
    }

    /// Begins one: its slot.
    pub fn begin(&mut self, request: &Request) -> u32 {
        let op = T::from(OpBase::from(request));
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

    /// The operation in this slot.
    #[inline]
    pub fn get(&self, op: u32) -> &T {
        &self.slots[op as usize]
    }

    /// The operation in this slot.
    #[inline]
    pub fn get_mut(&mut self, op: u32) -> &mut T {
        &mut self.slots[op as usize]
    }

    /// All slots, also of operations that are over.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut()
    }

    /// Its slot is free.
    #[inline]
    pub fn end(&mut self, op: u32) {
        self.free.push(op);
    }
}
