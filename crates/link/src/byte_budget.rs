//! Room for what waits: a number of bytes that many threads share.
//!
//! Whoever reads from a link takes room for what it hands on and is held back where
//! there is none; so many agents that say much at once do not fill the memory. Knows
//! nothing of frames.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often those who wait look whether all is over.
const LOOK: Duration = Duration::from_millis(100);

/// The room.
pub(crate) struct ByteBudget {
    bytes_max: usize,
    taken_bytes: Mutex<usize>,
    given_back: Condvar,
    over: Arc<AtomicBool>,
}

/// Some of it, given back when dropped.
pub struct BudgetGuard {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteBudget {
    /// So many bytes; nobody waits any more once `over` is set.
    pub fn new(bytes_max: usize, over: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self {
            bytes_max,
            taken_bytes: Mutex::new(0),
            given_back: Condvar::new(),
            over,
        })
    }

    /// Takes so many bytes, waiting till they are free. More than there are at all are
    /// given to who is alone. `None`: all is over.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Option<BudgetGuard> {
        let mut taken = self.lock();
        // Without overflow: what was taken alone may be more than there is.
        while *taken > 0 && bytes > self.bytes_max.saturating_sub(*taken) {
            if self.over.load(Ordering::Relaxed) {
                return None;
            }
            let waited = self.given_back.wait_timeout(taken, LOOK);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
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
        self.budget.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn who_finds_no_room_waits_till_some_is_given_back() {
        let room = ByteBudget::new(100, Arc::default());
        let first = room.take(60).unwrap();
        let (sender, taken) = channel();
        let other = room.clone();
        let waits = std::thread::spawn(move || {
            let held = other.take(60);
            let _ = sender.send(());
            held.is_some()
        });
        assert!(taken.recv_timeout(LOOK * 3).is_err(), "it does not wait");
        drop(first);
        assert!(taken.recv_timeout(LIMIT).is_ok());
        assert!(waits.join().unwrap());
        assert_eq!(*room.lock(), 0);
    }

    #[test]
    fn what_is_larger_than_the_room_passes_alone() {
        let room = ByteBudget::new(100, Arc::default());
        let large = room.take(1000).unwrap();
        assert_eq!(*room.lock(), 1000);
        drop(large);
        assert!(room.take(100).is_some());
    }

    #[test]
    fn nobody_waits_when_all_is_over() {
        let over = Arc::new(AtomicBool::new(false));
        let room = ByteBudget::new(100, over.clone());
        let held = room.take(100).unwrap();
        let other = room.clone();
        let waits = std::thread::spawn(move || other.take(1).is_none());
        std::thread::sleep(LOOK);
        over.store(true, Ordering::Relaxed);
        assert!(waits.join().unwrap());
        drop(held);
    }
}
