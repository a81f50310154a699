//! Linux.

use filermark_model::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Processor time that the calling thread has taken.
pub fn thread_cpu() -> Nanos {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(t.tv_sec as u64) + Nanos(t.tv_nsec as u64)
}

/// Asks the kernel to wake this thread as exactly as it can (the default
/// allows it to be 50 microseconds late).
pub fn sharpen_timers() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Processors that this process may use.
pub fn core_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
