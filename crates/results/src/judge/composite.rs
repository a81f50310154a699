//! Rules that only composite benchmarks have.

use super::case::{Case, PROC_EDGE_OPS, percent_of};
use super::mix::mix_distance;
use crate::figures::is_background;
use filermark_model::composite::CompositeWork;
use filermark_model::stats::ComponentStats;
use filermark_model::{Bytes, Finding, Op, Rule, Severity};

/// The components that count, each with what it did.
fn counted<'a>(
    case: &'a Case<'_>,
    work: &'a CompositeWork,
) -> impl Iterator<Item = (&'a str, &'a filermark_model::Mix, &'a ComponentStats)> {
    case.stats.components.iter().filter_map(|stats| {
        let component = work.components.get(stats.component as usize)?;
        let workload = &component.workload;
        let counts = !workload.attributes.background;
        counts.then_some((workload.name.as_str(), &workload.mix, stats))
    })
}

/// Each component is compared with its own mix; its part of the whole is judged by
/// [`component_variance`]. Returns the largest deviation.
pub(super) fn mix_deviation(case: &Case<'_>, work: &CompositeWork) -> Option<Finding> {
    let of = |(name, mix, stats): (&str, _, &ComponentStats)| {
        let whose = match work.components.len() {
            1 => String::new(),
            _ => format!(" of {name}"),
        };
        mix_distance(case, &whose, mix, &stats.ops)
    };
    counted(case, work).filter_map(of).max_by(|a, b| {
        (a.severity, a.value)
            .partial_cmp(&(b.severity, b.value))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// Each component's share of the operations against its planned share. Operations in
/// flight at the edges of the window are tolerated.
pub(super) fn component_variance(case: &Case<'_>) -> Option<Finding> {
    let limit = case.plan.limits.component_variance_pcnt_max;
    let work = case.plan.benchmark.composite()?;
    let all: Vec<_> = counted(case, work).collect();
    let wanted: f64 = all.iter().map(|(.., s)| s.wanted_count as f64).sum();
    let done: f64 = all.iter().map(|(.., s)| s.success_count() as f64).sum();
    let unlimited = all.iter().any(|(.., s)| s.wanted_count == 0);
    if limit <= 0.0 || all.len() < 2 || unlimited || done == 0.0 {
        return None;
    }
    let distance = |(name, _, stats): &(&'_ str, _, &ComponentStats)| {
        let target = stats.wanted_count as f64 / wanted;
        let share = stats.success_count() as f64 / done;
        let edge = PROC_EDGE_OPS * f64::from(stats.proc_count.max(1)) / done;
        let beyond = (share - target).abs() > edge;
        beyond.then_some((name.to_string(), share, target))
    };
    let off = |share: f64, target: f64| percent_of((share - target).abs(), target);
    let (name, share, target) = all
        .iter()
        .filter_map(distance)
        .max_by(|a, b| off(a.1, a.2).total_cmp(&off(b.1, b.2)))?;
    let pcnt = off(share, target);
    (pcnt > limit).then(|| {
        let message = format!(
            "{name} made {:.2} % of the operations instead of {:.2} %, {pcnt:.1} % off its share; limit {limit} %",
            100.0 * share,
            100.0 * target
        );
        let standard = case.plan.benchmark.standard.component_variance_pcnt_max;
        let source = case.source("COMPONENT_VARIANCE_MAX", limit, standard);
        Finding::new(Rule::ComponentVariance, Severity::Invalid, message)
            .with_limit(pcnt, limit, &source)
    })
}

/// Random reads of a component whose description has a limit for them: the slowest one.
pub(super) fn random_reads(case: &Case<'_>) -> Option<Finding> {
    let work = case.plan.benchmark.composite()?;
    let of = |stats: &ComponentStats| {
        let workload = &work.components.get(stats.component as usize)?.workload;
        let limit = workload.attributes.random_read_limit_ms?;
        let reads = stats.ops.iter().find(|o| o.op == Op::ReadRandom)?;
        let mean_ms = reads.service.mean_ns() / 1e6;
        (mean_ms > limit / 2.0).then_some((workload.name.as_str(), mean_ms, limit))
    };
    let above = |(_, mean, limit): &(&str, f64, f64)| mean / limit;
    let (name, mean_ms, limit) = (case.stats.components.iter())
        .filter_map(of)
        .max_by(|a, b| above(a).total_cmp(&above(b)))?;
    let (severity, what) = match mean_ms > limit {
        true => (Severity::Invalid, format!("above the limit of {limit} ms")),
        false => (
            Severity::Note,
            format!("above half of the limit of {limit} ms"),
        ),
    };
    let message =
        format!("the mean service time of random reads of {name} is {mean_ms:.1} ms, {what}");
    Some(
        Finding::new(Rule::ResponseLimit, severity, message).with_limit(
            mean_ms,
            limit,
            "random_read_limit_ms of the workload",
        ),
    )
}

/// netmist's minimum run time: as many bytes must be read and written as the data set has,
/// if the run requires it. Background components do not count.
pub(super) fn data_touched(case: &Case<'_>) -> Option<Finding> {
    let set = case.plan.bytes_to_touch(case.load);
    let counts = |c: &&ComponentStats| !is_background(case.plan, c.component);
    let ops = (case.stats.components.iter().filter(counts)).flat_map(|c| &c.ops);
    let moved = ops.fold(0u64, |sum, o| {
        sum.saturating_add(o.read_bytes)
            .saturating_add(o.written_bytes)
    });
    if !case.plan.fileset.touch_all || moved >= set {
        return None;
    }
    let seconds = case.window_seconds() * set as f64 / moved.max(1) as f64;
    let remedy = match moved {
        0 => "a longer run would not help".to_owned(),
        _ => format!("at this rate RUNTIME must be {:.0} s", seconds.ceil()),
    };
    let message = format!(
        "only {} of a data set of {} were read and written; {remedy}",
        Bytes(moved),
        Bytes(set)
    );
    let source = "touch_all of this run's file set (manual N, section 10: the minimum run time)";
    Some(
        Finding::new(Rule::DataTouched, Severity::Invalid, message).with_limit(
            moved as f64,
            set as f64,
            source,
        ),
    )
}

#[cfg(test)]
mod tests;
