//! The counts of a histogram, in one of two forms with equal figures: *dense*, all buckets in
//! memory, so that recording never allocates, and *sparse*, only those that are not empty. What
//! is read from a record or a message is sparse; it becomes dense where a latency is recorded or
//! dense counts are added.

use super::buckets::{BUCKET_COUNT, DIGITS, LATENCY_NS_MAX, lowest_ns};
use super::sparse::Sparse;
use hdrhistogram::Histogram;
use std::borrow::Cow;

/// Counts per bucket.
#[derive(Clone, Debug)]
pub(super) enum Counts {
    /// All buckets.
    Dense(Histogram<u64>),
    /// Those that are not empty.
    Sparse(Sparse),
}

impl Counts {
    /// None, with all of the memory taken.
    pub fn dense() -> Self {
        Self::Dense(empty())
    }

    /// Counts one latency of at least 1 ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        match self {
            Self::Dense(histogram) => histogram.saturating_record(ns),
            Self::Sparse(_) => self.make_dense().saturating_record(ns),
        }
    }

    /// Adds others; exact.
    pub fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (_, other) if other.total() == 0 => {}
            (Self::Sparse(mine), Self::Sparse(theirs)) => mine.add(theirs),
            (Self::Sparse(mine), Self::Dense(theirs)) => {
                let mut sum = theirs.clone();
                add_sparse(&mut sum, mine);
                *self = Self::Dense(sum);
            }
            (Self::Dense(mine), Self::Sparse(theirs)) => add_sparse(mine, theirs),
            (Self::Dense(mine), Self::Dense(theirs)) => mine
                .add(theirs)
                .expect("all histograms have the same bounds"),
        }
    }

    /// Takes others away; `false`: some of them are not here, and nothing useful is left.
    pub fn subtract(&mut self, other: &Self) -> bool {
        self.make_dense().subtract(&*other.to_dense()).is_ok()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Dense(histogram) => histogram.reset(),
            Self::Sparse(sparse) => sparse.clear(),
        }
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.len(),
            Self::Sparse(sparse) => sparse.total(),
        }
    }

    /// The longest, in nanoseconds; zero when empty.
    pub fn max_ns(&self) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.max(),
            Self::Sparse(sparse) => sparse.max_ns(),
        }
    }

    /// The shortest, in nanoseconds; zero when empty.
    pub fn min_ns(&self) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.min(),
            Self::Sparse(sparse) => sparse.min_ns(),
        }
    }

    /// How many the histogram cannot distinguish from this latency.
    pub fn count_at(&self, ns: u64) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.count_at(ns),
            Self::Sparse(sparse) => sparse.count_at(ns),
        }
    }

    /// How many are between two latencies; those that it cannot distinguish from them count.
    pub fn count_between(&self, low_ns: u64, high_ns: u64) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.count_between(low_ns, high_ns),
            Self::Sparse(sparse) => sparse.count_between(low_ns, high_ns),
        }
    }

    /// The latency at `percentile` (0 to 100), in nanoseconds.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        match self {
            Self::Dense(histogram) => histogram.value_at_percentile(percentile),
            Self::Sparse(sparse) => sparse.percentile_ns(percentile),
        }
    }

    /// All buckets.
    pub fn to_dense(&self) -> Cow<'_, Histogram<u64>> {
        match self {
            Self::Dense(histogram) => Cow::Borrowed(histogram),
            Self::Sparse(sparse) => {
                let mut histogram = empty();
                add_sparse(&mut histogram, sparse);
                Cow::Owned(histogram)
            }
        }
    }

    /// Those that are not empty.
    pub fn to_sparse(&self) -> Cow<'_, Sparse> {
        match self {
            Self::Dense(histogram) => {
                let counts = (0..BUCKET_COUNT).map(|at| (at, histogram.count_at(lowest_ns(at))));
                Cow::Owned(counts.filter(|(_, count)| *count > 0).collect())
            }
            Self::Sparse(sparse) => Cow::Borrowed(sparse),
        }
    }

    /// Takes the memory of all buckets, unless that was done before.
    #[cold]
    fn make_dense(&mut self) -> &mut Histogram<u64> {
        if let Self::Sparse(_) = self {
            *self = Self::Dense(self.to_dense().into_owned());
        }
        match self {
            Self::Dense(histogram) => histogram,
            Self::Sparse(_) => unreachable!("made dense above"),
        }
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
        .expect("the bounds are constants that the library accepts")
}

fn add_sparse(histogram: &mut Histogram<u64>, sparse: &Sparse) {
    for (bucket, count) in sparse.pairs() {
        histogram
            .record_n(lowest_ns(*bucket), *count)
            .expect("every bucket is within the bounds");
    }
}
