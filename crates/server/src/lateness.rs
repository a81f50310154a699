//! How exact the delays are: by how much replies that were held back left after their time.

use hdrhistogram::Histogram;
use std::sync::{Mutex, PoisonError};

/// Figures in 1,000; three digits are as many as a delay has.
const DIGITS: u8 = 3;

/// Actual minus intended time of the replies that were held back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// How many were held back and have left.
    pub count: u64,
    /// Mean, in ns.
    pub mean_ns: f64,
    /// 99 % were not later, in ns.
    pub p99_ns: u64,
    /// The latest, in ns.
    pub max_ns: u64,
}

/// What one thread records. Another thread reads it at the end, so the lock is free.
#[derive(Debug)]
pub(crate) struct Recorder(Mutex<Option<Histogram<u64>>>);

impl Default for Recorder {
    fn default() -> Recorder {
        // It fails only for more than 5 digits; then nothing is recorded.
        Recorder(Mutex::new(Histogram::new(DIGITS).ok()))
    }
}

impl Recorder {
    /// Replies that were due at these times have left at `now_ns`.
    pub(crate) fn left(&self, now_ns: u64, due_ns: &[u64]) {
        let mut lateness = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lateness) = lateness.as_mut() {
            for due in due_ns {
                // The histogram grows as it has to; any u64 fits.
                let _ = lateness.record(now_ns.saturating_sub(*due));
            }
        }
    }
}

/// The figures of all threads together; `None` where nothing was held back.
pub(crate) fn of<'a>(recorders: impl Iterator<Item = &'a Recorder>) -> Option<Lateness> {
    let mut all = Histogram::<u64>::new(DIGITS).ok()?;
    for recorder in recorders {
        let one = recorder.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.add(one.as_ref()?).ok()?;
    }
    (!all.is_empty()).then(|| Lateness {
        count: all.len(),
        mean_ns: all.mean(),
        p99_ns: all.value_at_quantile(0.99),
        max_ns: all.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_figures_are_added_up() {
        let recorders = [Recorder::default(), Recorder::default()];
        assert_eq!(of(recorders.iter()), None);
        recorders[0].left(1_000, &[900; 99]);
        recorders[1].left(50_000, &[0]);
        // A clock that seems to go back is no lateness.
        recorders[1].left(5, &[6]);
        let lateness = of(recorders.iter()).expect("held back");
        assert_eq!((lateness.count, lateness.p99_ns), (101, 100));
        // Two values in a thousand is what three digits leave.
        let mean = (99.0 * 100.0 + 50_000.0) / 101.0;
        assert!((lateness.mean_ns - mean).abs() < 0.002 * mean);
        assert!(lateness.max_ns.abs_diff(50_000) < 50);
    }
}
