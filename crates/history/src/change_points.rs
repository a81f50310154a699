//! Change points of a series: places from which on its mean is another.
//!
//! Method: binary segmentation (Vostrikova, *Detecting "disorder" in multidimensional random
//! processes*, 1981). The series is split at the place with the largest two-sample t statistic
//! with pooled variance (Student 1908), if its two-sided p-value, times the number of places that
//! were tried (Bonferroni), is at most [`LEVEL`]. Otherwise the same is tried with the runs
//! between two places against all others, as in circular binary segmentation (Olshen et al.,
//! *Biostatistics* 5, 2004): a change that was taken back. The parts are then split in the same
//! way. A part has at least [`SEGMENT_MIN`] runs, so that one disturbed run is no change. The page
//! docs/src/howto/keep-results.md has the measured rates.

use filermark_results::compare::two_sided;
use serde::Serialize;

/// The probability, of each of both tests, that a series without a change gets one.
const LEVEL: f64 = 0.005;
/// Fewest runs before and after a change point.
const SEGMENT_MIN: usize = 2;
/// Most change points.
const COUNT_MAX: usize = 1_000;
/// Longest part in which changes that were taken back are looked for: it takes the square of it.
const PAIRS_MAX: usize = 2_000;

/// A change of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first value after it, from 0.
    pub at: usize,
    /// The mean of the segment before it.
    pub mean_before: f64,
    /// The mean of the segment from it on.
    pub mean_after: f64,
    /// The change in percent of the mean before; `None`: that is 0.
    pub change_pcnt: Option<f64>,
    /// The p-value, corrected for the number of places that were tried.
    pub p_value: f64,
}

/// The change points of a series, in its order.
pub fn change_points(series: &[f64]) -> Vec<ChangePoint> {
    if series.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut places = Vec::new();
    split(series, 0, &mut places);
    places.sort_by_key(|(at, _)| *at);
    let starts = std::iter::once(0).chain(places.iter().map(|(at, _)| *at));
    let ends = places.iter().map(|(at, _)| *at).chain([series.len()]);
    let means: Vec<f64> = starts
        .zip(ends)
        .map(|(from, to)| mean(&series[from..to]))
        .collect();
    let pairs = means.windows(2);
    pairs
        .zip(places)
        .map(|(means, (at, p_value))| ChangePoint {
            at,
            mean_before: means[0],
            mean_after: means[1],
            change_pcnt: (means[0] != 0.0).then(|| 100.0 * (means[1] / means[0] - 1.0)),
            p_value,
        })
        .collect()
}

/// Splits a part that begins at `from`, as long as there are changes in it.
fn split(part: &[f64], from: usize, places: &mut Vec<(usize, f64)>) {
    let count = part.len();
    if count < 2 * SEGMENT_MIN || places.len() >= COUNT_MAX {
        return;
    }
    let sums = Sums::of(part);
    let ends = (SEGMENT_MIN..=count - SEGMENT_MIN).map(|at| (at, count));
    let Some((inner, p_value)) = best(&sums, ends).or_else(|| best(&sums, pairs(count))) else {
        return;
    };
    let mut begin = 0;
    for place in [inner.0, inner.1] {
        if place < count {
            places.push((from + place, p_value));
        }
        split(&part[begin..place], from + begin, places);
        begin = place;
    }
    split(&part[begin..], from + begin, places);
}

/// Parts with runs before and after them.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let last = match count <= PAIRS_MAX {
        true => count - SEGMENT_MIN,
        false => 0,
    };
    let ends = move |at| at + SEGMENT_MIN..=last;
    (SEGMENT_MIN..=last).flat_map(move |at| ends(at).map(move |end| (at, end)))
}

/// The part that differs most from the rest, with its p-value, if that is a change.
fn best(sums: &Sums, parts: impl Iterator<Item = (usize, usize)>) -> Option<((usize, usize), f64)> {
    let mut tried = 0u32;
    let mut best = ((0, 0), 0.0);
    for part in parts {
        tried += 1;
        let t_squared = sums.t_squared(part);
        if t_squared > best.1 {
            best = (part, t_squared);
        }
    }
    let (part, t_squared) = best;
    let degrees = sums.values.len().saturating_sub(3) as f64;
    let p_value = (two_sided(t_squared.sqrt(), degrees) * f64::from(tried)).min(1.0);
    (t_squared > 0.0 && p_value <= LEVEL).then_some((part, p_value))
}

