//! The instants of a load point, on the agent's clock.
//!
//! A warm-up of fixed length is known from the beginning. One that lasts until the
//! server is steady has a latest end, and is ended earlier by [`Timetable::end_warmup`]
//! while load is made: the shards read one atomic word in each turn of WARMUP. A RUN
//! that lasts until the data set was touched has a latest end, too, and is ended earlier
//! by [`Timetable::end_run`]; only in such a RUN the shards continue to read it.

use filermark_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The instants of a load point, as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// WARMUP begins.
    pub warmup_start: Nanos,
    /// WARMUP ends and RUN begins.
    pub run_start: Nanos,
    /// RUN ends.
    pub run_end: Nanos,
}

/// When RUN begins, for all that depend on it.
#[derive(Clone, Debug)]
pub struct RunStart(Arc<AtomicU64>);

impl RunStart {
    /// The instant, as far as it is known.
    #[inline]
    pub fn get(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }

    /// Moves it to an earlier instant; a later one is ignored.
    pub fn advance_to(&self, at: Nanos) {
        self.0.fetch_min(at.0, Ordering::Relaxed);
    }
}

impl From<Nanos> for RunStart {
    fn from(at: Nanos) -> Self {
        Self(Arc::new(AtomicU64::new(at.0)))
    }
}

/// The instants of a load point whose RUN may begin before the latest instant that
/// was planned. Copies share the instant.
#[derive(Clone, Debug)]
pub struct Timetable {
    latest: RunTimes,
    run_start: RunStart,
    /// The length of a RUN that may be ended, in nanoseconds.
    run_length: Option<Arc<AtomicU64>>,
}

impl From<RunTimes> for Timetable {
    fn from(latest: RunTimes) -> Self {
        Self {
            run_start: latest.run_start.into(),
            run_length: None,
            latest,
        }
    }
}

impl Timetable {
    /// Instants of a load point whose RUN may be ended before its latest end.
    pub fn with_open_end(latest: RunTimes) -> Self {
        let longest = latest.run_end.since(latest.run_start);
        Self {
            run_length: Some(Arc::new(AtomicU64::new(longest.0))),
            ..latest.into()
        }
    }

    /// The instants as they are known now.
    #[inline]
    pub fn times(&self) -> RunTimes {
        let run_start = self.run_start.get();
        let length = match &self.run_length {
            Some(length) => Nanos(length.load(Ordering::Relaxed)),
            None => self.latest.run_end.since(self.latest.run_start),
        };
        RunTimes {
            warmup_start: self.latest.warmup_start,
            run_start,
            run_end: run_start + length,
        }
    }

    /// Whether RUN may be ended before its latest end.
    #[inline]
    pub fn has_open_end(&self) -> bool {
        self.run_length.is_some()
    }

    /// Sets the length of RUN; a longer one than the known one is ignored.
    pub fn end_run(&self, length: Nanos) {
        if let Some(known) = &self.run_length {
            known.fetch_min(length.0, Ordering::Relaxed);
        }
    }

    /// The instants if WARMUP takes as long as it may. Seconds are numbered by these
    /// while load is made.
    pub fn latest(&self) -> RunTimes {
        self.latest
    }

    /// The beginning of RUN, for others that wait for it.
    pub fn run_start(&self) -> RunStart {
        self.run_start.clone()
    }

    /// Sets the length of WARMUP: so many whole seconds less than the maximum.
    /// A length that is not such a number is rounded up to one.
    pub fn end_warmup(&self, warmup: Nanos) {
        let longest = self.latest.run_start.since(self.latest.warmup_start);
        let saved = Nanos(longest.since(warmup).0 / SECOND * SECOND);
        self.run_start
            .advance_to(self.latest.run_start.since(saved));
    }
}

const SECOND: u64 = 1_000_000_000;

/// How many seconds before the latest instant RUN began: the offset of their numbers.
pub(crate) fn saved_seconds(latest: Nanos, run_start: Nanos) -> i64 {
    (latest.since(run_start).0 / SECOND) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_is_moved_by_whole_seconds_and_only_to_the_front() {
        let at = |ms| Nanos::from_millis(ms);
        let table = Timetable::from(RunTimes {
            warmup_start: at(500),
            run_start: at(300_500),
            run_end: at(310_500),
        });
        let other = table.clone();
        assert_eq!(other.times(), table.latest());
        table.end_warmup(at(31_200));
        let times = other.times();
        assert_eq!(
            (times.warmup_start, times.run_start, times.run_end),
            (at(500), at(32_500), at(42_500))
        );
        assert_eq!(
            saved_seconds(table.latest().run_start, times.run_start),
            268
        );
        table.end_warmup(at(900_000));
        table.end_warmup(Nanos::MAX);
        assert_eq!(other.times(), times, "a later end is ignored");
        table.end_warmup(Nanos::ZERO);
        assert_eq!(other.times().run_start, at(500));
    }

    #[test]
    fn only_a_run_with_an_open_end_is_ended() {
        let at = |ms| Nanos::from_millis(ms);
        let latest = RunTimes {
            warmup_start: at(500),
            run_start: at(10_500),
            run_end: at(310_500),
        };
        let fixed = Timetable::from(latest);
        fixed.end_run(at(5_000));
        assert_eq!((fixed.times(), fixed.has_open_end()), (latest, false));
        let open = Timetable::with_open_end(latest);
        let other = open.clone();
        assert_eq!((other.times(), other.has_open_end()), (latest, true));
        open.end_warmup(at(4_000));
        open.end_run(at(20_000));
        open.end_run(at(30_000));
        let times = other.times();
        assert_eq!((times.run_start, times.run_end), (at(4_500), at(24_500)));
    }
}
