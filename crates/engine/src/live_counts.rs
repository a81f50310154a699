//! How many operations every proc has done so far: written by the shards while load
//! is made, read by whoever wants to tell about it.

use crate::engine::Engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter per proc of one agent; only ever grows.
#[derive(Debug, Default)]
pub struct LiveCounts {
    numbers: Vec<u32>,
    counts: Vec<Count>,
}

/// On a cache line of its own: the threads of neighbouring procs must not disturb
/// each other.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Count(AtomicU64);

impl LiveCounts {
    /// Counters for procs with these numbers in the run.
    pub fn new(numbers: Vec<u32>) -> Self {
        let counts = numbers.iter().map(|_| Count::default()).collect();
        Self { numbers, counts }
    }

    /// Counts an operation of the proc at `index` among the numbers. Only one
    /// thread may count for a proc: no instruction is spent on others.
    #[inline]
    pub fn add(&self, index: usize) {
        if let Some(Count(count)) = self.counts.get(index) {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Appends the number and the count so far of every proc.
    pub fn snapshot(&self, into: &mut Vec<(u32, u64)>) {
        let counts = self.counts.iter().map(|c| c.0.load(Ordering::Relaxed));
        into.extend(self.numbers.iter().copied().zip(counts));
    }
}

impl Engine {
    /// How many operations every proc has done; the shards go on counting.
    pub fn live_counts(&self) -> Arc<LiveCounts> {
        // Stub: the shards do not count yet.
        Arc::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proc_is_counted_by_its_number() {
        let live = LiveCounts::new(vec![7, 3]);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1_000).for_each(|_| live.add(0)));
            scope.spawn(|| (0..500).for_each(|_| live.add(1)));
        });
        live.add(2);
        let mut seen = Vec::new();
        live.snapshot(&mut seen);
        assert_eq!(seen, [(7, 1_000), (3, 500)]);
    }
}
