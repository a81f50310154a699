//! The warm-up under way, which the prime ends when the load is steady.

use filermark_engine::shard::Timetable;
use filermark_model::Nanos;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the thread that receives orders and the one that works.
#[derive(Clone, Debug, Default)]
pub(super) struct Warmup(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    timetable: Option<Timetable>,
    /// The length that was ordered, and when.
    ordered: Option<(Nanos, Nanos)>,
}

impl Warmup {
    /// Another task begins: what was ordered before does not concern it.
    pub fn clear(&self) {
        *self.lock() = State::default();
    }

    /// WARMUP of this load point can be ended from now on.
    pub fn begin(&self, timetable: &Timetable) {
        let mut state = self.lock();
        state.timetable = Some(timetable.clone());
        state.end();
    }

    /// The length of WARMUP, received at `now`.
    pub fn end(&self, warmup: Nanos, now: Nanos) {
        let mut state = self.lock();
        state.ordered = Some((warmup, now));
        state.end();
    }

    /// The load point is over. Gives how long WARMUP took, and how long after the
    /// beginning of RUN the order to begin it was heard.
    pub fn finish(&self) -> (Nanos, Nanos) {
        let state = self.lock();
        let Some(times) = state.timetable.as_ref().map(Timetable::times) else {
            return Default::default();
        };
        let late = state.ordered.map(|(_, heard)| heard.since(times.run_start));
        (
            times.run_start.since(times.warmup_start),
            late.unwrap_or_default(),
        )
    }

    /// Nothing that can panic is done under this lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn end(&self) {
        if let (Some(timetable), Some((warmup, _))) = (&self.timetable, self.ordered) {
            timetable.end_warmup(warmup);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_engine::shard::RunTimes;

    #[test]
    fn what_is_ordered_holds_for_one_load_point() {
        let at = Nanos::from_secs;
        let times = RunTimes {
            warmup_start: at(10),
            run_start: at(310),
            run_end: at(320),
        };
        let warmup = Warmup::default();
        // In whatever order the two threads come.
        for early in [true, false] {
            let timetable = Timetable::from(times);
            if early {
                warmup.end(at(40), at(48));
            }
            warmup.begin(&timetable);
            if !early {
                warmup.end(at(40), at(53));
            }
            assert_eq!(timetable.times().run_start, at(50));
            let late = if early { at(0) } else { at(3) };
            assert_eq!(warmup.finish(), (at(40), late));
            warmup.clear();
        }
        let timetable = Timetable::from(times);
        warmup.begin(&timetable);
        assert_eq!(warmup.finish(), (at(300), at(0)), "nobody called");
        assert_eq!(timetable.times(), times);
    }
}
