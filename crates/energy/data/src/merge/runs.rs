//! Converts a run record into the run of a merged log.

use crate::log::{EnergyPhase, MergedPoint, MergedRun, PhaseBegin};
use filermark_model::stats::PointStats;
use filermark_results::figures::{Planned, Throughput, is_composite};
use filermark_results::record::PhaseRecord;
use filermark_results::{Phase, PointRecord, RunRecord, Timestamp};
use std::collections::BTreeMap;

/// The share of RUN at which RUN_TAIL begins (sources.md 3.10, "Run 90 percent complete").
pub const TAIL_BEGINS: f64 = 0.9;
/// Most values of a load point's throughput that are kept.
const THROUGHPUT_LEN_MAX: usize = 600;
/// KiB of a MiB.
const KIB_PER_MIB: f64 = 1024.0;

/// The run of a record, as number `number` of a log. `location` is where it was read.
pub fn merged_run(record: &RunRecord, number: u32, location: &str) -> MergedRun {
    let composite = is_composite(record);
    let benchmark = &record.run.plan.benchmark;
    let unit = match composite {
        true => filermark_results::curve::business_metric(benchmark),
        false => "op/s".into(),
    };
    let mut points: Vec<MergedPoint> = record.points.iter().map(|p| point(record, p)).collect();
    // The first point begins with the run, or with its part: the checks before INIT are load,
    // too.
    let mut begins = BTreeMap::from([(0, record.run.started)]);
    let restarts = record.restarts.iter();
    begins.extend(restarts.map(|restart| (restart.point_count, restart.at)));
    for (at, began) in begins {
        if let Some(pre) = points.get_mut(at).and_then(|p| p.phases.first_mut())
            && pre.phase == EnergyPhase::Pre
        {
            pre.at = pre.at.min(began);
        }
    }
    MergedRun {
        run: number,
        name: record.run.suffix.clone(),
        location: location.into(),
        fingerprint: record.run.fingerprint.clone(),
        benchmark: benchmark.name.clone(),
        load_unit: unit,
        began: record.run.started,
        ended: record.end.as_ref().map(|end| end.at),
        cut_after: cut_after(record),
        points,
    }
}

/// The end of the last load point, with its CLEANUP, of all parts of a run but the last.
fn cut_after(record: &RunRecord) -> Vec<Timestamp> {
    let restarts = record.restarts.iter();
    let mut ends: Vec<Timestamp> = restarts
        .map(|restart| {
            let mut measured = record.points.iter().take(restart.point_count);
            let Some(last) = measured.next_back() else {
                return record.run.started;
            };
            let phases = record.phases.iter();
            let phases = phases.filter(|p| p.point == last.load.number);
            phases.map(|p| p.ended).fold(last.ended, Timestamp::max)
        })
        .collect();
    ends.dedup();
    ends
}

fn point(record: &RunRecord, point: &PointRecord) -> MergedPoint {
    let stats = point.measured();
    let load = match is_composite(record) {
        true => Planned::of(&record.run.plan, point.load).business_metric,
        false => point.load.entered.0,
    };
    let (phases, run_ended) = phases(record, point);
    let (step_s, throughput) = stats.map_or((None, Vec::new()), throughput);
    MergedPoint {
        number: point.load.number,
        load: Some(load),
        achieved_ops_per_s: stats.map(PointStats::achieved_ops_per_sec),
        client_mib_per_s: stats.map(|s| Throughput::of(s).total() / KIB_PER_MIB),
        latency_ms_mean: stats.map(|s| s.service().mean_ns() / 1e6),
        valid: Some(point.is_valid()),
        phases,
        run_ended,
        throughput_mib_per_s: throughput,
        throughput_step_s: step_s,
    }
}

/// The begins of a point's phases, and the end of RUN.
fn phases(record: &RunRecord, point: &PointRecord) -> (Vec<PhaseBegin>, Option<Timestamp>) {
    let mut begins = vec![begin(EnergyPhase::Pre, point.began)];
    let mut run_ended = None;
    let number = point.load.number;
    for phase in record.phases.iter().filter(|p| p.point == number) {
        match phase.phase {
            Phase::Init => begins.push(begin(EnergyPhase::Init, phase.began)),
            Phase::Warmup => begins.push(begin(EnergyPhase::Warmup, phase.began)),
            Phase::Run => {
                let ended = run_end(phase, point);
                let length = ended.seconds_since(phase.began);
                let tail = phase.began.plus_seconds(length * TAIL_BEGINS);
                begins.push(begin(EnergyPhase::Run, phase.began));
                // An interrupted RUN has no tail, and is not measured.
                if phase.failure.is_none() && point.measured().is_some() {
                    begins.push(begin(EnergyPhase::RunTail, tail));
                    run_ended = Some(ended);
                }
                begins.push(begin(EnergyPhase::Post, ended));
            }
            Phase::Validate | Phase::Cleanup => {}
        }
    }
    begins.sort_by_key(|b| (b.at, b.phase));
    (begins, run_ended)
}

/// When the load of RUN ended. The record's phase continues until all clients have answered:
/// the last replies, COMMITs and figures come after the load, while the server is idle.
fn run_end(phase: &PhaseRecord, point: &PointRecord) -> Timestamp {
    let window_ns = point.measured().map_or(0, |stats| stats.window_ns);
    match window_ns {
        0 => phase.ended,
        ns => phase.ended.min(phase.began.plus_seconds(ns as f64 / 1e9)),
    }
}

fn begin(phase: EnergyPhase, at: Timestamp) -> PhaseBegin {
    PhaseBegin { phase, at }
}

/// Seconds of a value, and the values over RUN.
fn throughput(stats: &PointStats) -> (Option<f64>, Vec<f64>) {
    let whole_seconds = stats.window_ns / 1_000_000_000;
    let seconds = usize::try_from(whole_seconds).unwrap_or(0).min(1 << 24);
    let step = seconds.div_ceil(THROUGHPUT_LEN_MAX).max(1);
    let mut mib = vec![0.0; seconds / step];
    for interval in &stats.intervals {
        let at = usize::try_from(interval.second).ok().map(|s| s / step);
        if let Some(sum) = at.and_then(|at| mib.get_mut(at)) {
            let bytes = interval.read_bytes.saturating_add(interval.written_bytes);
            *sum += bytes as f64 / crate::MIB / step as f64;
        }
    }
    match mib.is_empty() {
        true => (None, mib),
        false => (Some(step as f64), mib),
    }
}
