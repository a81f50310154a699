//! WARMUP and RUN: the proc loop.

use super::closing::DRAIN;
use super::tally::Tally;
use super::{PhaseError, STOP_CHECK_INTERVAL, Shard, SlotWork};
use crate::driver::Status;
use crate::proc::{Proc, WATCHED_PROC};
use crate::recorder::PaceCounts;
use crate::run_times::{RunTimes, Timetable};
use crate::schedule::Schedule;
use crate::shared_recorder::SharedRecorder;
use filermark_model::plan::PacingMode;
use filermark_model::stats::ProcOps;
use filermark_model::{Nanos, PointStats};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// How often progress is compared with the schedule (manual M, table 3, flag 6).
const CHECKPOINT: Nanos = Nanos::from_secs(10);
/// A server that has not answered anything for so long is gone, however often
/// drivers would still retry (RPC_RETRIES): long enough for a usual fail-over,
/// short enough not to measure silence.
pub const SILENCE_MAX: Nanos = Nanos::from_secs(120);
/// [`STOP_CHECK_INTERVAL`] of a shard whose only proc blocks: there may be thousands.
const STOP_CHECK_INTERVAL_BLOCKING: Nanos = Nanos::from_secs(1);
/// This many fatal failures in a row (the disk is full, the mount is gone) end RUN.
const FATAL_FAILURES_MAX: u32 = 1_000;
/// How often a shard with a depth publishes what it has under way: often enough for figures of
/// each second, rarely enough to cost nothing.
const PUBLISH_INTERVAL: Nanos = Nanos::from_millis(100);
/// Sleeps are not shorter than this when a shard starts more than
/// [`DENSE_RATE`] operations a second: fewer wake-ups, more in one write.
/// Waking up takes about 20 microseconds anyway; a minimum of 50 doubled the
/// median lateness at 50,000 op/s and had no benefit at high load: a busy shard
/// does not sleep at all.
const SLEEP_MIN: Nanos = Nanos::from_micros(10);
const DENSE_RATE: f64 = 20_000.0;
/// Sleeps end this much before the instant at which something is due. Less than
/// the smallest lateness of a wake-up that was measured (17 us, docs/src/reference/speed.md).
const WAKE_LEAD: Nanos = Nanos::from_micros(12);
/// The state of the loop besides the shard.
pub(super) struct LoadState {
    pub(super) timetable: Timetable,
    /// The instants when last read: in each turn of WARMUP, and of a RUN that
    /// may be ended.
    pub(super) times: RunTimes,
    pub(super) tally: Tally,
    pub(super) pace: PaceCounts,
    pub(super) due: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Most operations of one proc under way.
    pub(super) cap: u32,
    pub(super) measuring: bool,
    /// RUN is over: until this instant work that was due in it is still started.
    pub(super) catch_up_end: Option<Nanos>,
    pub(super) next_roll: Nanos,
    pub(super) next_check: Nanos,
    /// When what is under way is published next, by a shard with a depth.
    pub(super) next_publish: Nanos,
    /// When the progress of the watched proc was last reported, and how many operations it had ended.
    pub(super) reported: (Nanos, u64),
    /// Fatal failures in a row, and the last of them.
    pub(super) fatal_failures: (u32, Status),
    pub(super) sleep_min: Nanos,
    pub(super) cpu_start_ns: u64,
    /// When the loop last read the clock.
    pub(super) now: Nanos,
    /// When the server last answered, or nothing was under way.
    pub(super) last_answer: Nanos,
}

impl LoadState {
    /// When the phase under way ends.
    pub(super) fn border(&self) -> Nanos {
        match (self.measuring, self.catch_up_end) {
            (true, Some(end)) => end,
            (true, None) => self.times.run_end,
            (false, _) => self.times.run_start,
        }
    }

    /// Whether RUN has begun by this instant, and it was not noticed yet.
    #[inline]
    pub(super) fn run_begins_by(&mut self, at: Nanos) -> bool {
        if self.measuring {
            self.check_for_end();
            return false;
        }
        self.times = self.timetable.times();
        at >= self.times.run_start
    }

    /// Checks whether the end of RUN was set.
    #[inline]
    fn check_for_end(&mut self) {
        if self.timetable.has_open_end() {
            self.times = self.timetable.times();
        }
    }

    /// Whether an instant lies in RUN.
    #[inline]
    pub(super) fn is_in_run(&self, at: Nanos) -> bool {
        self.times.run_start <= at && at < self.times.run_end
    }

    /// When an operation without a schedule was intended: when it was sent. One that
    /// fills all of RUN is its first.
    #[inline]
    pub(super) fn intended_unpaced(&self, sent: Nanos, done: Nanos) -> Nanos {
        let fills_run = sent < self.times.run_start && done >= self.times.run_end;
        match fills_run {
            true => self.times.run_start,
            false => sent,
        }
    }
}

