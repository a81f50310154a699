//! INIT and CLEANUP of the trees of composite benchmarks: proc after proc, since
//! a blocking shard has one.

use super::{Next, Task};
use crate::driver::Action;
use crate::file_action::FileAction;
use crate::proc::{PendingEffect, Proc};

/// Where the walk is.
#[derive(Debug)]
pub struct TreeWalk {
    emptying: bool,
    proc: usize,
    begun: bool,
}

impl TreeWalk {
    /// Makes the trees of procs that have none yet.
    pub fn fill() -> Self {
        Self {
            emptying: false,
            proc: 0,
            begun: false,
        }
    }

    /// Removes all trees.
    pub fn empty() -> Self {
        Self {
            emptying: true,
            ..Self::fill()
        }
    }

    /// The next task.
    pub fn next(&mut self, procs: &mut [Proc]) -> Next {
        while let Some(proc) = procs.get_mut(self.proc) {
            let action = proc.slice.tree_mut().and_then(|tree| {
                if !self.begun {
                    tree.begin(self.emptying);
                }
                match self.emptying {
                    true => tree.next_removal(),
                    false => tree.make(),
                }
            });
            self.begun = true;
            if let Some(action) = action {
                let mut bytes = 0;
                if let FileAction::Fill { size, .. } = action {
                    bytes = size;
                }
                return Next::Task(Task {
                    proc: self.proc,
                    action: Action::File(action),
                    bytes,
                    effect: PendingEffect::None,
                    may_fail: false,
                    removes: None,
                });
            }
            self.proc += 1;
            self.begun = false;
        }
        Next::Done
    }
}
