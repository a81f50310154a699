//! INIT and CLEANUP: a window of population tasks kept under way.

use super::{PhaseError, STOP_CHECK_INTERVAL, Shard, SlotWork, slots::Slot};
use crate::action_text::describe;
use crate::driver::{Action, Completion, DriverError, Outcome, Request, Status};
use crate::population::{Next, Population, Task};
use crate::proc::WATCHED_PROC;
use crate::recorder::LiveEvents;
use crate::slice::Slice;
use filermark_model::Nanos;

/// How long outstanding replies are waited for when a phase is aborted.
const BREAK_OFF: Nanos = Nanos::from_secs(5);

/// How long they are waited for when a stop was requested.
const STOPPED_DRAIN: Nanos = Nanos::from_secs(1);

/// What INIT or CLEANUP did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskReport {
    /// Tasks done.
    pub task_count: u64,
    /// Tasks that failed (CLEANUP continues after them).
    pub failed_count: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Files that were removed from this host's cache.
    pub uncached_count: u64,
}

impl Shard {
    /// Removes the files of its procs from this host's cache.
    ///
    /// # Errors
    /// The error of the driver.
    pub fn drop_caches(&mut self) -> Result<TaskReport, PhaseError> {
        Ok(TaskReport {
            uncached_count: self.driver.drop_caches()?,
            ..TaskReport::default()
        })
    }

    /// INIT: assigns `total_files` files and makes what is missing of this shard's
    /// part of the file set.
    ///
    /// # Errors
    /// The first task that failed; INIT_TIMEOUT; a request to stop.
    pub fn init(
        &mut self,
        total_files: u64,
        window: usize,
        limit: Nanos,
    ) -> Result<TaskReport, PhaseError> {
        let mut choice = None;
        for proc in &mut self.procs {
            let Slice::Classic(set, slice) = &mut proc.slice else {
                continue;
            };
            let choice = choice.get_or_insert_with(|| set.files.choice(total_files));
            let count = slice.deal.count(total_files);
            slice.files.fit(&set.files, choice, slice.deal, count);
            if slice.deal.proc == WATCHED_PROC {
                tracing::debug!(target: "filermark_engine::setup", proc = slice.deal.proc,
                    files = count, accessed = slice.files.active_len(),
                    accessed_bytes = slice.files.bytes(), "file set");
            }
        }
        let mut population = Population::fill(&self.procs);
        let deadline = self.clock.now() + limit;
        let report = self.pump(&mut population, window, deadline, "INIT", false);
        // Also after a failure: everything that was begun must be cleaned up.
        for proc in &mut self.procs {
            if let Some(slice) = proc.slice.classic_mut() {
                slice.populated = true;
                if report.is_ok() {
                    slice.files_known = slice.files.len();
                }
            }
        }
        match report {
            Err(PhaseError::InitTimeout(_)) => {
                Err(PhaseError::InitTimeout(limit.0 / 1_000_000_000))
            }
            other => other,
        }
    }

    /// CLEANUP: removes everything that this shard's procs have made. Continues
    /// after refusals, since what remains is removed by a later clean-up.
    ///
    /// # Errors
    /// The server is gone, or the time is up.
    pub fn cleanup(&mut self, window: usize, limit: Nanos) -> Result<TaskReport, PhaseError> {
        self.break_off();
        let mut population = Population::empty(&self.procs);
        let deadline = self.clock.now() + limit;
        let report = self.pump(&mut population, window, deadline, "CLEANUP", true);
        if report == Err(PhaseError::Stopped) {
            // What was not removed must stay recorded: it is tried again.
            return report;
        }
        for (at, proc) in self.procs.iter_mut().enumerate() {
            proc.slice.forget();
            self.driver
                .forget_objects(at as u32, crate::driver::ObjectId(0));
        }
        report
    }

    fn pump(
        &mut self,
        population: &mut Population,
        window: usize,
        deadline: Nanos,
        phase: &str,
        go_on: bool,
    ) -> Result<TaskReport, PhaseError> {
        let result = self.pump_tasks(population, window, deadline, phase, go_on);
        if result.is_err() {
            self.break_off();
        }
        result
    }

    /// Waits a short time for what is under way, and ends the rest: otherwise CLEANUP would wait for
    /// files that are still being filled.
    fn break_off(&mut self) {
        if self.drain(self.clock.now() + BREAK_OFF) > 0 {
            self.driver.break_off();
        }
    }

    fn pump_tasks(
        &mut self,
        population: &mut Population,
        window: usize,
        deadline: Nanos,
        phase: &str,
        go_on: bool,
    ) -> Result<TaskReport, PhaseError> {
        let window = window.max(1);
        let mut report = TaskReport::default();
        let mut reported = TaskReport::default();
        let mut report_at = self.clock.now() + STOP_CHECK_INTERVAL;
        let mut more = true;
        let mut barrier = false;
        loop {
            self.submit_deferred();
            while more && !barrier && self.deferred.is_empty() && self.slots.len() < window {
                match population.next(&mut self.procs) {
                    Next::Task(task) => self.submit_task(task),
                    Next::Barrier => barrier = true,
                    Next::Done => more = false,
                }
            }
            if self.slots.len() == 0 {
                barrier = false;
                if !more {
                    self.report_delta(&report, &mut reported);
                    return Ok(report);
                }
                continue;
            }
            self.driver.flush();
            let now = self.clock.now();
            if now >= report_at {
                self.report_delta(&report, &mut reported);
                report_at = now + STOP_CHECK_INTERVAL;
            }
            if self.stop.is_raised() {
                return Err(PhaseError::Stopped);
            }
            if now >= deadline {
                return Err(PhaseError::InitTimeout(0));
            }
            let wait = if self.done.is_empty() {
                deadline.min(now + STOP_CHECK_INTERVAL)
            } else {
                now
            };
            self.driver.poll(wait, &mut self.done)?;
            self.take_task_completions(&mut report, phase, go_on)?;
        }
    }

