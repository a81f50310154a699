//! The uncertainty of the figures of one load point of one run, from the run itself:
//! block means over its seconds.
//!
//! Neighbouring seconds are correlated (a cache fills, a disk is busy), so a second
//! is no independent measurement; a block of several is closer to one. The result
//! is the variance of the *logarithm* of a figure: differences are ratios.

use filermark_model::stats::{Interval, PointStats};
use filermark_model::{Latency, OpStats};

/// Blocks that a window is cut into, where it is long enough.
const BLOCKS: usize = 12;
/// Seconds of a block, at least, where the window has [`SHORT_SECONDS`].
const BLOCK_SECONDS_MIN: usize = 2;
/// Windows shorter than this have blocks of one second.
const SHORT_SECONDS: usize = 6;
/// Fewest blocks whose means show a scatter.
const BLOCKS_MIN: usize = 2;
/// The least inflation of a variance where the seconds are too few to measure it: twice
/// the standard error.
const INFLATION_UNKNOWN: f64 = 4.0;

/// One figure of one load point of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Its value, above zero.
    pub value: f64,
    /// Variance of its logarithm within the run.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub df: f64,
}

impl Figure {
    /// The figure, where it is positive and finite.
    fn of(value: f64, variance: f64, df: f64) -> Option<Self> {
        let good = value > 0.0 && value.is_finite() && variance.is_finite();
        good.then_some(Self {
            value,
            variance: variance.max(0.0),
            df: df.max(1.0),
        })
    }
}

/// The figures of one load point of one run, each where it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Achieved rate, op/s.
    pub achieved: Option<Figure>,
    /// Mean service time, ns.
    pub service_mean: Option<Figure>,
    /// 99th percentile of the service time, ns.
    pub service_p99: Option<Figure>,
    /// Mean response time, ns.
    pub response_mean: Option<Figure>,
    /// RUN has too few seconds to show how they scatter: the variances are too small, and
    /// nothing may be concluded from the figures.
    pub is_too_short: bool,
    /// By how much the variance of means is larger than that of independent draws.
    pub(super) inflation: f64,
    /// Degrees of freedom of the block means.
    pub(super) df: f64,
    /// Mean of the client's own lateness, ns.
    pub wakeup_mean_ns: f64,
    /// Its 99th percentile, ns.
    pub wakeup_p99_ns: f64,
}

impl Figures {
    /// Of a measured load point.
    pub fn of(stats: &PointStats) -> Self {
        let (service, response) = (stats.service(), stats.response());
        let blocks = blocks(stats);
        let df = blocks.len().saturating_sub(1).max(1) as f64;
        let draws = mean_variance(&service);
        let inflation = match block_variance(&blocks) {
            Some(variance) if draws > 0.0 => (variance / draws).max(1.0),
            _ => INFLATION_UNKNOWN,
        };
        Self {
            achieved: Figure::of(
                stats.achieved_ops_per_sec(),
                rate_variance(&blocks).unwrap_or(0.0),
                df,
            ),
            service_mean: Figure::of(service.mean_ns(), draws * inflation, df),
            service_p99: p99(&service, inflation, df),
            // A lower bound cannot be compared.
            response_mean: match response.mean().at_least {
                true => None,
                false => Figure::of(response.mean_ns(), mean_variance(&response) * inflation, df),
            },
            is_too_short: blocks.len() < BLOCKS_MIN,
            inflation,
            df,
            wakeup_mean_ns: stats.wakeup.mean_ns(),
            wakeup_p99_ns: stats.wakeup.percentile_ns(99.0) as f64,
        }
    }

    /// The mean service time of one operation at this point: the variance of its own
    /// latencies, scaled by the inflation that the blocks of all operations show.
    pub fn of_op(&self, op: &OpStats) -> Option<Figure> {
        let variance = mean_variance(&op.service) * self.inflation;
        Figure::of(op.service.mean_ns(), variance, self.df)
    }
}

/// Blocks of whole seconds of RUN: (operations, sum of the service times in ns).
fn blocks(stats: &PointStats) -> Vec<(f64, f64)> {
    let whole = (stats.window_ns / 1_000_000_000) as i64;
    let of = |i: &Interval| (i.success_count as f64, i.service_sum_ns as f64);
    let inside = |i: &&Interval| (0..whole).contains(&i.second);
    let seconds: Vec<_> = stats.intervals.iter().filter(inside).map(of).collect();
    let length = match seconds.len() {
        n if n < SHORT_SECONDS => 1,
        n => (n / BLOCKS).max(BLOCK_SECONDS_MIN),
    };
    let sum = |block: &[(f64, f64)]| block.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    seconds.chunks_exact(length).map(sum).collect()
}

