//! Calls that are over, and to which more replies may come.
//!
//! Over UDP a call that went twice is answered twice as a rule, and a call that was
//! given up may be answered yet. Their slots are used again soon, so what such a
//! reply is has to be kept apart. Replies to retransmitted and abandoned calls may come
//! seconds later: the latest few thousand of these calls are kept, which on a sound
//! network is none. A call that went once is answered twice where the network makes two
//! of one datagram, one right behind the other: of these calls, which are all on a sound
//! network, a table knows most of the latest few thousand, a place per xid. Neither
//! allocates; keeping a call in mind is one write.

use filermark_model::plan::Transport;

/// How many retransmitted and abandoned calls are kept.
const KEPT: usize = 4096;
/// Places for calls that were answered at once, as a power of two.
const PLACES_LOG2: u32 = 13;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It was answered.
    Answered,
    /// Nobody waited for its reply any more.
    TimedOut,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct EndedCalls {
    /// A ring: the latest one is before `next`.
    kept: Box<[Option<(u32, CallEnd)>]>,
    next: usize,
    /// Calls that went once and were answered; each place has the latest of its xids.
    at_once: Box<[Option<u32>]>,
}

impl EndedCalls {
    /// With room where there is a need: over TCP a reply comes once, or never.
    pub(crate) fn new(transport: Transport) -> Self {
        let (room, places) = match transport {
            Transport::Tcp => (0, 0),
            Transport::Udp => (KEPT, 1 << PLACES_LOG2),
        };
        Self {
            kept: vec![None; room].into_boxed_slice(),
            next: 0,
            at_once: vec![None; places].into_boxed_slice(),
        }
    }

    /// The call of this xid ended like that.
    pub(crate) fn remember(&mut self, xid: u32, fate: CallEnd) {
        if let Some(place) = self.kept.get_mut(self.next) {
            *place = Some((xid, fate));
            self.next = (self.next + 1) % self.kept.len();
        }
        // What an earlier call of this xid met counts no more.
        if let Some(place) = self.at_once.get_mut(place_of(xid)) {
            place.take_if(|of| *of == xid);
        }
    }

    /// The call of this xid went once and was answered.
    #[inline]
    pub(crate) fn answered_at_once(&mut self, xid: u32) {
        if let Some(place) = self.at_once.get_mut(place_of(xid)) {
            *place = Some(xid);
        }
    }

    /// How the call of this xid ended, the latest one's first; `None`: it was never
    /// made, or is long gone.
    pub(crate) fn fate(&self, xid: u32) -> Option<CallEnd> {
        if self.at_once.get(place_of(xid)) == Some(&Some(xid)) {
            return Some(CallEnd::Answered);
        }
        let (new, old) = self.kept.split_at(self.next.min(self.kept.len()));
        let latest_first = new.iter().rev().chain(old.iter().rev());
        let mut known = latest_first.flatten();
        known.find(|(of, _)| *of == xid).map(|(_, fate)| *fate)
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
        let mut departed = EndedCalls::new(Transport::Udp);
        assert_eq!(departed.fate(0), None);
        for xid in 0..2 * KEPT as u32 {
            departed.remember(xid, CallEnd::Answered);
        }
        let last = 2 * KEPT as u32 - 1;
        departed.remember(last, CallEnd::TimedOut);
        assert_eq!(departed.fate(last), Some(CallEnd::TimedOut));
        assert_eq!(departed.fate(last - 1), Some(CallEnd::Answered));
        assert_eq!(departed.fate(KEPT as u32), None, "long gone");
        assert_eq!(departed.fate(KEPT as u32 + 1), Some(CallEnd::Answered));
    }

    #[test]
    fn calls_that_were_answered_at_once_are_known_for_a_while() {
        let mut departed = EndedCalls::new(Transport::Udp);
        // As a shard makes them: 512 slots in turn, a generation in the high bits.
        let xid = |n: u32| ((7 + n / 512) << 18) | (n % 512);
        let made = 100_000;
        for n in 0..made {
            departed.answered_at_once(xid(n));
            assert_eq!(departed.fate(xid(n)), Some(CallEnd::Answered));
        }
        let known = |range: std::ops::Range<u32>| {
            let all = range.map(|n| departed.fate(xid(n)));
            all.filter(|fate| fate.is_some()).count()
        };
        let latest = known(made - 1000..made);
        assert!(latest > 850, "{latest}");
        assert_eq!(known(made..made + 10_000), 0, "never made");
        assert!(known(0..made) <= 1 << PLACES_LOG2);
        // The xid comes again, and its call is given up.
        departed.remember(xid(made - 1), CallEnd::TimedOut);
        assert_eq!(departed.fate(xid(made - 1)), Some(CallEnd::TimedOut));
    }

    #[test]
    fn streams_keep_nothing() {
        let mut departed = EndedCalls::new(Transport::Tcp);
        departed.remember(1, CallEnd::TimedOut);
        departed.answered_at_once(2);
        assert_eq!((departed.fate(1), departed.fate(2)), (None, None));
    }
}
