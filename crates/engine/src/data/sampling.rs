//! Selects which replies to reads are compared, and which sector of them, where not all are.
//!
//! Comparing may take [`SHARE_MAX`] of the processor time of a thread. Where its operations
//! cost so little that a sector of each reply would be more than that, one of several replies
//! is drawn. The cost of a comparison is measured, since a sector that several writes have
//! touched costs many times as much as another one.

use super::sector::SECTOR_BYTES;
use crate::sys::thread_cpu;
use filermark_model::Nanos;
use filermark_model::rng::mix64;
use std::ops::Range;
use std::time::Duration;

/// The assumed cost of comparing a sector before it is measured.
const SECTOR_COST: Nanos = Nanos(60);
/// Most that a comparison is assumed to have cost: the thread may have been interrupted.
const COST_MAX: Duration = Duration::from_micros(200);
/// Share of the processor time that comparing may take: below the documented 2 %.
const SHARE_MAX: f64 = 0.015;
/// Replies between two measurements of the processor time.
const PERIOD: u32 = 1_024;
/// One in this many comparisons is measured; the mean is over as many measurements.
const TIMED_PART: u64 = 8;
const TIMED_MIN: u32 = 4;

/// Draws what is compared; one per history, on its thread.
#[derive(Debug)]
pub(super) struct Sampling {
    /// Replies that were drawn for; decides the draws.
    turn: u64,
    /// One in this many replies is compared.
    stride: u32,
    /// Replies until the next measurement of the processor time.
    left: u32,
    /// Processor time of the thread at the last measurement.
    measured_at: Nanos,
    /// What a comparison costs.
    cost: Nanos,
    /// Comparisons that were measured since then, and the time that they took.
    timed: (u32, Duration),
    /// Whether the comparison that was drawn last is to be measured.
    is_timed: bool,
}

impl Sampling {
    pub(super) fn new() -> Self {
        Self {
            turn: 0,
            stride: 1,
            left: PERIOD,
            measured_at: Nanos::ZERO,
            cost: SECTOR_COST,
            timed: (0, Duration::ZERO),
            is_timed: false,
        }
    }

    /// Whether the comparison that was drawn last is to be measured.
    #[inline]
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Records the time that the comparison took.
    pub(super) fn note_cost(&mut self, took: Duration) {
        self.timed.0 += 1;
        self.timed.1 += took.min(COST_MAX);
    }

    /// Which bytes of the next reply of `len` bytes from `offset` of a file on are compared: a
    /// sector, all of a reply that has no whole sector, or nothing.
    #[inline]
    pub(super) fn draw(&mut self, offset: u64, len: usize) -> Range<usize> {
        self.left -= 1;
        if self.left == 0 {
            self.end_period(thread_cpu());
        }
        self.turn = self.turn.wrapping_add(1);
        let drawn = mix64(self.turn);
        self.is_timed = (drawn >> 32).is_multiple_of(TIMED_PART);
        // The low half chooses the reply, the highest bits the sector.
        if ((drawn & 0xffff_ffff) * u64::from(self.stride)) >> 32 != 0 {
            return 0..0;
        }
        let skip = (offset.wrapping_neg() % SECTOR_BYTES) as usize;
        match len.saturating_sub(skip) / SECTOR_BYTES as usize {
            0 => 0..len,
            whole => {
                let which = (u128::from(drawn) * whole as u128) >> 64;
                let from = skip + which as usize * SECTOR_BYTES as usize;
                from..from + SECTOR_BYTES as usize
            }
        }
    }

    /// A period has ended: the stride follows from the processor time that it took.
    #[cold]
    fn end_period(&mut self, now: Nanos) {
        let (count, took) = self.timed;
        if count >= TIMED_MIN {
            self.cost = Nanos(took.as_nanos() as u64 / u64::from(count));
            self.timed = (0, Duration::ZERO);
        }
        // The start of the first period is not known.
        if self.measured_at != Nanos::ZERO {
            self.stride = stride(now.since(self.measured_at), self.cost);
        }
        self.measured_at = now;
        self.left = PERIOD;
    }
}

