//! Clocks: the wall clock, which can be set, and a monotonic one.

use filermark_results::Timestamp;
use std::time::{Duration, Instant};

/// A step of the wall clock of more seconds than this is reported.
const STEP_S: f64 = 0.5;

/// Both clocks of a host; tests have others.
pub(super) trait Clock: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// The monotonic clock, since an arbitrary start.
    fn passed(&self) -> Duration;
}

/// The clocks of this host.
#[derive(Debug)]
pub(super) struct HostClock(Instant);

impl HostClock {
    /// The monotonic clock starts now.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn passed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Detects steps of the wall clock. A clock that is slewed (as time services do) is not
/// reported: each check compares only with the one before.
#[derive(Debug)]
pub(super) struct StepWatch {
    apart_s: Option<f64>,
}

impl StepWatch {
    pub const fn new() -> Self {
        Self { apart_s: None }
    }

    /// Seconds by which the wall clock was set forward since the last check (negative: back),
    /// if more than half a second. Both clocks must have been read at the same time.
    pub fn step(&mut self, now: Timestamp, passed: Duration) -> Option<f64> {
        let apart_s = now.unix_seconds() - passed.as_secs_f64();
        let before = self.apart_s.replace(apart_s)?;
        let step = apart_s - before;
        (step.abs() > STEP_S).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_steps_are_reported() {
        let mut watch = StepWatch::new();
        let at = |wall: f64, passed: f64| {
            let wall = Timestamp::from_unix_seconds(1e9 + wall);
            (wall, Duration::from_secs_f64(passed))
        };
        let mut check = |wall, passed| {
            let (now, passed) = at(wall, passed);
            watch.step(now, passed)
        };
        assert_eq!(check(0.0, 100.0), None);
        assert_eq!(check(10.0, 110.0), None);
        // Slewed by 0.4 s, twice.
        assert_eq!(check(20.4, 120.0), None);
        assert_eq!(check(30.8, 130.0), None);
        let step = check(3640.8, 140.0).expect("set forward by an hour");
        assert!((step - 3600.0).abs() < 1e-3, "{step}");
        let step = check(50.0, 150.0).expect("set back");
        assert!((step + 3600.8).abs() < 1e-3, "{step}");
        assert_eq!(check(60.0, 160.0), None);
    }
}
