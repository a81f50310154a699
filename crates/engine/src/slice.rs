//! What a proc works on: its slice of a classical file set, or a directory tree of
//! its own.

pub mod classic;
pub mod op_sequence;
mod session;
pub mod tree;

use crate::proc::{ChosenAction, PendingEffect};
use classic::{ClassicSet, ClassicSlice};
use filermark_model::{Nanos, Op, Rng};
use std::sync::Arc;
use tree::TreeSlice;

/// A proc's slice, with its rules.
#[derive(Debug)]
pub enum Slice {
    /// Of the one file set that all procs of a run share.
    Classic(Arc<ClassicSet>, Box<ClassicSlice>),
    /// A tree on a mounted file system.
    Tree(Box<TreeSlice>),
}

impl Slice {
    /// The next operation, where the slice determines it: its operations
    /// follow a sequence.
    #[inline]
    pub fn next_op(&mut self, rng: &mut Rng) -> Option<Op> {
        match self {
            Self::Classic(set, slice) => {
                let walk = set.walk.as_ref()?;
                Some(slice.walkers.draw(walk, rng))
            }
            Self::Tree(_) => None,
        }
    }

    /// Selects the objects that `op` works on, at about `now`.
    #[inline]
    pub fn choose(&mut self, rng: &mut Rng, op: Op, now: Nanos) -> ChosenAction {
        match self {
            Self::Classic(set, slice) => slice.choose(rng, op, set),
            Self::Tree(tree) => tree.choose(rng, op, now),
        }
    }

    /// Updates the state after an operation; `end` is the outcome's.
    #[inline]
    pub fn settle(&mut self, rng: &mut Rng, effect: PendingEffect, worked: bool, end: bool) {
        match (self, effect) {
            (_, PendingEffect::None) => {}
            (Self::Classic(set, slice), effect) => slice.settle(rng, effect, worked, end, set),
            (Self::Tree(tree), PendingEffect::Tree(effect)) => tree.settle(effect, worked),
            (Self::Tree(_), _) => {}
        }
    }

    /// Resets the state: nothing of it exists any more.
    pub fn forget(&mut self) {
        match self {
            Self::Classic(set, slice) => slice.forget_names(set.layout),
            Self::Tree(tree) => tree.forget(),
        }
    }

    /// Bytes of its files now, and of them the ones that RUN touches.
    pub fn bytes(&self) -> SliceBytes {
        match self {
            Self::Classic(_, slice) => SliceBytes {
                created: slice.created_bytes,
                accessed: slice.files.bytes(),
            },
            Self::Tree(tree) => SliceBytes {
                created: tree.data_bytes(),
                accessed: tree.data_bytes(),
            },
        }
    }

    /// The classical slice, if it is one.
    pub fn classic(&self) -> Option<&ClassicSlice> {
        match self {
            Self::Classic(_, slice) => Some(slice),
            Self::Tree(_) => None,
        }
    }

    /// The classical slice, mutable.
    pub fn classic_mut(&mut self) -> Option<&mut ClassicSlice> {
        match self {
            Self::Classic(_, slice) => Some(slice),
            Self::Tree(_) => None,
        }
    }

    /// The tree, if it is one.
    pub fn tree(&self) -> Option<&TreeSlice> {
        match self {
            Self::Classic(..) => None,
            Self::Tree(tree) => Some(tree),
        }
    }

    /// The tree, mutable.
    pub fn tree_mut(&mut self) -> Option<&mut TreeSlice> {
        match self {
            Self::Classic(..) => None,
            Self::Tree(tree) => Some(tree),
        }
    }
}

/// How large a slice is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceBytes {
    /// Bytes of its files when they were made.
    pub created: u64,
    /// Bytes of those that RUN touches, as they are now.
    pub accessed: u64,
}
