//! Operations of every proc so far, to be read while load runs (heartbeats).

use std::sync::atomic::{AtomicU64, Ordering};

/// A count on a cache line of its own: threads that write counts side by side after each operation
/// would wait for each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Count(AtomicU64);

/// One count per proc of an agent. Each is written by one thread only.
#[derive(Debug)]
pub struct LiveCounts {
    numbers: Vec<u32>,
    counts: Vec<Count>,
}

impl LiveCounts {
    /// Counts of the procs with these numbers in the run.
    pub fn new(numbers: Vec<u32>) -> Self {
        let counts = numbers.iter().map(|_| Count::default()).collect();
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
            slot.0.store(count, Ordering::Relaxed);
        }
    }

    /// Appends (proc number, operations so far) of every proc.
    pub fn snapshot(&self, into: &mut Vec<(u32, u64)>) {
        let counts = self.counts.iter().map(|c| c.0.load(Ordering::Relaxed));
        into.extend(self.numbers.iter().copied().zip(counts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_has_a_cache_line_of_its_own() {
        let counts = LiveCounts::new(vec![1, 2]);
        let [first, second] = [0, 1].map(|at| std::ptr::from_ref(&counts.counts[at]).addr());
        assert_eq!((first % 64, second - first), (0, 64));
    }

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
