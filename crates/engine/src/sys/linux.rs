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

/// How far the clock that goes on while the host is suspended is ahead of the one that
/// does not. Never more than it is: a thread that is interrupted between the two
/// readings takes it for less.
pub fn suspended() -> Nanos {
    let nanos = |id| {
        let t = clock_gettime(id);
        Nanos::from_secs(t.tv_sec as u64) + Nanos(t.tv_nsec as u64)
    };
    let with_suspension = nanos(ClockId::Boottime);
    with_suspension.since(nanos(ClockId::Monotonic))
}

/// Ticks per second of the times in /proc.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}
