//! How far an agent's clock is from the prime's, and how well that is known.
//!
//! The prime asks what the agent's clock says, several times; the quickest answer
//! counts. The reading was taken somewhere between question and answer, so half of
//! the round trip bounds its error, whatever the way there and back looked like
//! (Cristian's method). No I/O and no clock here: moments in, an estimate out.

use filermark_model::Nanos;
use serde::{Deserialize, Serialize};

/// One agent's clock against the prime's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// What the agent's clock says more than the prime's, in nanoseconds.
    pub offset_ns: i64,
    /// Most that this may be wrong by, in nanoseconds.
    pub error_ns: u64,
    /// What the agent's time of day says more than the prime's, in nanoseconds.
    pub unix_offset_ns: i64,
}

impl ClockOffset {
    /// From one question and its answer.
    pub fn of(sent: Nanos, heard: Nanos, clock_ns: u64, unix_ns: u64, own_unix_ns: u64) -> Self {
        let trip = heard.since(sent).0;
        let middle = sent.0 as i128 + i128::from(trip / 2);
        let apart = |theirs: u64, ours: i128| clamp(i128::from(theirs) - ours);
        Self {
            offset_ns: apart(clock_ns, middle),
            error_ns: trip.div_ceil(2),
            // `own_unix_ns` was read when the answer came.
            unix_offset_ns: apart(unix_ns, i128::from(own_unix_ns) - i128::from(trip / 2)),
        }
    }

    /// The better known of two.
    #[must_use]
    pub fn or_better(self, other: Self) -> Self {
        if other.error_ns < self.error_ns {
            other
        } else {
            self
        }
    }

    /// A moment of the prime's clock by the agent's.
    pub fn there(&self, moment: Nanos) -> u64 {
        let there = i128::from(moment.0) + i128::from(self.offset_ns);
        u64::try_from(there.max(0)).unwrap_or(u64::MAX)
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
        /// However the way there and back is split, the truth lies within the bound.
        #[test]
        fn the_bound_holds(
            truth in -1_000_000_000_000i64..1_000_000_000_000,
            there in 0u64..50_000_000,
            back in 0u64..50_000_000,
            sent in 2_000_000_000_000u64..3_000_000_000_000,
        ) {
            let read = (sent + there) as i64 + truth;
            let heard = Nanos(sent + there + back);
            let offset = ClockOffset::of(Nanos(sent), heard, read as u64, 0, 0);
            prop_assert!((offset.offset_ns - truth).unsigned_abs() <= offset.error_ns + 1);
            let moment = Nanos(sent + 7);
            let error = offset.there(moment) as i64 - (moment.0 as i64 + truth);
            prop_assert!(error.unsigned_abs() <= offset.error_ns + 1);
        }
    }

    #[test]
    fn the_quickest_answer_counts() {
        let slow = ClockOffset::of(Nanos(0), Nanos(1000), 700, 0, 0);
        let quick = ClockOffset::of(Nanos(0), Nanos(10), 105, 0, 0);
        assert_eq!(slow.or_better(quick), quick);
        assert_eq!(quick.or_better(slow), quick);
        assert_eq!((quick.offset_ns, quick.error_ns), (100, 5));
        assert_eq!(quick.there(Nanos(50)), 150);
        // A clock far behind never goes below zero.
        let behind = ClockOffset::of(Nanos(900), Nanos(902), 1, 0, 0);
        assert_eq!(behind.there(Nanos(10)), 0);
    }
}
