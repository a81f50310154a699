//! A budget for queued bytes that many threads share.
//!
//! A thread that reads from a link reserves the bytes that it passes on, and blocks while the
//! budget is exhausted; so agents that send much at the same time do not fill the memory.
//! Independent of frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which blocked threads check whether the links are closed.
const POLL: Duration = Duration::from_millis(100);

/// The budget.
pub(crate) struct ByteBudget {
    bytes_max: usize,
    taken_bytes: Mutex<usize>,
    released: Condvar,
    over: Arc<AtomicBool>,
}

/// Reserved bytes, released when dropped.
pub struct BudgetGuard {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteBudget {
    /// A budget of `bytes_max`; no thread blocks any more once `over` is set.
    pub fn new(bytes_max: usize, over: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            taken_bytes: Mutex::new(0),
            released: Condvar::new(),
            over,
        })
    }

    /// Reserves bytes, and blocks until they are free. A request above the budget is granted if
    /// nothing else is reserved. `None`: the links are closed.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<BudgetGuard> {
        let mut taken = self.lock();
        // Without overflow: a single reservation may exceed the budget.
        while *taken > 0 && bytes > self.bytes_max.saturating_sub(*taken) {
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            let waited = self.released.wait_timeout(taken, POLL);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken += bytes;
        drop(taken);
        Some(BudgetGuard {
            budget: self.clone(),
            bytes,
        })
    }

    /// Reserves bytes if they are free. Never blocks.
    pub fn try_take(self: &Arc<Self>, bytes: usize) -> Option<BudgetGuard> {
        let mut taken = self.lock();
        if bytes > self.bytes_max.saturating_sub(*taken) {
            return None;
        }
        *taken += bytes;
        drop(taken);
        Some(BudgetGuard {
            budget: self.clone(),
            bytes,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, usize> {
        self.taken_bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BudgetGuard {
    fn drop(&mut self) {
        *self.budget.lock() -= self.bytes;
        self.budget.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn a_reservation_blocks_until_bytes_are_released() {
        let budget = ByteBudget::new(100, Arc::default());
        let first = budget.take(60).unwrap();
        let (sender, taken) = channel();
        let other = budget.clone();
        let waits = std::thread::spawn(move || {
            let held = other.take(60);
            let _ = sender.send(());
            held.is_some()
        });
        assert!(taken.recv_timeout(POLL * 3).is_err(), "it did not block");
        drop(first);
        assert!(taken.recv_timeout(LIMIT).is_ok());
        assert!(waits.join().unwrap());
        assert_eq!(*budget.lock(), 0);
    }

    #[test]
    fn a_reservation_above_the_budget_is_granted_alone() {
        let budget = ByteBudget::new(100, Arc::default());
        let large = budget.take(1000).unwrap();
        assert_eq!(*budget.lock(), 1000);
        drop(large);
        assert!(budget.take(100).is_some());
    }

    #[test]
    fn no_reservation_blocks_after_the_end() {
        let over = Arc::new(AtomicBool::new(false));
        let budget = ByteBudget::new(100, over.clone());
        let held = budget.take(100).unwrap();
        let other = budget.clone();
        let waits = std::thread::spawn(move || other.take(1).is_none());
        std::thread::sleep(POLL);
        over.store(true, Ordering::Relaxed);
        assert!(waits.join().unwrap());
        drop(held);
    }
}
