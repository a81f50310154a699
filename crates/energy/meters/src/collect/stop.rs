//! The stop flag, for which threads can wait.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Raised once.
#[derive(Debug, Default)]
pub(super) struct Stop {
    raised: Mutex<bool>,
    wake: Condvar,
}

impl Stop {
    /// Wakes all threads that wait.
    pub fn raise(&self) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.wake.notify_all();
    }

    /// Whether it was raised.
    pub fn is_raised(&self) -> bool {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this time, or until it is raised; returns whether it is.
    pub fn wait(&self, time: Duration) -> bool {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .wake
            .wait_timeout_while(raised, time, |raised| !*raised);
        let (raised, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *raised
    }
}