/// Sums of a part up to each place, of deviations from the mean and of their squares.
struct Sums {
    values: Vec<(f64, f64)>,
}

impl Sums {
    fn of(part: &[f64]) -> Self {
        let mean = mean(part);
        let mut sums = (0.0, 0.0);
        let mut values = vec![sums];
        for value in part {
            let deviation = value - mean;
            sums = (sums.0 + deviation, sums.1 + deviation * deviation);
            values.push(sums);
        }
        Self { values }
    }

    /// The square of the t statistic with pooled variance, of the values from one place to
    /// another against all others; 0 where the means are equal.
    fn t_squared(&self, (from, to): (usize, usize)) -> f64 {
        let (all, squares) = self.values[self.values.len() - 1];
        let inside = self.values[to].0 - self.values[from].0;
        let outside = all - inside;
        let n = (to - from) as f64;
        let m = (self.values.len() - 1 - (to - from)) as f64;
        let difference = inside / n - outside / m;
        // Rounding is no difference.
        if difference.powi(2) <= 1e-24 * squares {
            return 0.0;
        }
        let within = squares - inside * inside / n - outside * outside / m;
        let variance = within.max(1e-12 * squares) / (n + m - 2.0);
        difference.powi(2) / (variance * (1.0 / n + 1.0 / m))
    }
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::rng::Rng;

    /// Values around 1,000 with a relative standard deviation of 2 %; from `at` on with a factor.
    fn series(rng: &mut Rng, count: usize, at: usize, factor: f64) -> Vec<f64> {
        // Box and Muller.
        let mut normal = || {
            let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
            radius * (std::f64::consts::TAU * rng.unit()).cos()
        };
        (0..count)
            .map(|i| 1_000.0 * (1.0 + 0.02 * normal()) * if i < at { 1.0 } else { factor })
            .collect()
    }

    /// The share of 4,000 series for which something holds, in percent.
    fn share(
        count: usize,
        at: usize,
        factor: f64,
        holds: fn(&[ChangePoint], usize) -> bool,
    ) -> f64 {
        let mut rng = Rng::new(18, (count * 1_000 + at) as u64);
        let hits =
            (0..4_000).filter(|_| holds(&change_points(&series(&mut rng, count, at, factor)), at));
        hits.count() as f64 / 40.0
    }

    #[test]
    fn a_series_without_a_change_gets_one_in_one_percent_at_most() {
        for count in [4, 10, 30] {
            let rate = share(count, count, 1.0, |found, _| !found.is_empty());
            assert!(rate <= 1.5, "{count} runs: {rate} %");
        }
    }

    #[test]
    fn a_change_of_ten_percent_is_found_at_its_place() {
        for (count, at, least) in [(8, 4, 60.0), (10, 5, 90.0), (12, 6, 95.0), (30, 20, 97.0)] {
            let rate = share(count, at, 1.1, |found, at| {
                found
                    .iter()
                    .any(|c| c.at == at && c.mean_after > c.mean_before)
            });
            assert!(rate >= least, "{count} runs, change at {at}: {rate} %");
        }
    }

    #[test]
    fn several_changes_and_their_means_are_found() {
        let series = [
            100.0, 101.0, 99.0, 100.0, 120.0, 121.0, 119.0, 120.0, 90.0, 91.0, 89.0,
        ];
        let found = change_points(&series);
        let places: Vec<_> = found.iter().map(|c| c.at).collect();
        assert_eq!(places, [4, 8]);
        assert_eq!((found[0].mean_before, found[0].mean_after), (100.0, 120.0));
        assert_eq!(found[0].change_pcnt.map(f64::round), Some(20.0));
    }

    #[test]
    fn nothing_makes_it_panic() {
        for odd in [
            &[][..],
            &[1.0],
            &[1.0; 50],
            &[0.0, 0.0, 5.0, 5.0],
            &[f64::NAN; 9],
        ] {
            for change in change_points(odd) {
                assert!(change.p_value.is_finite(), "{change:?}");
            }
        }
        // Without any deviation a step is certain.
        assert_eq!(change_points(&[0.0, 0.0, 5.0, 5.0]).len(), 1);
        // One disturbed run is no change.
        let one = [100.0, 101.0, 99.0, 100.0, 50.0, 100.0, 101.0, 99.0, 100.0];
        assert_eq!(change_points(&one), []);
    }
}
