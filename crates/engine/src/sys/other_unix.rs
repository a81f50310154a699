//! macOS and the BSDs. Run on Linux only so far (feature `portable`).

use super::unix::reading;
pub use super::unix::{thread_cpu, ticks_per_second};
use filermark_model::Nanos;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::ClockId;
use std::sync::OnceLock;
use std::time::Instant;

/// These systems have no timer slack to set.
pub const fn minimize_timer_slack() {}

/// Turns core dumps of this process, and of those it starts, off: they would contain
/// passwords.
pub fn forbid_core_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Core).maximum,
    };
    // Lowering one's own limit is always allowed.
    let _ = setrlimit(Resource::Core, none);
}

/// How far the clock that runs while the host is suspended is ahead of the one of
/// [`Instant`], counted from the first call. Never more than it is. On macOS `Instant`
/// stands while the host is suspended; on the BSDs both are one clock, and this is 0.
pub fn suspended() -> Nanos {
    static FIRST: OnceLock<(Instant, Nanos)> = OnceLock::new();
    let (instant, with_suspension) = FIRST.get_or_init(|| (Instant::now(), since_boot()));
    let with_suspension = since_boot().since(*with_suspension);
    with_suspension.since(Nanos(instant.elapsed().as_nanos() as u64))
}

/// Time since the boot, by a clock that cannot be set. It runs while the host is suspended
/// on macOS; on the BSDs that is not certain.
pub fn since_boot() -> Nanos {
    reading(ClockId::Monotonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_forwards_and_this_host_is_not_suspended() {
        let (before, begun) = (since_boot(), Instant::now());
        assert!(before > Nanos::ZERO);
        while begun.elapsed().as_millis() < 2 {}
        assert!(since_boot() >= before + Nanos(2_000_000));
        // Where both clocks stand still or neither does: never more than it is.
        assert_eq!(suspended(), Nanos::ZERO);
    }

    #[test]
    fn core_dumps_can_be_turned_off() {
        forbid_core_dumps();
        assert_eq!(getrlimit(Resource::Core).current, Some(0));
    }
}
