//! Whether a series of seconds is steady: a trend test, and a comparison of its first
//! and last thirds.
//!
//! Published statistics that assume neither a normal distribution nor independent
//! seconds, because rates and response times have neither:
//!
//! - **Trend**: slope by Theil and Sen (Sen, J. Am. Stat. Assoc. 63, 1968), the median
//!   of the slopes of all pairs; its significance by the Mann-Kendall test (Mann 1945;
//!   Kendall 1975) with correction for ties and for autocorrelation (Hamed and Rao, J.
//!   Hydrology 204, 1998; Yue and Wang, Water Resources Management 18, 2004: the
//!   variance of the test grows with the autocorrelation of the ranks of the series
//!   without its trend; the larger of the two corrections is taken).
//! - **Thirds**: Welch's t test (Welch, Biometrika 34, 1947) on batch means (Law,
//!   Simulation Modeling and Analysis, section 9.5.3), which are nearly independent
//!   where single seconds are not.
//!
//! A change is reported only where it is large enough to matter and too large to be
//! noise. The limits are in docs/src/reference/rules.md.

use crate::compare::student::two_sided;
use filermark_model::PointStats;
use filermark_model::stats::Interval;

#[cfg(test)]
mod tests;

/// Fewest whole seconds that are tested.
pub const SECONDS_MIN: usize = 30;
/// Longest series that is tested directly; longer ones are averaged over whole seconds
/// first, since the number of pairs grows with the square.
const VALUES_MAX: usize = 300;
/// Change over the series that is reported, as a share of its median.
pub const TREND_MAX: f64 = 0.05;
/// Difference between first and last third that is reported: what a trend of
/// [`TREND_MAX`] makes, since the middles of the thirds are two thirds of the series apart.
pub const THIRDS_MAX: f64 = TREND_MAX * 2.0 / 3.0;
/// Chance of a false report per point: four tests (two statistics, rate and response
/// time) share it equally (Bonferroni).
pub const ALPHA: f64 = 0.01;
const TESTS: f64 = 4.0;
/// Batches of a third: few and long ones, so that their means are nearly independent.
const BATCHES: usize = 5;
/// An autocorrelation counts when it is so many standard errors from zero (95 %).
const AUTOCORRELATION_Z: f64 = 1.96;
/// Largest autocorrelation of lag 1 that is used.
const R_MAX: f64 = 0.95;

/// How a series changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Change from beginning to end by the slope, as a share of the median.
    pub trend: f64,
    /// Change from the first third to the last, as a share of the median.
    pub thirds: f64,
    /// Means of the first and of the last third.
    pub means: (f64, f64),
    /// Chance that noise alone gives the trend.
    pub trend_p: f64,
    /// Chance that noise alone gives the difference of the thirds.
    pub thirds_p: f64,
}

impl Change {
    /// Whether it is large, and not noise.
    pub fn is_real(&self) -> bool {
        let trend = self.trend.abs() > TREND_MAX && self.trend_p < ALPHA / TESTS;
        let thirds = self.thirds.abs() > THIRDS_MAX && self.thirds_p < ALPHA / TESTS;
        trend || thirds
    }

    /// The larger of the two that are beyond their limits.
    pub fn size(&self) -> f64 {
        match self.trend.abs() > TREND_MAX && self.trend_p < ALPHA / TESTS {
            true => self.trend,
            false => self.thirds,
        }
    }
}

/// The change of a series of seconds; `None` where it is too short or zero throughout.
pub fn change(by_second: &[f64]) -> Option<Change> {
    if by_second.len() < SECONDS_MIN || by_second.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let values = averaged(by_second);
    let base = match median(&mut values.clone()) {
        m if m > 0.0 => m,
        _ => mean(&values),
    };
    if base <= 0.0 {
        return None;
    }
    let slope = theil_sen(&values);
    let third = values.len() / 3;
    let (first, last) = (&values[..third], &values[values.len() - third..]);
    let means = (mean(first), mean(last));
    Some(Change {
        trend: slope * (values.len() - 1) as f64 / base,
        thirds: (means.1 - means.0) / base,
        means,
        trend_p: mann_kendall(&values, slope),
        thirds_p: welch(&batch_means(first), &batch_means(last)),
    })
}

/// The steadiness of a load point's whole seconds of RUN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steadiness {
    /// Of the rate, in operations per second.
    pub rate: Option<Change>,
    /// Of the mean response time, in nanoseconds; the service time where the record
    /// has no sums of response times.
    pub response: Option<Change>,
    /// Seconds that were tested.
    pub second_count: usize,
}

/// Tests the seconds of RUN.
pub fn of_point(stats: &PointStats) -> Steadiness {
    let seconds = (stats.window_ns / 1_000_000_000) as i64;
    let inside = |i: &&Interval| (0..seconds).contains(&i.second);
    let (rates, means) = series(stats.intervals.iter().filter(inside));
    Steadiness {
        rate: change(&rates),
        response: change(&means),
        second_count: rates.len(),
    }
}

/// Whether these whole seconds of WARMUP show a load that is steady: neither rate nor
/// mean response time changed. If that is unknown (fewer than [`SECONDS_MIN`], or
/// seconds without a reply among them) it is not steady.
pub fn is_steady<'a>(seconds: impl Iterator<Item = &'a Interval>) -> bool {
    let (rates, means) = series(seconds);
    let is_steady = |by_second: &[f64]| change(by_second).is_some_and(|c| !c.is_real());
    is_steady(&rates) && is_steady(&means)
}

