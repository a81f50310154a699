//! A cache of open handles, with the replacement policy "second chance" (a use costs one
//! byte and no reordering). All memory is allocated when the cache is made.

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    key: u64,
    value: Option<T>,
    /// It was used since the hand passed.
    used: bool,
}

/// Handles by key.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    slots: Vec<Slot<T>>,
    capacity: usize,
    /// Slots by the hash of their key, with open addressing; `NONE`: free. A power of
    /// two, at least twice the capacity.
    index: Vec<u32>,
    /// The slot that was given last: it never gives way.
    newest: u32,
    /// Where the search for one to give way goes on.
    hand: usize,
    /// Slots without a value.
    free: Vec<u32>,
    /// Slots that have lost a value, where that is noted.
    removed: Option<Vec<u32>>,
}

impl<T> Cache<T> {
    /// Capacity for so many handles; two at least, so that an operation on two files
    /// never loses one by opening the other.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(2, 1 << 20);
        Self {
            slots: Vec::with_capacity(capacity),
            capacity,
            index: vec![NONE; (capacity * 2).next_power_of_two()],
            newest: NONE,
            hand: 0,
            free: Vec::with_capacity(capacity),
            removed: None,
        }
    }

    /// Notes from now on which slots lose their value.
    pub(crate) fn note_removed(&mut self) {
        self.removed = Some(Vec::with_capacity(self.capacity));
    }

    /// A slot that has lost its value since, perhaps to another one.
    #[inline]
    pub(crate) fn take_removed(&mut self) -> Option<u32> {
        self.removed.as_mut()?.pop()
    }

    /// The handle in a slot that [`find`](Self::find) or [`put`](Self::put) gave.
    #[inline]
    pub(crate) fn at(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.value.as_ref()
    }

    /// Finds a handle, and notes its use.
    #[inline]
    pub(crate) fn find(&mut self, key: u64) -> Option<u32> {
        if let Some(slot) = self.slots.get(self.newest as usize)
            && slot.key == key
        {
            return Some(self.newest);
        }
        let slot = self.index[self.place(key)?];
        self.slots[slot as usize].used = true;
        self.newest = slot;
        Some(slot)
    }

    /// Keeps a handle; a full cache closes another one, but never the
    /// one that was found or put last.
    pub(crate) fn put(&mut self, key: u64, value: T) -> u32 {
        self.remove(key);
        if self.free.is_empty() && self.slots.len() == self.capacity {
            let victim = self.victim();
            self.remove(victim);
        }
        let fresh = Slot {
            key,
            value: Some(value),
            used: true,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = fresh;
                slot
            }
            None => {
                self.slots.push(fresh);
                (self.slots.len() - 1) as u32
            }
        };
        let mut at = self.home(key);
        while self.index[at] != NONE {
            at = (at + 1) & (self.index.len() - 1);
        }
        self.index[at] = slot;
        self.newest = slot;
        slot
    }

    /// The key of the one to give way; all slots are taken.
    fn victim(&mut self) -> u64 {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            let slot = &mut self.slots[self.hand];
            if !slot.used && self.hand != self.newest as usize {
                return slot.key;
            }
            slot.used = false;
        }
    }

    /// Drops a handle if it is there.
    #[inline]
    pub(crate) fn remove(&mut self, key: u64) {
        // Names that come and go often have no handle, and the index is not in the processor's cache.
        if self.slots.len() == self.free.len() {
            return;
        }
        let Some(place) = self.place(key) else { return };
        let slot = self.index[place];
        self.unindex(place);
        self.slots[slot as usize].value = None;
        self.free.push(slot);
        if let Some(removed) = &mut self.removed {
            removed.push(slot);
        }
        if self.newest == slot {
            self.newest = NONE;
        }
    }

    /// Drops the handles whose keys are not `wanted`.
    pub(crate) fn retain(&mut self, wanted: impl Fn(u64) -> bool) {
        for slot in 0..self.slots.len() {
            let Slot { key, ref value, .. } = self.slots[slot];
            if value.is_some() && !wanted(key) {
                self.remove(key);
            }
        }
    }

    /// Where a key belongs: the upper bits of a product, which all its bits reach. Keys that differ in
    /// the lowest two bits (classes of one file, which are dropped together) are neighbours.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let product = (key >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((product >> 32) as usize).wrapping_add((key & 3) as usize) & (self.index.len() - 1)
    }

    /// Where the index has a key. The index is at most half full, so the search ends.
    #[inline]
    fn place(&self, key: u64) -> Option<usize> {
        let mut at = self.home(key);
        loop {
            match self.index[at] {
                NONE => return None,
                slot if self.slots[slot as usize].key == key => return Some(at),
                _ => at = (at + 1) & (self.index.len() - 1),
            }
        }
    }

    /// Frees a place of the index, and moves up those that had to go further
    /// because of it.
    fn unindex(&mut self, place: usize) {
        let mask = self.index.len() - 1;
        let mut hole = place;
        let mut at = (place + 1) & mask;
        while self.index[at] != NONE {
            let home = self.home(self.slots[self.index[at] as usize].key);
            // It may move if its home is not between the hole and itself.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.index[hole] = self.index[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        self.index[hole] = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Rng;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    #[test]
    fn what_is_used_often_stays() {
        let mut cache = Cache::new(4);
        for key in 0..1_000 {
            cache.put(key, key);
            if key > 1 {
                let slot = cache.find(1).expect("kept");
                assert_eq!(cache.at(slot), Some(&1));
            }
        }
    }

    #[test]
    fn the_last_one_given_outlives_the_next() {
        let mut cache = Cache::new(2);
        for key in 0..100 {
            let first = cache.put(key, key);
            let second = cache.put(key + 1_000, key + 1_000);
            assert_eq!(cache.at(first), Some(&key));
            assert_eq!(cache.at(second), Some(&(key + 1_000)));
        }
    }

    #[test]
    fn dropped_handles_are_dropped() {
        let handle = Rc::new(());
        let mut cache = Cache::new(4);
        for key in 0..10 {
            cache.put(key, handle.clone());
        }
        assert_eq!(Rc::strong_count(&handle), 5);
        cache.retain(|key| key != 9);
        assert_eq!(Rc::strong_count(&handle), 4);
        assert_eq!(cache.find(9), None);
        cache.put(100, handle.clone());
        assert_eq!(Rc::strong_count(&handle), 5);
    }

    #[test]
    fn it_finds_what_it_has_and_nothing_else() {
        let mut rng = Rng::new(3, 0);
        let mut cache = Cache::new(8);
        let mut known = BTreeSet::new();
        for round in 0..50_000 {
            let key = rng.below(20) << (rng.below(2) * 40);
            match rng.below(4) {
                0 => {
                    cache.remove(key);
                    known.remove(&key);
                }
                1 => {
                    let slot = cache.put(key, key);
                    assert_eq!(cache.at(slot), Some(&key));
                    known.insert(key);
                }
                _ => {
                    let found = cache.find(key).and_then(|slot| cache.at(slot).copied());
                    assert!(found.is_none_or(|value| value == key), "round {round}");
                    if found.is_some() {
                        assert!(known.contains(&key), "round {round}");
                    } else {
                        // It gave way.
                        known.remove(&key);
                    }
                }
            }
            let kept = cache.slots.iter().filter(|slot| slot.value.is_some());
            let indexed = cache.index.iter().filter(|slot| **slot != NONE).count();
            assert_eq!(kept.count(), indexed, "round {round}");
            assert!(indexed <= 8);
        }
    }
}
