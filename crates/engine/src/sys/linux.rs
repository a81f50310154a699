//! Linux.

use super::unix::reading;
pub use super::unix::{thread_cpu, ticks_per_second};
use filermark_model::Nanos;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::ClockId;

/// Requests the kernel to wake this thread as exactly as it can (the default
/// allows it to be 50 microseconds late).
pub fn minimize_timer_slack() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Turns core dumps of this process, and of those it starts, off: they would contain
/// passwords. With a limit of 1 the kernel writes no dump, also where it pipes dumps to
/// a program (core(5)), which a limit of 0 does not prevent.
pub fn forbid_core_dumps() {
    let hard = getrlimit(Resource::Core).maximum;
    let none = Rlimit {
        current: Some(hard.map_or(1, |hard| hard.min(1))),
        maximum: hard,
    };
    // Lowering one's own limit is always allowed.
    let _ = setrlimit(Resource::Core, none);
}

/// How far the clock that runs while the host is suspended is ahead of the one that
/// does not. Never more than it is: a thread that is interrupted between the two
/// readings gets a smaller value.
pub fn suspended() -> Nanos {
    let with_suspension = since_boot();
    with_suspension.since(reading(ClockId::Monotonic))
}

/// Time since the boot, by the clock that runs while the host is suspended and that
/// cannot be set.
pub fn since_boot() -> Nanos {
    reading(ClockId::Boottime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_since_the_boot_includes_suspensions() {
        let monotonic = reading(ClockId::Monotonic);
        let (suspended, after) = (suspended(), since_boot());
        assert!(after >= monotonic + suspended, "{after:?} {monotonic:?}");
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        // A container may show an uptime of its own, which is less.
        assert!(since_boot().0 as f64 / 1e9 + 1.0 > seconds, "{uptime}");
    }

    #[test]
    fn core_dumps_can_be_turned_off() {
        forbid_core_dumps();
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let core = limits.lines().find(|l| l.starts_with("Max core file size"));
        let soft = core.and_then(|l| l.split_whitespace().nth(4));
        assert!(matches!(soft, Some("0" | "1")), "{core:?}");
    }
}
