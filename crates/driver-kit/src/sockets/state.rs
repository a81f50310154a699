//! The state that the loop and a protocol share: clock, timers, requests to stop,
//! completions.

use filermark_engine::clock::Clock;
use filermark_engine::driver::{Completion, StopFlag};
use filermark_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer<T> {
    /// A timer of the protocol.
    Protocol(T),
    /// A connection is to be tried again.
    Reconnect { conn: u32, epoch: u32 },
    /// A connection should be set up by now.
    Setup { conn: u32, setup: u32 },
}

/// The state that the loop and a protocol share, without the calls.
#[derive(Debug)]
pub struct LoopState<T> {
    /// The clock of the run.
    pub clock: Clock,
    /// The time of the last reading of the clock, which is precise enough for timeouts.
    pub now: Nanos,
    /// Raised when the run is to stop.
    pub stop: StopFlag,
    /// The request to stop has been handled, or a phase is being broken off.
    pub stopping: bool,
    /// When it was handled.
    pub stopping_at: Nanos,
    /// Operations that have ended.
    pub done: Vec<Completion>,
    timers: BinaryHeap<Reverse<(Nanos, Timer<T>)>>,
}

impl<T: Copy + Ord> LoopState<T> {
    /// Without timers and completions.
    pub fn new(clock: Clock, stop: StopFlag) -> Self {
        Self {
            now: clock.now(),
            clock,
            stop,
            stopping: false,
            stopping_at: Nanos::ZERO,
            done: Vec::new(),
            timers: BinaryHeap::new(),
        }
    }

    /// Reads the clock.
    #[inline]
    pub fn tick(&mut self) -> Nanos {
        self.now = self.clock.now();
        self.now
    }

    /// Starts a timer of the protocol.
    pub fn start_timer(&mut self, at: Nanos, timer: T) {
        self.start(at, Timer::Protocol(timer));
    }

    /// Removes and returns the timers of the protocol.
    pub fn take_timers(&mut self) -> Vec<T> {
        let mut taken = Vec::new();
        self.timers.retain(|Reverse((_, timer))| match timer {
            Timer::Protocol(own) => {
                taken.push(*own);
                false
            }
            Timer::Reconnect { .. } | Timer::Setup { .. } => true,
        });
        taken
    }

    pub(super) fn start(&mut self, at: Nanos, timer: Timer<T>) {
        self.timers.push(Reverse((at, timer)));
    }

    /// When the next timer expires.
    pub(super) fn next_timer(&self) -> Nanos {
        self.timers.peek().map_or(Nanos::MAX, |t| t.0.0)
    }

    /// The next timer that has expired.
    pub(super) fn due(&mut self) -> Option<Timer<T>> {
        if self.next_timer() > self.now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, timer))| timer)
    }
}
