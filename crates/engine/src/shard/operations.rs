//! Single operations of WARMUP and RUN: what is due is started, what has ended is counted.

use super::load::LoadState;
use super::{PhaseError, STOP_CHECK_INTERVAL, Shard, SlotWork, slots::Slot};
use crate::driver::{Completion, Outcome, Request, Status};
use crate::proc::{ChosenAction, Proc, WATCHED_PROC};
use crate::recorder::FinishedOp;
use filermark_model::{Nanos, Op};
use std::cmp::Reverse;

/// Starts per proc before the others have their turn.
const BURST: u32 = 64;
/// Starts between two readings of the clock.
const TURN: u32 = 256;

impl Shard {
    pub(super) fn start_due(&mut self, load: &mut LoadState, now: Nanos) {
        for _ in 0..TURN {
            let Some(Reverse((due, at))) = load.due.peek().copied() else {
                return;
            };
            if due > now || !self.deferred.is_empty() {
                return;
            }
            load.due.pop();
            self.procs[at as usize].queued = false;
            self.start_proc(load, at, now);
        }
    }

    /// Starts what a proc has due, as far as its limits allow.
    fn start_proc(&mut self, load: &mut LoadState, at: u32, now: Nanos) {
        for _ in 0..BURST {
            let proc = &mut self.procs[at as usize];
            let due = proc.schedule.next();
            if due > load.now
                || due >= load.times.run_end
                || proc.in_flight >= load.cap
                || !self.deferred.is_empty()
            {
                break;
            }
            // Operations that are done when submitted take their time here.
            if load.now.since(now) > STOP_CHECK_INTERVAL || load.now >= load.border() {
                break;
            }
            let was_free = proc.free_since <= due;
            let intended = match proc.schedule.is_unlimited() {
                true => load.now,
                false => due,
            };
            let op = match proc.slice.next_op(&mut proc.rng) {
                Some(op) => op,
                None => self.operations.draw(&mut proc.deck, &mut proc.rng),
            };
            proc.schedule.advance(&mut proc.rng);
            self.start_op(load, at, op, intended, was_free);
        }
        self.requeue(load, at);
    }

    fn requeue(&mut self, load: &mut LoadState, at: u32) {
        let proc = &mut self.procs[at as usize];
        if load.catch_up_end.is_some() && !proc.is_due_before(load.times.run_end) {
            return;
        }
        if !proc.queued && proc.in_flight < load.cap {
            proc.queued = true;
            load.due.push(Reverse((proc.schedule.next(), at)));
        }
    }

    fn start_op(&mut self, load: &mut LoadState, at: u32, op: Op, intended: Nanos, was_free: bool) {
        // A preparation that is done at once is followed by another try.
        for _ in 0..3 {
            let proc = &mut self.procs[at as usize];
            let (action, effect, work) = match proc.slice.choose(&mut proc.rng, op, load.now) {
                ChosenAction::Impossible => return self.not_started(load, at, op, intended),
                ChosenAction::Measured(action, effect) => (
                    action,
                    effect,
                    SlotWork::Measured {
                        op,
                        intended,
                        was_free,
                    },
                ),
                ChosenAction::Prepare(action, effect) => {
                    load.pace.preparation_count += 1;
                    (
                        action,
                        effect,
                        SlotWork::Preparing {
                            op,
                            intended,
                            was_free,
                        },
                    )
                }
            };
            if proc.number == WATCHED_PROC {
                tracing::trace!(target: "filermark_engine::ops", %op, intended_ns = intended.0, "begin");
                tracing::trace!(target: "filermark_engine::files", %op, ?action, "works on");
            }
            proc.in_flight += 1;
            if self.slots.len() == 0 {
                load.last_answer = load.now;
            }
            let slot = Slot {
                proc: at,
                work,
                effect,
            };
            let token = self.slots.put(slot);
            let request = Request {
                token,
                proc: at,
                action,
            };
            if let Some(open) = &self.open_op {
                open.begin(intended);
            }
            let submitted = self.submit(request);
            if let Some(open) = &self.open_op {
                open.end();
            }
            self.note_waited(at, submitted.as_ref());
            let Some(outcome) = submitted else {
                return;
            };
            self.slots.take(token);
            load.now = load.now.max(outcome.done);
            load.last_answer = load.now;
            // It may have ended in the next phase.
            if load.run_begins_by(load.now) {
                self.begin_run(load, load.now);
            }
            self.watch_failures(load, &outcome);
            if !self.complete(load, &slot, &outcome) {
                return;
            }
        }
    }

    /// What is due while the thread waits in a call of a blocking driver is late because of the
    /// file system.
    #[inline]
    fn note_waited(&mut self, at: u32, submitted: Option<&Outcome>) {
        let until = match submitted {
            Some(outcome) if outcome.done > outcome.sent => outcome.done,
            None if self.depth.is_some() => self.driver.waited_until(),
            _ => return,
        };
        let proc = &mut self.procs[at as usize];
        proc.free_since = proc.free_since.max(until);
    }

    /// Counts fatal failures in a row, of drivers that block and of shards with a depth.
    #[inline]
    fn watch_failures(&self, load: &mut LoadState, outcome: &Outcome) {
        if outcome.status == Status::Ok {
            load.fatal_failures.0 = 0;
            return;
        }
        if let Status::Refused(code) = outcome.status
            && self.explain.fatal_advice(code).is_some()
        {
            load.fatal_failures = (load.fatal_failures.0 + 1, outcome.status);
        }
    }

