//! Notices that its own process stood still: stopped, its host suspended, or without a
//! processor for long.
//!
//! A thread sleeps for [`INTERVAL`] and measures how late it woke up. What is later than
//! [`GAP_MIN`] is a gap, in which no thread of the process can be assumed to have done
//! what was due. The clock that time is measured by stands while the host is suspended;
//! the distance to the one that does not is checked as well. A stop is measured shorter
//! than it was, by [`INTERVAL`] at most: it may begin anywhere in a sleep.
//!
//! | module | contents |
//! |---|---|
//! | `gaps` | the lateness of each check, without a thread or a clock |
//! | `host` | what Linux counts: stolen time, throttling, page faults |

mod gaps;
mod host;

use crate::clock::Clock;
use crate::run_times::RunStart;
use crate::sys;
use filermark_model::Nanos;
use filermark_model::stall::{GAP_MIN, Stalls};
use gaps::StallDetector;
use host::HostCounters;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two checks. One costs about 27 us on a busy virtual machine, so all together
/// 0.14 % of one processor.
pub const INTERVAL: Nanos = Nanos::from_millis(20);

/// Watches this process over the RUN of one load point.
#[derive(Debug)]
pub struct Watchdog {
    clock: Clock,
    state: Arc<Mutex<State>>,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    run_start: RunStart,
    gaps: StallDetector,
    counters: HostCounters,
    /// The counters at the start of RUN.
    at_start: Option<host::Counts>,
}

impl Watchdog {
    /// Starts watching; counting starts at `run_start` of `clock`.
    ///
    /// # Errors
    /// The thread could not start.
    pub fn begin(clock: &Clock, run_start: impl Into<RunStart>) -> io::Result<Self> {
        let run_start = run_start.into();
        let state = State {
            gaps: StallDetector::new(
                run_start.get(),
                clock.now() + INTERVAL,
                suspended_at_first(),
            ),
            counters: HostCounters::of_this_process(),
            at_start: None,
            run_start,
        };
        let state = Arc::new(Mutex::new(state));
        let (over, ended) = channel::<()>();
        let (watched, check_clock) = (state.clone(), clock.clone());
        let work = move || {
            loop {
                let wait = lock(&watched).check(&check_clock);
                match ended.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return,
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("watchdog".into())
            .spawn(work)?;
        Ok(Self {
            clock: clock.clone(),
            state,
            over: Some(over),
            thread: Some(thread),
        })
    }

    /// What was seen, up to now.
    pub fn finish(self) -> Stalls {
        let mut state = lock(&self.state);
        // The process may just have continued, with this thread running before the other.
        state.check(&self.clock);
        let mut stalls = state.gaps.stalls();
        if let Some(before) = &state.at_start {
            let now = state.counters.read();
            before.add_since(&now, &mut stalls);
        }
        stalls
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl State {
    /// Makes one check; returns how long to sleep until the next one.
    fn check(&mut self, clock: &Clock) -> Duration {
        let now = clock.now();
        self.gaps.begin_run_at(self.run_start.get());
        self.gaps.check(now, sys::suspended());
        if self.at_start.is_none() && now >= self.gaps.run_start() {
            self.at_start = Some(self.counters.read());
        }
        let next = clock.now() + INTERVAL;
        self.gaps.expect(next);
        Duration::from_nanos(INTERVAL.0)
    }
}

/// A thread that holds this lock does nothing that can panic half-way.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first reading is compared with later ones, so it must not be too small.
fn suspended_at_first() -> Nanos {
    (0..3).map(|_| sys::suspended()).max().unwrap_or_default()
}

/// Whether so much lateness is a gap.
const fn is_gap(late: Nanos) -> bool {
    late.0 > GAP_MIN.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_on_request_and_counts_from_the_beginning_of_run() {
        let clock = Clock::real();
        let watchdog = Watchdog::begin(&clock, Nanos::MAX).expect("a thread");
        assert_eq!(watchdog.finish(), Stalls::default(), "RUN did not begin");
        let watchdog = Watchdog::begin(&clock, Nanos::ZERO).expect("a thread");
        let seen = watchdog.finish();
        let is_counted = seen.major_fault_count.is_some();
        assert_eq!(is_counted, cfg!(target_os = "linux"), "{seen:?}");
        assert!(seen.gap_max_ns <= seen.gap_sum_ns, "{seen:?}");
    }
}