/// What remains when RUN closes.
struct RunClose {
    generator_cpu_ns: u64,
    /// Open pacing: operations waiting or in flight.
    backlog: u64,
}

impl Shard {
    /// Makes `rate_per_proc` op/s of load per proc from `warmup_start` on and
    /// measures it between `run_start` and `run_end`. RUN may begin early
    /// ([`Timetable::end_warmup`]).
    ///
    /// # Errors
    /// The server is gone, or a stop was requested.
    pub fn run(
        &mut self,
        rate_per_proc: impl Into<Option<f64>>,
        times: impl Into<Timetable>,
    ) -> Result<PointStats, PhaseError> {
        self.run_counted(rate_per_proc.into(), times.into(), None)
    }

    /// As [`Shard::run`]; a rate of `None` is as fast as possible. Counts into `group`, where
    /// there is one; then the last of its procs gives the group's figures.
    ///
    /// # Errors
    /// As [`Shard::run`].
    pub fn run_counted(
        &mut self,
        rate_per_proc: Option<f64>,
        timetable: Timetable,
        group: Option<Arc<SharedRecorder>>,
    ) -> Result<PointStats, PhaseError> {
        let accessed_base_bytes = self.accessed_bytes();
        let times = timetable.latest();
        let mut load = self.prepare_load(rate_per_proc, timetable, group);
        self.clock.sleep_until(times.warmup_start);
        load.cpu_start_ns = thread_cpu_ns();
        load.tally.begin(self.clock.now(), times.run_start);
        load.next_roll = load.tally.roll(self.clock.now());
        let ended = self.run_loop(&mut load);
        if self.depth.is_some()
            && let Some(open) = &self.open_op
        {
            open.publish(0, Nanos::ZERO);
        }
        let now = self.clock.now();
        load.tally.roll(now.min(load.times.run_end));
        let close = RunClose {
            generator_cpu_ns: thread_cpu_ns().saturating_sub(load.cpu_start_ns),
            backlog: self.backlog(now),
        };
        match ended {
            Ok(()) => self.close_run(&mut load)?,
            Err(error) => {
                self.drain(now + DRAIN);
                return Err(error);
            }
        }
        let mut stats = self.point_stats(load, &close, accessed_base_bytes);
        let wanted = rate_per_proc.unwrap_or(0.0) * stats.window_ns as f64 / 1e9;
        let wanted = wanted.round() as u64;
        for proc in &mut stats.procs {
            proc.wanted_count = wanted;
        }
        Ok(stats)
    }

    /// Puts together what RUN has measured.
    fn point_stats(
        &self,
        load: LoadState,
        close: &RunClose,
        accessed_base_bytes: u64,
    ) -> PointStats {
        let explain = self.explain.clone();
        let window = load.times.run_end.since(load.times.run_start);
        let text = |status| super::status_text(&*explain, status);
        let mut stats = load.tally.finish(self.clock.now(), text);
        stats.preparation_count = load.pace.preparation_count;
        stats.dropped_count = load.pace.dropped_count;
        stats.rescheduled_count = load.pace.rescheduled_count;
        stats.backlog_max = load.pace.backlog_max;
        stats.window_ns = window.0;
        stats.generator_cpu_ns = close.generator_cpu_ns;
        stats.backlog_end = close.backlog;
        stats.shard_count = 1;
        stats.transfer_bytes = self.driver.transfer_bytes();
        stats.accessed_base_bytes = accessed_base_bytes;
        stats.accessed_end_bytes = self.accessed_bytes();
        let created: u64 = self.procs.iter().map(|p| p.slice.bytes().created).sum();
        stats.fileset_bytes = created + stats.accessed_end_bytes - accessed_base_bytes;
        stats.procs = self.procs.iter().map(|p| p.stats).collect();
        stats.proc_ops = self.procs.iter().filter_map(proc_ops).collect();
        stats
    }

    fn accessed_bytes(&self) -> u64 {
        self.procs.iter().map(|p| p.slice.bytes().accessed).sum()
    }

