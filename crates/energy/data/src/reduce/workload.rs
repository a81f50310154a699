//! Reduces one run: its load points, its best, its idle power, its charts.

use super::point::{reduce_point, sum_between};
use super::power::power_of;
use super::types::{LogData, Parts, SourceData};
use super::{
    EnergyFinding, EnergyRule, PhaseSpan, PointEfficiency, SourceView, Stats, TrafficFrom,
    WorkloadReduction, series, whole,
};
use crate::log::{ClockFacts, EnergyPhase, MergedRun, SourceKind};
use crate::merge::{end_of, spans_of};
use filermark_model::Severity;
use filermark_results::Timestamp;

/// Most events of a page.
const EVENTS_MAX: usize = 200;

/// Reduces one run of a log.
pub(super) fn reduce_run(
    log: &LogData,
    parts: &Parts,
    run: &MergedRun,
    without_tail: bool,
) -> WorkloadReduction {
    let traffic_from = traffic_from(log, run);
    let reduce = |point| reduce_point(log, parts, point, traffic_from, without_tail);
    let points: Vec<PointEfficiency> = run.points.iter().map(reduce).collect();
    let idle = idle(log, parts, run);
    let capacity = log.head.lab.raw_capacity_gb;
    let span = span(log, run);
    let events = log
        .events
        .iter()
        .filter(|e| e.at >= span.0 && e.at <= span.1);
    let mut workload = WorkloadReduction {
        name: run.name.clone(),
        benchmark: run.benchmark.clone(),
        load_unit: run.load_unit.clone(),
        drives: log.head.lab.drives,
        raw_capacity_gb: capacity,
        lab: log.head.lab.clone(),
        best: best(&points),
        points,
        traffic_from,
        idle,
        ready_idle_gb_per_w: capacity
            .zip(idle.map(|stats| stats.mean))
            .filter(|(_, watts)| *watts > 0.0)
            .map(|(gb, watts)| gb / watts),
        sources: log.sources.values().map(view).collect(),
        series: series::series(parts, run, span),
        phases: phases(run, span.1),
        events: events
            .take(EVENTS_MAX)
            .map(|event| (event.at, event.message.clone()))
            .collect(),
        findings: Vec::new(),
        simulated: log.sources.values().any(|data| data.source.simulated),
    };
    workload.findings = whole::findings(log, parts, run, &workload, without_tail);
    clear_best_if_invalid(&mut workload);
    workload
}

/// Whether figures count. Made-up ones do: they are marked instead.
fn counts(findings: &[EnergyFinding]) -> bool {
    !findings
        .iter()
        .any(|f| f.severity == Severity::Invalid && f.rule != EnergyRule::Simulated)
}

/// A run that does not count has no best point.
pub(super) fn clear_best_if_invalid(workload: &mut WorkloadReduction) {
    if !counts(&workload.findings) {
        workload.best = None;
    }
}

/// The source of MiB/s: the switch if interfaces are chosen, else the clients.
fn traffic_from(log: &LogData, run: &MergedRun) -> TrafficFrom {
    // If chosen ports have no counters, the clients' count does not replace them.
    let chosen = !log.head.lab.ports.is_empty();
    let clients = run.points.iter().any(|p| p.client_mib_per_s.is_some());
    match (chosen, clients) {
        (true, _) => TrafficFrom::Sflow,
        (false, true) => TrafficFrom::Clients,
        (false, false) => TrafficFrom::Nowhere,
    }
}

/// The point with the most MiB/s per W, of those that count.
fn best(points: &[PointEfficiency]) -> Option<usize> {
    let counted = points.iter().enumerate();
    let counted = counted.filter(|(_, p)| p.valid != Some(false) && counts(&p.findings));
    let figures = counted.filter_map(|(i, p)| Some((i, p.mib_per_s_per_w?)));
    figures.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// Power before the first load point.
fn idle(log: &LogData, parts: &Parts, run: &MergedRun) -> Option<Stats> {
    let before = log.runs.iter().filter(|other| other.run != run.run);
    let ends = before.flat_map(spans_of).map(|span| span.1);
    let previous = ends.filter(|end| *end <= run.began).max();
    let firsts = parts.power.values().filter_map(|part| part.moments.first());
    let first = firsts.map(|moment| moment.0).reduce(f64::max)?;
    let from = previous.map_or(first, |at| at.unix_seconds().max(first));
    sum_between(&parts.power, from, run.began.unix_seconds())
}

/// The time span of the charts: the run, and the samples just before and after.
fn span(log: &LogData, run: &MergedRun) -> (Timestamp, Timestamp) {
    const AROUND_S: f64 = 120.0;
    let ends = log.sources.values().flat_map(|data| {
        let moments = data.moments.values();
        moments.filter_map(|m| Some((m.first()?.0, m.last()?.0)))
    });
    let pieces = log.ports.values();
    let ends =
        ends.chain(pieces.filter_map(|p| Some((p.pieces.first()?.from, p.pieces.last()?.to))));
    let (began, ended) = (run.began.unix_seconds(), end_of(run).unix_seconds());
    let (first, last) = ends.fold((began, ended), |(first, last), (from, to)| {
        (first.min(from), last.max(to))
    });
    let at = Timestamp::from_unix_seconds;
    (
        at(first.max(began - AROUND_S)),
        at(last.min(ended + AROUND_S)),
    )
}

fn phases(run: &MergedRun, end: Timestamp) -> Vec<PhaseSpan> {
    let points = run.points.iter();
    let begins: Vec<(u32, EnergyPhase, Timestamp)> = points
        .flat_map(|p| p.phases.iter().map(|b| (p.number, b.phase, b.at)))
        .collect();
    let ends = begins.iter().skip(1).map(|b| b.2).chain([end]);
    let spans = begins.iter().zip(ends);
    spans
        .filter(|((_, _, began), ended)| ended > began)
        .map(|(&(point, phase, began), ended)| PhaseSpan {
            point,
            phase,
            began,
            ended,
        })
        .collect()
}

fn view(data: &SourceData) -> SourceView {
    let source = &data.source;
    SourceView {
        name: source.name.clone(),
        location: source.location.clone(),
        role: match source.kind {
            SourceKind::Sflow => "switch".into(),
            SourceKind::Meter | SourceKind::Sensor => source.role.name().into(),
        },
        simulated: source.simulated,
        samples: data.samples,
        clock: clock(&source.clock),
        power_of_product: power_of(data).1.product.is_some_and(|p| p.is_used),
        instrument: (*source.instrument).clone(),
    }
}

fn clock(facts: &ClockFacts) -> String {
    let offset = match facts.added_s.unwrap_or(0.0) {
        0.0 => "as the prime's".into(),
        seconds => format!("{seconds:+.3} s to the prime's"),
    };
    let bound = match facts.bound_s {
        Some(bound) => format!(", within {bound:.3} s"),
        None => ", bound not known".into(),
    };
    match facts.how.is_empty() {
        true => offset + &bound,
        false => format!("{offset}{bound} ({})", facts.how),
    }
}
