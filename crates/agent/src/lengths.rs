//! The lengths of the current load point's phases: the prime ends WARMUP when the load is
//! steady, and RUN when the data set has been touched.

use filermark_engine::shard::Timetable;
use filermark_model::Nanos;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the thread that receives orders and the one that works.
#[derive(Clone, Debug, Default)]
pub struct SharedDurations(Arc<Mutex<DurationState>>);

/// The lengths of the phases of a load point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseDurations {
    /// The length of WARMUP.
    pub warmup: Nanos,
    /// The length of RUN.
    pub runtime: Nanos,
    /// How long after the beginning or the end of RUN the order about it was received.
    pub late: Nanos,
}

#[derive(Debug, Default)]
struct DurationState {
    timetable: Option<Timetable>,
    /// The ordered length of WARMUP, and when the order was received.
    warmup: Option<(Nanos, Nanos)>,
    /// The ordered length of RUN, and when the order was received.
    run: Option<(Nanos, Nanos)>,
}

impl SharedDurations {
    /// Another task begins: earlier orders do not apply to it.
    pub fn clear(&self) {
        *self.lock() = DurationState::default();
    }

    /// WARMUP and RUN of this load point can be ended from now on.
    pub fn begin(&self, timetable: &Timetable) {
        let mut state = self.lock();
        state.timetable = Some(timetable.clone());
        state.notify();
    }

    /// The length of WARMUP, received at `now`.
    pub fn end_warmup(&self, warmup: Nanos, now: Nanos) {
        let mut state = self.lock();
        state.warmup = Some((warmup, now));
        state.notify();
    }

    /// The length of RUN, received at `now`.
    pub fn end_run(&self, runtime: Nanos, now: Nanos) {
        let mut state = self.lock();
        state.run = Some((runtime, now));
        state.notify();
    }

    /// The load point is over.
    pub fn finish(&self) -> PhaseDurations {
        let state = self.lock();
        let Some(times) = state.timetable.as_ref().map(Timetable::times) else {
            return Default::default();
        };
        let begun = state
            .warmup
            .map(|(_, received)| received.since(times.run_start));
        let ended = state.run.map(|(_, received)| received.since(times.run_end));
        PhaseDurations {
            warmup: times.run_start.since(times.warmup_start),
            runtime: times.run_end.since(times.run_start),
            late: begun.max(ended).unwrap_or_default(),
        }
    }

    /// No code under this lock can panic.
    fn lock(&self) -> MutexGuard<'_, DurationState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DurationState {
    fn notify(&self) {
        let Some(timetable) = &self.timetable else {
            return;
        };
        if let Some((warmup, _)) = self.warmup {
            timetable.end_warmup(warmup);
        }
        if let Some((runtime, _)) = self.run {
            timetable.end_run(runtime);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_engine::shard::RunTimes;

    fn phases(warmup: u64, runtime: u64, late: Nanos) -> PhaseDurations {
        PhaseDurations {
            warmup: Nanos::from_secs(warmup),
            runtime: Nanos::from_secs(runtime),
            late,
        }
    }

    #[test]
    fn orders_apply_to_one_load_point() {
        let at = Nanos::from_secs;
        let times = RunTimes {
            warmup_start: at(10),
            run_start: at(310),
            run_end: at(320),
        };
        let lengths = SharedDurations::default();
        // In whichever order the two threads call.
        for early in [true, false] {
            let timetable = Timetable::from(times);
            if early {
                lengths.end_warmup(at(40), at(48));
            }
            lengths.begin(&timetable);
            if !early {
                lengths.end_warmup(at(40), at(53));
            }
            assert_eq!(timetable.times().run_start, at(50));
            let late = if early { at(0) } else { at(3) };
            assert_eq!(lengths.finish(), phases(40, 10, late));
            lengths.clear();
        }
        let timetable = Timetable::from(times);
        lengths.begin(&timetable);
        assert_eq!(lengths.finish(), phases(300, 10, at(0)), "no order");
        assert_eq!(timetable.times(), times);
        lengths.clear();
        let timetable = Timetable::with_open_end(times);
        lengths.begin(&timetable);
        lengths.end_run(at(4), at(313));
        assert_eq!(timetable.times().run_end, at(314));
        assert_eq!(lengths.finish(), phases(300, 4, at(0)), "in time");
        lengths.end_run(at(4), at(316));
        assert_eq!(lengths.finish(), phases(300, 4, at(2)), "too late");
        // Both in one load point.
        lengths.clear();
        let timetable = Timetable::with_open_end(times);
        lengths.begin(&timetable);
        lengths.end_warmup(at(40), at(48));
        lengths.end_run(at(4), at(52));
        assert_eq!(timetable.times().run_end, at(54));
        assert_eq!(lengths.finish(), phases(40, 4, at(0)));
    }
}
