//! A clock for a thread that reads it twice per operation.
//!
//! A reading of the system's clock costs as much as a twentieth of a short system call. Where the
//! processor has a steady counter, the time is taken from it: a straight line through the last two
//! comparisons with the system's clock, which are made anew after [`LINE`]. So a reading differs
//! from one of the system's clock by less than [`ERROR_MAX`], however long the program runs and
//! however the system's clock is disciplined. A counter that differs by more is not used any more.

use super::{Clock, counter};
use filermark_model::Nanos;

/// How long a line is used.
const LINE: Nanos = Nanos::from_millis(1);
/// The time between the first two comparisons. What they may be wrong by is not known.
const FIRST: Nanos = Nanos::from_millis(10);
/// Most that a line may be ahead of the system's clock or behind it at its end: beyond that the
/// counter is not steady (the host was suspended, or the guest moved).
const ERROR_MAX: Nanos = Nanos(1_000);
/// Readings of counter and clock belong together if no more than this passed between them.
const PAIR_MAX: Nanos = Nanos(500);
/// Pairs that are read for a comparison: the one that was read fastest is taken, since the thread may
/// be interrupted.
const PAIR_ATTEMPTS: u32 = 3;
/// Bits after the point of a rate.
const RATE_BITS: u32 = 32;
/// Rates of counters that are used, in ticks per microsecond. So a line takes less than 2^25 ticks,
/// and its product with a rate fits a word.
const TICKS_PER_US_MIN: u64 = 250;
const TICKS_PER_US_MAX: u64 = 20_000;

/// A [`Clock`], as one thread reads it.
#[derive(Debug)]
pub struct ThreadClock {
    clock: Clock,
    line: Option<Line>,
}

impl ThreadClock {
    /// Shows the time of `clock`.
    pub fn of(clock: Clock) -> Self {
        let is_real = matches!(clock, Clock::Real(_));
        Self {
            line: (is_real && counter::is_steady()).then(Line::default),
            clock,
        }
    }

    /// The time since the origin of the clock.
    #[inline]
    pub fn now(&mut self) -> Nanos {
        let Some(line) = &mut self.line else {
            return self.clock.now();
        };
        let ticks = counter::read();
        match line.at(ticks) {
            Some(now) => now,
            None => self.compare(),
        }
    }

    #[cold]
    fn compare(&mut self) -> Nanos {
        let Some(line) = &mut self.line else {
            return self.clock.now();
        };
        match line.compare(counter::read, || self.clock.now()) {
            Ok(now) => now,
            Err(now) => {
                tracing::debug!(target: "filermark_engine::setup", "the processor's counter is not steady: the system's clock is read instead");
                self.line = None;
                now
            }
        }
    }
}

/// Counter and clock, read together.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    at: Nanos,
}

/// The straight line that the time is taken from.
#[derive(Debug, Default)]
struct Line {
    /// The last comparison.
    pair: Option<Pair>,
    /// Where the line begins: the counter is that of `pair`.
    from_ticks: u64,
    from: Nanos,
    /// Nanoseconds per tick, with [`RATE_BITS`] after the point.
    rate: u64,
    /// Ticks from its beginning on for which it is used.
    span: u64,
}

impl Line {
    /// The time at a reading of the counter; `None`: it must be compared with the clock first.
    #[inline]
    fn at(&self, ticks: u64) -> Option<Nanos> {
        let passed = ticks.wrapping_sub(self.from_ticks);
        (passed < self.span).then(|| self.from + Nanos((passed * self.rate) >> RATE_BITS))
    }

    /// The latest time that it can have given.
    fn end(&self) -> Nanos {
        self.from + Nanos((self.span * self.rate) >> RATE_BITS)
    }

    /// Compares the counter with the clock, and begins the next line where the clock is, or where this
    /// one ends, if that is later: the time does not run backwards. Gives the time.
    ///
    /// # Errors
    /// The counter is not steady: the time by the clock alone.
    fn compare(
        &mut self,
        mut ticks: impl FnMut() -> u64,
        mut clock: impl FnMut() -> Nanos,
    ) -> Result<Nanos, Nanos> {
        if let (0, Some(first)) = (self.rate, self.pair) {
            let now = clock();
            if now.since(first.at) < FIRST {
                return Ok(now);
            }
        }
        let pair = match self.read_pair(&mut ticks, clock) {
            Ok(pair) => pair,
            Err(now) => return Ok(now.max(self.end())),
        };
        let Some(last) = self.pair else {
            self.pair = Some(pair);
            return Ok(pair.at);
        };
        let (counted, passed) = (pair.ticks.wrapping_sub(last.ticks), pair.at.since(last.at));
        let now = pair.at.max(self.end());
        if !is_usable(counted, passed) || self.is_off(counted, passed) {
            return Err(now);
        }
        let rate = (u128::from(passed.0) << RATE_BITS) / u128::from(counted);
        let span = u128::from(LINE.0) * u128::from(counted) / u128::from(passed.0);
        *self = Self {
            pair: Some(pair),
            from_ticks: pair.ticks,
            from: now,
            rate: rate as u64,
            span: span as u64,
        };
        // The comparison took time.
        Ok(self.at(ticks()).unwrap_or(now))
    }

    /// Whether so many ticks are not what passed by the clock, at the rate known.
    fn is_off(&self, ticks: u64, passed: Nanos) -> bool {
        let counted = (u128::from(ticks) * u128::from(self.rate)) >> RATE_BITS;
        let allowed = u128::from(ERROR_MAX.0) * u128::from(passed.0.max(LINE.0) / LINE.0);
        self.rate > 0 && counted.abs_diff(u128::from(passed.0)) > allowed
    }

    /// Reads both.
    ///
    /// # Errors
    /// The thread was interrupted each time: the clock alone.
    fn read_pair(
        &self,
        mut ticks: impl FnMut() -> u64,
        mut clock: impl FnMut() -> Nanos,
    ) -> Result<Pair, Nanos> {
        let mut best = u64::MAX;
        let mut pair = Pair {
            ticks: 0,
            at: Nanos::ZERO,
        };
        for _ in 0..PAIR_ATTEMPTS {
            let before = ticks();
            let at = clock();
            let between = ticks().wrapping_sub(before);
            if between <= best {
                best = between;
                let ticks = before.wrapping_add(between / 2);
                pair = Pair { ticks, at };
            }
        }
        let most = match (self.rate, self.pair) {
            (0, None) => PAIR_MAX.0 * TICKS_PER_US_MAX / 1_000,
            // The rate that the two pairs give: they are far apart.
            (0, Some(first)) => {
                let counted = u128::from(pair.ticks.wrapping_sub(first.ticks));
                let passed = u128::from(pair.at.since(first.at).0.max(1));
                u64::try_from(u128::from(PAIR_MAX.0) * counted / passed).unwrap_or(u64::MAX)
            }
            (rate, _) => (PAIR_MAX.0 << RATE_BITS) / rate,
        };
        match best <= most {
            true => Ok(pair),
            false => Err(clock()),
        }
    }
}

/// Whether a counter with so many ticks in that time has a rate that is used.
fn is_usable(ticks: u64, passed: Nanos) -> bool {
    let per_us = (u128::from(ticks) * 1_000).checked_div(u128::from(passed.0));
    let usable = u128::from(TICKS_PER_US_MIN)..u128::from(TICKS_PER_US_MAX);
    per_us.is_some_and(|rate| usable.contains(&rate))
}

#[cfg(test)]
mod tests;
