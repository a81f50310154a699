//! A map of bounded size: when it is full, the entry that was used longest ago makes room.

use std::collections::HashMap;
use std::hash::Hash;

/// No slot.
const NONE: usize = usize::MAX;

#[derive(Debug)]
struct Slot<K, V> {
    key: K,
    value: V,
    newer: usize,
    older: usize,
}

/// See the module. It grows as it is used, up to its limit.
#[derive(Debug)]
pub(super) struct Lru<K, V> {
    limit: usize,
    index: HashMap<K, usize>,
    slots: Vec<Slot<K, V>>,
    newest: usize,
    oldest: usize,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    /// Of at most `limit` entries, and of one at least.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            index: HashMap::new(),
            slots: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// The entry of this key, now the newest; and whether another had to go for it.
    /// What is not there is made.
    pub(super) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> (&mut V, bool) {
        let (slot, evicted) = match self.index.get(&key) {
            Some(slot) => {
                let slot = *slot;
                self.unlink(slot);
                (slot, false)
            }
            None => self.add(key, make()),
        };
        self.link_newest(slot);
        (&mut self.slots[slot].value, evicted)
    }

    /// A slot for a new entry, not linked yet.
    fn add(&mut self, key: K, value: V) -> (usize, bool) {
        let new = Slot {
            key,
            value,
            newer: NONE,
            older: NONE,
        };
        let evicted = self.slots.len() >= self.limit;
        let slot = if evicted {
            let slot = self.oldest;
            self.unlink(slot);
            let old = std::mem::replace(&mut self.slots[slot], new);
            self.index.remove(&old.key);
            slot
        } else {
            self.slots.push(new);
            self.slots.len() - 1
        };
        self.index.insert(key, slot);
        (slot, evicted)
    }

    fn unlink(&mut self, slot: usize) {
        let Slot { newer, older, .. } = self.slots[slot];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
    }

    fn link_newest(&mut self, slot: usize) {
        let older = std::mem::replace(&mut self.newest, slot);
        self.slots[slot].newer = NONE;
        self.slots[slot].older = older;
        match older {
            NONE => self.oldest = slot,
            older => self.slots[older].newer = slot,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// All entries, in no order that means something.
    pub(super) fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.slots.iter().map(|slot| (slot.key, &slot.value))
    }

    pub(super) fn clear(&mut self) {
        self.index.clear();
        self.slots.clear();
        self.newest = NONE;
        self.oldest = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The same as a list that is searched from end to end.
        #[test]
        fn the_one_used_longest_ago_goes(limit in 1..6usize, keys in prop::collection::vec(0..10u8, 0..200)) {
            let mut lru = Lru::new(limit);
            let mut plain: Vec<(u8, u32)> = Vec::new();
            for key in keys {
                let (value, evicted) = lru.entry(key, || 0u32);
                *value += 1;
                let found = plain.iter().position(|(k, _)| *k == key);
                let count = found.map_or(0, |at| plain.remove(at).1);
                let full = found.is_none() && plain.len() == limit;
                if full {
                    plain.remove(0);
                }
                plain.push((key, count + 1));
                prop_assert_eq!(evicted, full);
                let mut there: Vec<(u8, u32)> = lru.iter().map(|(k, v)| (k, *v)).collect();
                there.sort_unstable();
                let mut wanted = plain.clone();
                wanted.sort_unstable();
                prop_assert_eq!(there, wanted);
            }
        }
    }
}
