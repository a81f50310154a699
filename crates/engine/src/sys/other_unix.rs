//! macOS and the BSDs. Type-checked only, never run.

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
