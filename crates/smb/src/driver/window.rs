//! The calls of a connection by message id, and how many messages may be under way.
//!
//! SMB2: ids count up, and every message costs credits that the server grants (MS-SMB2
//! 3.2.4.1.5). SMB1: the client chooses the ids, and the server limits the number of requests
//! at once (MS-CIFS 2.2.4.52, MaxMpxCount).

use filermark_smbwire::smb2;

/// No call.
const NONE: u32 = u32::MAX;
/// Credits that a connection requests.
const CREDITS_WANTED: u32 = 512;
/// Largest difference of ids under way. A server that leaves one unanswered for longer is
/// faulty.
const SPAN_MAX: u64 = 1 << 16;

/// The messages of a connection that are under way.
#[derive(Debug)]
pub(crate) enum Window {
    Smb1(Multiplex),
    Smb2(Credits),
}

/// SMB2.
#[derive(Debug)]
pub(crate) struct Credits {
    next_id: u64,
    credits: u32,
    /// Calls by id, at the id's low bits; as large as the span of ids under way.
    by_id: Vec<(u64, u32)>,
    pending: u32,
}

/// SMB1.
#[derive(Debug)]
pub(crate) struct Multiplex {
    /// Calls by id less one.
    by_id: Vec<u32>,
    free: Vec<u16>,
}

impl Credits {
    /// Continues with the next id and the credits of a handshake.
    pub(crate) fn new(next_id: u64, credits: u32) -> Self {
        Self {
            next_id,
            credits,
            by_id: vec![(0, NONE); 16],
            pending: 0,
        }
    }

    /// Takes an id for a message that costs `charge` credits.
    fn take(&mut self, slot: u32, charge: u32) -> Option<u64> {
        if self.credits < charge {
            return None;
        }
        let id = self.next_id;
        while self.place(id).1 != NONE {
            if self.by_id.len() as u64 >= SPAN_MAX {
                return None;
            }
            self.grow();
        }
        self.credits -= charge;
        self.next_id += u64::from(charge.max(1));
        let at = self.index(id);
        self.by_id[at] = (id, slot);
        self.pending += 1;
        Some(id)
    }

    /// Whether the table has entries for the next ids: the oldest ids may be under way for long.
    fn has_free_ids(&self, charge: u32) -> bool {
        let grows = (self.by_id.len() as u64) < SPAN_MAX;
        grows || (0..u64::from(charge.max(1))).all(|n| self.place(self.next_id + n).1 == NONE)
    }

    fn index(&self, id: u64) -> usize {
        (id as usize) & (self.by_id.len() - 1)
    }

    fn place(&self, id: u64) -> (u64, u32) {
        self.by_id[self.index(id)]
    }

    fn grow(&mut self) {
        let larger = vec![(0, NONE); self.by_id.len() * 2];
        let old = std::mem::replace(&mut self.by_id, larger);
        for entry in old.into_iter().filter(|e| e.1 != NONE) {
            let at = self.index(entry.0);
            self.by_id[at] = entry;
        }
    }

    /// The credits to request with a message: those that it costs, and those that are missing.
    fn request(&self, charge: u32) -> u16 {
        let lacking = CREDITS_WANTED.saturating_sub(self.credits);
        lacking.max(charge).clamp(1, u32::from(u16::MAX)) as u16
    }
}

impl Multiplex {
    /// For so many requests at once.
    pub(crate) fn new(max_mpx: u16) -> Self {
        // Not 0xffff: the server uses that id for oplock breaks (MS-CIFS 3.2.5.42).
        let count = max_mpx.clamp(1, 4096);
        Self {
            by_id: vec![NONE; usize::from(count)],
            free: (1..=count).rev().collect(),
        }
    }
}

impl Window {
    /// Whether a call of `messages` messages that costs `charge` credits can be sent now.
    pub(crate) fn can_send(&self, charge: u32, messages: u32) -> bool {
        match self {
            Self::Smb2(credits) => credits.credits >= charge && credits.has_free_ids(charge),
            Self::Smb1(multiplex) => multiplex.free.len() >= messages as usize,
        }
    }

    /// An id for the next message of the call in `slot`.
    pub(crate) fn take(&mut self, slot: u32, charge: u32) -> Option<u64> {
        match self {
            Self::Smb2(credits) => credits.take(slot, charge),
            Self::Smb1(multiplex) => {
                let id = multiplex.free.pop()?;
                multiplex.by_id[usize::from(id) - 1] = slot;
                Some(u64::from(id))
            }
        }
    }

