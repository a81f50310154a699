//! A shard: one thread that drives many procs through one [`ShardDriver`].
//!
//! There is one proc loop, here, for socket drivers (requests queue and
//! complete later), blocking drivers (requests are done when submitted) and the
//! simulated ones of the tests. Nothing in it allocates or locks per operation
//! once a run is under way.

mod closing;
mod load;
mod operations;
mod slots;
mod tally;
mod tasks;

pub use crate::run_times::{RunTimes, Timetable};
pub use closing::{DRAIN, STABLE_MAX};
pub use load::SILENCE_MAX;
pub use tasks::TaskReport;

use crate::clock::Clock;
use crate::driver::{
    Action, Completion, DriverError, Outcome, Request, ShardDriver, Status, StopFlag, Submit,
};
use crate::live_counts::LiveCounts;
use crate::open_ops::OpenOp;
use crate::proc::{Operations, Proc};
use crate::recorder::LiveEvents;
use crate::schedule::Schedule;
use crate::slice::Slice;
use filermark_model::plan::{Arrivals, Pacing};
use filermark_model::{Nanos, Rng};
use slots::{SlotWork, Slots};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// Longest time between two checks of the stop flag.
const STOP_CHECK_INTERVAL: Nanos = Nanos::from_millis(100);
/// The longest time that the end of a shard takes: a server that does not answer keeps sessions
/// and open files until their lease expires.
const END_MAX: Nanos = Nanos::from_secs(5);
/// Lost operations in a row, without one success, after which a server counts as gone.
const LOST_IN_A_ROW: u32 = 3;

/// Why a phase ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// The driver failed, or the server did not answer.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// INIT took longer than INIT_TIMEOUT.
    #[error(
        "INIT was not finished within {0} s (INIT_TIMEOUT); raise it, lower the load, or see why the server fills slowly"
    )]
    InitTimeout(u64),
    /// A stop was requested.
    #[error("stopped on request")]
    Stopped,
    /// A thread of the generator is inside a system call that does not return.
    #[error(
        "a load-making thread has not returned from the kernel {seconds} s after the stop: {call}; \
         look at the file system and its server (dmesg, /proc/PID/task/*/stack); the thread is left, \
         and what its proc made may stay"
    )]
    Hung {
        /// How long was waited for it.
        seconds: u64,
        /// Which shard, and what it does.
        call: String,
    },
    /// A thread of the generator died.
    #[error("a load-making thread died: this is a defect of Filermark, please report it ({0})")]
    Died(String),
}

/// A shard.
pub struct Shard {
    pub(crate) driver: Box<dyn ShardDriver>,
    pub(crate) clock: Clock,
    pub(crate) stop: StopFlag,
    pub(crate) procs: Vec<Proc>,
    pub(crate) hosts: Vec<String>,
    pub(crate) operations: Arc<Operations>,
    pub(crate) pacing: Pacing,
    pub(crate) explain: Arc<dyn crate::driver::LoadDriver>,
    pub(crate) live: Option<SyncSender<LiveEvents>>,
    live_counts: Option<Arc<LiveCounts>>,
    /// Where each proc is among the live counts.
    live_places: Vec<usize>,
    /// Requests block this thread.
    blocking: bool,
    /// Most operations that a proc has under way; `None`: as many as its pacing allows.
    depth: Option<u32>,
    /// Where what is under way is published: at each request, where requests block.
    open_op: Option<OpenOp>,
    slots: Slots,
    done: Vec<Completion>,
    deferred: Vec<Request>,
    /// INIT and CLEANUP: what is under way, by token, for messages.
    task_actions: Vec<Action>,
    consecutive_timeouts: u32,
}

/// The parts of a shard.
pub struct ShardParts {
    /// Its use of the driver.
    pub driver: Box<dyn ShardDriver>,
    /// The driver itself, to explain refusals.
    pub explain: Arc<dyn crate::driver::LoadDriver>,
    /// The agent's clock.
    pub clock: Clock,
    /// The agent's request to stop.
    pub stop: StopFlag,
    /// Its procs.
    pub procs: Vec<ShardProc>,
    /// What all of them do.
    pub operations: Arc<Operations>,
    /// How they are paced.
    pub pacing: Pacing,
    /// The run's seed.
    pub seed: u64,
    /// Where to report progress.
    pub live: Option<SyncSender<LiveEvents>>,
    /// Where to count every proc's operations, if heartbeats are needed.
    pub live_counts: Option<Arc<LiveCounts>>,
    /// Whether requests block: memory is used sparingly, wake-ups are rare.
    pub blocking: bool,
    /// Most operations that a proc has under way, where its workload has a depth above 1; `None`: as
    /// many as its pacing allows.
    pub depth: Option<u32>,
    /// Where a shard whose requests block publishes what is under way, if it is read.
    pub open_op: Option<OpenOp>,
}

/// A proc of a shard.
pub struct ShardProc {
    /// Its number in the run.
    pub number: u32,
    /// The place it works on, for messages.
    pub place: String,
    /// What it works on.
    pub slice: Slice,
}