/// One of how many replies may be compared, if a period took so much processor time and a
/// comparison costs so much.
fn stride(period: Nanos, cost: Nanos) -> u32 {
    let all = f64::from(PERIOD) * cost.0 as f64;
    let may = period.0 as f64 * SHARE_MAX;
    (all / may.max(1.0)).ceil().clamp(1.0, f64::from(PERIOD)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_operations_have_each_reply_compared() {
        let of_op = |ns: u64| stride(Nanos(ns * u64::from(PERIOD)), SECTOR_COST);
        assert_eq!([7_000, 4_000, 1_000, 500, 200].map(of_op), [1, 1, 4, 8, 20]);
        assert_eq!(of_op(0), PERIOD, "a clock that stands still");
    }

    /// Comparing takes less than 2 % of the processor time, whatever an operation or a
    /// comparison costs.
    #[test]
    fn a_share_of_the_processor_time_is_not_exceeded() {
        let of_comparing = [20, 60, 500, 5_000];
        let of_op = [230, 970, 7_000, 100_000];
        for (cost, op) in of_comparing.into_iter().flat_map(|c| of_op.map(|o| (c, o))) {
            let mut sampling = Sampling::new();
            let mut cpu = Nanos(1);
            let mut compared = 0;
            for n in 0..400 * PERIOD {
                cpu = cpu + Nanos(op);
                if sampling.left == 1 {
                    sampling.end_period(cpu);
                    sampling.left += 1;
                }
                if sampling.draw(0, 4_096).is_empty() {
                    continue;
                }
                cpu = cpu + Nanos(cost);
                compared += u64::from(n >= 2 * PERIOD);
                if sampling.is_timed() {
                    sampling.note_cost(Duration::from_nanos(cost));
                }
            }
            let share = (compared * cost) as f64 / cpu.0 as f64;
            assert!(share < 0.02, "{share} at {cost} ns, {op} ns");
            assert!(compared > 100, "{compared} at {cost} ns, {op} ns");
        }
    }

    /// Comparing continues after a thread was interrupted during a comparison.
    #[test]
    fn an_interruption_is_forgotten() {
        let mut sampling = Sampling::new();
        let mut cpu = Nanos(1);
        let mut compared = 0;
        for n in 0..2_000 * PERIOD {
            cpu = cpu + Nanos(1_000);
            if sampling.left == 1 {
                sampling.end_period(cpu);
                sampling.left += 1;
            }
            let is_drawn = !sampling.draw(0, 4_096).is_empty();
            if is_drawn && sampling.is_timed() {
                let took = match n < 10 * PERIOD {
                    true => Duration::from_secs(1),
                    false => Duration::from_nanos(60),
                };
                sampling.note_cost(took);
            }
            compared += u32::from(is_drawn && n > 1_000 * PERIOD);
        }
        assert!(compared > 200 * PERIOD, "{compared}");
    }

    /// Each sector of a reply is drawn as often as the others, also where not all replies are.
    #[test]
    fn sectors_are_drawn_evenly() {
        for stride in [1, 7] {
            let mut sampling = Sampling::new();
            let mut counts = [0u32; 8];
            let replies = 80_000;
            for _ in 0..replies {
                sampling.stride = stride;
                sampling.left = PERIOD;
                let drawn = sampling.draw(4_096, 4_096);
                if !drawn.is_empty() {
                    assert_eq!((drawn.start % 512, drawn.len()), (0, 512));
                    counts[drawn.start / 512] += 1;
                }
            }
            let expected = f64::from(replies) / 8.0 / f64::from(stride);
            for count in counts {
                let off = (f64::from(count) - expected).abs() / expected.sqrt();
                assert!(off < 5.0, "{counts:?} of {expected} with stride {stride}");
            }
        }
    }

    #[test]
    fn the_sector_lies_in_the_reply() {
        let mut sampling = Sampling::new();
        let mut drawn = |offset, len| {
            sampling.left = PERIOD;
            sampling.draw(offset, len)
        };
        assert_eq!(drawn(1, 511), 0..511);
        assert_eq!(drawn(1, 1_023), 511..1_023);
        assert_eq!(drawn(0, 0), 0..0);
        assert_eq!(drawn(512, 512), 0..512);
    }
}
