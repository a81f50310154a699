//! Ended calls for which more replies may arrive.
//!
//! Over UDP a call that was sent twice usually gets two replies, and a call that timed out
//! may still get one. The slots of such calls are reused soon, so the calls are recorded here
//! to classify these replies. Replies to retransmitted and timed-out calls may arrive seconds
//! later: the latest few thousand of these calls are kept; on a network without loss there
//! are none. A call that was sent once gets two replies if the network duplicates a datagram,
//! one directly after the other: of these calls a hash table by xid has most of the latest
//! few thousand. Neither allocates; recording a call is one write.

use filermark_model::plan::Transport;

/// Number of retransmitted and timed-out calls that are kept.
const KEPT: usize = 4096;
/// Base-2 logarithm of the number of entries for calls that were sent once.
const PLACES_LOG2: u32 = 13;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It was answered.
    Answered,
    /// The wait for its reply has ended.
    TimedOut,
}

/// The latest ended calls of a shard.
#[derive(Debug)]
pub(crate) struct EndedCalls {
    /// A ring: the latest one is before `next`.
    kept: Box<[Option<(u32, CallEnd)>]>,
    next: usize,
    /// Calls that were sent once and answered; each entry has the latest of its xids.
    at_once: Box<[Option<u32>]>,
}

impl EndedCalls {
    /// Empty tables; over TCP without capacity, because a call gets at most one reply there.
    pub(crate) fn new(transport: Transport) -> Self {
        let (kept, places) = match transport {
            Transport::Tcp => (0, 0),
            Transport::Udp => (KEPT, 1 << PLACES_LOG2),
        };
        Self {
            kept: vec![None; kept].into_boxed_slice(),
            next: 0,
            at_once: vec![None; places].into_boxed_slice(),
        }
    }

    /// Records how the call with this xid ended.
    pub(crate) fn remember(&mut self, xid: u32, end: CallEnd) {
        if let Some(place) = self.kept.get_mut(self.next) {
            *place = Some((xid, end));
            self.next = (self.next + 1) % self.kept.len();
        }
        // This replaces an earlier call with the same xid.
        if let Some(place) = self.at_once.get_mut(place_of(xid)) {
            place.take_if(|of| *of == xid);
        }
    }

    /// Records that the call with this xid was answered and was sent only once.
    #[inline]
    pub(crate) fn answered_at_once(&mut self, xid: u32) {
        if let Some(place) = self.at_once.get_mut(place_of(xid)) {
            *place = Some(xid);
        }
    }

    /// How the latest call with this xid ended; `None`: there was none, or it is not recorded
    /// any more.
    pub(crate) fn find(&self, xid: u32) -> Option<CallEnd> {
        if self.at_once.get(place_of(xid)) == Some(&Some(xid)) {
            return Some(CallEnd::Answered);
        }
        let (new, old) = self.kept.split_at(self.next.min(self.kept.len()));
        let latest_first = new.iter().rev().chain(old.iter().rev());
        let mut known = latest_first.flatten();
        known.find(|(of, _)| *of == xid).map(|(_, end)| *end)
    }
}

/// Xids differ in a few low and a few high bits: Fibonacci hashing spreads both.
#[inline]
const fn place_of(xid: u32) -> usize {
    (xid.wrapping_mul(0x9e37_79b1) >> (u32::BITS - PLACES_LOG2)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_few_thousand_are_known() {
        let mut ended_calls = EndedCalls::new(Transport::Udp);
        assert_eq!(ended_calls.find(0), None);
        for xid in 0..2 * KEPT as u32 {
            ended_calls.remember(xid, CallEnd::Answered);
        }
        let last = 2 * KEPT as u32 - 1;
        ended_calls.remember(last, CallEnd::TimedOut);
        assert_eq!(ended_calls.find(last), Some(CallEnd::TimedOut));
        assert_eq!(ended_calls.find(last - 1), Some(CallEnd::Answered));
        assert_eq!(ended_calls.find(KEPT as u32), None, "replaced");
        assert_eq!(ended_calls.find(KEPT as u32 + 1), Some(CallEnd::Answered));
    }

    #[test]
    fn calls_that_were_answered_at_once_are_known_for_a_while() {
        let mut ended_calls = EndedCalls::new(Transport::Udp);
        // The xids of a shard: 512 slots in turn, a generation in the high bits.
        let xid = |n: u32| ((7 + n / 512) << 18) | (n % 512);
        let made = 100_000;
        for n in 0..made {
            ended_calls.answered_at_once(xid(n));
            assert_eq!(ended_calls.find(xid(n)), Some(CallEnd::Answered));
        }
        let known = |range: std::ops::Range<u32>| {
            let all = range.map(|n| ended_calls.find(xid(n)));
            all.filter(Option::is_some).count()
        };
        let latest = known(made - 1000..made);
        assert!(latest > 850, "{latest}");
        assert_eq!(known(made..made + 10_000), 0, "never made");
        assert!(known(0..made) <= 1 << PLACES_LOG2);
        // A later call with the same xid times out.
        ended_calls.remember(xid(made - 1), CallEnd::TimedOut);
        assert_eq!(ended_calls.find(xid(made - 1)), Some(CallEnd::TimedOut));
    }

    #[test]
    fn streams_keep_nothing() {
        let mut ended_calls = EndedCalls::new(Transport::Tcp);
        ended_calls.remember(1, CallEnd::TimedOut);
        ended_calls.answered_at_once(2);
        assert_eq!((ended_calls.find(1), ended_calls.find(2)), (None, None));
    }
}
