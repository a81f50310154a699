//! The order of an agent's datagrams: new, late, duplicate, lost, or from a restarted agent.

use filermark_results::Timestamp;

/// Datagrams back within which a late one is distinguished from a duplicate.
const WINDOW: u32 = 64;
/// Datagrams ahead beyond which it is not a gap but a restarted count.
const JUMP: i32 = 65_536;
/// How late a datagram may be, by the agent's own time.
const LATE_MS: f64 = 10_000.0;
/// How far the agent's time may go back from one datagram to the next: some set it and the
/// sequence number in different threads.
const JITTER_MS: u32 = 1_000;
/// How closely the agent's and the receiver's time must agree where the agent's wraps.
const WRAP_TOLERANCE_MS: f64 = 600_000.0;

/// The classification of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// New, after missing ones.
    New {
        /// How many.
        missing: u32,
    },
    /// One of those that were missing.
    OutOfOrder,
    /// A duplicate, or one too late to distinguish from a duplicate.
    Duplicate,
    /// The first one after a restart of the agent.
    Restart,
}

/// What is known of the datagrams of one part of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    highest: u32,
    /// Bit n: `highest - n` was received. Those before the first count as received.
    come: u64,
    uptime_ms: u32,
    at: Timestamp,
}

impl Sequence {
    /// After the first datagram.
    pub(super) fn new(sequence: u32, uptime_ms: u32, at: Timestamp) -> Self {
        Self {
            highest: sequence,
            come: u64::MAX,
            uptime_ms,
            at,
        }
    }

    /// Classifies the next datagram.
    pub(super) fn arrive(&mut self, sequence: u32, uptime_ms: u32, at: Timestamp) -> Arrival {
        let elapsed_ms = at.seconds_since(self.at) * 1000.0;
        let ahead = sequence.wrapping_sub(self.highest).cast_signed();
        if ahead <= 0 {
            let late_ms = f64::from(self.uptime_ms) + elapsed_ms - f64::from(uptime_ms);
            if late_ms.abs() < LATE_MS || self.wrapped(uptime_ms, elapsed_ms) {
                return self.arrive_behind(ahead.unsigned_abs());
            }
        } else if ahead < JUMP && self.goes_on(uptime_ms, elapsed_ms) {
            let ahead = ahead.unsigned_abs();
            self.come = self.come.checked_shl(ahead).unwrap_or(0) | 1;
            self.highest = sequence;
            self.uptime_ms = uptime_ms;
            self.at = at;
            return Arrival::New { missing: ahead - 1 };
        }
        *self = Self::new(sequence, uptime_ms, at);
        Arrival::Restart
    }

    fn arrive_behind(&mut self, back: u32) -> Arrival {
        if back >= WINDOW || self.come & (1 << back) != 0 {
            return Arrival::Duplicate;
        }
        self.come |= 1 << back;
        Arrival::OutOfOrder
    }

    /// Whether an agent without a restart can have this uptime now.
    fn goes_on(&self, uptime_ms: u32, elapsed_ms: f64) -> bool {
        uptime_ms.saturating_add(JITTER_MS) >= self.uptime_ms || self.wrapped(uptime_ms, elapsed_ms)
    }