/// Variance of the logarithm of the mean service time, from the blocks: a ratio of
/// sums, linearised.
fn block_variance(blocks: &[(f64, f64)]) -> Option<f64> {
    let k = blocks.len() as f64;
    let total = blocks
        .iter()
        .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    if blocks.len() < BLOCKS_MIN || total.0 <= 0.0 || total.1 <= 0.0 {
        return None;
    }
    let mean = total.1 / total.0;
    let squares: f64 = blocks.iter().map(|b| (b.1 - mean * b.0).powi(2)).sum();
    Some(squares / (k - 1.0) * k / (total.1 * total.1))
}

/// Variance of the logarithm of the rate, from the blocks.
fn rate_variance(blocks: &[(f64, f64)]) -> Option<f64> {
    let k = blocks.len() as f64;
    let total: f64 = blocks.iter().map(|b| b.0).sum();
    if blocks.len() < BLOCKS_MIN || total <= 0.0 {
        return None;
    }
    let mean = total / k;
    let squares: f64 = blocks.iter().map(|b| (b.0 - mean).powi(2)).sum();
    Some(squares / (k - 1.0) / k / (mean * mean))
}

/// Variance of the logarithm of the mean of as many independent draws.
fn mean_variance(latency: &Latency) -> f64 {
    let (mean, deviation) = (latency.mean_ns(), latency.std_dev_ns());
    match latency.count() {
        0 | 1 => f64::INFINITY,
        n => (deviation / mean.max(1e-9)).powi(2) / n as f64,
    }
}

/// The 99th percentile, with the interval of its rank.
fn p99(latency: &Latency, inflation: f64, df: f64) -> Option<Figure> {
    let n = latency.count() as f64;
    if n < 2.0 {
        return None;
    }
    let reach = 100.0 * (0.99 * 0.01 / n * inflation).sqrt();
    let at = |percentile: f64| latency.percentile_ns(percentile.clamp(0.0, 100.0)).max(1) as f64;
    // One standard error of the rank to both sides.
    let deviation = 0.5 * (at(99.0 + reach) / at(99.0 - reach)).ln();
    Figure::of(at(99.0), deviation * deviation, df)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::{Nanos, Op};

    fn stats(per_second: impl Fn(usize) -> (u64, u64), seconds: usize) -> PointStats {
        let mut stats = PointStats {
            window_ns: seconds as u64 * 1_000_000_000,
            ..PointStats::default()
        };
        for second in 0..seconds {
            let (count, each_ns) = per_second(second);
            stats.intervals.push(Interval {
                second: second as i64,
                success_count: count,
                service_sum_ns: count * each_ns,
                ..Interval::default()
            });
            let op = stats.op_mut(Op::Read);
            op.success_count += count;
            for i in 0..count {
                let ns = each_ns + (i % 2) * 20 - 10;
                op.service.record(Nanos(ns));
                op.response.record(Nanos(ns + 5));
            }
        }
        stats
    }

    #[test]
    fn correlated_seconds_widen_the_interval() {
        // Half of the run is 20 % slower: from the draws alone the interval would be much narrower.
        let halves = stats(|s| (100, if s < 30 { 1_000 } else { 1_200 }), 60);
        let figures = Figures::of(&halves);
        let mean = figures.service_mean.unwrap();
        assert!((mean.value - 1_100.0).abs() < 1.0);
        // Twelve blocks of five seconds: a deviation of 9.5 % over the root of 12.
        assert!((mean.variance.sqrt() - 0.0274).abs() < 0.001, "{mean:?}");
        assert_eq!(mean.df, 11.0);
        assert!(figures.inflation > 5.0);
        let quiet = Figures::of(&stats(|_| (100, 1_000), 60));
        assert!(quiet.service_mean.unwrap().variance < mean.variance / 100.0);
        assert_eq!(quiet.achieved.unwrap().variance, 0.0);
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let figures = Figures::of(&PointStats::default());
        assert!(figures.achieved.is_none() && figures.service_mean.is_none());
        assert!(figures.service_p99.is_none() && figures.response_mean.is_none());
        assert!(figures.of_op(&OpStats::new(Op::Read)).is_none());
        // A lower bound is not compared.
        let mut open = stats(|_| (50, 1_000), 10);
        assert!(Figures::of(&open).response_mean.is_some());
        open.op_mut(Op::Read)
            .response
            .record_at_least(Nanos::from_secs(1));
        assert!(Figures::of(&open).response_mean.is_none());
        // A second or none: figures without a scatter, and no panic.
        for seconds in 0..4 {
            let short = Figures::of(&stats(|_| (50, 1_000), seconds));
            assert_eq!(short.is_too_short, seconds < 2, "{seconds}");
            assert_eq!(short.inflation == INFLATION_UNKNOWN, seconds < 2);
        }
        let mut odd = stats(|_| (50, 1_000), 3);
        odd.intervals[0].second = i64::MIN;
        odd.window_ns = u64::MAX;
        assert!(Figures::of(&odd).service_mean.is_some());
    }
}
