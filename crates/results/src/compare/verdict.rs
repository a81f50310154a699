//! The verdict on the differences, in one word and in sentences.
//!
//! The error rate of 5 % is split: four fifths to the figures over the sweep, one fifth to
//! single load points, each by Holm's procedure. Operations have a table of their own,
//! which the verdict does not use: a run measures a mix of operations, and its mean is
//! among the figures already.

use super::difference::{ALPHA, Difference, Judgement, Kind};
use super::point_validity::{self, PointValidity};
use super::points::{OpDifference, PointDifference};
use super::student::holm;
use crate::text::load_points;
use serde::Serialize;

/// The share of the error rate that the figures over the sweep have.
pub(super) const SWEEP_SHARE: f64 = 0.8;
/// Operations that a reason names.
const OPS_NAMED: usize = 5;

/// The verdict on one side against the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// It is better in the figures that differ.
    Faster,
    /// It is worse in the figures that differ, or load points count before and not after.
    Slower,
    /// Better in some figures, worse in others.
    Mixed,
    /// No difference that matters was shown.
    NoDifferenceShown,
    /// No load point has figures on both sides that can be compared, and none counts on one
    /// side only.
    NothingToCompare,
}

impl Overall {
    /// For people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Mixed => "faster in some figures, slower in others",
            Self::NoDifferenceShown => "no difference shown",
            Self::NothingToCompare => "nothing to compare",
        }
    }
}

/// Judges the differences over the sweep and at the load points. Rates that pacing held
/// equal are no tests: they get a verdict, and no share of the error rate.
pub fn judge(sweep: &mut [Difference], points: &mut [PointDifference], threshold_pcnt: f64) {
    let mut compared = points.iter().filter(|p| !p.is_too_short);
    let all_held = compared.all(|p| p.held_by_pacing);
    let free = |d: &Difference, held: bool| !(held && d.kind.is_rate());
    let (mut family, mut rest) = (Vec::new(), Vec::new());
    for difference in sweep {
        let tested = free(difference, all_held);
        if tested { &mut family } else { &mut rest }.push(difference);
    }
    decide_at(&mut family, ALPHA * SWEEP_SHARE, threshold_pcnt);
    family.clear();
    for point in points {
        for difference in &mut point.figures {
            let tested = free(difference, point.held_by_pacing);
            if tested { &mut family } else { &mut rest }.push(difference);
        }
    }
    decide_at(&mut family, ALPHA * (1.0 - SWEEP_SHARE), threshold_pcnt);
    decide_at(&mut rest, ALPHA * (1.0 - SWEEP_SHARE), threshold_pcnt);
}

fn decide_at(family: &mut [&mut Difference], alpha: f64, threshold_pcnt: f64) {
    // As p-values of a test at the whole error rate, so that one limit applies to all tables.
    let tests: Vec<_> = family
        .iter()
        .map(|d| (d.p_value, d.kind.weight()))
        .collect();
    for (difference, adjusted) in family.iter_mut().zip(holm(&tests)) {
        let whole = (adjusted * ALPHA / alpha).min(1.0);
        difference.decide(whole, ALPHA, threshold_pcnt);
    }
}

/// Resets verdicts that tail figures of single load points have alone, and returns a
/// remark for each: the mean service time there, or a latency over the sweep, must agree. A
/// stall of one second in one run makes a mean response time twenty times as long.
pub fn without_lone_tails(sweep: &[Difference], points: &mut [PointDifference]) -> Vec<String> {
    let mut remarks = Vec::new();
    for point in points {
        let agrees = |d: &Difference| {
            let here = |o: &&Difference| o.kind == Kind::ServiceMean;
            let latencies = sweep.iter().filter(|o| !o.kind.is_rate());
            let mut others = point.figures.iter().filter(here).chain(latencies);
            others.any(|o| o.verdict == d.verdict)
        };
        let tail = |d: &Difference| shown(d) && d.kind.is_of_the_tail();
        let alone = |d: &Difference| tail(d) && !agrees(d);
        let alone: Vec<bool> = point.figures.iter().map(alone).collect();
        let figures = point.figures.iter_mut().zip(alone);
        for (figure, _) in figures.filter(|(_, alone)| *alone) {
            figure.verdict = Judgement::NoDifferenceShown;
            remarks.push(format!(
                "load point {} ({}): {} {}; it does not affect the verdict, because the mean service time there and the latencies over the sweep do not agree: a short stall in one run has this effect; run repeats on both sides to find the cause",
                point.number,
                point.load,
                figure.kind.words(),
                figure.text()
            ));
        }
    }
    remarks
}

