//! The names that a proc creates and removes: which exist, which are free.
//!
//! An operation takes a name out of the pool while it is in flight, so that no
//! two operations in flight touch the same one, and puts it back as existing or
//! free when its outcome is known.

use filermark_model::Rng;

/// A fixed number of names, each existing, free, or taken by an operation.
#[derive(Clone, Debug)]
pub struct Pool {
    base: u32,
    live: Vec<u16>,
    free: Vec<u16>,
}

impl Pool {
    /// `capacity` names, all free; their objects are numbered from `base`.
    pub fn new(base: u32, capacity: u16) -> Self {
        let mut live = Vec::new();
        live.reserve_exact(usize::from(capacity));
        Self {
            base,
            live,
            free: (0..capacity).rev().collect(),
        }
    }

    /// The object number of a slot.
    pub fn object(&self, slot: u16) -> u32 {
        self.base + u32::from(slot)
    }

    /// Takes an existing name out, any with the same chance.
    #[inline]
    pub fn take_live(&mut self, rng: &mut Rng) -> Option<u16> {
        match self.live.len() {
            0 => None,
            n => Some(self.live.swap_remove(rng.below(n as u64) as usize)),
        }
    }

    /// Takes a free name out.
    #[inline]
    pub fn take_free(&mut self) -> Option<u16> {
        self.free.pop()
    }

    /// Puts a name back that now exists.
    #[inline]
    pub fn put_live(&mut self, slot: u16) {
        self.live.push(slot);
    }

    /// Puts a name back that does not exist.
    #[inline]
    pub fn put_free(&mut self, slot: u16) {
        self.free.push(slot);
    }

    /// How many exist (those in flight not counted).
    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// How many do not (those in flight not counted).
    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Those that exist.
    pub fn live(&self) -> &[u16] {
        &self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_between_free_and_live() {
        let mut pool = Pool::new(100, 2);
        let mut rng = Rng::new(0, 0);
        assert_eq!(pool.take_live(&mut rng), None);
        let a = pool.take_free().unwrap();
        let b = pool.take_free().unwrap();
        assert_eq!(pool.take_free(), None);
        assert_ne!(pool.object(a), pool.object(b));
        pool.put_live(a);
        pool.put_free(b);
        assert_eq!(pool.take_live(&mut rng), Some(a));
        assert_eq!(pool.live_count(), 0);
    }
}