    fn submit_task(&mut self, task: Task) {
        let token = self.slots.put(Slot {
            proc: task.proc as u32,
            work: SlotWork::Task {
                bytes: task.bytes,
                may_fail: task.may_fail,
                removes: task.removes,
            },
            effect: task.effect,
        });
        let request = Request {
            token,
            proc: task.proc as u32,
            action: task.action,
        };
        let at = token as usize;
        if self.task_actions.len() <= at {
            self.task_actions.resize(at + 1, Action::Null);
        }
        self.task_actions[at] = task.action;
        if let Some(outcome) = self.submit(request) {
            self.done.push(Completion { token, outcome });
        }
    }

    fn take_task_completions(
        &mut self,
        report: &mut TaskReport,
        phase: &str,
        go_on: bool,
    ) -> Result<(), PhaseError> {
        let mut done = std::mem::take(&mut self.done);
        let mut result = Ok(());
        for completion in done.drain(..) {
            let Some(slot) = self.slots.take(completion.token) else {
                continue;
            };
            let at = slot.proc as usize;
            let SlotWork::Task {
                bytes,
                may_fail,
                removes,
            } = slot.work
            else {
                self.settle(&slot, &completion.outcome);
                continue;
            };
            let status = completion.outcome.status;
            // What was removed with one call counts as it was counted there. Without a reply nothing
            // was: the prime waits for progress.
            report.task_count += match (go_on, status) {
                (true, Status::TimedOut | Status::Disconnected) => 0,
                (true, _) => u64::from(completion.outcome.physical.max(1)),
                (false, _) => 1,
            };
            if status == Status::Ok {
                report.bytes += bytes;
            } else {
                report.failed_count += 1;
                if let (Some(dir), Some(slice)) = (removes, self.procs[at].slice.classic_mut()) {
                    slice.dirs_left.push(dir);
                }
                if !go_on && !may_fail && result.is_ok() {
                    let action = self.task_actions.get(completion.token as usize);
                    let what = action.map(|action| describe(action, &self.procs[at]));
                    let step = format!("{phase}: {}", what.unwrap_or_default());
                    result = Err(PhaseError::Driver(self.task_error(at, status, &step)));
                }
            }
            if result.is_ok() {
                result = self.watch_losses(at, status, phase);
            }
        }
        self.done = done;
        result
    }

    pub(super) fn task_error(&self, proc: usize, status: Status, phase: &str) -> DriverError {
        let advice = match status {
            Status::Refused(code) => self.explain.fatal_advice(code).unwrap_or(""),
            Status::TimedOut | Status::Disconnected => {
                "see whether the server is still up and reachable"
            }
            Status::Ok | Status::Garbage | Status::Corrupt | Status::Lost | Status::NoObject => "",
        };
        DriverError {
            place: self.hosts.get(proc).cloned().unwrap_or_default(),
            step: phase.into(),
            reason: self.status_text(status),
            advice: advice.into(),
        }
    }

    fn report_delta(&self, report: &TaskReport, reported: &mut TaskReport) {
        if let Some(live) = &self.live {
            let _ = live.try_send(LiveEvents::Population {
                task_count: report.task_count - reported.task_count,
                bytes: report.bytes - reported.bytes,
            });
        }
        *reported = *report;
    }

    /// Waits for what is under way and drops its outcome; what has not ended
    /// by `deadline` is stale. Returns how many that are.
    pub(super) fn drain(&mut self, deadline: Nanos) -> usize {
        for request in std::mem::take(&mut self.deferred) {
            if let Some(slot) = self.slots.take(request.token) {
                self.settle_failed(&slot);
            }
        }
        let began = self.clock.now();
        while self.slots.len() > 0 {
            let now = self.clock.now();
            let until = match self.stop.is_raised() {
                true => deadline.min(began + STOPPED_DRAIN),
                false => deadline,
            };
            if now >= until {
                break;
            }
            self.driver.flush();
            let wait = until.min(now + STOP_CHECK_INTERVAL);
            if self.driver.poll(wait, &mut self.done).is_err() {
                break;
            }
            let mut done = std::mem::take(&mut self.done);
            for completion in done.drain(..) {
                if let Some(slot) = self.slots.take(completion.token) {
                    self.settle(&slot, &completion.outcome);
                }
            }
            self.done = done;
        }
        self.slots.make_stale()
    }

    pub(super) fn settle(&mut self, slot: &Slot, outcome: &Outcome) {
        let proc = &mut self.procs[slot.proc as usize];
        if !matches!(slot.work, SlotWork::Task { .. }) {
            proc.in_flight = proc.in_flight.saturating_sub(1);
        }
        let worked = outcome.status == Status::Ok;
        proc.slice
            .settle(&mut proc.rng, slot.effect, worked, outcome.end);
    }

    fn settle_failed(&mut self, slot: &Slot) {
        let now = self.clock.now();
        let outcome = Outcome {
            status: Status::Disconnected,
            sent: now,
            done: now,
            physical: 0,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        };
        self.settle(slot, &outcome);
    }
}
