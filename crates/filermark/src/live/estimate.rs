//! Estimates the remaining time of a run: WARMUP and RUN are in the plan; INIT and CLEANUP are
//! estimated from those that have ended, in proportion to their bytes.

use super::facts::Facts;

/// Time of CLEANUP relative to the INITs that made the file set, until one has ended: removing is
/// faster than writing, by an unknown factor.
const CLEANUP_SHARE: f64 = 0.5;
/// Seconds, and the bytes that were handled in them.
#[derive(Clone, Copy, Debug, Default)]
struct PhaseSamples {
    count: u32,
    seconds: f64,
    bytes: f64,
}

impl PhaseSamples {
    fn add(&mut self, seconds: f64, bytes: u64) {
        self.count += 1;
        self.seconds += seconds;
        self.bytes += bytes as f64;
    }

    /// The time for this number of bytes; `None`: not known yet.
    fn seconds_for(&self, bytes: u64) -> Option<f64> {
        match self.count {
            0 => None,
            _ if self.bytes > 0.0 => Some(self.seconds * bytes as f64 / self.bytes),
            n => Some(self.seconds / f64::from(n)),
        }
    }
}

/// Whether a RUN is under way or follows.
fn has_run_to_come(facts: &Facts, place: RunPosition) -> bool {
    match place {
        RunPosition::Before(at) => at < facts.points.len(),
        RunPosition::Init(..) | RunPosition::Warmup(..) | RunPosition::Run(..) => true,
        RunPosition::After(at, _) => at + 1 < facts.points.len(),
        RunPosition::End(..) => false,
    }
}

/// Times of earlier phases.
#[derive(Clone, Debug, Default)]
pub(super) struct TimeEstimator {
    init: PhaseSamples,
    cleanup: PhaseSamples,
}

/// The position of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RunPosition {
    /// Before the load point with this index.
    Before(usize),
    /// In its INIT: seconds since its beginning, and bytes written.
    Init(usize, f64, u64),
    /// In its WARMUP: remaining seconds.
    Warmup(usize, f64),
    /// In its RUN: remaining seconds.
    Run(usize, f64),
    /// After it, or in the CLEANUP before the next one: seconds since then.
    After(usize, f64),
    /// In the CLEANUP at the end: seconds since its beginning, and the load point of the present
    /// file set.
    End(usize, f64),
}

/// The remaining time, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RemainingTime {
    /// An estimate.
    pub seconds: f64,
    /// A lower bound: the time of INIT is not known yet.
    pub at_least: bool,
}

impl RemainingTime {
    fn add(&mut self, seconds: Option<f64>) {
        self.seconds += seconds.unwrap_or(0.0);
        self.at_least |= seconds.is_none();
    }
}

impl TimeEstimator {
    /// An INIT has ended.
    pub fn learn_init(&mut self, seconds: f64, bytes: u64) {
        self.init.add(seconds, bytes);
    }

    /// A CLEANUP has ended.
    pub fn learn_cleanup(&mut self, seconds: f64, bytes: u64) {
        self.cleanup.add(seconds, bytes);
    }

    /// The whole time of a load point's INIT.
    pub fn init_seconds(&self, facts: &Facts, at: usize) -> Option<f64> {
        self.init.seconds_for(facts.points.get(at)?.init_bytes)
    }

    /// The time to remove the file set of a load point.
    pub fn cleanup_seconds(&self, facts: &Facts, at: usize) -> Option<f64> {
        let bytes = facts.points.get(at)?.fileset_bytes;
        let by_init = || Some(self.init.seconds_for(bytes)? * CLEANUP_SHARE);
        self.cleanup.seconds_for(bytes).or_else(by_init)
    }

    /// The remaining time of the run.
    pub fn left(&self, facts: &Facts, place: RunPosition) -> RemainingTime {
        // The first INIT is used for the estimate while it is under way.
        let mut knows = self.clone();
        if let RunPosition::Init(at, passed, bytes) = place
            && knows.init.count == 0
            && facts.share(at, bytes).is_some()
        {
            knows.learn_init(passed, bytes);
        }
        knows.left_from(facts, place)
    }

    fn left_from(&self, facts: &Facts, place: RunPosition) -> RemainingTime {
        let mut left = RemainingTime {
            seconds: 0.0,
            at_least: facts.run_is_open && has_run_to_come(facts, place),
        };
        let (warmup, run) = (facts.warmup.as_secs_f64(), facts.run.as_secs_f64());
        let cleanup = |at, passed: f64| Some((self.cleanup_seconds(facts, at)? - passed).max(0.0));
        let (here, in_cleanup) = match place {
            RunPosition::Before(at) => {
                self.add_points(&mut left, facts, at);
                return left;
            }
            RunPosition::End(at, passed) => {
                if !facts.keep {
                    left.add(cleanup(at, passed));
                }
                return left;
            }
            RunPosition::Init(at, passed, bytes) => {
                let init = self.init_seconds(facts, at);
                let guessed = init.map(|all| (all - passed).max(0.0));
                left.add(
                    facts
                        .share(at, bytes)
                        .map_or(guessed, |share| Some(passed * (1.0 - share) / share)),
                );
                left.add(Some(warmup + run));
                (at, 0.0)
            }
            RunPosition::Warmup(at, more) => {
                left.add(Some(more + run));
                (at, 0.0)
            }
            RunPosition::Run(at, more) => {
                left.add(Some(more));
                (at, 0.0)
            }
            RunPosition::After(at, passed) => (at, passed),
        };
        if here + 1 >= facts.points.len() {
            if !facts.keep {
                left.add(cleanup(here, in_cleanup));
            }
            return left;
        }
        if !facts.reuse {
            left.add(cleanup(here, in_cleanup));
        }
        self.add_points(&mut left, facts, here + 1);
        left
    }

