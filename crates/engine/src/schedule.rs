//! The absolute schedule of one proc: when each operation is intended to start.
//!
//! Intended starts never move because an earlier operation was slow; the delay
//! of the actual start is measured. With uniform arrivals each slot of the
//! mean gap holds exactly one start, anywhere in it, so the rate is exact over
//! any span of whole gaps, and gaps are between none and twice the mean.

use filermark_model::plan::Arrivals;
use filermark_model::{Nanos, Rng};

/// Produces intended starts, ascending.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    gap_ns: f64,
    /// Beginning of the current slot (uniform) or the last start (Poisson), in ns.
    at_ns: f64,
    next: Nanos,
}

impl Schedule {
    /// Begins at `start` with `rate` operations per second.
    pub fn new(arrivals: Arrivals, rate: f64, start: Nanos, rng: &mut Rng) -> Self {
        let mut schedule = Self {
            arrivals,
            gap_ns: 1e9 / rate.max(1e-6),
            at_ns: start.0 as f64,
            next: start,
        };
        schedule.draw(rng);
        schedule
    }

    /// No schedule: the next start is always due.
    pub fn unlimited() -> Self {
        Self {
            arrivals: Arrivals::Uniform,
            gap_ns: 0.0,
            at_ns: 0.0,
            next: Nanos::ZERO,
        }
    }

    /// Whether the next start is always due.
    #[inline]
    pub fn is_unlimited(&self) -> bool {
        self.gap_ns == 0.0
    }

    /// The next intended start.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Advances to the next start.
    #[inline]
    pub fn advance(&mut self, rng: &mut Rng) {
        self.draw(rng);
    }

    /// Starts again at `start`, as if nothing had been missed.
    pub fn rebase(&mut self, start: Nanos, rng: &mut Rng) {
        self.at_ns = start.0 as f64;
        self.draw(rng);
    }

    /// About how many starts are between the next one and `now`.
    pub fn waiting_at(&self, now: Nanos) -> u64 {
        if now < self.next || self.is_unlimited() {
            return 0;
        }
        1 + (now.since(self.next).0 as f64 / self.gap_ns) as u64
    }

    /// How long the next start has been due.
    pub fn lag_at(&self, now: Nanos) -> Nanos {
        match self.is_unlimited() {
            true => Nanos::ZERO,
            false => now.since(self.next),
        }
    }

    /// The mean gap.
    pub fn gap(&self) -> Nanos {
        Nanos(self.gap_ns as u64)
    }

    #[inline]
    fn draw(&mut self, rng: &mut Rng) {
        if self.is_unlimited() {
            return;
        }
        match self.arrivals {
            Arrivals::Uniform => {
                self.next = Nanos((self.at_ns + rng.unit() * self.gap_ns) as u64);
                self.at_ns += self.gap_ns;
            }
            Arrivals::Poisson => {
                self.at_ns += rng.exponential() * self.gap_ns;
                self.next = Nanos(self.at_ns as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts_within(arrivals: Arrivals, rate: f64, seconds: u64) -> Vec<u64> {
        let mut rng = Rng::new(1, 1);
        let mut schedule = Schedule::new(arrivals, rate, Nanos::from_secs(1), &mut rng);
        let mut starts = Vec::new();
        while schedule.next() < Nanos::from_secs(1 + seconds) {
            starts.push(schedule.next().0);
            schedule.advance(&mut rng);
        }
        starts
    }

    #[test]
    fn uniform_arrivals_keep_the_rate_exactly() {
        for rate in [1.0, 7.0, 240.0, 12_345.0] {
            let starts = starts_within(Arrivals::Uniform, rate, 10);
            assert_eq!(starts.len(), (rate * 10.0) as usize);
            assert!(starts.is_sorted());
        }
    }

    #[test]
    fn poisson_arrivals_keep_it_on_average() {
        let starts = starts_within(Arrivals::Poisson, 1000.0, 100);
        let off = (starts.len() as f64 / 100_000.0 - 1.0).abs();
        assert!(off < 0.01, "{off}");
    }

    #[test]
    fn waiting_counts_what_was_missed() {
        let mut rng = Rng::new(1, 1);
        let schedule = Schedule::new(Arrivals::Uniform, 100.0, Nanos::ZERO, &mut rng);
        assert_eq!(schedule.waiting_at(Nanos::ZERO), 0);
        let waiting = schedule.waiting_at(Nanos::from_secs(1));
        assert!((99..=101).contains(&waiting), "{waiting}");
    }
}
