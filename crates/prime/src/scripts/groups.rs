//! The process groups of the scripts that have been called. All of them are ended at the
//! end of the run, and when the program exits at once.

use filermark_link::child;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The leaders that have not been waited for: the system does not reuse their numbers.
static LEADERS: Mutex<Vec<u32>> = Mutex::new(Vec::new());

fn leaders() -> MutexGuard<'static, Vec<u32>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a group.
pub(super) fn enroll(leader: &Child) {
    leaders().push(leader.id());
}

/// Ends groups with all their processes: SIGTERM, and SIGKILL after a grace time. Returns
/// whether their leaders have ended.
pub(super) fn end(children: &mut [Child]) -> bool {
    // The number of a leader that was waited for may be that of another process.
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

/// Ends every group; for an exit at once.
pub fn end_all_at_once() {
    child::end_groups(&leaders());
}
