//! What the loop and a protocol share beside the calls: clock, timers, the wish to stop,
//! completions.

use filermark_engine::clock::Clock;
use filermark_engine::driver::{Completion, StopFlag};
use filermark_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that is to happen later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer<T> {
    /// The protocol's own.
    Protocol(T),
    /// A connection has waited long enough to be tried again.
    Reconnect { conn: u32, epoch: u32 },
    /// A connection should be set up by now.
    Setup { conn: u32, setup: u32 },
}

/// See the module.
#[derive(Debug)]
pub struct LoopState<T> {
    /// The clock of the run.
    pub clock: Clock,
    /// The clock as it was read last: good enough for time-outs.
    pub now: Nanos,
    /// The wish to stop.
    pub stop: StopFlag,
    /// The wish to stop has been seen and acted on.
    pub stopping: bool,
    /// When it was seen.
    pub stopping_at: Nanos,
    /// Operations that are over.
    pub done: Vec<Completion>,
    timers: BinaryHeap<Reverse<(Nanos, Timer<T>)>>,
}

impl<T: Copy + Ord> LoopState<T> {
    /// At the beginning.
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

    /// Starts a timer of the protocol's own.
    pub fn start_timer(&mut self, at: Nanos, timer: T) {
        self.start(at, Timer::Protocol(timer));
    }

    /// The timers of the protocol's own, which are over by that.
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

    /// When the next timer is over.
    pub(super) fn next_timer(&self) -> Nanos {
        self.timers.peek().map_or(Nanos::MAX, |t| t.0.0)
    }

    /// The next timer that is over.
    pub(super) fn due(&mut self) -> Option<Timer<T>> {
        if self.next_timer() > self.now {
            return None;
        }
        self.timers.pop().map(|Reverse((_, timer))| timer)
    }
}
