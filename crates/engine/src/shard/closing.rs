//! The end of RUN: overdue work is started, replies are waited for,
//! and what is still open then is counted with the time that it had waited.

use super::load::{LoadState, SILENCE_MAX};
use super::{PhaseError, STOP_CHECK_INTERVAL, Shard, SlotWork, slots::Slot};
use crate::recorder::UnfinishedOp;
use filermark_model::plan::PacingMode;
use filermark_model::{Nanos, Op};

/// How long replies are waited for when RUN is over.
pub const DRAIN: Nanos = Nanos::from_secs(15);
/// How long the server may take after RUN to make unstable writes stable. With
/// [`DRAIN`] it is less than the minute that the prime waits for the figures of RUN.
pub const STABLE_MAX: Nanos = Nanos::from_secs(40);
/// Work that was due in RUN is still started for this part of RUN after its end, and
/// not longer than replies are waited for: enough for the starts that the last
/// operations of RUN delayed, and a run takes at most a tenth longer.
const CATCH_UP_DIVISOR: u64 = 10;

impl Shard {
    /// Waits for the end of the operations that were intended in RUN, as far as they
    /// end within the drain.
    ///
    /// # Errors
    /// The server is gone, or a stop was requested.
    pub(super) fn close_run(&mut self, load: &mut LoadState) -> Result<(), PhaseError> {
        let begin = self.clock.now();
        let window = load.times.run_end.since(load.times.run_start);
        let drain_end = begin + DRAIN;
        let catch_up_end = begin + Nanos(window.0 / CATCH_UP_DIVISOR).min(DRAIN);
        load.catch_up_end = Some(catch_up_end);
        let run_end = load.times.run_end;
        let procs = &self.procs;
        load.due
            .retain(|due| procs[due.0.1 as usize].is_due_before(run_end));
        let closed = self.catch_up(load, catch_up_end, drain_end);
        if closed.is_ok() {
            self.count_unseen(load, catch_up_end);
        }
        let left_over = self.drain(self.clock.now());
        if closed.is_ok() {
            // A server that leaves operations open is not waited for again.
            let limit = match left_over {
                0 => STABLE_MAX,
                _ => DRAIN,
            };
            // What is not confirmed is counted, also where the driver cannot wait. As in
            // `catch_up`, the next phase determines whether the server is gone.
            let _ = self.driver.make_stable(self.clock.now() + limit);
        }
        closed
    }

    /// Starts what was due in RUN, until `catch_up_end`, and waits for replies, until
    /// `drain_end`.
    fn catch_up(
        &mut self,
        load: &mut LoadState,
        catch_up_end: Nanos,
        drain_end: Nanos,
    ) -> Result<(), PhaseError> {
        loop {
            let now = self.clock.now();
            load.now = now;
            let is_due = now < catch_up_end && !load.due.is_empty();
            if now >= drain_end || (self.slots.len() == 0 && !is_due) {
                return Ok(());
            }
            if self.stop.is_raised() {
                return Err(PhaseError::Stopped);
            }
            self.submit_deferred();
            if is_due {
                self.start_due(load, now);
            }
            self.driver.flush();
            let starts = is_due && !load.due.is_empty() && self.deferred.is_empty();
            let wait = match starts || !self.done.is_empty() {
                true => now,
                false => drain_end.min(now + STOP_CHECK_INTERVAL),
            };
            if self.driver.poll(wait, &mut self.done).is_err() {
                return Ok(());
            }
            // Losses are counted. The next phase determines whether the server is
            // gone: RUN was measured to its end.
            let _ = self.take_completions(load);
            if self.slots.len() > 0 && now.since(load.last_answer) > SILENCE_MAX {
                return Err(self.server_gone(0, "RUN"));
            }
        }
    }

    /// Counts what was intended in RUN and not seen to end.
    fn count_unseen(&mut self, load: &mut LoadState, catch_up_end: Nanos) {
        let now = self.clock.now();
        load.now = now;
        let procs = &self.procs;
        let run = &*load;
        let open = |slot: &Slot| -> Option<(Op, Nanos)> {
            let (SlotWork::Measured { op, intended, .. }
            | SlotWork::Preparing { op, intended, .. }) = slot.work
            else {
                return None;
            };
            let is_unpaced = procs[slot.proc as usize].schedule.is_unlimited();
            let intended = match is_unpaced {
                true => run.intended_unpaced(intended, now),
                false => intended,
            };
            run.is_in_run(intended).then(|| (op, now.since(intended)))
        };
        let open: Vec<(Op, Nanos)> = self.slots.iter().filter_map(open).collect();
        load.tally
            .record_unseen(UnfinishedOp::Open, open.into_iter());
        let (count, oldest) = self.under_way(now);
        if count > 0 {
            load.tally.note_open_since(now.since(oldest));
        }
        for at in 0..self.procs.len() {
            let proc = &self.procs[at];
            // It could not start while its proc was busy; and not after the
            // time for catching up.
            let given_up = match proc.in_flight >= load.cap {
                true => now,
                false => proc.free_since.max(catch_up_end).min(now),
            };
            self.give_up_due(load, at, load.times.run_end, given_up, u64::MAX);
        }
    }

    /// Gives up at most `count` starts of a proc that were due before `end`, at the
    /// instant `given_up`; in RUN they are counted with the time that they had waited.
    /// An operation that was not started has no kind: it gets one by the shares of the
    /// mix. Gives their number.
    pub(super) fn give_up_due(
        &mut self,
        load: &mut LoadState,
        at: usize,
        end: Nanos,
        given_up: Nanos,
        count: u64,
    ) -> u64 {
        let proc = &mut self.procs[at];
        if !proc.is_due_before(end) {
            return 0;
        }
        let why = match self.pacing.mode {
            PacingMode::Closed => UnfinishedOp::Missed,
            PacingMode::Open => UnfinishedOp::Open,
        };
        let operations = &self.operations;
        let mut left = count;
        let waited = std::iter::from_fn(|| {
            let due = proc.schedule.next();
            if left == 0 || due >= end {
                return None;
            }
            left -= 1;
            proc.schedule.advance(&mut proc.rng);
            let op = operations.draw(&mut None, &mut proc.rng);
            Some((op, given_up.since(due)))
        });
        match load.measuring {
            true => load.tally.record_unseen(why, waited),
            false => waited.for_each(drop),
        }
        count - left
    }
}