    fn prepare_load(
        &mut self,
        rate_per_proc: Option<f64>,
        timetable: Timetable,
        group: Option<Arc<SharedRecorder>>,
    ) -> LoadState {
        let times = timetable.latest();
        let mut due = BinaryHeap::with_capacity(self.procs.len() + 1);
        for (at, proc) in self.procs.iter_mut().enumerate() {
            proc.schedule = match rate_per_proc {
                Some(rate) => {
                    let start = times.warmup_start;
                    Schedule::new(self.pacing.arrivals, rate, start, &mut proc.rng)
                }
                None => Schedule::unlimited(),
            };
            proc.free_since = Nanos::ZERO;
            proc.queued = true;
            due.push(Reverse((proc.schedule.next(), at as u32)));
        }
        let seconds = times.run_end.since(times.warmup_start).0 / 1_000_000_000;
        let rate = rate_per_proc.unwrap_or(0.0) * self.procs.len() as f64;
        tracing::debug!(target: "filermark_engine::setup", procs = self.procs.len(), rate, mode = ?self.pacing.mode, "load");
        LoadState {
            timetable,
            times,
            tally: match group {
                Some(group) => Tally::shared(group),
                None => Tally::own(self.operations.mix(), seconds as usize, self.live.clone()),
            },
            pace: PaceCounts::default(),
            due,
            cap: match (self.depth, self.pacing.mode) {
                (Some(depth), _) => depth.max(1),
                (None, PacingMode::Closed) => 1,
                (None, PacingMode::Open) => self.pacing.backlog_max_per_proc.max(1),
            },
            measuring: false,
            catch_up_end: None,
            next_roll: Nanos::ZERO,
            next_check: times.warmup_start + CHECKPOINT,
            next_publish: Nanos::ZERO,
            reported: (
                times.warmup_start,
                self.watched().map_or(0, |p| p.ended_count),
            ),
            fatal_failures: (0, Status::Ok),
            sleep_min: if rate > DENSE_RATE {
                SLEEP_MIN
            } else {
                Nanos::ZERO
            },
            cpu_start_ns: 0,
            now: times.warmup_start,
            last_answer: times.warmup_start,
        }
    }

    fn run_loop(&mut self, load: &mut LoadState) -> Result<(), PhaseError> {
        loop {
            let now = self.clock.now();
            load.now = now;
            let begins = load.run_begins_by(now);
            if now >= load.times.run_end {
                return Ok(());
            }
            if self.stop.is_raised() {
                tracing::debug!(target: "filermark_engine::signal", "a stop was requested");
                return Err(PhaseError::Stopped);
            }
            if begins {
                self.begin_run(load, now);
            }
            if now >= load.next_roll {
                load.tally.note_open(self.under_way(now));
                load.next_roll = load.tally.roll(now);
                let backlog = self.backlog(now);
                load.pace.backlog_max = load.pace.backlog_max.max(backlog);
            }
            if self.depth.is_some() && now >= load.next_publish {
                load.next_publish = now + PUBLISH_INTERVAL;
                self.publish_under_way(now);
            }
            if now >= load.next_check {
                load.next_check = now + CHECKPOINT;
                self.checkpoint(load, now);
            }
            self.submit_deferred();
            self.start_due(load, now);
            if load.fatal_failures.0 >= FATAL_FAILURES_MAX {
                return Err(PhaseError::Driver(self.task_error(
                    0,
                    load.fatal_failures.1,
                    "RUN",
                )));
            }
            self.driver.flush();
            let wait = self.wait_until(load, now);
            self.driver.poll(wait, &mut self.done)?;
            load.check_for_end();
            self.take_completions(load)?;
            if self.slots.len() > 0 && now.since(load.last_answer) > SILENCE_MAX {
                return Err(self.server_gone(0, "RUN"));
            }
        }
    }

    /// The next instant at which the loop has work of its own.
    fn wait_until(&self, load: &LoadState, now: Nanos) -> Nanos {
        if !self.done.is_empty() {
            return now;
        }
        // Where the driver has no capacity nothing is started, however long it is due.
        let next = load.due.peek().filter(|_| self.deferred.is_empty());
        let due = next.map_or(Nanos::MAX, |Reverse((due, _))| *due);
        if due <= now {
            return now;
        }
        let border = load.border();
        // The kernel wakes the thread late and never early: aim before the instant,
        // but not so close that waking in time would mean to spin.
        let aim = match due.since(now) > Nanos(2 * WAKE_LEAD.0) {
            true => due.since(WAKE_LEAD),
            false => due,
        };
        aim.max(now + load.sleep_min)
            .min(load.next_roll)
            .min(border)
            .min(
                now + if self.blocking {
                    STOP_CHECK_INTERVAL_BLOCKING
                } else {
                    STOP_CHECK_INTERVAL
                },
            )
    }

    pub(super) fn begin_run(&mut self, load: &mut LoadState, now: Nanos) {
        load.measuring = true;
        load.tally.roll(now);
        load.tally.begin_run(load.times.run_start);
        load.pace = PaceCounts::default();
        load.cpu_start_ns = thread_cpu_ns();
        load.next_check = now + CHECKPOINT;
        load.reported = (now, self.watched().map_or(0, |p| p.ended_count));
        for proc in &mut self.procs {
            proc.begin_run();
            if let Some(tree) = proc.slice.tree_mut() {
                tree.begin_run();
            }
        }
        self.driver.take_counters(&mut Default::default());
        // What WARMUP missed is not due in RUN; what is in flight continues.
        load.due.clear();
        for (at, proc) in self.procs.iter_mut().enumerate() {
            proc.schedule.rebase(load.times.run_start, &mut proc.rng);
            proc.queued = proc.in_flight < load.cap;
            if proc.queued {
                load.due.push(Reverse((proc.schedule.next(), at as u32)));
            }
        }
    }

