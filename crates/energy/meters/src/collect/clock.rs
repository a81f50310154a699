//! Clocks: that of the wall, which can be set, and one that only goes on.

use filermark_results::Timestamp;
use std::time::{Duration, Instant};

/// A step of the wall's clock of more seconds than this is told.
const STEP_S: f64 = 0.5;

/// Both clocks of a host; a test has its own.
pub(super) trait Clock: Send + Sync {
    /// The wall's.
    fn now(&self) -> Timestamp;

    /// Since some beginning; never goes back, and nobody sets it.
    fn passed(&self) -> Duration;
}

/// This host's.
#[derive(Debug)]
pub(super) struct HostClock(Instant);

impl HostClock {
    /// Counts from now.
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

/// Sees when the wall's clock is set. A clock that is only made a little faster or slower
/// (as time services do) is not told: the two are compared anew at each look.
#[derive(Debug)]
pub(super) struct StepWatch {
    apart_s: Option<f64>,
}

impl StepWatch {
    /// Has not looked yet.
    pub const fn new() -> Self {
        Self { apart_s: None }
    }

    /// Seconds that the wall's clock has been set forward since the last look (back, where
    /// they are negative), if it was by more than half a second. To be given readings of
    /// both clocks made at once.
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
    fn only_steps_are_told() {
        let mut watch = StepWatch::new();
        let at = |wall: f64, passed: f64| {
            let wall = Timestamp::from_unix_seconds(1e9 + wall);
            (wall, Duration::from_secs_f64(passed))
        };
        let mut look = |wall, passed| {
            let (now, passed) = at(wall, passed);
            watch.step(now, passed)
        };
        assert_eq!(look(0.0, 100.0), None);
        assert_eq!(look(10.0, 110.0), None);
        // Slewed by 0.4 s, twice.
        assert_eq!(look(20.4, 120.0), None);
        assert_eq!(look(30.8, 130.0), None);
        let step = look(3640.8, 140.0).expect("set forward by an hour");
        assert!((step - 3600.0).abs() < 1e-3, "{step}");
        let step = look(50.0, 150.0).expect("set back");
        assert!((step + 3600.8).abs() < 1e-3, "{step}");
        assert_eq!(look(60.0, 160.0), None);
    }
}