    /// Whether the uptime has passed 2^32 ms (some 50 days) since the last datagram, or lies
    /// before that point while the last was after it.
    fn wrapped(&self, uptime_ms: u32, elapsed_ms: f64) -> bool {
        let near = |value: u32| {
            f64::from(value.min(value.wrapping_neg())) <= WRAP_TOLERANCE_MS + elapsed_ms.abs()
        };
        let across = (uptime_ms > u32::MAX / 2) != (self.uptime_ms > u32::MAX / 2);
        let passed = f64::from(uptime_ms.wrapping_sub(self.uptime_ms).cast_signed());
        across
            && near(uptime_ms)
            && near(self.uptime_ms)
            && (passed - elapsed_ms).abs() <= WRAP_TOLERANCE_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: f64 = 1_520_000_000.0;

    fn at(seconds: f64) -> Timestamp {
        Timestamp::from_unix_seconds(START + seconds)
    }

    fn arrivals(first: (u32, u32, f64), rest: &[(u32, u32, f64)]) -> Vec<Arrival> {
        let mut sequence = Sequence::new(first.0, first.1, at(first.2));
        rest.iter()
            .map(|(number, uptime, seconds)| sequence.arrive(*number, *uptime, at(*seconds)))
            .collect()
    }

    const NEXT: Arrival = Arrival::New { missing: 0 };

    #[test]
    fn gaps_late_ones_and_doubles() {
        let came = arrivals(
            (7, 60_000, 0.0),
            &[
                (8, 61_000, 1.0),
                (11, 64_000, 4.0),
                (11, 64_000, 4.1),
                (9, 62_000, 4.2),
                (9, 62_000, 4.3),
                (12, 65_000, 5.0),
                (7, 60_000, 5.1),
                (2, 58_000, 5.2),
            ],
        );
        let gap = Arrival::New { missing: 2 };
        assert_eq!(
            came,
            [
                NEXT,
                gap,
                Arrival::Duplicate,
                Arrival::OutOfOrder,
                Arrival::Duplicate,
                NEXT,
                Arrival::Duplicate,
                Arrival::Duplicate
            ]
        );
    }

    #[test]
    fn an_agent_that_starts_again_is_seen_whatever_its_numbers_are() {
        // Backwards within the window, backwards far, forwards with an uptime from the beginning.
        for (number, uptime) in [(1, 0), (1, 500), (4990, 20), (5000, 0), (5003, 100)] {
            let came = arrivals(
                (5000, 90_000_000, 0.0),
                &[(number, uptime, 5.0), (number + 1, uptime + 1000, 6.0)],
            );
            assert_eq!(came, [Arrival::Restart, NEXT], "{number} {uptime}");
        }
        assert_eq!(
            arrivals((10, 5000, 0.0), &[(1_000_000, 6000, 1.0)]),
            [Arrival::Restart]
        );
        // A young agent, whose first datagrams have the numbers of those before.
        assert_eq!(
            arrivals((3, 60_000, 0.0), &[(1, 0, 2.0), (2, 1000, 3.0)]),
            [Arrival::Restart, NEXT]
        );
    }

    #[test]
    fn wraps_are_no_restarts() {
        let end = u32::MAX;
        assert_eq!(
            arrivals((end, 1000, 0.0), &[(0, 2000, 1.0), (1, 3000, 2.0)]),
            [NEXT, NEXT]
        );
        // The uptime passes 2^32 ms, and one from before comes late.
        let came = arrivals(
            (20, end - 500, 0.0),
            &[(22, 1500, 2.0), (21, 500, 2.1), (23, 2500, 3.0)],
        );
        assert_eq!(
            came,
            [Arrival::New { missing: 1 }, Arrival::OutOfOrder, NEXT]
        );
        let came = arrivals(
            (20, end - 5000, 0.0),
            &[(23, 3000, 8.0), (21, end - 4000, 8.1)],
        );
        assert_eq!(came, [Arrival::New { missing: 2 }, Arrival::OutOfOrder]);
        // After forty days a restart is not taken for a wrap.
        assert_eq!(
            arrivals((20, 3_500_000_000, 0.0), &[(21, 100, 5.0)]),
            [Arrival::Restart]
        );
    }

    #[test]
    fn an_agent_without_a_clock_still_has_an_order() {
        assert_eq!(
            arrivals((1, 0, 0.0), &[(2, 0, 5.0), (2, 0, 5.0), (3, 0, 10.0)]),
            [NEXT, Arrival::Duplicate, NEXT]
        );
    }

    #[test]
    fn sixty_four_back_is_as_far_as_it_looks() {
        let mut rest: Vec<_> = vec![(1002, 1000, 1.0)];
        rest.extend((0..62).map(|n| (1003 + n, 1000, 1.0)));
        rest.extend([(1001, 1000, 1.0), (1065, 1000, 1.0), (1001, 1000, 1.0)]);
        let came = arrivals((1000, 1000, 0.0), &rest);
        let last = &came[came.len() - 3..];
        assert_eq!(last, [Arrival::OutOfOrder, NEXT, Arrival::Duplicate]);
    }
}