    /// Counts an operation that had nothing to work on as failed.
    #[cold]
    fn not_started(&mut self, load: &mut LoadState, at: u32, op: Op, intended: Nanos) {
        let outcome = Outcome {
            status: Status::NoObject,
            sent: load.now,
            done: load.now,
            physical: 0,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        };
        let in_window = !load.measuring || load.is_in_run(load.now);
        load.tally.record(&FinishedOp {
            op,
            intended,
            was_free: false,
            in_window,
            in_response: in_window,
            outcome,
        });
        self.procs[at as usize].stats.error_count += u64::from(in_window);
    }

    pub(super) fn take_completions(&mut self, load: &mut LoadState) -> Result<(), PhaseError> {
        let mut done = std::mem::take(&mut self.done);
        let mut result = Ok(());
        for Completion { token, outcome } in done.drain(..) {
            let Some(slot) = self.slots.take(token) else {
                continue;
            };
            // It may have ended in the next phase.
            if load.run_begins_by(outcome.done) {
                self.begin_run(load, outcome.done);
            }
            if self.depth.is_some() {
                self.watch_failures(load, &outcome);
            }
            if self.complete(load, &slot, &outcome)
                && let SlotWork::Preparing {
                    op,
                    intended,
                    was_free,
                } = slot.work
            {
                self.start_op(load, slot.proc, op, intended, was_free);
            }
            self.requeue(load, slot.proc);
            if !matches!(outcome.status, Status::TimedOut | Status::Disconnected) {
                load.last_answer = load.now;
            }
            if outcome.status != Status::Ok {
                tracing::debug!(target: "filermark_engine::errors", proc = slot.proc, work = ?slot.work, status = ?outcome.status, "failed");
            }
            if result.is_ok() {
                result = self.watch_losses(slot.proc as usize, outcome.status, "RUN");
            }
        }
        self.done = done;
        result
    }

    /// Records an outcome. Returns whether it was a preparation that worked, so that
    /// the operation itself comes next.
    #[inline]
    fn complete(&mut self, load: &mut LoadState, slot: &Slot, outcome: &Outcome) -> bool {
        let was_full = self.procs[slot.proc as usize].in_flight >= load.cap;
        self.settle(slot, outcome);
        let proc = &mut self.procs[slot.proc as usize];
        if was_full {
            proc.free_since = proc.free_since.max(outcome.done);
        }
        let (op, intended, was_free) = match slot.work {
            SlotWork::Measured {
                op,
                intended,
                was_free,
            } => (op, intended, was_free),
            SlotWork::Preparing {
                op,
                intended,
                was_free,
            } if outcome.status == Status::Ok => {
                // It is in no figure, but the server has answered.
                load.tally.record(&FinishedOp {
                    op,
                    intended,
                    was_free,
                    in_window: false,
                    in_response: false,
                    outcome: *outcome,
                });
                return true;
            }
            // An operation that cannot be prepared has failed. Another attempt would
            // be refused at once, again and again, without any pacing.
            SlotWork::Preparing {
                op,
                intended,
                was_free,
            } => (op, intended, was_free),
            SlotWork::Task { .. } | SlotWork::Stale => return false,
        };
        let intended = match proc.schedule.is_unlimited() {
            true => load.intended_unpaced(outcome.sent, outcome.done),
            false => intended,
        };
        let in_window = !load.measuring || load.is_in_run(outcome.done);
        let in_response = !load.measuring || load.is_in_run(intended);
        if proc.number == WATCHED_PROC {
            let (status, service_ns) = (outcome.status, outcome.done.since(outcome.sent).0);
            let late_ns = outcome.sent.since(intended).0;
            tracing::trace!(target: "filermark_engine::ops", %op, ?status, service_ns, "end");
            tracing::trace!(target: "filermark_engine::timing", %op, late_ns, was_free, "pace");
        }
        proc.ended_count += 1;
        if let Some(counts) = &self.live_counts {
            let place = self.live_places.get(slot.proc as usize);
            counts.set(place.copied().unwrap_or(usize::MAX), proc.ended_count);
        }
        load.tally.record(&FinishedOp {
            op,
            intended,
            was_free,
            in_window,
            in_response,
            outcome: *outcome,
        });
        if in_window {
            count_op(proc, op, outcome);
            if outcome.status == Status::Ok {
                let service = outcome.done.since(outcome.sent).0;
                proc.stats.success_count += 1;
                proc.stats.service_sum_ns += service;
                proc.stats.service_max_ns = proc.stats.service_max_ns.max(service);
            } else {
                proc.stats.error_count += 1;
            }
        }
        false
    }
}

/// Counts an operation for its proc only.
#[inline]
fn count_op(proc: &mut Proc, op: Op, outcome: &Outcome) {
    let Some(counts) = proc.ops.iter_mut().find(|o| o.op == op) else {
        return;
    };
    if outcome.status != Status::Ok {
        counts.error_count += 1;
        return;
    }
    counts.success_count += 1;
    counts.read_bytes += outcome.read_bytes;
    counts.written_bytes += outcome.written_bytes;
    counts.service_sum_ns += outcome.done.since(outcome.sent).0;
}
