//! From load points side by side to the verdict: everything that depends on figures only.
//!
//! The program and the simulation of its error rates call the same function.

use super::difference::{Difference, Judgement, decide};
use super::points::{OpDifference, Pair, PointDifference};
use super::sensitivity::Sensitivity;
use super::verdict::{self, Overall};
use super::{point_validity, scatter, sweep};
use filermark_model::benchmark::Protocol;

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    pub protocol: Protocol,
    pub is_composite: bool,
    /// Standard deviation of a figure's logarithm between runs, assumed.
    pub spread: f64,
    pub threshold_pcnt: f64,
    /// Records before and after.
    pub repeats: (usize, usize),
}

/// The differences with their verdicts, and the whole verdict.
#[derive(Debug)]
pub struct Conclusion {
    pub verdict: Overall,
    pub reasons: Vec<String>,
    pub sensitivity: Option<Sensitivity>,
    pub sweep: Vec<Difference>,
    pub points: Vec<PointDifference>,
    pub ops: Vec<OpDifference>,
}

impl Conclusion {
    /// Of load points side by side.
    pub fn of(pairs: &[Pair<'_>], subject: &Subject) -> Self {
        let (spread, threshold) = (subject.spread, subject.threshold_pcnt);
        let mut sweep = sweep::differences(pairs, spread, subject.is_composite);
        let mut points: Vec<PointDifference> =
            pairs.iter().map(|p| point(p, pairs, subject)).collect();
        let mut ops = sweep::ops(pairs, subject.protocol, spread);
        verdict::judge(&mut sweep, &mut points, threshold);
        let repeated = subject.repeats.0 > 1 && subject.repeats.1 > 1;
        let alone = match repeated {
            true => Vec::new(),
            false => verdict::without_lone_tails(&sweep, &mut points),
        };
        point_validity::judge(&mut points, pairs, point_validity::far(threshold, spread));
        let mut table: Vec<_> = ops.iter_mut().map(|o| &mut o.service).collect();
        decide(&mut table, threshold);
        let each = points.iter_mut().flat_map(|p| &mut p.ops);
        let mut table: Vec<_> = each.map(|o| &mut o.service).collect();
        decide(&mut table, threshold);
        let (verdict, mut reasons) = verdict::overall(&sweep, &points, &ops, threshold);
        reasons.extend(alone);
        Self {
            verdict,
            reasons,
            sensitivity: Sensitivity::of(&sweep, subject.repeats, threshold),
            sweep,
            points,
            ops,
        }
    }
}

/// The differences at one load point, not judged yet.
fn point(pair: &Pair<'_>, pairs: &[Pair<'_>], subject: &Subject) -> PointDifference {
    let spread = subject.spread;
    PointDifference {
        number: pair.number,
        load: pair.load.clone(),
        requested_ops_per_sec: pair.requested,
        before: pair.standing.0.clone(),
        after: pair.standing.1.clone(),
        figures: pair.differences(spread, |kind| scatter::scatter(pairs, kind)),
        ops: sweep::ops_at(pair, subject.protocol, spread),
        held_by_pacing: pair.is_held() && !pair.is_too_short(),
        is_too_short: pair.is_too_short(),
        standing_verdict: Judgement::NoDifferenceShown,
    }
}