/// The verdict and its reasons; all differences have their verdicts.
pub fn overall(
    sweep: &[Difference],
    points: &[PointDifference],
    ops: &[OpDifference],
    threshold_pcnt: f64,
) -> (Overall, Vec<String>) {
    let mut reasons = Vec::new();
    let at_points = points.iter().flat_map(|p| &p.figures);
    let all = || sweep.iter().chain(at_points.clone());
    let is = |judgement| {
        let by_standing = points.iter().any(|p| p.standing_verdict == judgement);
        by_standing || all().any(|d| d.verdict == judgement)
    };
    let verdict = match (is(Judgement::Faster), is(Judgement::Slower)) {
        (true, true) => Overall::Mixed,
        (true, false) => Overall::Faster,
        (false, true) => Overall::Slower,
        _ if all().next().is_none() => Overall::NothingToCompare,
        (false, false) => Overall::NoDifferenceShown,
    };
    reasons.extend(point_validity::reasons(points));
    for difference in sweep.iter().filter(|d| shown(d)) {
        reasons.push(format!(
            "{} over the sweep: {}, {}",
            difference.kind.words(),
            difference.text(),
            difference.verdict.label()
        ));
    }
    reasons.extend(points.iter().flat_map(point_reasons));
    if verdict == Overall::NothingToCompare {
        let counts = |p: &PointDifference| [&p.before, &p.after] == [&PointValidity::Valid; 2];
        let advice = match points.iter().all(counts) {
            true => "",
            false => "; repeat the measurement of load points that do not count",
        };
        reasons.push(format!(
            "no load point can be compared, so there is no verdict{advice}"
        ));
    }
    reasons.extend(too_short(points));
    if verdict == Overall::NoDifferenceShown {
        reasons.extend(why_not(sweep, threshold_pcnt));
    }
    reasons.extend(standings(points));
    let held = points.iter().filter(|p| p.held_by_pacing).count();
    if held > 0 {
        reasons.push(format!(
            "both sides reached the requested rate at {held} of {} load points, so the latencies decide there, not the rates",
            points.len()
        ));
    }
    reasons.extend(op_reason(ops));
    (verdict, reasons)
}

fn shown(difference: &Difference) -> bool {
    difference.verdict != Judgement::NoDifferenceShown
}

fn point_reasons(point: &PointDifference) -> Option<String> {
    let one = |d: &Difference| {
        let figure = d.kind.words();
        format!("{figure} {}, {}", d.text(), d.verdict.label())
    };
    let shown = point.figures.iter().filter(|d| shown(d));
    let figures: Vec<String> = shown.map(one).collect();
    (!figures.is_empty()).then(|| {
        let (number, load) = (point.number, &point.load);
        format!("load point {number} ({load}): {}", figures.join("; "))
    })
}

/// The size of a difference that is still possible where none is shown.
fn why_not(sweep: &[Difference], threshold_pcnt: f64) -> Vec<String> {
    let kinds = [Kind::ServiceMean, Kind::ResponseMean, Kind::HighestRate];
    let figures = sweep.iter().filter(|d| kinds.contains(&d.kind));
    figures
        .map(|d| {
            let remark = match d.low_pcnt > -threshold_pcnt && d.high_pcnt < threshold_pcnt {
                true => format!("the same within the threshold of {threshold_pcnt} %"),
                false => "a difference up to the ends of the interval is possible".into(),
            };
            format!("{} over the sweep: {}; {remark}", d.kind.words(), d.text())
        })
        .collect()
}

/// The load points whose RUN is too short, in words.
fn too_short(points: &[PointDifference]) -> Option<String> {
    let short = points.iter().filter(|p| p.is_too_short);
    let numbers: Vec<u32> = short.map(|p| p.number).collect();
    (!numbers.is_empty()).then(|| {
        format!(
            "{}: RUN has fewer than two whole seconds, so how much its seconds scatter is not known: no verdict; measure with RUNTIME=2 or more, and for results with 30 or more",
            load_points(&numbers, None)
        )
    })
}

/// Load points that do not count on both sides, in words.
fn standings(points: &[PointDifference]) -> Vec<String> {
    let mut reasons = Vec::new();
    for point in points {
        let (number, load) = (point.number, &point.load);
        let compared = match (&point.before, &point.after) {
            (PointValidity::Valid, PointValidity::Valid) => continue,
            _ if point.is_too_short => "RUN is too short: not compared",
            (before, after) if before.has_figures() && after.has_figures() => {
                match point.figures.is_empty() {
                    true => "it counts on neither side, and a run is INVALID: not compared",
                    false => {
                        "it is not equivalent to a valid one: its rate is compared, its latency only where the rates agree, and it is left out of the latencies over the sweep"
                    }
                }
            }
            _ => "it is not compared",
        };
        reasons.push(format!(
            "load point {number} ({load}) is {} before and {} after: {compared}",
            point.before.text(),
            point.after.text()
        ));
    }
    reasons
}

fn op_reason(ops: &[OpDifference]) -> Option<String> {
    let mut shown: Vec<&OpDifference> = ops.iter().filter(|o| shown(&o.service)).collect();
    if shown.is_empty() {
        return None;
    }
    let size = |o: &OpDifference| (o.service.change_pcnt / 100.0).ln_1p().abs();
    shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let one = |o: &&OpDifference| {
        let pcnt = super::signed(o.service.change_pcnt);
        format!("{} {pcnt} %, {}", o.name, o.service.verdict.label())
    };
    let named: Vec<String> = shown.iter().take(OPS_NAMED).map(one).collect();
    let more = match shown.len().saturating_sub(OPS_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "operations that differ: {}{more}",
        named.join("; ")
    ))
}
