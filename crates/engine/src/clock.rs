//! The clock that engine and drivers share.
//!
//! All instants of one agent count from one origin, so that one start instant is valid
//! for all shards. In simulations the clock advances only when the test moves it.

mod counter;
mod thread_clock;

pub use thread_clock::ThreadClock;

use filermark_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A source of time; cheap to clone. All clones show the same time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The monotonic clock of the system, counted from an origin.
    Real(Instant),
    /// A clock that is moved by hand.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// A real clock whose origin is now.
    pub fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// A virtual clock at its origin.
    pub fn virtual_at_zero() -> Self {
        Self::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// The time since the origin.
    #[inline]
    pub fn now(&self) -> Nanos {
        match self {
            Self::Real(origin) => Nanos(origin.elapsed().as_nanos() as u64),
            Self::Virtual(ns) => Nanos(ns.load(Ordering::Relaxed)),
        }
    }

    /// Waits for `deadline` without using the processor: sleeps on the real
    /// clock, jumps on the virtual one.
    pub fn sleep_until(&self, deadline: Nanos) {
        match self {
            Self::Real(_) => {
                let wait = deadline.since(self.now());
                if wait.0 > 0 {
                    std::thread::sleep(std::time::Duration::from_nanos(wait.0));
                }
            }
            Self::Virtual(ns) => {
                ns.fetch_max(deadline.0, Ordering::Relaxed);
            }
        }
    }
}