impl Shard {
    /// A shard with idle procs.
    pub fn new(parts: ShardParts) -> Self {
        let per_proc = match (parts.depth, parts.pacing.mode) {
            (Some(depth), _) => depth as usize,
            (None, filermark_model::plan::PacingMode::Closed) => 1,
            (None, filermark_model::plan::PacingMode::Open) => 8,
        };
        let in_flight = parts.procs.len().saturating_mul(per_proc);
        let mut rng = Rng::new(parts.seed, u64::MAX);
        let idle = Schedule::new(Arrivals::Uniform, 1.0, Nanos::ZERO, &mut rng);
        let live_counts = parts.live_counts;
        let live_places = live_counts.iter().flat_map(|counts| {
            let place = |p: &ShardProc| counts.index_of(p.number).unwrap_or(usize::MAX);
            parts.procs.iter().map(place).collect::<Vec<_>>()
        });
        let live_places = live_places.collect();
        let hosts = parts.procs.iter().map(|p| p.place.clone()).collect();
        let is_tree = |slice: &Slice| slice.tree().is_some();
        let procs = parts.procs.into_iter().map(|p| {
            let counted = is_tree(&p.slice);
            let mut proc = Proc::new(p.number, parts.seed, idle, p.slice);
            if counted {
                proc.keep_ops(parts.operations.mix());
            }
            proc
        });
        let (slots, done) = match parts.blocking {
            true => (8, 8),
            false => (in_flight.clamp(64, 1 << 16), 1024),
        };
        Self {
            procs: procs.collect(),
            hosts,
            live_counts,
            live_places,
            blocking: parts.blocking,
            depth: parts.depth,
            open_op: parts.open_op,
            driver: parts.driver,
            clock: parts.clock,
            stop: parts.stop,
            operations: parts.operations,
            pacing: parts.pacing,
            explain: parts.explain,
            live: parts.live,
            slots: Slots::with_capacity(slots),
            done: Vec::with_capacity(done),
            deferred: Vec::with_capacity(if parts.blocking { 0 } else { 64 }),
            task_actions: Vec::new(),
            consecutive_timeouts: 0,
        }
    }

    /// Largest read and write transfer in use, in bytes.
    pub fn transfer_bytes(&self) -> (u32, u32) {
        self.driver.transfer_bytes()
    }

    /// The driver's counters since the last call.
    pub fn take_counters(&mut self) -> BTreeMap<String, u64> {
        let mut counters = BTreeMap::new();
        self.driver.take_counters(&mut counters);
        counters
    }

    /// Waits for the next order, and keeps the server's state of this shard meanwhile; `None`: there will
    /// be no more orders.
    pub fn next_order<T>(&mut self, orders: &Receiver<T>) -> Option<T> {
        while let Some(wait) = self.driver.keep_alive() {
            match orders.recv_timeout(Duration::from_nanos(wait.0)) {
                Err(RecvTimeoutError::Timeout) => {}
                order => return order.ok(),
            }
        }
        orders.recv().ok()
    }

    /// Ends what the server keeps for this shard; returns how many clients it may keep.
    pub fn end(&mut self) -> u64 {
        self.driver.end(self.clock.now() + END_MAX)
    }

    /// Submits `action` for a proc with the pending effect in `work`. Gives the outcome
    /// where the driver has it at once.
    #[inline]
    fn submit(&mut self, request: Request) -> Option<Outcome> {
        if let Some(open) = &self.open_op {
            let proc = self.procs.get(request.proc as usize);
            open.enter(proc.map_or(request.proc, |p| p.number), &request.action);
        }
        let submitted = self.driver.submit(&request);
        if let Some(open) = &self.open_op {
            open.leave();
        }
        match submitted {
            Submit::Done(outcome) => Some(outcome),
            Submit::Queued => None,
            Submit::Busy => {
                self.deferred.push(request);
                None
            }
        }
    }

    /// Submits again what the driver had no capacity for.
    fn submit_deferred(&mut self) {
        for _ in 0..self.deferred.len() {
            let request = self.deferred.swap_remove(0);
            let before = self.deferred.len();
            if let Some(outcome) = self.submit(request) {
                self.done.push(Completion {
                    token: request.token,
                    outcome,
                });
            }
            if self.deferred.len() > before {
                break;
            }
        }
    }

    /// Notices when a server has stopped answering.
    fn watch_losses(&mut self, proc: usize, status: Status, phase: &str) -> Result<(), PhaseError> {
        match status {
            Status::TimedOut | Status::Disconnected => self.consecutive_timeouts += 1,
            Status::Ok
            | Status::Refused(_)
            | Status::Garbage
            | Status::Corrupt
            | Status::Lost
            | Status::NoObject => self.consecutive_timeouts = 0,
        }
        if self.consecutive_timeouts < LOST_IN_A_ROW.max(self.procs.len() as u32) {
            return Ok(());
        }
        self.consecutive_timeouts = 0;
        Err(self.server_gone(proc, phase))
    }

    /// The error when a server has gone.
    fn server_gone(&self, proc: usize, phase: &str) -> PhaseError {
        PhaseError::Driver(DriverError {
            place: self.hosts.get(proc).cloned().unwrap_or_default(),
            step: phase.into(),
            reason: "the server does not answer any more".into(),
            advice: "see whether it is still up and reachable, then run again".into(),
        })
    }

    /// Describes a failed outcome.
    fn status_text(&self, status: Status) -> String {
        status_text(&*self.explain, status)
    }
}

/// Describes a failed outcome.
pub fn status_text(driver: &dyn crate::driver::LoadDriver, status: Status) -> String {
    match status {
        Status::Ok => "ok".into(),
        Status::Refused(code) => driver.status_text(code),
        Status::TimedOut => "no reply in time".into(),
        Status::Disconnected => "connection lost".into(),
        Status::Garbage => "reply that makes no sense".into(),
        Status::Corrupt => "data read is not what was written".into(),
        Status::Lost => "the file ends before data that was written".into(),
        Status::NoObject => {
            "not sent: all names it could work on were in flight (lower BACKLOG_MAX, or raise FILE_COUNT)".into()
        }
    }
}

#[cfg(test)]
mod tests;
