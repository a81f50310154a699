//! The offset of an agent's clock from the prime's, and the bound of its error.
//!
//! The prime requests the agent's clock several times; the reply with the shortest round trip
//! counts. The reading was taken between request and reply, so half of the round trip bounds
//! its error, also with asymmetric delays (Cristian's method). No I/O and no clock here: times
//! in, an estimate out.

use filermark_model::Nanos;
use serde::{Deserialize, Serialize};

/// An agent's clock relative to the prime's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The agent's clock minus the prime's, in nanoseconds.
    pub offset_ns: i64,
    /// Bound of the error, in nanoseconds.
    pub error_ns: u64,
    /// The agent's time of day minus the prime's, in nanoseconds.
    pub unix_offset_ns: i64,
}

impl ClockOffset {
    /// From one request and its reply.
    pub fn of(sent: Nanos, received: Nanos, clock_ns: u64, unix_ns: u64, own_unix_ns: u64) -> Self {
        let trip = received.since(sent).0;
        let middle = sent.0 as i128 + i128::from(trip / 2);
        let apart = |theirs: u64, ours: i128| clamp(i128::from(theirs) - ours);
        Self {
            offset_ns: apart(clock_ns, middle),
            error_ns: trip.div_ceil(2),
            // `own_unix_ns` was read when the reply arrived.
            unix_offset_ns: apart(unix_ns, i128::from(own_unix_ns) - i128::from(trip / 2)),
        }
    }

    /// The one with the smaller error.
    #[must_use]
    pub fn or_better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns {
            other
        } else {
            self
        }
    }

    /// A time of the prime's clock by the agent's.
    pub fn at_agent(&self, time: Nanos) -> u64 {
        let at_agent = i128::from(time.0) + i128::from(self.offset_ns);
        u64::try_from(at_agent.max(0)).unwrap_or(u64::MAX)
    }
}

fn clamp(ns: i128) -> i64 {
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the round trip is split, the true offset is within the bound.
        #[test]
        fn the_error_is_within_the_bound(
            truth in -1_000_000_000_000i64..1_000_000_000_000,
            at_agent in 0u64..50_000_000,
            back in 0u64..50_000_000,
            sent in 2_000_000_000_000u64..3_000_000_000_000,
        ) {
            let read = (sent + at_agent) as i64 + truth;
            let received = Nanos(sent + at_agent + back);
            let offset = ClockOffset::of(Nanos(sent), received, read as u64, 0, 0);
            prop_assert!((offset.offset_ns - truth).unsigned_abs() <= offset.error_ns + 1);
            let time = Nanos(sent + 7);
            let error = offset.at_agent(time) as i64 - (time.0 as i64 + truth);
            prop_assert!(error.unsigned_abs() <= offset.error_ns + 1);
        }
    }

    #[test]
    fn the_reply_with_the_shortest_round_trip_counts() {
        let slow = ClockOffset::of(Nanos(0), Nanos(1000), 700, 0, 0);
        let quick = ClockOffset::of(Nanos(0), Nanos(10), 105, 0, 0);
        assert_eq!(slow.or_better(quick), quick);
        assert_eq!(quick.or_better(slow), quick);
        assert_eq!((quick.offset_ns, quick.error_ns), (100, 5));
        assert_eq!(quick.at_agent(Nanos(50)), 150);
        // A clock far behind never becomes negative.
        let behind = ClockOffset::of(Nanos(900), Nanos(902), 1, 0, 0);
        assert_eq!(behind.at_agent(Nanos(10)), 0);
    }
}
