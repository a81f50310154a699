//! Best foot forward: the number of drives with the best efficiency, the ends of the range
//! that it represents, and what to measure next (slides E; sources.md 4.2).

use super::limits::programme;
use super::{BestFoot, DriveEfficiency, RangePoint, WorkloadReduction};
use std::collections::BTreeMap;

/// One for every benchmark with a run whose number of drives is known.
pub(super) fn best_foot(workloads: &[WorkloadReduction]) -> Vec<BestFoot> {
    let mut by_benchmark: BTreeMap<String, Vec<DriveEfficiency>> = BTreeMap::new();
    for workload in workloads {
        let best = workload.best.and_then(|best| workload.points.get(best));
        let figure = best.and_then(|point| point.mib_per_s_per_w);
        if let Some((drives, mib_per_s_per_w)) = workload.drives.zip(figure) {
            let runs = by_benchmark.entry(workload.benchmark.clone()).or_default();
            runs.push(DriveEfficiency {
                drives,
                mib_per_s_per_w,
                run: workload.name.clone(),
            });
        }
    }
    by_benchmark
        .into_iter()
        .map(|(name, runs)| of(name, runs))
        .collect()
}

fn of(benchmark: String, mut measured: Vec<DriveEfficiency>) -> BestFoot {
    // Of two runs with the same number of drives the better counts.
    measured.sort_by(|a, b| {
        let better = b.mib_per_s_per_w.total_cmp(&a.mib_per_s_per_w);
        a.drives.cmp(&b.drives).then(better)
    });
    measured.dedup_by_key(|run| run.drives);
    let figures = measured.iter().map(|run| run.mib_per_s_per_w);
    let best = figures
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(i, _)| i);
    let mut foot = BestFoot {
        benchmark,
        best,
        enclosed: best.is_some_and(|i| i > 0 && i + 1 < measured.len()),
        low: None,
        high: None,
        next: Vec::new(),
        measured,
    };
    if let Some((i, run)) = best.and_then(|i| Some((i, foot.measured.get(i)?.clone()))) {
        let limits = programme();
        let less = 1.0 - limits.drives_less_pcnt.value / 100.0;
        let more = 1.0 + limits.drives_more_pcnt.value / 100.0;
        let below = 1.0 - limits.efficiency_below_pcnt.value / 100.0;
        let target = run.mib_per_s_per_w * below;
        let fewer: Vec<&DriveEfficiency> = foot.measured.iter().take(i + 1).rev().collect();
        let greater: Vec<&DriveEfficiency> = foot.measured.iter().skip(i).collect();
        let low = range_point(&foot.measured, run.drives, less, crossing(&fewer, target));
        let high = range_point(&foot.measured, run.drives, more, crossing(&greater, target));
        foot.next = next(&foot, &run, i, &low, &high);
        foot.low = Some(low);
        foot.high = Some(high);
    }
    foot
}

fn range_point(
    measured: &[DriveEfficiency],
    best: u32,
    share: f64,
    drives_15_pcnt_below: Option<f64>,
) -> RangePoint {
    let wanted = (f64::from(best) * share).round().max(1.0) as u32;
    RangePoint {
        drives_wanted: wanted,
        by_drives: measured.iter().position(|run| run.drives == wanted),
        drives_15_pcnt_below,
    }
}

/// The number of drives at which efficiency falls to `target`, between measured runs.
fn crossing(away: &[&DriveEfficiency], target: f64) -> Option<f64> {
    away.windows(2).find_map(|pair| {
        let [near, far] = pair else { return None };
        let (high, low) = (near.mib_per_s_per_w, far.mib_per_s_per_w);
        let share = (high - target) / (high - low);
        let (from, to) = (f64::from(near.drives), f64::from(far.drives));
        let falls = high >= target && low <= target && high > low;
        falls.then_some(from + (to - from) * share)
    })
}

fn next(
    foot: &BestFoot,
    best: &DriveEfficiency,
    index: usize,
    low: &RangePoint,
    high: &RangePoint,
) -> Vec<String> {
    let mut next = Vec::new();
    let has = |drives: u32| foot.measured.iter().any(|run| run.drives == drives);
    let is_last = index + 1 == foot.measured.len();
    if index == 0 && best.drives > 1 {
        next.push(format!(
            "measure with fewer than {} drives: the best of those measured has the fewest, so a better one may lie below",
            best.drives
        ));
    }
    if is_last {
        next.push(format!(
            "measure with more than {} drives: the best of those measured has the most, so a better one may lie above",
            best.drives
        ));
    }
    for (point, sign, what) in [(low, "-40 %", "fewer"), (high, "+15 %", "more")] {
        let known = point.by_drives.is_some() || has(point.drives_wanted);
        if !known && point.drives_wanted != best.drives {
            let or = match point.drives_15_pcnt_below {
                Some(drives) => {
                    format!(", or with {drives:.0}, where efficiency should be 15 % below the best")
                }
                None => format!(", or with {what} drives until efficiency is 15 % below the best"),
            };
            next.push(format!(
                "measure with {} drives ({sign} of {}){or}",
                point.drives_wanted, best.drives
            ));
        }
    }
    next
}
