//! The clock of leases.

use crate::sys::now_ns;

/// Where the time comes from, in ns since an arbitrary moment.
#[derive(Debug)]
pub(crate) enum Clock {
    /// The system's monotonic clock.
    System,
    /// A time that tests set.
    #[cfg(test)]
    Manual(std::sync::atomic::AtomicU64),
}

impl Clock {
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Clock::System => now_ns(),
            #[cfg(test)]
            Clock::Manual(ns) => ns.load(std::sync::atomic::Ordering::Relaxed),
        }
    }
}
