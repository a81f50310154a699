//! Signals of Unix systems.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;

/// The signals that are handled.
pub(super) const EVERY: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// The signals from now on.
pub(super) struct Signals(signal_hook::iterator::Signals);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        signal_hook::iterator::Signals::new(EVERY).map(Self)
    }

    /// Calls `on_signal` for each, for ever.
    pub(super) fn for_each(mut self, on_signal: fn(i32)) {
        self.0.forever().for_each(on_signal);
    }
}
