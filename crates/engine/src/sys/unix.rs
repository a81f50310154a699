//! What is the same on all Unix systems.

use filermark_model::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Processor time of the calling thread.
pub fn thread_cpu() -> Nanos {
    reading(ClockId::ThreadCPUTime)
}

/// A clock's time.
pub(super) fn reading(id: ClockId) -> Nanos {
    let t = clock_gettime(id);
    Nanos::from_secs(t.tv_sec as u64) + Nanos(t.tv_nsec as u64)
}

/// Ticks per second of the times in /proc, where there is one.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}