    /// Every 10 s: closed pacing gives up what cannot be caught up, open pacing
    /// drops what is beyond the bounded backlog.
    fn checkpoint(&mut self, load: &mut LoadState, now: Nanos) {
        self.log_progress(load, now);
        let horizon = CHECKPOINT;
        for at in 0..self.procs.len() {
            let proc = &mut self.procs[at];
            match self.pacing.mode {
                PacingMode::Closed => {
                    if now.since(proc.schedule.next()) > horizon {
                        self.give_up_due(load, at, now, now, u64::MAX);
                        let proc = &mut self.procs[at];
                        proc.schedule.rebase(now, &mut proc.rng);
                        load.pace.rescheduled_count += 1;
                    }
                }
                PacingMode::Open => {
                    let waiting = proc.schedule.waiting_at(now);
                    let most = self.pacing.backlog_max_per_proc.max(1);
                    let count = waiting.saturating_sub(u64::from(most));
                    if count > 0 {
                        load.pace.dropped_count += self.give_up_due(load, at, now, now, count);
                    }
                }
            }
        }
    }

    /// The proc whose single steps the DEBUG flags show, where it is one of this shard's.
    fn watched(&self) -> Option<&Proc> {
        self.procs.iter().find(|proc| proc.number == WATCHED_PROC)
    }

    /// DEBUG flag 6 (manual M, table 3): what the watched proc has done since the last
    /// checkpoint, what it was to do, and how far it is behind its schedule.
    fn log_progress(&self, load: &mut LoadState, now: Nanos) {
        let Some(proc) = self.watched() else { return };
        let (since, before) = std::mem::replace(&mut load.reported, (now, proc.ended_count));
        let done = proc.ended_count.saturating_sub(before);
        let seconds = now.since(since).as_secs_f64().max(1e-9);
        let wanted = match proc.schedule.is_unlimited() {
            true => "any".to_owned(),
            false => format!("{:.1}", 1e9 / proc.schedule.gap().0.max(1) as f64),
        };
        tracing::debug!(target: "filermark_engine::checkpoint",
            proc = proc.number,
            wanted_ops_per_sec = %wanted,
            achieved_ops_per_sec = %format_args!("{:.1}", done as f64 / seconds),
            done,
            owed = proc.schedule.waiting_at(now),
            lag_ms = %format_args!("{:.1}", proc.schedule.lag_at(now).as_secs_f64() * 1e3),
            in_flight = proc.in_flight,
            rescheduled = load.pace.rescheduled_count,
            dropped = load.pace.dropped_count,
            "checkpoint");
    }

    /// Operations under way, and how long ago the oldest was intended. Once a second.
    pub(super) fn under_way(&self, now: Nanos) -> (u64, Nanos) {
        let ages = self.slots.iter().filter_map(|slot| match slot.work {
            SlotWork::Measured { intended, .. } | SlotWork::Preparing { intended, .. } => {
                Some(now.since(intended))
            }
            SlotWork::Task { .. } | SlotWork::Stale => None,
        });
        ages.fold((0, Nanos::ZERO), |(count, oldest), age| {
            (count + 1, oldest.max(age))
        })
    }

    /// Publishes what is under way for the thread that counts it at the end of each second.
    fn publish_under_way(&self, now: Nanos) {
        if let Some(open) = &self.open_op {
            let (count, oldest) = self.under_way(now);
            open.publish(count, now.since(oldest));
        }
    }

    /// Open pacing: operations that should have started by now and are not done.
    fn backlog(&self, now: Nanos) -> u64 {
        if self.pacing.mode == PacingMode::Closed {
            return 0;
        }
        let of_proc = |p: &crate::proc::Proc| p.schedule.waiting_at(now) + u64::from(p.in_flight);
        self.procs.iter().map(of_proc).sum()
    }
}

/// The figures of a proc with a tree, per operation.
fn proc_ops(proc: &Proc) -> Option<ProcOps> {
    let tree = proc.slice.tree()?;
    let (dir_count, file_count) = tree.counts();
    Some(ProcOps {
        proc: proc.number,
        data_bytes: tree.data_bytes(),
        dir_count,
        file_count,
        ops: proc.ops.clone(),
        accesses: tree.accesses(),
    })
}

/// Processor time of this thread so far, in nanoseconds.
fn thread_cpu_ns() -> u64 {
    crate::sys::thread_cpu().0
}
