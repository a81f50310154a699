//! The process groups of the scripts that have been called: none of them outlives the
//! run, nor a program that is left at once.

use filermark_link::child;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The leaders that have not been waited for: no other group can have their numbers.
static LEADERS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn leaders() -> MutexGuard<'static, Vec<u32>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A group is there.
pub(super) fn enroll(leader: &Child) {
    leaders().push(leader.id());
}

/// Ends groups with all that is in them: SIGTERM, and SIGKILL for what is still there
/// after a grace time. Says whether their leaders have ended.
pub(super) fn end(children: &mut [Child]) -> bool {
    // A leader that was waited for already leads nothing that we know of.
    let known: Vec<u32> = leaders().clone();
    let (mut ours, mut all): (Vec<&mut Child>, bool) = (Vec::new(), true);
    for child in children.iter_mut() {
        if known.contains(&child.id()) {
            ours.push(child);
        }
    }
    if !ours.is_empty() {
        all = child::end_each(&mut ours, child::TERM_GRACE);
        let ended: Vec<u32> = ours.iter().map(|child| child.id()).collect();
        leaders().retain(|id| !ended.contains(id));
    }
    all
}

/// Ends every group that is still there; for a program that is left at once.
pub fn end_all_at_once() {
    child::end_groups(&leaders());
}
