//! Several load points together: their differences as one, and their scatter.

use super::difference::{Kind, SideEstimate, Spread, mean};
use super::points::Pair;

/// Fewest load points at which a trend can be distinguished from scatter.
const TREND_POINTS: usize = 4;
/// From the median of absolute distances to the standard deviation (normal distribution).
pub(super) const MAD_TO_DEVIATION: f64 = 1.4826;

/// The standard error of the difference of two means.
pub fn standard_error(before: &[f64], after: &[f64]) -> f64 {
    let share = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let spread = Spread::of_groups(&[before, after]).unwrap_or_default();
    (spread.variance * share).sqrt()
}

/// The scatter of a figure of a single point between runs, estimated from the differences
/// at all points: robust, so that a few points with a real difference do not hide
/// it.
pub fn scatter(pairs: &[Pair<'_>], kind: Kind) -> f64 {
    let log = |pair: &Pair<'_>| {
        let (before, after) = pair.sides(kind);
        let both = !before.logs.is_empty() && !after.logs.is_empty();
        both.then(|| mean(&after.logs) - mean(&before.logs))
    };
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|p| p.is_sound() && p.is_at_one_rate())
        .filter_map(log)
        .collect();
    let middle = median(logs.clone());
    let straight = logs.iter().map(|d| (d - middle).abs()).collect();
    let bent = without_trend(&logs).iter().map(|d| d.abs()).collect();
    // One point that really differs distorts the trend, a real trend the median.
    let apart = median(straight).min(median(bent));
    // Both sides of a difference scatter.
    MAD_TO_DEVIATION * apart / 2f64.sqrt()
}

/// The residuals of the differences over the load points without their mean, and, with
/// enough points, without their trend: a slower server loses more at higher load, and that
/// is not noise.
fn without_trend(logs: &[f64]) -> Vec<f64> {
    let middle = mean(logs);
    if logs.len() < TREND_POINTS {
        return logs.iter().map(|d| d - middle).collect();
    }
    let half = 0.5 * (logs.len() - 1) as f64;
    let steps = || (0..logs.len()).map(|i| i as f64 - half);
    let rise: f64 = logs.iter().zip(steps()).map(|(d, x)| d * x).sum();
    let slope = rise / steps().map(|x| x * x).sum::<f64>();
    let each = logs.iter().zip(steps());
    each.map(|(d, x)| d - middle - slope * x).collect()
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => 0.0,
        _ => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}

/// Several points as one: of each record the weighted mean of the logarithms, with the
/// variance within them and the scatter of the differences over the points.
pub fn together(
    sides: &[(f64, SideEstimate, SideEstimate)],
) -> (SideEstimate, SideEstimate, Option<Spread>) {
    let total: f64 = sides.iter().map(|(weight, ..)| weight).sum();
    let weights: Vec<f64> = sides.iter().map(|(weight, ..)| weight / total).collect();
    let fold = |side: &dyn Fn(&(f64, SideEstimate, SideEstimate)) -> SideEstimate| {
        let parts: Vec<SideEstimate> = sides.iter().map(side).collect();
        let records = parts.iter().map(|p| p.logs.len()).min().unwrap_or(0);
        let mut whole = SideEstimate::default();
        for record in 0..records {
            let each = || parts.iter().zip(&weights);
            let log: f64 = each().map(|(p, w)| w * p.logs[record]).sum();
            let within = each()
                .map(|(p, w)| p.within[record].times(w * w))
                .reduce(Spread::plus)
                .unwrap_or_default();
            whole.push(log, within.variance, within.df);
        }
        whole
    };
    let (before, after) = (fold(&|s| s.1.clone()), fold(&|s| s.2.clone()));
    let logs: Vec<f64> = sides
        .iter()
        .map(|(_, before, after)| mean(&after.logs) - mean(&before.logs))
        .collect();
    let apart: Vec<f64> = without_trend(&logs);
    let n = logs.len() as f64;
    let lost = if logs.len() >= TREND_POINTS { 2.0 } else { 1.0 };
    let squares = apart.iter().zip(&weights);
    let sum: f64 = squares.map(|(d, w)| (w * d).powi(2)).sum();
    let scatter = (logs.len() > 1).then(|| Spread {
        variance: sum * n / (n - lost),
        df: n - lost,
    });
    (before, after, scatter)
}
