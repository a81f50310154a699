//! What is under way, by token.

use crate::proc::PendingEffect;
use filermark_model::{Nanos, Op};

/// Why something is under way.
#[derive(Clone, Copy, Debug)]
pub enum SlotWork {
    /// An operation of the mix.
    Measured {
        op: Op,
        intended: Nanos,
        was_free: bool,
    },
    /// Something that an operation of the mix needs first.
    Preparing {
        op: Op,
        intended: Nanos,
        was_free: bool,
    },
    /// A task of INIT or CLEANUP that writes so many bytes; the phase may continue though it
    /// fails.
    Task {
        bytes: u64,
        may_fail: bool,
        /// The classical directory that it removes.
        removes: Option<Option<u32>>,
    },
    /// Of a phase that is over.
    Stale,
}

/// An operation or task under way.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    pub proc: u32,
    pub work: SlotWork,
    pub effect: PendingEffect,
}

/// A slab; tokens are its indices.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
}

impl Slots {
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: vec![None; capacity],
            free: (0..capacity as u32).rev().collect(),
        }
    }

    #[inline]
    pub fn put(&mut self, slot: Slot) -> u32 {
        match self.free.pop() {
            Some(token) => {
                self.slots[token as usize] = Some(slot);
                token
            }
            None => {
                self.slots.push(Some(slot));
                self.slots.len() as u32 - 1
            }
        }
    }

    /// What the token stood for; `None` for a token that is not under way.
    #[inline]
    pub fn take(&mut self, token: u32) -> Option<Slot> {
        let slot = self.slots.get_mut(token as usize)?.take()?;
        self.free.push(token);
        Some(slot)
    }

    /// Everything under way.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Marks everything under way as stale; returns how many.
    pub fn make_stale(&mut self) -> usize {
        let mut count = 0;
        for slot in self.slots.iter_mut().flatten() {
            slot.work = SlotWork::Stale;
            count += 1;
        }
        count
    }
}
