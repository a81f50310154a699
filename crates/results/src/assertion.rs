//! Conditions on the figures of a run, checked on its record
//! ([`filermark_model::assertion`]).

use crate::figures::Throughput;
use crate::record::{PointRecord, RunRecord};
use filermark_model::assertion::{AssertedFigure, Assertion, Assertions};
use filermark_model::{Latency, PointStats};

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
    let figure = assertion.figure;
    if figure == AssertedFigure::Ort {
        return match record.ort_ms() {
            None => Some("the run has no overall response time".to_owned()),
            Some(value) if assertion.comparison.holds(value, assertion.limit) => None,
            Some(value) => Some(format!("it was {}", figure.shown(value))),
        };
    }
    let point = match point_of(assertion, record) {
        Ok(point) => point,
        Err(why) => return Some(why),
    };
    let number = point.load.number;
    let Some(stats) = point.measured() else {
        return Some(format!("load point {number} was not measured"));
    };
    match value(figure, stats) {
        None => Some(format!(
            "load point {number} has fewer than ten operations above this percentile"
        )),
        Some(value) if assertion.comparison.holds(value, assertion.limit) => None,
        Some(value) => Some(format!(
            "it was {} at load point {number}",
            figure.shown(value)
        )),
    }
}

fn point_of<'a>(assertion: &Assertion, record: &'a RunRecord) -> Result<&'a PointRecord, String> {
    match assertion.point {
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
    let service = || stats.service();
    let attempts = (stats.success_count() + stats.error_count()) as f64;
    Some(match figure {
        AssertedFigure::Ops => stats.achieved_ops_per_sec(),
        AssertedFigure::Mib => Throughput::of(stats).total() / 1024.0,
        AssertedFigure::Mean => service().mean_ns() / 1e6,
        AssertedFigure::Max => service().max_ns() as f64 / 1e6,
        AssertedFigure::Percentile(p) => return percentile_ms(&service(), p),
        AssertedFigure::Errors => stats.error_count() as f64,
        AssertedFigure::ErrorShare => 100.0 * stats.error_count() as f64 / attempts.max(1.0),
        AssertedFigure::Ort => return None,
    })
}
