//! Conditions on the figures of a run, checked on its record
//! ([`filermark_model::assertion`]).

use crate::figures::Throughput;
use crate::record::{PointRecord, RunRecord};
use filermark_model::assertion::{AssertedFigure, Assertion, Assertions, PointFigure};
use filermark_model::{Latency, OpStats, PointStats};

#[cfg(test)]
mod tests;

/// What became of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct AssertionResult {
    /// The condition as it was written.
    pub text: String,
    /// Why it does not hold; `None`: it holds.
    pub failure: Option<String>,
}

/// A percentile in milliseconds; `None`: fewer than ten operations would be above it.
pub fn percentile_ms(latency: &Latency, percentile: f64) -> Option<f64> {
    let above = latency.count() as f64 * (1.0 - percentile / 100.0);
    // The product of decimal fractions is inexact.
    (above >= 10.0 - 1e-6).then(|| latency.percentile_ns(percentile) as f64 / 1e6)
}

/// Checks all of them on a run.
pub fn check(all: &Assertions, record: &RunRecord) -> Vec<AssertionResult> {
    let result = |assertion: &Assertion| AssertionResult {
        text: assertion.text.clone(),
        failure: failure(assertion, record),
    };
    all.0.iter().map(result).collect()
}

/// Why a condition does not hold on a run; `None`: it holds.
pub fn failure(assertion: &Assertion, record: &RunRecord) -> Option<String> {
    let figure = assertion.what.figure;
    match figure_of(assertion.what, record) {
        Err(why) => Some(why),
        Ok((value, _)) if assertion.comparison.holds(value, assertion.limit) => None,
        Ok((value, None)) => Some(format!("it was {}", figure.shown(value))),
        Ok((value, Some(number))) => Some(format!(
            "it was {} at load point {number}",
            figure.shown(value)
        )),
    }
}

/// A figure of a run in its own unit, and the number of the load point that it is of: the one
/// that is named, otherwise the one with the highest rate that counts.
///
/// # Errors
/// The run does not have it; the sentence says why.
pub fn figure_of(what: PointFigure, record: &RunRecord) -> Result<(f64, Option<u32>), String> {
    if what.figure == AssertedFigure::Ort {
        let ort_ms = record.ort_ms().map(|value| (value, None));
        return ort_ms.ok_or_else(|| "the run has no overall response time".to_owned());
    }
    let point = point_of(what.point, record)?;
    let number = point.load.number;
    let stats = point
        .measured()
        .ok_or_else(|| format!("load point {number} was not measured"))?;
    let value = match what.op {
        None => value(what.figure, stats),
        Some(op) => {
            let is_own = |own: &&OpStats| own.op == op && own.success_count + own.error_count > 0;
            let own = stats.ops.iter().find(is_own);
            let own = own.ok_or_else(|| format!("load point {number} has no {op}"))?;
            value_of_op(what.figure, own, stats.window_ns as f64 / 1e9)
        }
    };
    let value = value.map(|value| (value, Some(number)));
    value.ok_or_else(|| match what.figure {
        AssertedFigure::Percentile(_) => {
            format!("load point {number} has fewer than ten operations above this percentile")
        }
        _ => format!("load point {number} has no operation that succeeded"),
    })
}

fn point_of(point: Option<u32>, record: &RunRecord) -> Result<&PointRecord, String> {
    match point {
        None => record
            .peak()
            .ok_or_else(|| "no load point counts".to_owned()),
        Some(number) => record
            .points
            .iter()
            .find(|point| point.load.number == number)
            .ok_or_else(|| format!("the run has no load point {number}")),
    }
}

/// The value of a figure of a load point; `None`: it has too few operations.
fn value(figure: AssertedFigure, stats: &PointStats) -> Option<f64> {
    let (successes, errors) = (stats.success_count(), stats.error_count());
    Some(match figure {
        AssertedFigure::Ops => stats.achieved_ops_per_sec(),
        AssertedFigure::Mib => Throughput::of(stats).total() / 1024.0,
        AssertedFigure::Errors => errors as f64,
        AssertedFigure::ErrorShare => share_pcnt(successes, errors),
        other => return time_ms(other, &stats.service()),
    })
}

/// The value of a figure of one operation; `None`: it has too few of them.
fn value_of_op(figure: AssertedFigure, stats: &OpStats, seconds: f64) -> Option<f64> {
    Some(match figure {
        AssertedFigure::Ops => stats.success_count as f64 / seconds,
        AssertedFigure::Errors => stats.error_count as f64,
        AssertedFigure::ErrorShare => share_pcnt(stats.success_count, stats.error_count),
        other => return time_ms(other, &stats.service),
    })
}

/// The share of errors among all attempts, in percent.
fn share_pcnt(successes: u64, errors: u64) -> f64 {
    100.0 * errors as f64 / ((successes + errors) as f64).max(1.0)
}

/// A figure of times; `None`: it is none, or there are too few of them.
fn time_ms(figure: AssertedFigure, service: &Latency) -> Option<f64> {
    match figure {
        _ if service.count() == 0 => None,
        AssertedFigure::Mean => Some(service.mean_ns() / 1e6),
        AssertedFigure::Max => Some(service.max_ns() as f64 / 1e6),
        AssertedFigure::Percentile(p) => percentile_ms(service, p),
        _ => None,
    }
}
