//! The logical operations under way, by slot.

use super::Entry;
use filermark_engine::data::WriteMark;
use filermark_engine::driver::{Action, Outcome, Request, Status};
use filermark_model::Nanos;

/// The most operations under way in a shard.
const OPS_MAX: usize = 1 << 18;
/// No call was sent yet.
pub const NOT_SENT: Nanos = Nanos::MAX;

/// The part of an operation that all protocols have.
#[derive(Clone, Copy, Debug)]
pub struct OpBase {
    /// Its identifier in the engine.
    pub token: u32,
    /// Index into the shard's procs.
    pub proc: u32,
    /// The action.
    pub action: Action,
    /// The outcome until now.
    pub outcome: Outcome,
    /// Calls under way.
    pub outstanding: u32,
    /// Transfers: the next byte to request.
    pub next: u64,
    /// Transfers: the end.
    pub end: u64,
    /// Writes: its place in the history of writes.
    pub mark: WriteMark,
    /// Reads: the writes that had ended when it began.
    pub since: u64,
}

impl OpBase {
    /// Sets the status, unless an earlier failure has set it.
    #[inline]
    pub fn fail(&mut self, status: Status) {
        if self.outcome.status == Status::Ok {
            self.outcome.status = status;
        }
    }

    /// A call of it is sent just after `now`.
    #[inline]
    pub fn stamp_sent(&mut self, now: Nanos) {
        if self.outcome.sent == NOT_SENT {
            self.outcome.sent = now;
        }
    }

    /// All of its calls have ended; the last reply arrived at `now`.
    pub fn note_done(&mut self, now: Nanos) {
        self.stamp_sent(now);
        // Arrivals are measured with the wall clock, which may have been set meanwhile.
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

    /// Begins one; returns its slot.
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

    /// All slots, also of operations that have ended.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut()
    }

    /// Frees its slot.
    #[inline]
    pub fn end(&mut self, op: u32) {
        self.free.push(op);
    }
}
