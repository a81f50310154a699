//! A histogram as the list of its buckets that are not empty: what is read from a record has a
//! few hundred of them, while all buckets take 248 KiB.

use super::buckets::{bucket_of, highest_ns, lowest_ns};
use std::cmp::Ordering;

/// Counts of the buckets that are not empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Sparse {
    /// Bucket and count, in the order of the buckets.
    pairs: Vec<(u32, u64)>,
    /// The sum of the counts.
    total: u64,
}

/// From counts above zero, in the order of their buckets.
impl FromIterator<(u32, u64)> for Sparse {
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(counts: I) -> Self {
        let pairs: Vec<(u32, u64)> = counts.into_iter().collect();
        let counts = pairs.iter().map(|(_, count)| *count);
        let total = counts.fold(0, u64::saturating_add);
        Self { pairs, total }
    }
}

impl Sparse {
    /// Bucket and count, in the order of the buckets; no count is zero.
    pub fn pairs(&self) -> &[(u32, u64)] {
        &self.pairs
    }

    /// The sum of the counts.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.total = 0;
    }

    /// The longest, in nanoseconds; zero when empty.
    pub fn max_ns(&self) -> u64 {
        self.pairs
            .last()
            .map_or(0, |(bucket, _)| highest_ns(*bucket))
    }

    /// The shortest, in nanoseconds; zero when empty.
    pub fn min_ns(&self) -> u64 {
        self.pairs
            .first()
            .map_or(0, |(bucket, _)| lowest_ns(*bucket))
    }

    /// How many are in the bucket of a latency.
    pub fn count_at(&self, ns: u64) -> u64 {
        let found = self
            .pairs
            .binary_search_by_key(&bucket_of(ns), |(bucket, _)| *bucket);
        found.map_or(0, |at| self.pairs[at].1)
    }

    /// How many are in the buckets from that of one latency to that of another.
    pub fn count_between(&self, low_ns: u64, high_ns: u64) -> u64 {
        let range = bucket_of(low_ns)..=bucket_of(high_ns);
        let inside = self
            .pairs
            .iter()
            .filter(|(bucket, _)| range.contains(bucket));
        inside.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The latency at `percentile`, by the rule of HdrHistogram: the longest of its bucket, and
    /// of percentile 0 the shortest.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        let share = percentile / 100.0;
        let share = if share > 1.0 { 1.0 } else { share };
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut sum = 0u64;
        for (bucket, count) in &self.pairs {
            sum = sum.saturating_add(*count);
            if sum >= rank {
                return if share == 0.0 {
                    lowest_ns(*bucket)
                } else {
                    highest_ns(*bucket)
                };
            }
        }
        0
    }

    /// Adds another one; exact.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        if self.pairs.is_empty() {
            self.pairs.clone_from(&other.pairs);
            return;
        }
        let mut sum = Vec::with_capacity(self.pairs.len() + other.pairs.len());
        let (mut mine, mut theirs) = (&self.pairs[..], &other.pairs[..]);
        while let ([first, rest @ ..], [other, others @ ..]) = (mine, theirs) {
            match first.0.cmp(&other.0) {
                Ordering::Less => {
                    sum.push(*first);
                    mine = rest;
                }
                Ordering::Greater => {
                    sum.push(*other);
                    theirs = others;
                }
                Ordering::Equal => {
                    sum.push((first.0, first.1.saturating_add(other.1)));
                    (mine, theirs) = (rest, others);
                }
            }
        }
        sum.extend_from_slice(mine);
        sum.extend_from_slice(theirs);
        self.pairs = sum;
    }
}
