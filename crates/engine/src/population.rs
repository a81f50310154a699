//! INIT and CLEANUP as streams of tasks.

mod classic;
mod tree;

use crate::driver::Action;
use crate::proc::{PendingEffect, Proc};
use crate::slice::Slice;
use classic::ClassicWalk;
use tree::TreeWalk;

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Something to submit for the proc at this index.
    Task(Task),
    /// Everything so far must be complete first.
    Barrier,
    /// Nothing any more.
    Done,
}

/// One task of INIT or CLEANUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Index of the proc in its shard.
    pub proc: usize,
    /// What is to be done.
    pub action: Action,
    /// Bytes that it writes.
    pub bytes: u64,
    /// The change to the proc's state when its outcome is known.
    pub effect: PendingEffect,
    /// The phase may continue though it fails: closing what a connection may have lost.
    pub may_fail: bool,
    /// The classical directory that it removes: the proc's own, or one in it.
    pub removes: Option<Option<u32>>,
}

/// A walk over everything that is to be made or removed.
#[derive(Debug)]
pub enum Population {
    /// Slices of a classical file set.
    Classic(ClassicWalk),
    /// Trees.
    Tree(TreeWalk),
}

impl Population {
    /// Makes what is missing.
    pub fn fill(procs: &[Proc]) -> Self {
        match are_trees(procs) {
            true => Self::Tree(TreeWalk::fill()),
            false => Self::Classic(ClassicWalk::fill(procs)),
        }
    }

    /// Removes everything that the procs have made.
    pub fn empty(procs: &[Proc]) -> Self {
        match are_trees(procs) {
            true => Self::Tree(TreeWalk::empty()),
            false => Self::Classic(ClassicWalk::empty(procs)),
        }
    }

    /// The next task.
    pub fn next(&mut self, procs: &mut [Proc]) -> Next {
        match self {
            Self::Classic(walk) => {
                let set = procs.iter().find_map(|p| match &p.slice {
                    Slice::Classic(set, _) => Some(set.clone()),
                    Slice::Tree(_) => None,
                });
                set.map_or(Next::Done, |set| walk.next(procs, &set))
            }
            Self::Tree(walk) => walk.next(procs),
        }
    }
}

/// All procs of a shard are of one kind.
fn are_trees(procs: &[Proc]) -> bool {
    procs.first().is_some_and(|p| p.slice.tree().is_some())
}
