//! The slots of a session (RFC 8881 section 2.10.6.1): which are free, and the sequence number of each.

/// The most slots of one session.
pub const MAX_SLOTS: u32 = 4096;

const BITS: u32 = u64::BITS;

/// The slots of a session. The lowest free slot is used first, so that the highest in use stays low and the
/// server can give up the others. Nothing is allocated after [`SlotTable::new`].
#[derive(Debug, Clone)]
pub struct SlotTable {
    /// Sequence number of the next call in each slot.
    sequenceids: Vec<u32>,
    /// A bit for each slot in use.
    busy: Vec<u64>,
    /// How many are in use.
    in_use: u32,
    /// Only slots below this one are taken.
    usable: u32,
}

impl SlotTable {
    /// A table of `slots` free slots, at least 1 and at most [`MAX_SLOTS`].
    pub fn new(slots: u32) -> Self {
        let slots = slots.clamp(1, MAX_SLOTS);
        Self {
            sequenceids: vec![1; slots as usize],
            busy: vec![0; slots.div_ceil(BITS) as usize],
            in_use: 0,
            usable: slots,
        }
    }

    /// Takes the lowest free slot; `None`: the caller waits until one is released.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        for (number, word) in self.busy.iter_mut().enumerate() {
            let free = word.trailing_ones();
            let slotid = number as u32 * BITS + free;
            if slotid >= self.usable {
                return None;
            }
            if free < BITS {
                *word |= 1 << free;
                self.in_use += 1;
                return Some(slotid);
            }
        }
        None
    }

    /// Whether [`SlotTable::take`] would find a slot.
    #[inline]
    pub fn has_free(&self) -> bool {
        let mut words = (0u32..).zip(&self.busy);
        words.any(|(number, word)| {
            let free = word.trailing_ones();
            free < BITS && number * BITS + free < self.usable
        })
    }

    /// Frees a slot. `executed`: the server has used its sequence number, the next call has the next one.
    /// A slot that is not in use stays as it is.
    #[inline]
    pub fn release(&mut self, slotid: u32, executed: bool) {
        if !self.is_in_use(slotid) {
            return;
        }
        if let Some(word) = self.busy.get_mut((slotid / BITS) as usize) {
            *word &= !(1 << (slotid % BITS));
            self.in_use -= 1;
        }
        if let Some(sequenceid) = self.sequenceids.get_mut(slotid as usize) {
            *sequenceid = sequenceid.wrapping_add(u32::from(executed));
        }
    }

    /// Whether a call is under way in this slot.
    #[inline]
    pub fn is_in_use(&self, slotid: u32) -> bool {
        let word = self.busy.get((slotid / BITS) as usize).copied();
        word.unwrap_or_default() >> (slotid % BITS) & 1 == 1
    }

    /// Sequence number of the call in this slot, or of the next one if it is free.
    #[inline]
    pub fn sequenceid(&self, slotid: u32) -> Option<u32> {
        self.sequenceids.get(slotid as usize).copied()
    }

    /// The highest slot in use (`sa_highest_slotid`); 0 if there is none.
    #[inline]
    pub fn highest_in_use(&self) -> u32 {
        let found = self.busy.iter().enumerate().rev().find(|(_, w)| **w != 0);
        found.map_or(0, |(number, word)| {
            number as u32 * BITS + (BITS - 1 - word.leading_zeros())
        })
    }

    /// The highest slot that the client shall use (`sr_target_highest_slotid`). Slots above it are
    /// not taken any more; those in use are released as their calls end. It grows again up to what was
    /// granted.
    #[inline]
    pub fn set_highest(&mut self, slotid: u32) {
        self.usable = slotid.saturating_add(1).min(self.granted());
    }

    /// How many slots were granted.
    pub fn granted(&self) -> u32 {
        self.sequenceids.len() as u32
    }

    /// How many slots may be used at present.
    pub const fn usable(&self) -> u32 {
        self.usable
    }

    /// How many calls are under way.
    pub const fn in_use(&self) -> u32 {
        self.in_use
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_lowest_free_slot_is_taken_and_the_sequence_counts_executed_calls_alone() {
        let mut table = SlotTable::new(70);
        let all: Vec<u32> = (0..70).map(|_| table.take().unwrap()).collect();
        assert_eq!(all, (0..70).collect::<Vec<_>>());
        assert_eq!((table.take(), table.highest_in_use()), (None, 69));
        table.release(3, true);
        table.release(66, false);
        assert_eq!((table.take(), table.sequenceid(3)), (Some(3), Some(2)));
        assert_eq!((table.take(), table.sequenceid(66)), (Some(66), Some(1)));
    }

    #[test]
    fn the_sequence_goes_on_with_0_after_its_highest_number() {
        let mut table = SlotTable::new(1);
        table.sequenceids[0] = u32::MAX;
        table.take().unwrap();
        table.release(0, true);
        assert_eq!(table.sequenceid(0), Some(0));
    }

    #[test]
    fn what_the_server_sends_has_no_slot_out_of_range() {
        let mut table = SlotTable::new(0);
        assert_eq!(table.granted(), 1);
        table.set_highest(u32::MAX);
        assert_eq!(table.usable(), 1);
        table.release(u32::MAX, true);
        assert!(!table.is_in_use(u32::MAX));
        assert_eq!(SlotTable::new(u32::MAX).granted(), MAX_SLOTS);
    }

    #[derive(Debug, Clone)]
    enum Event {
        Take,
        Release(u32, bool),
        Highest(u32),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            3 => Just(Event::Take),
            2 => (0u32..140, any::<bool>()).prop_map(|(s, e)| Event::Release(s, e)),
            1 => (0u32..140).prop_map(Event::Highest),
        ];
        prop::collection::vec(event, 0..400)
    }

    proptest! {
        /// A map from slots in use to their sequence numbers is the model.
        #[test]
        fn it_is_the_same_as_a_plain_map(slots in 1u32..140, events in events()) {
            let mut table = SlotTable::new(slots);
            let mut busy = BTreeMap::new();
            let mut next = vec![1u32; slots as usize];
            let mut usable = slots;
            for event in events {
                match event {
                    Event::Take => {
                        let expected = (0..usable).find(|slot| !busy.contains_key(slot));
                        prop_assert_eq!(table.has_free(), expected.is_some());
                        prop_assert_eq!(table.take(), expected);
                        if let Some(slot) = expected {
                            busy.insert(slot, next[slot as usize]);
                        }
                    }
                    Event::Release(slot, executed) => {
                        table.release(slot, executed);
                        if busy.remove(&slot).is_some() {
                            next[slot as usize] += u32::from(executed);
                        }
                    }
                    Event::Highest(slot) => {
                        table.set_highest(slot);
                        usable = (slot + 1).min(slots);
                    }
                }
                prop_assert_eq!(table.in_use() as usize, busy.len());
                prop_assert_eq!(table.usable(), usable);
                let highest = busy.keys().next_back().copied().unwrap_or(0);
                prop_assert_eq!(table.highest_in_use(), highest);
                for slot in 0..slots {
                    prop_assert_eq!(table.is_in_use(slot), busy.contains_key(&slot));
                    prop_assert_eq!(table.sequenceid(slot), Some(next[slot as usize]));
                }
            }
        }
    }
}
