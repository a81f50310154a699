//! The whole sweep side by side: every figure over the points that count on both
//! sides, the highest rate, the overall response time, and each operation.

use super::difference::{Difference, ExtraUncertainty, Kind, SideEstimate, difference, mean};
use super::points::{Cell, OpDifference, Pair};
use super::scatter::together;
use crate::ort::OrtMethod;
use filermark_model::Op;
use filermark_model::benchmark::Protocol;

/// The differences over the sweep, without verdicts.
pub fn differences(pairs: &[Pair<'_>], spread: f64, composite: bool) -> Vec<Difference> {
    let valid: Vec<&Pair<'_>> = pairs.iter().filter(|p| p.is_valid()).collect();
    let alike: Vec<&Pair<'_>> = valid
        .iter()
        .copied()
        .filter(|p| p.is_at_one_rate())
        .collect();
    let measured: Vec<&Pair<'_>> = pairs.iter().filter(|p| p.is_sound()).collect();
    let rows = [
        over(Kind::AchievedRate, &measured, spread),
        over(Kind::ServiceMean, &alike, spread),
        over(Kind::ServiceP99, &alike, spread),
        over(Kind::ResponseMean, &alike, spread),
        highest_rate(&measured, spread),
        overall_response_time(&valid, spread, OrtMethod::of(composite)),
    ];
    rows.into_iter().flatten().collect()
}

/// A figure over several points, each with the same weight.
fn over(kind: Kind, pairs: &[&Pair<'_>], spread: f64) -> Option<Difference> {
    let weighted = |pair: &&Pair<'_>| {
        let (before, after) = pair.sides(kind);
        (1.0, before, after)
    };
    let sides: Vec<_> = pairs.iter().map(weighted).collect();
    let uncertainties: Vec<ExtraUncertainty> =
        pairs.iter().map(|p| p.uncertainty(kind, spread)).collect();
    joined(kind, &sides, &uncertainties)
}

fn joined(
    kind: Kind,
    sides: &[(f64, SideEstimate, SideEstimate)],
    uncertainties: &[ExtraUncertainty],
) -> Option<Difference> {
    let (before, after, scatter) = together(sides);
    let uncertainty = ExtraUncertainty {
        scatter,
        ..mean_uncertainty(sides, uncertainties)
    };
    difference(kind, &before, &after, uncertainty)
}

/// The spread between runs is assumed to be common to all points: the means of their uncertainties.
fn mean_uncertainty(
    sides: &[(f64, SideEstimate, SideEstimate)],
    uncertainties: &[ExtraUncertainty],
) -> ExtraUncertainty {
    let total: f64 = sides.iter().map(|s| s.0).sum();
    let sum = |of: &dyn Fn(&ExtraUncertainty) -> f64| {
        let each = uncertainties.iter().zip(sides);
        each.map(|(d, s)| of(d) * s.0 / total).sum::<f64>()
    };
    ExtraUncertainty {
        spread: sum(&|d| d.spread),
        scatter: None,
        allowance: sum(&|d| d.allowance),
    }
}

/// The highest rate that either side achieved at points that both have figures of.
fn highest_rate(pairs: &[&Pair<'_>], spread: f64) -> Option<Difference> {
    let rate = |pair: &&&Pair<'_>, after: bool| {
        let (b, a) = pair.sides(Kind::HighestRate);
        mean(if after { &a.logs } else { &b.logs })
    };
    let best = |after: bool| {
        let order = |a: &&&Pair<'_>, b: &&&Pair<'_>| rate(a, after).total_cmp(&rate(b, after));
        pairs.iter().max_by(order).copied()
    };
    let (before, after) = (best(false)?, best(true)?);
    let (b, a) = (
        before.uncertainty(Kind::HighestRate, spread),
        after.uncertainty(Kind::HighestRate, spread),
    );
    let uncertainty = if b.spread > a.spread { b } else { a };
    let (side, other) = (
        before.sides(Kind::HighestRate).0,
        after.sides(Kind::HighestRate).1,
    );
    difference(Kind::HighestRate, &side, &other, uncertainty)
}

/// The ORT of the points that count on both sides. Its uncertainty follows from its
/// dependence on each point's mean service time.
fn overall_response_time(
    pairs: &[&Pair<'_>],
    spread: f64,
    method: OrtMethod,
) -> Option<Difference> {
    // One load point is no curve.
    if pairs.len() < 2 {
        return None;
    }
    let has_rates = pairs.iter().all(|p| p.requested.is_some());
    let ort_of = |curve: &[(f64, f64)]| method.ort(curve, has_rates).filter(|ms| *ms > 0.0);
    let records = |after: bool| {
        let count = |p: &&Pair<'_>| cells(p, after).len();
        pairs.iter().map(count).min().unwrap_or(0)
    };
    let curve = |after: bool, record: usize| -> Option<Vec<(f64, f64)>> {
        let point = |p: &&Pair<'_>| cells(p, after).get(record)?.curve_point();
        pairs.iter().map(point).collect()
    };
    let weights = weights(&curve(false, 0)?, ort_of)?;
    let weighted = |(pair, weight): (&&Pair<'_>, &f64)| {
        let (before, after) = pair.sides(Kind::ServiceMean);
        (*weight, before, after)
    };
    let sides: Vec<_> = pairs.iter().zip(&weights).map(weighted).collect();
    let uncertainties = pairs
        .iter()
        .map(|p| p.uncertainty(Kind::ServiceMean, spread));
    let uncertainties: Vec<ExtraUncertainty> = uncertainties.collect();
    let (mut before, mut after, scatter) = together(&sides);
    for (side, is_after) in [(&mut before, false), (&mut after, true)] {
        for record in 0..records(is_after) {
            let ms = ort_of(&curve(is_after, record)?)?;
            *side.logs.get_mut(record)? = (ms * 1e6).ln();
        }
    }
    let uncertainty = ExtraUncertainty {
        scatter,
        ..mean_uncertainty(&sides, &uncertainties)
    };
    difference(Kind::Ort, &before, &after, uncertainty)
}

fn cells<'a, 'b>(pair: &'a Pair<'b>, after: bool) -> &'a [Cell<'b>] {
    if after { &pair.after } else { &pair.before }
}

/// By how many percent the ORT grows when one point's mean grows by one percent: they sum
/// up to one. Points beyond the peak have none; they get a small weight to avoid a division
/// by zero.
fn weights(
    curve: &[(f64, f64)],
    ort_of: impl Fn(&[(f64, f64)]) -> Option<f64>,
) -> Option<Vec<f64>> {
    const STEP: f64 = 1e-3;
    let base = ort_of(curve)?;
    let weight = |at: usize| {
        let mut bent = curve.to_vec();
        bent[at].1 *= 1.0 + STEP;
        let ort = ort_of(&bent)?;
        Some(((ort / base - 1.0) / STEP).max(1e-6))
    };
    (0..curve.len()).map(weight).collect()
}

/// Every operation over the points that count on both sides, weighted by how often it
/// was done there.
pub fn ops(pairs: &[Pair<'_>], protocol: Protocol, spread: f64) -> Vec<OpDifference> {
    let alike = |p: &&Pair<'_>| p.is_valid() && p.is_at_one_rate();
    let pairs: Vec<&Pair<'_>> = pairs.iter().filter(alike).collect();
    let of = |op: &Op| {
        let with: Vec<&&Pair<'_>> = pairs.iter().filter(|p| p.ops().contains(op)).collect();
        let weighted = |pair: &&&Pair<'_>| {
            let (before, after, count) = pair.op_sides(*op);
            (count as f64, before, after)
        };
        let sides: Vec<_> = with.iter().map(weighted).collect();
        let uncertainties: Vec<ExtraUncertainty> =
            with.iter().map(|p| p.op_uncertainty(*op, spread)).collect();
        Some(OpDifference {
            name: protocol.op_name(*op).into(),
            count: sides.iter().map(|s| s.0).sum::<f64>() as u64,
            service: joined(Kind::ServiceMean, &sides, &uncertainties)?,
        })
    };
    Op::ALL.iter().filter_map(of).collect()
}

/// Every operation at one point.
pub fn ops_at(pair: &Pair<'_>, protocol: Protocol, spread: f64) -> Vec<OpDifference> {
    if !pair.is_sound() || !pair.is_at_one_rate() {
        return Vec::new();
    }
    let of = |op: Op| {
        let (before, after, count) = pair.op_sides(op);
        Some(OpDifference {
            name: protocol.op_name(op).into(),
            count,
            service: difference(
                Kind::ServiceMean,
                &before,
                &after,
                pair.op_uncertainty(op, spread),
            )?,
        })
    };
    pair.ops().into_iter().filter_map(of).collect()
}
