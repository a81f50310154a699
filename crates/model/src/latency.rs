//! A latency distribution: an HDR histogram and exact sums beside it.
//!
//! The histogram gives percentiles (three significant digits); mean and
//! deviation come from the sums, so that bucket widths never show in them.
//!
//! A latency whose end was not seen is counted with what is known of it: the time
//! until it was given up, a lower bound. Figures that depend on one say so.

mod buckets;
mod counts;
mod encoding;
mod sparse;

use crate::figure::Figure;
use crate::units::Nanos;
use base64::Engine as _;
pub use buckets::LATENCY_NS_MAX;
use counts::Counts;
use serde::{Deserialize, Serialize};
use std::iter::Sum;

/// Longest text form accepted from outside, in characters.
const TEXT_LEN_MAX: usize = 4 << 20;

/// Latencies of one kind, in nanoseconds. One that was read takes as much memory as it has
/// different latencies, until something is recorded in it.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Counts,
    sum_ns: u64,
    sum_sq_us: f64,
    /// How many of the latencies are lower bounds.
    at_least_count: u64,
    /// The shortest of these, in nanoseconds; 0: none.
    at_least_ns_min: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Latency {
    /// An empty one, with all of its memory taken: recording never allocates.
    pub fn new() -> Self {
        Self::with(Counts::dense())
    }

    fn with(histogram: Counts) -> Self {
        Self {
            histogram,
            sum_ns: 0,
            sum_sq_us: 0.0,
            at_least_count: 0,
            at_least_ns_min: 0,
        }
    }

    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.histogram.record(latency.0.max(1));
        self.sum_ns = self.sum_ns.saturating_add(latency.0);
        let us = latency.0 as f64 / 1e3;
        self.sum_sq_us += us * us;
    }

    /// Counts a latency of which only a lower bound is known.
    pub fn record_at_least(&mut self, latency: Nanos) {
        self.record(latency);
        let ns = buckets::counted_ns(latency.0.max(1));
        self.at_least_ns_min = match self.at_least_count {
            0 => ns,
            _ => self.at_least_ns_min.min(ns),
        };
        self.at_least_count = self.at_least_count.saturating_add(1);
    }

    /// Adds another one; exact.
    pub fn merge(&mut self, other: &Self) {
        self.histogram.add(&other.histogram);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_sq_us += other.sum_sq_us;
        self.at_least_ns_min = match (self.at_least_count, other.at_least_count) {
            (_, 0) => self.at_least_ns_min,
            (0, _) => other.at_least_ns_min,
            _ => self.at_least_ns_min.min(other.at_least_ns_min),
        };
        self.at_least_count = self.at_least_count.saturating_add(other.at_least_count);
    }

    /// Takes away latencies that were recorded here as known ones.
    pub fn subtract(&mut self, known: &[Nanos]) {
        if known.is_empty() {
            return;
        }
        let mut gone = Self::new();
        known.iter().for_each(|latency| gone.record(*latency));
        if self.histogram.subtract(&gone.histogram) {
            self.sum_ns = self.sum_ns.saturating_sub(gone.sum_ns);
            self.sum_sq_us = (self.sum_sq_us - gone.sum_sq_us).max(0.0);
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.clear();
        self.sum_ns = 0;
        self.sum_sq_us = 0.0;
        self.at_least_count = 0;
        self.at_least_ns_min = 0;
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.total()
    }

    /// How many of them are lower bounds.
    pub fn at_least_count(&self) -> u64 {
        self.at_least_count
    }

    /// The mean in nanoseconds; zero when empty.
    pub fn mean(&self) -> Figure {
        Figure {
            value: self.mean_ns(),
            at_least: self.at_least_count > 0,
        }
    }

    /// The latency at `percentile` (0 to 100), in nanoseconds. It does not depend on
    /// lower bounds that are all longer: whatever they become, its rank stays.
    pub fn percentile(&self, percentile: f64) -> Figure {
        let ns = self.percentile_ns(percentile);
        let bound = buckets::lowest_equivalent_ns(self.at_least_ns_min);
        let depends = self.at_least_count > 0 && ns >= bound;
        Figure {
            value: ns as f64,
            at_least: depends || ns >= LATENCY_NS_MAX,
        }
    }

    /// The longest, in nanoseconds; zero when empty.
    pub fn max(&self) -> Figure {
        let ns = self.max_ns();
        Figure {
            value: ns as f64,
            at_least: self.at_least_count > 0 || ns >= LATENCY_NS_MAX,
        }
    }

    /// The figures that reports show by name, in nanoseconds.
    pub fn figures(&self) -> [(&'static str, Figure); 6] {
        [
            ("mean", self.mean()),
            ("p50", self.percentile(50.0)),
            ("p95", self.percentile(95.0)),
            ("p99", self.percentile(99.0)),
            ("p999", self.percentile(99.9)),
            ("max", self.max()),
        ]
    }

    /// The names of those that are lower bounds.
    pub fn at_least_names(&self) -> Vec<&'static str> {
        let bounds = self.figures().into_iter().filter(|(_, f)| f.at_least);
        bounds.map(|(name, _)| name).collect()
    }

    /// The sum of all, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The sum of the squares of all, in square microseconds.
    pub fn sum_sq_us(&self) -> f64 {
        self.sum_sq_us
    }

    /// The mean in nanoseconds; zero when empty.
    pub fn mean_ns(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            n => self.sum_ns as f64 / n as f64,
        }
    }

    /// The sample standard deviation in nanoseconds; zero below two samples.
    pub fn std_dev_ns(&self) -> f64 {
        let n = self.count() as f64;
        if n < 2.0 {
            return 0.0;
        }
        let mean_us = self.mean_ns() / 1e3;
        let variance = (self.sum_sq_us - n * mean_us * mean_us) / (n - 1.0);
        variance.max(0.0).sqrt() * 1e3
    }

    /// Half the width of the 95 % confidence interval of the mean, in nanoseconds
    /// (1.96 standard errors).
    pub fn mean_confidence95_ns(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            n => 1.96 * self.std_dev_ns() / (n as f64).sqrt(),
        }
    }

    /// The latency at `percentile` (0 to 100), in nanoseconds; never above the maximum.
    pub fn percentile_ns(&self, percentile: f64) -> u64 {
        self.histogram.percentile_ns(percentile).min(self.max_ns())
    }

    /// The longest, in nanoseconds, at the resolution of the histogram; zero when empty.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max_ns()
    }

    /// The shortest, in nanoseconds; zero when empty.
    pub fn min_ns(&self) -> u64 {
        match self.count() {
            0 => 0,
            _ => self.histogram.min_ns(),
        }
    }

    /// How many were at most as long as `bound`; those that the histogram cannot distinguish
    /// from it (a thousandth) count as it.
    pub fn count_at_most(&self, bound: Nanos) -> u64 {
        match bound.0 {
            0 => 0,
            ns if ns >= self.max_ns() => self.count(),
            ns => self.histogram.count_between(1, ns),
        }
    }

    /// Counts per bucket whose bounds grow by the factor `ratio` from `first_ns`
    /// on: (upper bound in ns, count), up to the longest latency.
    pub fn buckets(&self, first_ns: u64, ratio: f64) -> Vec<(u64, u64)> {
        self.histogram
            .to_dense()
            .iter_log(first_ns.max(1), ratio.max(1.01))
            .map(|b| (b.value_iterated_to(), b.count_since_last_iteration()))
            .collect()
    }

    fn to_wire(&self) -> Wire {
        let bytes = encoding::encode(&self.histogram.to_sparse());
        Wire {
            sum_ns: self.sum_ns,
            sum_sq_us: self.sum_sq_us,
            at_least_count: self.at_least_count,
            at_least_ns_min: self.at_least_ns_min,
            hdr: base64::engine::general_purpose::STANDARD.encode(bytes),
        }
    }

    fn from_wire(wire: &Wire) -> Result<Self, String> {
        if wire.hdr.len() > TEXT_LEN_MAX {
            return Err(format!("a histogram of {} characters", wire.hdr.len()));
        }
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(&wire.hdr)
            .map_err(|e| format!("histogram: {e}"))?;
        let counts = encoding::decode(&bytes).map_err(|why| format!("histogram: {why}"))?;
        let mut latency = Self::with(Counts::Sparse(counts));
        latency.sum_ns = wire.sum_ns;
        latency.sum_sq_us = wire.sum_sq_us;
        // Records of earlier versions have the latency as it was, also beyond the last bucket.
        let (count, ns) = (
            wire.at_least_count,
            buckets::counted_ns(wire.at_least_ns_min),
        );
        let there = latency.histogram.count_at(ns);
        if count > latency.count() || (count == 0) != (ns == 0) || (count > 0 && there == 0) {
            return Err(format!(
                "{count} lower bounds from {ns} ns on, which its histogram does not hold"
            ));
        }
        latency.at_least_count = count;
        latency.at_least_ns_min = ns;
        Ok(latency)
    }
}

/// All of them together, without the memory of a new one where none of them has it.
impl<'a> Sum<&'a Self> for Latency {
    fn sum<I: Iterator<Item = &'a Self>>(parts: I) -> Self {
        parts.fold(
            Self::with(Counts::Sparse(Default::default())),
            |mut all, part| {
                all.merge(part);
                all
            },
        )
    }
}

/// The form in records and messages: sums, and the histogram as base64 of the
/// HdrHistogram V2 encoding.
#[derive(Serialize, Deserialize)]
struct Wire {
    sum_ns: u64,
    sum_sq_us: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    at_least_count: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    at_least_ns_min: u64,
    hdr: String,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        Self::from_wire(&wire).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
