//! Whether the program continues after it was stopped (Ctrl-Z).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Sets `continued` whenever the program continues, until the result is unregistered.
#[cfg(unix)]
pub(super) fn watch_continuation(continued: &Arc<AtomicBool>) -> Option<signal_hook::SigId> {
    signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(continued)).ok()
}

/// Programs are not stopped at the terminal here.
#[cfg(not(unix))]
pub(super) const fn watch_continuation(_: &Arc<AtomicBool>) -> Option<signal_hook::SigId> {
    None
}
