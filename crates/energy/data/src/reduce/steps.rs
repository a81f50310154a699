//! A figure over time as pieces of constant value, with gaps. Power and traffic are added up,
//! averaged and drawn in this form.
//!
//! Arithmetic only. Times are seconds since 1970.

use super::Stats;

/// The longest time for which a sample is used, in usual intervals: half before, half after.
const HOLD: f64 = 2.5;
/// A bucket of a chart with less of its time covered is a gap.
const BUCKET_COVERED_MIN: f64 = 0.5;
/// Pieces closer than this touch, in seconds.
const TOUCH_S: f64 = 1e-6;

/// A stretch of constant value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Where it begins.
    pub from: f64,
    /// Where it ends; after `from`.
    pub to: f64,
    /// The value.
    pub value: f64,
}

impl Piece {
    fn length(self) -> f64 {
        self.to - self.from
    }
}

/// Pieces in order, without overlaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    pieces: Vec<Piece>,
    /// Samples that they are made of.
    samples: u64,
    /// The usual time between samples; 0 if unknown.
    interval_s: f64,
}

impl Steps {
    /// From values at times, in order: each extends halfway to its neighbours, and no more than
    /// 1.25 usual intervals to either side. `interval_s` is the usual interval; `None`: their
    /// median.
    pub fn of_moments(moments: &[(f64, f64)], interval_s: Option<f64>) -> Self {
        let interval_s = interval_s.or_else(|| median_gap(moments)).unwrap_or(0.0);
        let half = interval_s * HOLD / 2.0;
        let middle = |a: f64, b: f64| a + (b - a) / 2.0;
        let mut pieces = Vec::with_capacity(moments.len());
        for (i, &(at, value)) in moments.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| moments.get(i));
            let from = before.map_or(at - half, |b| middle(b.0, at).max(at - half));
            let after = moments.get(i + 1);
            let to = after.map_or(at + half, |a| middle(at, a.0).min(at + half));
            if to > from && value.is_finite() {
                pieces.push(Piece { from, to, value });
            }
        }
        Self {
            pieces,
            samples: moments.len() as u64,
            interval_s,
        }
    }

    /// From pieces ordered by their end. Those that begin before the last has ended are left
    /// out; their number is returned.
    pub fn of_pieces(pieces: impl IntoIterator<Item = Piece>) -> (Self, u64) {
        let mut steps = Self::default();
        let mut over = 0;
        let mut lengths = Vec::new();
        for mut piece in pieces {
            let last = steps.pieces.last().map_or(f64::MIN, |last| last.to);
            if piece.from < last && piece.from > last - TOUCH_S.max(piece.length() * 0.01) {
                piece.from = last;
            }
            if piece.from < last || piece.to <= piece.from || !piece.value.is_finite() {
                over += 1;
                continue;
            }
            lengths.push(piece.length());
            steps.pieces.push(piece);
        }
        steps.samples = steps.pieces.len() as u64;
        steps.interval_s = median(&mut lengths).unwrap_or(0.0);
        (steps, over)
    }

    /// Whether it has no pieces.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The usual time between samples, in seconds; 0 if unknown.
    pub fn interval_s(&self) -> f64 {
        self.interval_s
    }

    /// The pieces wholly between two times: a rate over an interval that is partly outside
    /// includes another load.
    pub fn wholly_within(&self, from: f64, to: f64) -> Self {
        let begin = self.pieces.partition_point(|p| p.from < from - TOUCH_S);
        let end = self.pieces.partition_point(|p| p.to <= to + TOUCH_S);
        let pieces = self.pieces.get(begin..end).unwrap_or_default().to_vec();
        Self {
            samples: pieces.len() as u64,
            pieces,
            interval_s: self.interval_s,
        }
    }

    /// Removes what lies outside of two times.
    pub fn cut(mut self, from: f64, to: f64) -> Self {
        for piece in &mut self.pieces {
            piece.from = piece.from.max(from);
            piece.to = piece.to.min(to);
        }
        self.pieces.retain(|piece| piece.to > piece.from);
        self
    }

    /// The sum where all of them have a value; where one has none, there is none.
    pub fn sum(all: &[Self]) -> Self {
        let mut changes: Vec<(f64, usize, Option<f64>)> = Vec::new();
        for (i, steps) in all.iter().enumerate() {
            for (n, piece) in steps.pieces.iter().enumerate() {
                changes.push((piece.from, i, Some(piece.value)));
                let next = steps.pieces.get(n + 1);
                if next.is_none_or(|next| next.from > piece.to + TOUCH_S) {
                    changes.push((piece.to, i, None));
                }
            }
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut now: Vec<Option<f64>> = vec![None; all.len()];
        let mut pieces: Vec<Piece> = Vec::new();
        let mut since = f64::MIN;
        for (at, i, value) in changes {
            if at > since + TOUCH_S {
                let sum: Option<f64> = now.iter().copied().sum();
                pieces.extend(sum.map(|value| Piece {
                    from: since,
                    to: at,
                    value,
                }));
                since = at;
            }
            if let Some(slot) = now.get_mut(i) {
                *slot = value;
            }
        }
        let intervals = all.iter().map(|s| s.interval_s);
        Self {
            pieces,
            samples: all.iter().map(|s| s.samples).sum(),
            interval_s: intervals.fold(0.0, f64::max),
        }
    }

    /// The mean where any has a value.
    pub fn mean_of(all: &[Self]) -> Self {
        match all {
            [only] => only.clone(),
            _ => {
                let mut sum = Self::sum(all);
                for piece in &mut sum.pieces {
                    piece.value /= all.len() as f64;
                }
                sum
            }
        }
    }

    /// Statistics from `from` to `to`; `None` without pieces.
    pub fn stats(&self, from: f64, to: f64) -> Option<Stats> {
        let covered: f64 = self.pieces.iter().map(|p| p.length()).sum();
        if self.pieces.is_empty() || covered <= 0.0 || to <= from {
            return None;
        }
        let weighted = |f: &dyn Fn(&Piece) -> f64| {
            let sum: f64 = self.pieces.iter().map(|p| f(p) * p.length()).sum();
            sum / covered
        };
        let mean = weighted(&|p| p.value);
        let variance = weighted(&|p| (p.value - mean) * (p.value - mean));
        let mut by_value: Vec<Piece> = self.pieces.clone();
        by_value.sort_by(|a, b| a.value.total_cmp(&b.value));
        Some(Stats {
            mean,
            min: by_value.first()?.value,
            p5: quantile(&by_value, covered, 0.05)?,
            p50: quantile(&by_value, covered, 0.50)?,
            p95: quantile(&by_value, covered, 0.95)?,
            max: by_value.last()?.value,
            deviation: variance.max(0.0).sqrt(),
            drift: self.drift(mean, covered, to - from),
            samples: self.samples,
            coverage: (covered / (to - from)).min(1.0),
            interval_s: self.interval_s,
        })
    }

    /// Rise of the straight line through the pieces over `seconds`, as a share of the mean.
    fn drift(&self, mean: f64, covered: f64, seconds: f64) -> f64 {
        let middle = |p: &Piece| p.from + p.length() / 2.0;
        let sum = |f: &dyn Fn(&Piece) -> f64| -> f64 {
            self.pieces.iter().map(|p| f(p) * p.length()).sum()
        };
        // Times count from the first piece: seconds since 1970 squared have no digits left.
        let Some(first) = self.pieces.first().map(|p| p.from) else {
            return 0.0;
        };
        let mean_time = sum(&|p| middle(p) - first) / covered;
        let spread = sum(&|p| (middle(p) - first - mean_time).powi(2));
        let joint = sum(&|p| (middle(p) - first - mean_time) * (p.value - mean));
        match spread > 0.0 && mean != 0.0 {
            true => joint / spread * seconds / mean,
            false => 0.0,
        }
    }

    /// Means over `count` equal stretches between two moments; a gap is `None`.
    pub fn buckets(&self, from: f64, to: f64, count: usize) -> Vec<Option<f64>> {
        let width = (to - from) / count.max(1) as f64;
        if width.is_nan() || width <= 0.0 {
            return Vec::new();
        }
        let mut sums = vec![(0.0, 0.0); count];
        for piece in &self.pieces {
            let first = ((piece.from - from) / width).floor().max(0.0) as usize;
            for (i, sum) in sums.iter_mut().enumerate().skip(first) {
                let begin = from + width * i as f64;
                if begin >= piece.to {
                    break;
                }
                let share = (begin + width).min(piece.to) - begin.max(piece.from);
                if share > 0.0 {
                    sum.0 += piece.value * share;
                    sum.1 += share;
                }
            }
        }
        let mean = |(value, covered): (f64, f64)| {
            (covered >= width * BUCKET_COVERED_MIN).then(|| value / covered)
        };
        sums.into_iter().map(mean).collect()
    }
}

/// The value up to which a share of the time lies.
fn quantile(by_value: &[Piece], covered: f64, share: f64) -> Option<f64> {
    let mut passed = 0.0;
    for piece in by_value {
        passed += piece.length();
        if passed >= covered * share {
            return Some(piece.value);
        }
    }
    by_value.last().map(|piece| piece.value)
}

fn median_gap(moments: &[(f64, f64)]) -> Option<f64> {
    let pairs = moments.windows(2);
    let mut gaps: Vec<f64> = pairs
        .filter_map(|pair| match pair {
            [a, b] => Some(b.0 - a.0),
            _ => None,
        })
        .filter(|gap| *gap > 0.0)
        .collect();
    median(&mut gaps)
}

/// The median of values.
fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let (_, value, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*value)
}
