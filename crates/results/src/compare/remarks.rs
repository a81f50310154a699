//! Remarks for the reader: what differs between the runs apart from the figures.

use super::{Group, is_one_run, points};
use crate::record::{PointRecord, RunRecord};
use filermark_model::text::one_line;

/// Reasons for INVALID that a remark names.
const REASONS_NAMED: usize = 5;

/// A remark on clients with wake-up delays that can explain a difference that matters.
fn client_delays(pairs: &[points::Pair<'_>], threshold_pcnt: f64) -> Option<String> {
    let measured = pairs.iter().filter(|p| p.is_measured());
    let delays = measured.map(|p| (p.number, p.client_delay()));
    let (number, (before, after, explained)) = delays.max_by(|a, b| a.1.2.total_cmp(&b.1.2))?;
    let pcnt = 100.0 * explained.exp_m1();
    (pcnt > threshold_pcnt).then(|| {
        format!(
            "the wake-up delays of the clients differ: at load point {number} the mean delay was {:.0} µs before and {:.0} µs after, which can change the mean service time by {pcnt:.0} %; the intervals are widened accordingly; compare runs with idle client hosts",
            before / 1e3,
            after / 1e3
        )
    })
}

/// Larger differences in the length of RUN are remarked, in percent `[own]`.
const LENGTH_APART_PCNT: f64 = 5.0;

/// A remark on RUNs of different length, where the length is not fixed.
fn run_lengths(before: &RunRecord, after: &RunRecord) -> Option<String> {
    let is_open = |record: &RunRecord| record.run.plan.phases.runtime_max.is_some();
    if !is_open(before) && !is_open(after) {
        return None;
    }
    let seconds = |record: &RunRecord, number: u32| {
        let mut points = record.points.iter();
        let point = points.find(|p| p.load.number == number)?;
        Some(point.measured()?.window_ns as f64 / 1e9)
    };
    let lengths = before.points.iter().filter_map(|point| {
        let number = point.load.number;
        let (b, a) = (seconds(before, number)?, seconds(after, number)?);
        let pcnt = 100.0 * ((b / a).max(a / b) - 1.0);
        (pcnt > LENGTH_APART_PCNT).then_some((number, b, a, pcnt))
    });
    let (number, b, a, _) = lengths.max_by(|x, y| x.3.total_cmp(&y.3))?;
    Some(format!(
        "RUN took different times, because it lasts until the data set has been touched: at load point {number} {b:.0} s before and {a:.0} s after; figures are means over these times"
    ))
}

/// The load points whose mean response time is a lower bound.
fn lower_bounds(record: &RunRecord) -> Vec<u32> {
    let is_bound = |p: &&PointRecord| p.measured().is_some_and(|s| s.response().mean().at_least);
    let points = record.points.iter().filter(is_bound);
    points.map(|p| p.load.number).collect()
}

/// Why a run is INVALID, in brief.
fn invalid(record: &RunRecord) -> Option<String> {
    let verdict = record.verdict();
    if verdict.is_valid() {
        return None;
    }
    let reasons = verdict.invalid();
    let mut named = reasons
        .iter()
        .take(REASONS_NAMED)
        .cloned()
        .collect::<Vec<_>>();
    if reasons.len() > REASONS_NAMED {
        named.push(format!(
            "and {} more reasons",
            reasons.len() - REASONS_NAMED
        ));
    }
    Some(named.join("; "))
}

pub(super) fn remarks(
    base: &Group<'_>,
    other: &Group<'_>,
    pairs: &[points::Pair<'_>],
    threshold_pcnt: f64,
) -> Vec<String> {
    let mut remarks: Vec<String> = client_delays(pairs, threshold_pcnt).into_iter().collect();
    for group in [base, other] {
        for record in &group.records {
            let suffix = one_line(&record.run.suffix);
            let name = format!("{} (suffix {suffix})", one_line(&group.name));
            remarks.extend(invalid(record).map(|why| format!("{name} is INVALID: {why}")));
            let bounds = lower_bounds(record);
            if !bounds.is_empty() {
                let points: Vec<String> = bounds.iter().map(u32::to_string).collect();
                remarks.push(format!(
                    "{name}: at load point {} the mean response time is a lower bound (the end of operations of RUN was not observed), and is not compared",
                    points.join(", ")
                ));
            }
            if let Some(cut) = &record.cut {
                remarks.push(format!("the record of {name} was cut: {}", one_line(cut)));
            } else if record.end.is_none() {
                remarks.push(format!(
                    "the record of {name} has no end: the run was cut or is still in progress"
                ));
            }
        }
    }
    for record in &other.records {
        if base.records.iter().any(|b| is_one_run(b, record)) {
            remarks.push(format!(
                "the run of suffix {} is on both sides: it is compared with itself, which shows nothing about the server",
                one_line(&record.run.suffix)
            ));
        }
    }
    remarks.extend(run_lengths(base.records[0], other.records[0]));
    let (b, a) = (&base.records[0].run, &other.records[0].run);
    if b.version != a.version {
        remarks.push(format!(
            "measured by different versions of the program: {} before, {} after",
            one_line(&b.version),
            one_line(&a.version)
        ));
    }
    let planned = base.records[0].run.plan.points.len();
    if pairs.len() < planned {
        remarks.push(format!(
            "{} of {planned} load points of the base are in all records; the others are left out",
            pairs.len()
        ));
    }
    if base.records.len() + other.records.len() == 2 {
        remarks.push(
            "one run on each side: the spread between runs is assumed, not measured; repeats make the verdict more reliable"
                .into(),
        );
    }
    remarks
}
