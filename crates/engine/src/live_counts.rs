//! Operations of every proc so far, to be read while load runs (heartbeats).

use std::sync::atomic::{AtomicU64, Ordering};

/// One count per proc of an agent. Each is written by one thread only.
#[derive(Debug)]
pub struct LiveCounts {
    numbers: Vec<u32>,
    counts: Vec<AtomicU64>,
}

impl LiveCounts {
    /// Counts of the procs with these numbers in the run.
    pub fn new(numbers: Vec<u32>) -> Self {
        let counts = numbers.iter().map(|_| AtomicU64::new(0)).collect();
        Self { numbers, counts }
    }

    /// Where the proc with this number is.
    pub fn index_of(&self, number: u32) -> Option<usize> {
        self.numbers.iter().position(|n| *n == number)
    }

    /// Sets how many operations the proc at `index` has ended.
    #[inline]
    pub fn set(&self, index: usize, count: u64) {
        if let Some(slot) = self.counts.get(index) {
            slot.store(count, Ordering::Relaxed);
        }
    }

    /// Appends (proc number, operations so far) of every proc.
    pub fn snapshot(&self, into: &mut Vec<(u32, u64)>) {
        let counts = self.counts.iter().map(|c| c.load(Ordering::Relaxed));
        into.extend(self.numbers.iter().copied().zip(counts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_proc_numbers() {
        let counts = LiveCounts::new(vec![3, 9]);
        counts.set(counts.index_of(9).unwrap(), 7);
        counts.set(5, 1);
        let mut seen = Vec::new();
        counts.snapshot(&mut seen);
        assert_eq!(seen, [(3, 0), (9, 7)]);
        assert_eq!(counts.index_of(4), None);
    }
}