    /// All load points from this one on, and the end.
    fn add_points(&self, left: &mut RemainingTime, facts: &Facts, from: usize) {
        let (warmup, run) = (facts.warmup.as_secs_f64(), facts.run.as_secs_f64());
        let last = facts.points.len().saturating_sub(1);
        for at in from..facts.points.len() {
            left.add(self.init_seconds(facts, at));
            left.add(Some(warmup + run));
            let removed = if at == last {
                !facts.keep
            } else {
                !facts.reuse
            };
            if removed {
                left.add(self.cleanup_seconds(facts, at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::PointFacts;
    use super::*;
    use std::time::Duration;

    /// Three load points whose file set grows by 100 MB each.
    fn facts(reuse: bool) -> Facts {
        let point = |number: u32| {
            let fileset_bytes = u64::from(number) * 100_000_000;
            PointFacts {
                number,
                name: format!("{number}00 op/s"),
                requested_ops_per_sec: Some(100.0),
                init_bytes: if reuse { 100_000_000 } else { fileset_bytes },
                fileset_bytes,
            }
        };
        Facts {
            benchmark: "b".into(),
            suffix: "s".into(),
            client_count: 1,
            points: (1..=3).map(point).collect(),
            warmup: Duration::from_secs(10),
            run: Duration::from_secs(50),
            run_is_open: false,
            keep: false,
            reuse,
            blocks: false,
            close_max: Duration::ZERO,
            init_max: Duration::ZERO,
        }
    }

    fn left(guess: &TimeEstimator, facts: &Facts, place: RunPosition) -> (f64, bool) {
        let left = guess.left(facts, place);
        (left.seconds, left.at_least)
    }

    #[test]
    fn before_the_first_init_only_the_plan_is_known() {
        let (guess, grown) = (TimeEstimator::default(), facts(true));
        assert_eq!(left(&guess, &grown, RunPosition::Before(0)), (180.0, true));
        // 1 % is too little, a quarter is enough: 40 s for each INIT, 60 for the removal.
        let early = RunPosition::Init(0, 5.0, 1_000_000);
        assert_eq!(left(&guess, &grown, early), (180.0, true));
        let later = RunPosition::Init(0, 10.0, 25_000_000);
        assert_eq!(
            left(&guess, &grown, later),
            (30.0 + 80.0 + 180.0 + 60.0, false)
        );
    }

    #[test]
    fn what_was_seen_is_scaled_by_the_bytes() {
        let mut guess = TimeEstimator::default();
        guess.learn_init(20.0, 100_000_000);
        let grown = facts(true);
        // 20 s for each INIT, 30 s for the removal of 300 MB at half of what it took.
        let place = RunPosition::Run(0, 25.0);
        assert_eq!(
            left(&guess, &grown, place),
            (25.0 + 2.0 * 80.0 + 30.0, false)
        );
        let anew = facts(false);
        // Removals of 10, 20 and 30 s; INITs of 40 and 60 s are to come.
        assert_eq!(
            left(&guess, &anew, place),
            (
                25.0 + 10.0 + (40.0 + 60.0 + 20.0) + (60.0 + 60.0 + 30.0),
                false
            )
        );
        guess.learn_cleanup(1.0, 100_000_000);
        assert_eq!(guess.cleanup_seconds(&anew, 2), Some(3.0));
        assert_eq!(left(&guess, &anew, RunPosition::End(2, 1.0)), (2.0, false));
        assert_eq!(left(&guess, &anew, RunPosition::End(2, 9.0)), (0.0, false));
        assert_eq!(
            left(&guess, &anew, RunPosition::After(2, 0.0)),
            (3.0, false)
        );
    }

    #[test]
    fn a_run_of_open_length_is_at_least_its_least() {
        let mut guess = TimeEstimator::default();
        guess.learn_init(20.0, 100_000_000);
        guess.learn_cleanup(10.0, 100_000_000);
        let mut open = facts(true);
        open.run_is_open = true;
        for place in [
            RunPosition::Before(0),
            RunPosition::Warmup(2, 4.0),
            RunPosition::Run(2, 4.0),
        ] {
            assert!(left(&guess, &open, place).1, "{place:?}");
        }
        assert!(left(&guess, &open, RunPosition::After(1, 0.0)).1);
        for place in [RunPosition::After(2, 0.0), RunPosition::End(2, 1.0)] {
            assert!(!left(&guess, &open, place).1, "{place:?}");
        }
    }

    #[test]
    fn what_is_kept_needs_no_removal_and_nothing_is_nothing() {
        let mut guess = TimeEstimator::default();
        guess.learn_init(20.0, 0);
        let mut kept = facts(true);
        kept.keep = true;
        assert_eq!(
            left(&guess, &kept, RunPosition::Warmup(2, 4.0)),
            (54.0, false)
        );
        assert_eq!(left(&guess, &kept, RunPosition::End(2, 0.0)), (0.0, false));
        // An INIT without bytes (they were there) takes as long as the last one.
        assert_eq!(guess.init_seconds(&kept, 1), Some(20.0));
        kept.points.clear();
        for place in [
            RunPosition::Before(0),
            RunPosition::After(0, 0.0),
            RunPosition::Init(7, 1.0, 1),
        ] {
            assert!(guess.left(&kept, place).seconds.is_finite());
        }
    }
}
