//! Systems whose signals are only noted.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The signals that are handled.
pub(super) const EVERY: [i32; 2] = [SIGINT, SIGTERM];
/// How often they are looked for.
const POLL: Duration = Duration::from_millis(50);

/// The signals from now on.
pub(super) struct Signals([(i32, Arc<AtomicBool>); EVERY.len()]);

impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        let signals = Self(EVERY.map(|signal| (signal, Arc::default())));
        for (signal, came) in &signals.0 {
            signal_hook::flag::register(*signal, came.clone())?;
        }
        Ok(signals)
    }

    /// Calls `on_signal` for each, for ever. Two of a kind within a check are one.
    pub(super) fn for_each(self, on_signal: fn(i32)) {
        loop {
            for (signal, came) in &self.0 {
                if came.swap(false, Ordering::Relaxed) {
                    on_signal(*signal);
                }
            }
            std::thread::sleep(POLL);
        }
    }
}
