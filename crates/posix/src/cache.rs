//! Handles that are kept open: the least recently used one gives way. All room is
//! taken when the cache is made; nothing is allocated later.

use filermark_model::rng::mix64;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    key: u64,
    value: Option<T>,
    /// Neighbours in the order of use.
    newer: u32,
    older: u32,
}

/// Handles by key.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    slots: Vec<Slot<T>>,
    capacity: usize,
    /// Slots by the hash of their key, with open addressing; `NONE`: free.
    index: Vec<u32>,
    newest: u32,
    oldest: u32,
    /// Slots without a value.
    free: Vec<u32>,
}

impl<T> Cache<T> {
    /// Room for so many handles; two at least, so that an operation on two files
    /// never loses one by opening the other.
    pub(crate) fn new(capacity: usize) -> Self {
        let capacity = capacity.clamp(2, 1 << 20);
        Self {
            slots: Vec::with_capacity(capacity),
            capacity,
            index: vec![NONE; (capacity * 2).next_power_of_two()],
            newest: NONE,
            oldest: NONE,
            free: Vec::with_capacity(capacity),
        }
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
        self.unlink(slot);
        self.link_newest(slot);
        Some(slot)
    }

    /// Keeps a handle; the one that has not been used for the longest time is dropped
    /// where there is no room.
    pub(crate) fn put(&mut self, key: u64, value: T) -> u32 {
        self.remove(key);
        if self.free.is_empty() && self.slots.len() == self.capacity {
            let oldest = self.slots[self.oldest as usize].key;
            self.remove(oldest);
        }
        let fresh = Slot {
            key,
            value: Some(value),
            newer: NONE,
            older: NONE,
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
        self.link_newest(slot);
        slot
    }

    /// Drops a handle if it is there.
    pub(crate) fn remove(&mut self, key: u64) {
        let Some(place) = self.place(key) else { return };
        let slot = self.index[place];
        self.unindex(place);
        self.unlink(slot);
        self.slots[slot as usize].value = None;
        self.free.push(slot);
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

    fn home(&self, key: u64) -> usize {
        mix64(key) as usize & (self.index.len() - 1)
    }

    /// Where the index has a key. The index is at most half full, so the search ends.
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

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            n => self.slots[n as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            o => self.slots[o as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: u32) {
        let before = self.newest;
        self.slots[slot as usize].newer = NONE;
        self.slots[slot as usize].older = before;
        match before {
            NONE => self.oldest = slot,
            b => self.slots[b as usize].newer = slot,
        }
        self.newest = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Rng;
    use std::rc::Rc;

    #[test]
    fn the_least_recently_used_gives_way() {
        let mut cache = Cache::new(3);
        for key in [1, 2, 3] {
            cache.put(key, key);
        }
        assert!(cache.find(1).is_some());
        cache.put(4, 4);
        assert_eq!(cache.find(2), None);
        for key in [1, 3, 4] {
            let slot = cache.find(key).expect("kept");
            assert_eq!(cache.at(slot), Some(&key));
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
        cache.put(8, handle.clone());
        assert_eq!(Rc::strong_count(&handle), 4);
    }

    /// Against a slow list that does the same.
    #[test]
    fn it_does_what_a_simple_list_does() {
        let mut rng = Rng::new(3, 0);
        let mut cache = Cache::new(8);
        let mut list: Vec<u64> = Vec::new();
        for round in 0..50_000 {
            let key = rng.below(20);
            match rng.below(4) {
                0 => {
                    cache.remove(key);
                    list.retain(|k| *k != key);
                }
                1 => {
                    let slot = cache.put(key, key);
                    assert_eq!(cache.at(slot), Some(&key));
                    list.retain(|k| *k != key);
                    if list.len() == 8 {
                        list.remove(0);
                    }
                    list.push(key);
                }
                _ => {
                    let found = cache.find(key).and_then(|slot| cache.at(slot).copied());
                    let known = list.contains(&key);
                    assert_eq!(found, known.then_some(key), "round {round}");
                    if known {
                        list.retain(|k| *k != key);
                        list.push(key);
                    }
                }
            }
        }
    }
}