/// Rate and mean response time of some seconds. A second in which nothing succeeded has
/// a rate and no mean.
fn series<'a>(seconds: impl Iterator<Item = &'a Interval>) -> (Vec<f64>, Vec<f64>) {
    let seconds: Vec<_> = seconds.collect();
    let rates = seconds.iter().map(|i| i.success_count as f64).collect();
    let has_response = seconds.iter().any(|i| i.response_sum_ns > 0);
    let measured = seconds.iter().filter(|i| i.success_count > 0);
    let means = measured.map(|i| match has_response {
        true => i.response_mean_ns(),
        false => i.service_mean_ns(),
    });
    (rates, means.collect())
}

/// At most [`VALUES_MAX`] means of as many seconds each; the rest at the end is dropped.
fn averaged(by_second: &[f64]) -> Vec<f64> {
    let width = by_second.len().div_ceil(VALUES_MAX);
    by_second.chunks_exact(width).map(mean).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = *upper;
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    0.5 * (lower + upper)
}

/// The median of the slopes of all pairs.
fn theil_sen(values: &[f64]) -> f64 {
    let pairs = values.iter().enumerate().flat_map(|(i, a)| {
        let later = values.iter().enumerate().skip(i + 1);
        later.map(move |(j, b)| (b - a) / (j - i) as f64)
    });
    median(&mut pairs.collect::<Vec<f64>>())
}

/// The probability of the trend under the hypothesis that there is none.
fn mann_kendall(values: &[f64], slope: f64) -> f64 {
    let n = values.len() as f64;
    let mut s = 0.0;
    for (i, a) in values.iter().enumerate() {
        for b in &values[i + 1..] {
            s += f64::from(u8::from(b > a)) - f64::from(u8::from(b < a));
        }
    }
    let ties: f64 = tie_lengths(values)
        .map(|t| t * (t - 1.0) * (2.0 * t + 5.0))
        .sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
    let variance = variance * autocorrelation_factor(values, slope);
    if variance <= 0.0 || s == 0.0 {
        return 1.0;
    }
    // Continuity correction.
    two_sided((s - f64::signum(s)) / variance.sqrt(), f64::INFINITY)
}

/// Lengths of the groups of equal values.
fn tie_lengths(values: &[f64]) -> impl Iterator<Item = f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let lengths: Vec<f64> = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| group.len() as f64)
        .collect();
    lengths.into_iter()
}

/// By how much autocorrelation raises the variance of the test, never below 1: by the
/// significant autocorrelations up to a quarter of the series (Hamed and Rao), or by a
/// first-order process with that of lag 1 (Yue and Wang), whichever is more.
fn autocorrelation_factor(values: &[f64], slope: f64) -> f64 {
    let n = values.len();
    let trendless = values.iter().enumerate().map(|(i, v)| v - slope * i as f64);
    let ranks = ranks(&trendless.collect::<Vec<f64>>());
    let middle = mean(&ranks);
    let off: Vec<f64> = ranks.iter().map(|r| r - middle).collect();
    let total: f64 = off.iter().map(|d| d * d).sum();
    if total <= 0.0 {
        return 1.0;
    }
    let bound = AUTOCORRELATION_Z / (n as f64).sqrt();
    let correlation = |lag: usize| {
        let products = off.iter().zip(&off[lag..]).map(|(a, b)| a * b);
        products.sum::<f64>() / total
    };
    let mut sum = 0.0;
    for lag in 1..=n / 4 {
        let r = correlation(lag);
        if r.abs() > bound {
            let left = (n - lag) as f64;
            sum += left * (left - 1.0) * (left - 2.0) * r;
        }
    }
    let n = n as f64;
    let of_lags = 1.0 + 2.0 * sum / (n * (n - 1.0) * (n - 2.0));
    // The estimate of a short series is too small by about (1 + 4 r) / n.
    let r = ((n * correlation(1) + 2.0) / (n - 4.0)).clamp(0.0, R_MAX);
    let terms = (1..n as i32).map(|lag| (1.0 - f64::from(lag) / n) * r.powi(lag));
    of_lags.max(1.0 + 2.0 * terms.sum::<f64>()).max(1.0)
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = before as f64 + (group.len() as f64 + 1.0) / 2.0;
        for at in group {
            ranks[*at] = rank;
        }
        before += group.len();
    }
    ranks
}

fn batch_means(third: &[f64]) -> Vec<f64> {
    let width = (third.len() / BATCHES).max(1);
    third.chunks_exact(width).map(mean).collect()
}

/// The probability of the difference under the hypothesis that there is none.
fn welch(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < 2 || b.len() < 2 {
        return 1.0;
    }
    let error = |v: &[f64]| {
        let m = mean(v);
        let squares: f64 = v.iter().map(|x| (x - m) * (x - m)).sum();
        squares / (v.len() - 1) as f64 / v.len() as f64
    };
    let (of_a, of_b, difference) = (error(a), error(b), mean(b) - mean(a));
    if difference == 0.0 {
        return 1.0;
    }
    let t = difference / (of_a + of_b).sqrt();
    let parts = of_a * of_a / (a.len() - 1) as f64 + of_b * of_b / (b.len() - 1) as f64;
    let freedom = match parts > 0.0 {
        true => (of_a + of_b) * (of_a + of_b) / parts,
        false => 1.0,
    };
    two_sided(t, freedom)
}
