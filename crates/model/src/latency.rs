//! A latency distribution: an HDR histogram and exact sums beside it.
//!
//! The histogram gives percentiles (three significant digits); mean and
//! deviation come from the sums, so that bucket widths never show in them.
//!
//! A latency whose end was not seen is counted with what is known of it: the time
//! until it was given up, a lower bound. Figures that depend on one say so.

use crate::figure::Figure;
use crate::units::Nanos;
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Longest latency that the histogram resolves, in nanoseconds; longer ones count as this.
pub const LATENCY_NS_MAX: u64 = 1_000_000_000_000;
/// Significant decimal digits of the histogram.
const DIGITS: u8 = 3;
/// Longest text form accepted from outside, in characters.
const TEXT_LEN_MAX: usize = 4 << 20;

/// Latencies of one kind, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
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
        let histogram = Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS)
            .expect("the bounds are constants that the library accepts");
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
        self.histogram.saturating_record(latency.0.max(1));
        self.sum_ns = self.sum_ns.saturating_add(latency.0);
        let us = latency.0 as f64 / 1e3;
        self.sum_sq_us += us * us;
    }

    /// Counts a latency of which only a lower bound is known.
    pub fn record_at_least(&mut self, latency: Nanos) {
        self.record(latency);
        let ns = latency.0.max(1);
        self.at_least_ns_min = match self.at_least_count {
            0 => ns,
            _ => self.at_least_ns_min.min(ns),
        };
        self.at_least_count = self.at_least_count.saturating_add(1);
    }

    /// Adds another one; exact.
    pub fn merge(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("all histograms have the same bounds");
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
        if self.histogram.subtract(&gone.histogram).is_ok() {
            self.sum_ns = self.sum_ns.saturating_sub(gone.sum_ns);
            self.sum_sq_us = (self.sum_sq_us - gone.sum_sq_us).max(0.0);
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
        self.sum_sq_us = 0.0;
        self.at_least_count = 0;
        self.at_least_ns_min = 0;
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
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
        let bound = self.histogram.lowest_equivalent(self.at_least_ns_min);
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
        self.histogram
            .value_at_percentile(percentile)
            .min(self.max_ns())
    }

    /// The longest, in nanoseconds, at the resolution of the histogram; zero when empty.
    pub fn max_ns(&self) -> u64 {
        self.histogram.max()
    }

    /// The shortest, in nanoseconds; zero when empty.
    pub fn min_ns(&self) -> u64 {
        match self.count() {
            0 => 0,
            _ => self.histogram.min(),
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
            .iter_log(first_ns.max(1), ratio.max(1.01))
            .map(|b| (b.value_iterated_to(), b.count_since_last_iteration()))
            .collect()
    }

    fn to_wire(&self) -> Wire {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.histogram, &mut bytes)
            .expect("writing into a Vec does not fail");
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
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| format!("histogram: {e}"))?;
        let mut latency = Self::new();
        latency
            .histogram
            .add(read)
            .map_err(|e| format!("histogram with other bounds: {e}"))?;
        latency.sum_ns = wire.sum_ns;
        latency.sum_sq_us = wire.sum_sq_us;
        let (count, ns) = (wire.at_least_count, wire.at_least_ns_min);
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
mod tests {
    use super::*;

    fn of(values_us: &[u64]) -> Latency {
        let mut latency = Latency::new();
        for us in values_us {
            latency.record(Nanos::from_micros(*us));
        }
        latency
    }

    #[test]
    fn figures_of_a_small_sample() {
        let l = of(&[100, 200, 300, 400]);
        assert_eq!(l.mean_ns(), 250_000.0);
        assert!((l.std_dev_ns() - 129_099.0).abs() < 1.0);
        assert!((l.mean_confidence95_ns() - 126_517.0).abs() < 2.0);
        assert!((l.percentile_ns(50.0) as f64 / 200_000.0 - 1.0).abs() < 0.001);
        assert_eq!(Latency::new().mean_ns(), 0.0);
    }

    #[test]
    fn merging_is_the_same_as_recording_together() {
        let mut a = of(&[1, 10, 100]);
        a.merge(&of(&[1000, 10_000]));
        let b = of(&[1, 10, 100, 1000, 10_000]);
        assert_eq!(
            (a.count(), a.sum_ns(), a.max_ns()),
            (5, b.sum_ns(), b.max_ns())
        );
        assert_eq!(a.percentile_ns(99.0), b.percentile_ns(99.0));
    }

    #[test]
    fn the_text_form_round_trips_and_nonsense_is_refused() {
        let a = of(&[3, 70, 70, 9000]);
        let back = Latency::from_wire(&a.to_wire()).unwrap();
        assert_eq!(back.count(), 4);
        assert_eq!(back.percentile_ns(75.0), a.percentile_ns(75.0));
        let bad = Wire {
            sum_ns: 0,
            sum_sq_us: 0.0,
            at_least_count: 0,
            at_least_ns_min: 0,
            hdr: "AAAA".into(),
        };
        assert!(Latency::from_wire(&bad).is_err());
    }

    #[test]
    fn only_figures_that_depend_on_a_lower_bound_are_lower_bounds() {
        let mut a = of(&[100; 90]);
        for ms in [5, 9] {
            a.record_at_least(Nanos::from_millis(ms));
        }
        let mut merged = of(&[100, 200]);
        merged.merge(&a);
        merged.merge(&of(&[50]));
        for latency in [&a, &merged, &Latency::from_wire(&merged.to_wire()).unwrap()] {
            assert_eq!(latency.at_least_count(), 2);
            assert!(!latency.percentile(50.0).at_least);
            assert!(latency.percentile(99.0).at_least);
            assert!(latency.mean().at_least && latency.max().at_least);
        }
        // A known latency above them: its rank is theirs, too.
        merged.record(Nanos::from_secs(1));
        assert!(merged.percentile(100.0).at_least && merged.max().at_least);
        merged.clear();
        assert!(!merged.mean().at_least && !merged.percentile(50.0).at_least);
        // What the histogram cannot distinguish from its longest is at least that.
        merged.record(Nanos::from_secs(2_000));
        assert!(merged.max().at_least && merged.percentile(50.0).at_least);
    }

    #[test]
    fn lower_bounds_that_cannot_be_are_refused() {
        let mut a = of(&[100; 3]);
        a.record_at_least(Nanos::from_millis(5));
        let error_of = |change: fn(&mut Wire)| {
            let mut wire = a.to_wire();
            change(&mut wire);
            Latency::from_wire(&wire).unwrap_err()
        };
        assert!(error_of(|w| w.at_least_count = 5).contains("5 lower bounds"));
        assert!(error_of(|w| w.at_least_count = u64::MAX).contains("lower bounds"));
        assert!(error_of(|w| w.at_least_count = 0).contains("0 lower bounds"));
        assert!(error_of(|w| w.at_least_ns_min = 0).contains("lower bounds"));
        assert!(error_of(|w| w.at_least_ns_min = u64::MAX).contains("lower bounds"));
    }

    #[test]
    fn what_is_subtracted_was_never_there() {
        let mut a = of(&[1, 10, 100, 100]);
        a.subtract(&[Nanos::from_micros(100), Nanos::from_micros(1)]);
        let b = of(&[10, 100]);
        assert_eq!((a.count(), a.sum_ns()), (b.count(), b.sum_ns()));
        assert_eq!((a.min_ns(), a.max_ns()), (b.min_ns(), b.max_ns()));
        assert!((a.std_dev_ns() - b.std_dev_ns()).abs() < 1.0);
    }

    #[test]
    fn counts_up_to_a_bound_add_up() {
        let l = of(&[5, 20, 20, 21, 40, 999, 1_000, 2_000_000_000]);
        let at_most = |us| l.count_at_most(Nanos::from_micros(us));
        assert_eq!((at_most(0), at_most(4), at_most(5)), (0, 0, 1));
        assert_eq!((at_most(20), at_most(40), at_most(1_000)), (3, 5, 7));
        assert_eq!(at_most(120_000_000), 7);
        assert_eq!(l.count_at_most(Nanos::MAX), 8);
        assert_eq!(Latency::new().count_at_most(Nanos::MAX), 0);
        // However the bounds lie, nothing is lost between them.
        let bounds: Vec<u64> = (0..60).map(|i| 1_000 << (i / 2)).collect();
        let mut sum = 0;
        for pair in bounds.windows(2) {
            sum += l.count_at_most(Nanos(pair[1])) - l.count_at_most(Nanos(pair[0]));
        }
        let outside = l.count() - l.count_at_most(Nanos(*bounds.last().unwrap()));
        assert_eq!(l.count_at_most(Nanos(bounds[0])) + sum + outside, 8);
    }

    #[test]
    fn very_long_latencies_saturate() {
        let mut l = Latency::new();
        l.record(Nanos(u64::MAX));
        assert_eq!(l.count(), 1);
    }
}