    /// Bytes of a transfer that the available credits allow.
    pub(crate) fn bytes_payable(&self) -> u32 {
        match self {
            Self::Smb2(credits) => credits.credits.saturating_mul(smb2::credits::CREDIT_BYTES),
            Self::Smb1(_) => u32::MAX,
        }
    }

    /// The credits to request with a message.
    pub(crate) fn request(&self, charge: u32) -> u16 {
        match self {
            Self::Smb2(credits) => credits.request(charge),
            Self::Smb1(_) => 0,
        }
    }

    /// The call that a message belongs to; it stays under way.
    #[inline]
    pub(crate) fn find(&self, id: u64) -> Option<u32> {
        let slot = match self {
            Self::Smb2(credits) => {
                let (known, slot) = credits.place(id);
                if known == id { slot } else { NONE }
            }
            Self::Smb1(multiplex) => {
                let at = usize::try_from(id.checked_sub(1)?).ok()?;
                *multiplex.by_id.get(at)?
            }
        };
        (slot != NONE).then_some(slot)
    }

    /// A message was answered.
    pub(crate) fn answered(&mut self, id: u64) {
        match self {
            Self::Smb2(credits) => {
                let at = credits.index(id);
                if credits.by_id[at].0 == id && credits.by_id[at].1 != NONE {
                    credits.by_id[at].1 = NONE;
                    credits.pending -= 1;
                }
            }
            Self::Smb1(multiplex) => {
                let at = (id as usize).wrapping_sub(1);
                if let Some(slot) = multiplex.by_id.get_mut(at).filter(|s| **s != NONE) {
                    *slot = NONE;
                    multiplex.free.push(id as u16);
                }
            }
        }
    }

    /// Adds the credits that the server grants with a reply.
    pub(crate) fn grant(&mut self, granted: u16) {
        if let Self::Smb2(credits) = self {
            credits.credits = credits.credits.saturating_add(granted.into()).min(1 << 16);
        }
    }

    /// Returns credits and the next id to a handshake; no message is under way.
    pub(crate) fn return_credits(&self, to: &mut smb2::Credits) {
        if let Self::Smb2(credits) = self {
            *to = smb2::Credits {
                available: credits.credits,
                next_message_id: credits.next_id,
            };
        }
    }

    /// The calls under way, each as often as it has messages.
    #[cfg(test)]
    fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        let (smb2, smb1) = match self {
            Self::Smb2(credits) => (&credits.by_id[..], &[][..]),
            Self::Smb1(multiplex) => (&[][..], &multiplex.by_id[..]),
        };
        let all = smb2.iter().map(|e| e.1).chain(smb1.iter().copied());
        all.filter(|slot| *slot != NONE)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Smb2(credits) => credits.pending == 0,
            Self::Smb1(multiplex) => multiplex.free.len() == multiplex.by_id.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// With replies in any order, every id finds its call, none is used twice, and no more
        /// is sent than was granted.
        #[test]
        fn ids_find_their_calls(
            steps in prop::collection::vec((any::<bool>(), 1u32..9, any::<prop::sample::Index>()), 1..400),
            one in any::<bool>(),
        ) {
            let mut window = match one {
                true => Window::Smb1(Multiplex::new(10)),
                false => Window::Smb2(Credits::new(7, 4)),
            };
            let mut under_way: Vec<(u64, u32, u32)> = Vec::new();
            let mut next = 0;
            let mut credits = 4u32;
            for (begin, charge, at) in steps {
                if begin {
                    let may = window.can_send(charge, 1);
                    prop_assert_eq!(may, if one { under_way.len() < 10 } else { credits >= charge });
                    let taken = window.take(next, charge);
                    prop_assert_eq!(taken.is_some(), may);
                    if let Some(id) = taken {
                        prop_assert!(under_way.iter().all(|u| u.0 != id));
                        under_way.push((id, next, charge));
                        credits = credits.saturating_sub(charge);
                        next += 1;
                    }
                } else if !under_way.is_empty() {
                    let (id, slot, charge) = under_way.swap_remove(at.index(under_way.len()));
                    prop_assert_eq!(window.find(id), Some(slot));
                    window.answered(id);
                    prop_assert_eq!(window.find(id), None);
                    window.grant(charge as u16 + 1);
                    credits += charge + 1;
                }
                prop_assert_eq!(window.slots().count(), under_way.len());
                prop_assert_eq!(window.is_empty(), under_way.is_empty());
            }
        }
    }
}
