//! Calls that are over, and to which more replies may come.
//!
//! Over UDP a call that went twice is answered twice as a rule, and a call that was
//! given up may be answered yet. Their slots are used again soon, so what such a
//! reply is has to be kept apart. Only retransmitted and abandoned calls are kept,
//! the latest few thousand of them: on a sound network that is none.

use filermark_model::plan::Transport;

/// How many are kept.
const KEPT: usize = 4096;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It went more than once, and was answered.
    Answered,
    /// Nobody waited for its reply any more.
    GivenUp,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Departed {
    /// A ring: the latest one is before `next`.
    kept: Box<[Option<(u32, Fate)>]>,
    next: usize,
}

impl Departed {
    /// With room where there is a need: over TCP a reply comes once, or never.
    pub(crate) fn new(transport: Transport) -> Self {
        let room = match transport {
            Transport::Tcp => 0,
            Transport::Udp => KEPT,
        };
        Self {
            kept: vec![None; room].into_boxed_slice(),
            next: 0,
        }
    }

    /// The call of this xid ended like that.
    pub(crate) fn remember(&mut self, xid: u32, fate: Fate) {
        if let Some(place) = self.kept.get_mut(self.next) {
            *place = Some((xid, fate));
            self.next = (self.next + 1) % self.kept.len();
        }
    }

    /// How the call of this xid ended, the latest one's first; `None`: it went once
    /// and was answered, was never made, or is long gone.
    pub(crate) fn fate(&self, xid: u32) -> Option<Fate> {
        let (new, old) = self.kept.split_at(self.next.min(self.kept.len()));
        let latest_first = new.iter().rev().chain(old.iter().rev());
        let mut known = latest_first.flatten();
        known.find(|(of, _)| *of == xid).map(|(_, fate)| *fate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_few_thousand_are_known() {
        let mut departed = Departed::new(Transport::Udp);
        assert_eq!(departed.fate(0), None);
        for xid in 0..2 * KEPT as u32 {
            departed.remember(xid, Fate::Answered);
        }
        let last = 2 * KEPT as u32 - 1;
        departed.remember(last, Fate::GivenUp);
        assert_eq!(departed.fate(last), Some(Fate::GivenUp));
        assert_eq!(departed.fate(last - 1), Some(Fate::Answered));
        assert_eq!(departed.fate(KEPT as u32), None, "long gone");
        assert_eq!(departed.fate(KEPT as u32 + 1), Some(Fate::Answered));
    }

    #[test]
    fn streams_keep_nothing() {
        let mut departed = Departed::new(Transport::Tcp);
        departed.remember(1, Fate::GivenUp);
        assert_eq!(departed.fate(1), None);
    }
}
