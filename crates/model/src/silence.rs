//! How long no reply arrived while operations were under way.
//!
//! Per second it is enough to keep the first and the last reply: a time without replies
//! of one second and more crosses the end of a second, and lies between the last reply
//! before it and the first one after it. Seconds of several threads merge exactly.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A time without replies that is shorter is not found in every case: it may lie within
/// one second of the series.
pub const SILENCE_MIN: Nanos = Nanos::from_secs(1);

/// The operations that ended in one second. The instants are of the clock of the process
/// that saw them, so this never leaves that process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replies {
    /// Whole seconds since RUN began; negative in WARMUP.
    pub second: i64,
    /// The first reply; [`Nanos::MAX`]: none.
    pub first: Nanos,
    /// The last reply; zero: none.
    pub last: Nanos,
    /// When the earliest sent operation of those that ended was sent; [`Nanos::MAX`]: none
    /// ended.
    pub open_since: Nanos,
}

impl Replies {
    /// A second in which nothing has ended yet.
    pub const fn none(second: i64) -> Self {
        Self {
            second,
            first: Nanos::MAX,
            last: Nanos::ZERO,
            open_since: Nanos::MAX,
        }
    }

    /// An operation has ended; `answered`: with a reply of any status.
    #[inline]
    pub fn note(&mut self, sent: Nanos, done: Nanos, answered: bool) {
        self.open_since = self.open_since.min(sent);
        if answered {
            self.first = self.first.min(done);
            self.last = self.last.max(done);
        }
    }

    /// Adds the same second of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.open_since = self.open_since.min(other.open_since);
    }
}

/// A time without replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// When it began, counted from the beginning of RUN, in nanoseconds.
    pub start_ns: u64,
    /// How long it was, in nanoseconds.
    pub length_ns: u64,
}

/// The longest time within RUN in which no reply arrived though operations were under
/// way. One that was given up counts as under way until the next reply. `seconds` are in
/// order. What is shorter than [`SILENCE_MIN`] is none.
pub fn longest(seconds: &[Replies], run_start: Nanos, run_end: Nanos) -> Option<Silence> {
    let mut longest = Silence {
        start_ns: 0,
        length_ns: 0,
    };
    // Between the last reply of a second and the first one of a later second: the
    // operations under way are those that ended later.
    let mut between = |last: Nanos, open_since: Nanos, next: Nanos| {
        let from = last.max(open_since).max(run_start);
        let length = next.min(run_end).since(from);
        if length.0 > longest.length_ns {
            longest = Silence {
                start_ns: from.since(run_start).0,
                length_ns: length.0,
            };
        }
    };
    let (mut next, mut open_since) = (Nanos::MAX, Nanos::MAX);
    for second in seconds.iter().rev() {
        if second.first != Nanos::MAX {
            between(second.last, open_since, next);
            next = second.first;
        }
        open_since = open_since.min(second.open_since);
    }
    between(Nanos::ZERO, open_since, next);
    (longest.length_ns >= SILENCE_MIN.0).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: (Nanos, Nanos) = (ms(10_000), ms(20_000));

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// Seconds of operations that were sent and ended at these times, in ms; a negative
    /// end: given up then, without a reply.
    fn seconds(operations: &[(u64, i64)]) -> Vec<Replies> {
        let mut all: Vec<Replies> = (0..40).map(|at| Replies::none(at - 10)).collect();
        for (sent, ended) in operations {
            let end = ended.unsigned_abs();
            all[(end / 1_000) as usize].note(ms(*sent), ms(end), *ended > 0);
        }
        all
    }

    fn found(operations: &[(u64, i64)]) -> Option<(u64, u64)> {
        let silence = longest(&seconds(operations), RUN.0, RUN.1)?;
        Some((silence.start_ns / 1_000_000, silence.length_ns / 1_000_000))
    }

    #[test]
    fn it_lies_between_the_last_reply_before_and_the_first_one_after() {
        let busy = [(12_000, 12_300), (12_301, 15_800), (15_700, 15_801)];
        assert_eq!(found(&busy), Some((2_301, 3_499)));
        // The next one was sent before the last reply: from that reply on.
        let two = [(12_000, 12_300), (12_100, 15_800)];
        assert_eq!(found(&two), Some((2_300, 3_500)));
        // An operation that ends last was under way all the time.
        let slow = [(12_000, 12_300), (15_790, 15_800), (12_200, 17_000)];
        assert_eq!(found(&slow), Some((2_300, 3_500)));
        // Nothing was under way: no silence.
        assert_eq!(found(&[(12_000, 12_300), (15_000, 15_100)]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn only_what_lies_in_run_counts() {
        assert_eq!(found(&[(4_000, 11_500)]), Some((0, 1_500)));
        assert_eq!(found(&[(18_000, 25_000)]), Some((8_000, 2_000)));
        assert_eq!(found(&[(1_000, 35_000)]), Some((0, 10_000)));
        assert_eq!(found(&[(1_000, 9_000), (21_000, 25_000)]), None);
        assert_eq!(found(&[(15_000, 15_999)]), None, "shorter than a second");
    }

    #[test]
    fn an_operation_that_was_given_up_is_no_reply() {
        let lost = [(12_000, 12_100), (12_100, -14_000), (14_000, 16_100)];
        assert_eq!(found(&lost), Some((2_100, 4_000)));
        let long = [(12_000, 12_100), (12_050, -14_000), (12_060, 16_100)];
        assert_eq!(found(&long), Some((2_100, 4_000)));
    }

    #[test]
    fn a_reply_to_another_thread_ends_it() {
        let mut mine = seconds(&[(12_000, 12_100), (12_101, 16_000)]);
        let others = seconds(&[(13_000, 13_500), (13_600, 14_000)]);
        for (mine, other) in mine.iter_mut().zip(&others) {
            mine.merge(other);
        }
        let silence = longest(&mine, RUN.0, RUN.1).unwrap();
        assert_eq!(silence.start_ns, ms(4_000).0);
        assert_eq!(silence.length_ns, ms(2_000).0);
    }
}
