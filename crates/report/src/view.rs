//! The content of the report's template, as text: all arithmetic and wording of the page is
//! here; the template only lays it out.

use crate::advice::advice;
use crate::composite::{self, BandView, COMPONENT_HEADS, ComponentRow};
use crate::format::{count, ms, number, plural, rate, seconds};
use crate::heritage;
use crate::labels;
use filermark_model::text::one_line;
use filermark_model::{Finding, OpStats, PointStats};
use filermark_results::classical::Basis;
use filermark_results::figures::{is_composite, plain};
use filermark_results::text::{load_points, severity_label};
use filermark_results::verdict::NextStep;
use filermark_results::{ClassicalResult, PointRecord, RunRecord};

/// A figure of the headline.
#[derive(serde::Serialize)]
pub struct Figure {
    pub label: &'static str,
    pub value: String,
    pub unit: String,
    pub note: String,
}

/// The findings of one rule of one severity, as text.
#[derive(serde::Serialize)]
pub struct FindingView {
    pub severity: &'static str,
    /// (place, message) of each.
    #[serde(rename = "said")]
    pub messages: Vec<(String, String)>,
    pub rule: &'static str,
    /// Where the limits come from, each once.
    pub sources: Vec<String>,
    pub advice: &'static str,
}

/// A row of the table of load points.
#[derive(serde::Serialize)]
pub struct PointRow {
    pub number: u32,
    /// In the business metric, if there is one.
    pub units: Option<String>,
    pub requested: String,
    pub failure: Option<String>,
    pub cells: Vec<String>,
    pub verdict: &'static str,
    pub is_peak: bool,
}

/// The details of one load point.
#[derive(serde::Serialize)]
pub struct PointView {
    pub number: u32,
    /// The requested load, in its own unit.
    pub load: String,
    pub verdict: &'static str,
    pub is_peak: bool,
    /// For composites only, as the following fields.
    pub component_heads: &'static [(&'static str, &'static str)],
    pub components: Vec<ComponentRow>,
    pub bands: Vec<BandView>,
    pub ops: Vec<OpRow>,
    pub remarks: Vec<String>,
    pub errors: Vec<(String, String)>,
    pub counters: Vec<(String, String)>,
}

/// A row of a table of operations.
#[derive(serde::Serialize)]
pub struct OpRow {
    pub name: &'static str,
    pub cells: Vec<String>,
    pub has_errors: bool,
}

/// A row of the table of phases.
#[derive(serde::Serialize)]
pub struct PhaseRow {
    pub point: String,
    pub phase: &'static str,
    pub began: String,
    pub seconds: String,
    pub detail: String,
    pub failure: String,
}

/// The reason for a peak without an overall response time.
const NO_ORT: &str =
    "none: the first load point is the fastest, so there is no curve up to the peak";

/// The same where no rate was requested.
const NO_ORT_AT_FULL_SPEED: &str = "none: no rate was requested, and one load point is no curve";

/// The headline's figures.
pub fn figures(record: &RunRecord) -> Vec<Figure> {
    let valid = record.valid_points().count();
    let points = record.run.plan.points.len();
    let points_figure = Figure {
        label: "Load points that count",
        value: format!("{valid} of {points}"),
        unit: String::new(),
        note: record
            .end
            .as_ref()
            .map_or(String::new(), |e| format!("in {}", seconds(e.wall_seconds))),
    };
    let Some((peak, stats)) = record.peak().and_then(|p| Some((p, p.measured()?))) else {
        return vec![points_figure];
    };
    let ort = record.ort_ms();
    let service = stats.service();
    let peak_figure = match composite::peak(record, peak) {
        Some((value, unit, note)) => Figure {
            label: "Peak load",
            value,
            unit,
            note,
        },
        None => Figure {
            label: "Peak throughput",
            value: rate(stats.achieved_ops_per_sec()),
            unit: "op/s".into(),
            note: format!(
                "{}; load point {}, {} requested",
                labels::mib_text(stats),
                peak.load.number,
                labels::requested_text(record, peak.load)
            ),
        },
    };
    let ort_note = match (ort.is_some(), is_composite(record), valid) {
        (false, _, 1) if peak.load.is_max() => NO_ORT_AT_FULL_SPEED,
        (false, ..) => NO_ORT,
        (true, false, _) => "area under the curve, over the peak",
        (true, true, 1) => "the mean of the only point that counts",
        (true, true, _) => "area under the curve from the first point to the peak",
    };
    let ort_figure = Figure {
        label: "Overall response time",
        value: ort.map_or_else(|| "-".into(), |ort| number(ort, 2)),
        unit: ort.map_or_else(String::new, |_| "ms".into()),
        note: ort_note.into(),
    };
    let mut figures = vec![peak_figure];
    figures.extend(record.is_curve().then_some(ort_figure));
    figures.extend([
        Figure {
            label: "Mean service time at the peak",
            value: ms(service.mean_ns()),
            unit: "ms".into(),
            note: format!("99 % within {} ms", ms(service.percentile_ns(99.0) as f64)),
        },
        points_figure,
    ]);
    if let Some(result) = ClassicalResult::of_record(record) {
        let is_headline = heritage::is_headline(record);
        let place = if is_headline { 0 } else { figures.len() - 1 };
        figures.insert(place, classical_figure(&result, is_headline));
    }
    let at_limit = ClassicalResult::of_record(record).filter(|_| heritage::is_headline(record));
    if let Some(first) = figures.first_mut() {
        let what = match at_limit.is_some_and(|result| result.is_lower_bound()) {
            true => "less than the result of this benchmark",
            false => "the result of this benchmark",
        };
        first.note = format!("{what}; {}", first.note);
    }
    figures
}

fn classical_figure(result: &ClassicalResult, is_headline: bool) -> Figure {
    let response = plain(result.response_ms);
    let how = match result.basis {
        Basis::Interpolated {
            below_point,
            above_point,
        } => format!("interpolated between load points {below_point} and {above_point}"),
        Basis::Peak { point } => format!("the peak, load point {point}"),
        Basis::LastPoint { .. } => "a lower bound: the limit is not reached".to_owned(),
    };
    Figure {
        label: match is_headline {
            true => "Result at the response limit",
            false => "At the response limit (additional)",
        },
        value: match result.is_lower_bound() {
            true => format!("≥ {}", rate(result.ops_per_sec)),
            false => rate(result.ops_per_sec),
        },
        unit: "op/s".into(),
        note: format!(
            "at {response} ms, ORT {} ms; {how}",
            number(result.ort_ms, 2)
        ),
    }
}

/// The reasons of the verdict, and what to do after an INVALID run.
pub fn reasons(record: &RunRecord) -> Vec<String> {
    let verdict = record.verdict();
    let reasons = verdict.reasons().iter().map(|reason| one_line(reason));
    reasons
        .chain(NextStep::of(record).map(|step| step.text()))
        .collect()
}

/// All findings by rule, by severity, and within a rule by load point.
pub fn findings(record: &RunRecord) -> Vec<FindingView> {
    let of_run = record.run_findings().map(|f| (0, f));
    let of_points = record
        .points
        .iter()
        .flat_map(|p| p.findings.iter().map(move |f| (p.load.number, f)));
    let mut all: Vec<(u32, &Finding)> = of_run.chain(of_points).collect();
    all.sort_by_key(|(number, f)| (std::cmp::Reverse(f.severity), f.rule, *number));
    let same = |a: &(u32, &Finding), b: &(u32, &Finding)| {
        (a.1.severity, a.1.rule) == (b.1.severity, b.1.rule)
    };
    let planned = Some(record.run.plan.points.len());
    all.chunk_by(same)
        .map(|group| finding_view(group, planned))
        .collect()
}

/// Most messages of a finding that are shown for load points; the edition for reviewers
/// has all.
const MESSAGES_MAX: usize = 4;
/// Most messages that are shown for the run as a whole, where each finding has its own text.
const RUN_MESSAGES_MAX: usize = 40;

fn finding_view(group: &[(u32, &Finding)], planned: Option<usize>) -> FindingView {
    let first = group[0].1;
    let mut sources: Vec<String> = group
        .iter()
        .filter_map(|(_, f)| f.source.as_deref().map(one_line))
        .collect();
    sources.dedup();
    FindingView {
        severity: severity_label(first.severity),
        messages: messages(
            &group
                .iter()
                .map(|(n, f)| (*n, f.message.as_str()))
                .collect::<Vec<_>>(),
            planned,
        ),
        rule: first.rule.name(),
        sources,
        advice: advice(first.rule),
    }
}

/// The messages of a group of findings with their places: equal messages once. `planned`: how many
/// load points the run has, to name all of them as such.
pub fn messages(group: &[(u32, &str)], planned: Option<usize>) -> Vec<(String, String)> {
    let mut by_words: Vec<(Vec<u32>, String)> = Vec::new();
    for (number, message) in group {
        let words = one_line(message);
        match by_words.iter_mut().find(|(_, known)| *known == words) {
            Some((numbers, _)) => numbers.push(*number),
            None => by_words.push((vec![*number], words)),
        }
    }
    let all = by_words.len();
    // Messages on the run as a whole differ.
    let of_the_run = group.iter().all(|(number, _)| *number == 0);
    let most = if of_the_run {
        RUN_MESSAGES_MAX
    } else {
        MESSAGES_MAX
    };
    let shown = if all > most { most - 1 } else { all };
    let shown_messages = by_words.into_iter().take(shown);
    let mut shown_messages: Vec<_> = shown_messages
        .map(|(numbers, words)| (place(&numbers, planned), words))
        .collect();
    if all > shown {
        let more = all - shown;
        shown_messages.push((
            String::new(),
            match of_the_run {
                true => format!("and {more} more of this rule"),
                false => format!("and at {more} more load points, each with its own figures"),
            },
        ));
    }
    shown_messages
}

/// The load points of a message; nothing for the run as a whole, which is number 0.
fn place(numbers: &[u32], planned: Option<usize>) -> String {
    match numbers {
        [0, ..] => String::new(),
        _ => load_points(numbers, planned),
    }
}

/// The heads of the table of load points, after number and requested.
pub const POINT_HEADS: [(&str, &str); 11] = [
    ("achieved", "op/s"),
    ("of it", "%"),
    ("mean", "ms"),
    ("95\u{a0}%", "ms"),
    ("99\u{a0}%", "ms"),
    ("99.9\u{a0}%", "ms"),
    ("response mean", "ms"),
    ("response 99\u{a0}%", "ms"),
    ("errors", ""),
    ("read", "MiB/s"),
    ("written", "MiB/s"),
];

/// The heads for composites.
pub const COMPOSITE_POINT_HEADS: [(&str, &str); 11] = [
    ("achieved", "op/s"),
    ("of it", "%"),
    ("mean", "ms"),
    ("95\u{a0}%", "ms"),
    ("99\u{a0}%", "ms"),
    ("99.9\u{a0}%", "ms"),
    ("response 99\u{a0}%", "ms"),
    ("errors", ""),
    ("read", "MiB/s"),
    ("written", "MiB/s"),
    ("total", "MiB/s"),
];

/// The heads for a record.
pub fn point_heads(record: &RunRecord) -> &'static [(&'static str, &'static str)] {
    match is_composite(record) {
        true => &COMPOSITE_POINT_HEADS,
        false => &POINT_HEADS,
    }
}

/// The table of load points.
pub fn point_rows(record: &RunRecord) -> Vec<PointRow> {
    let peak = record.peak().map(|p| p.load.number);
    let row = |point: &PointRecord| PointRow {
        number: point.load.number,
        units: labels::unit(record).map(|_| plain(point.load.units)),
        requested: labels::requested_text(record, point.load),
        failure: point.failure().map(one_line),
        cells: point
            .measured()
            .map_or(Vec::new(), |s| point_cells(record, point, s)),
        verdict: point.word(),
        is_peak: peak == Some(point.load.number),
    };
    record.points.iter().map(row).collect()
}

fn point_cells(record: &RunRecord, point: &PointRecord, stats: &PointStats) -> Vec<String> {
    let (service, response) = (stats.service(), stats.response());
    let achieved = stats.achieved_ops_per_sec();
    let seconds = (stats.window_ns as f64 / 1e9).max(1e-9);
    let mib_per_s = |bytes: u64| number(bytes as f64 / f64::from(1u32 << 20) / seconds, 1);
    let at = |percentile| ms(service.percentile_ns(percentile) as f64);
    let sum = |of: fn(&OpStats) -> u64| stats.ops.iter().map(of).fold(0, u64::saturating_add);
    let (read, written) = (sum(|o| o.read_bytes), sum(|o| o.written_bytes));
    let mut cells = vec![
        rate(achieved),
        labels::share_text(achieved, labels::requested(record, point.load)),
        ms(service.mean_ns()),
        at(95.0),
        at(99.0),
        at(99.9),
        response.mean().text(ms),
        response.percentile(99.0).text(ms),
        count(stats.error_count()),
        mib_per_s(read),
        mib_per_s(written),
    ];
    if is_composite(record) {
        // As COMPOSITE_POINT_HEADS: without the response mean, with the sum of both rates.
        cells.remove(6);
        cells.push(mib_per_s(read.saturating_add(written)));
    }
    cells
}

/// The heads of a table of operations, after the operation: (head, unit).
pub const OP_HEADS: [(&str, &str); 13] = [
    ("target", "%"),
    ("actual", "%"),
    ("logical", "ops"),
    ("physical", "ops"),
    ("errors", "ops"),
    ("mean", "ms"),
    ("50\u{a0}%", "ms"),
    ("95\u{a0}%", "ms"),
    ("99\u{a0}%", "ms"),
    ("99.9\u{a0}%", "ms"),
    ("longest", "ms"),
    ("response 99\u{a0}%", "ms"),
    ("of all time", "%"),
];

/// The details of every load point with figures.
pub fn point_views(record: &RunRecord) -> Vec<PointView> {
    let peak = record.peak().map(|p| p.load.number);
    let view = |point: &PointRecord| {
        let stats = point.measured()?;
        Some(PointView {
            number: point.load.number,
            load: labels::load(record, point.load),
            verdict: point.word(),
            is_peak: peak == Some(point.load.number),
            component_heads: &COMPONENT_HEADS,
            components: composite::component_rows(record, stats),
            bands: match is_composite(record) {
                true => composite::band_views(stats),
                false => Vec::new(),
            },
            ops: op_rows(record, stats),
            remarks: remarks(stats),
            errors: texts(&stats.errors),
            counters: texts(&stats.counters),
        })
    };
    record.points.iter().filter_map(view).collect()
}

fn texts(map: &std::collections::BTreeMap<String, u64>) -> Vec<(String, String)> {
    map.iter()
        .map(|(name, n)| (one_line(name), count(*n)))
        .collect()
}

/// The operations, in the order of the protocol's tables.
fn op_rows(record: &RunRecord, stats: &PointStats) -> Vec<OpRow> {
    let protocol = record.run.plan.benchmark.protocol;
    let mut ops: Vec<&OpStats> = stats.ops.iter().collect();
    ops.sort_by_key(|o| protocol.op_place(o.op));
    ops.into_iter().map(|o| op_row(record, stats, o)).collect()
}

fn op_row(record: &RunRecord, stats: &PointStats, o: &OpStats) -> OpRow {
    let total = stats.success_count().max(1) as f64;
    let time_ns: u64 = stats.ops.iter().map(|o| o.service.sum_ns()).sum();
    let at = |percentile| ms(o.service.percentile_ns(percentile) as f64);
    OpRow {
        name: record.run.plan.benchmark.protocol.op_name(o.op),
        has_errors: o.error_count > 0,
        cells: vec![
            number(record.run.plan.benchmark.mix.percent(o.op), 1),
            number(100.0 * o.success_count as f64 / total, 1),
            count(o.success_count),
            count(o.physical_count),
            count(o.error_count),
            ms(o.service.mean_ns()),
            at(50.0),
            at(95.0),
            at(99.0),
            at(99.9),
            ms(o.service.max_ns() as f64),
            o.response.percentile(99.0).text(ms),
            number(100.0 * o.service.sum_ns() as f64 / time_ns.max(1) as f64, 1),
        ],
    }
}

/// Further remarks on a point, in sentences.
fn remarks(stats: &PointStats) -> Vec<String> {
    let us = |ns: u64| number(ns as f64 / 1e3, 0);
    let window = stats.window_ns as f64;
    let mib = |bytes: u64| number(bytes as f64 / f64::from(1u32 << 20), 0);
    let mut out = vec![
        format!(
            "The mean service time is known within ±{} ms (95 % confidence).",
            ms(stats.service().mean_confidence95_ns())
        ),
        format!(
            "Operations started {} µs after their intended time (median; 99 % within {} µs); the generator's own part was {} µs (99 % within {} µs).",
            us(stats.lateness.percentile_ns(50.0)),
            us(stats.lateness.percentile_ns(99.0)),
            us(stats.wakeup.percentile_ns(50.0)),
            us(stats.wakeup.percentile_ns(99.0)),
        ),
        format!(
            "The file set was {} MiB at the end; its accessed part grew from {} to {} MiB.",
            mib(stats.fileset_bytes),
            mib(stats.accessed_base_bytes),
            mib(stats.accessed_end_bytes),
        ),
        format!(
            "The generator's {} {} took {} % of one processor on average, {} µs per operation.",
            stats.shard_count,
            plural(stats.shard_count as usize, "thread", "threads"),
            number(100.0 * stats.generator_cpu_ns as f64 / window.max(1.0), 1),
            number(
                stats.generator_cpu_ns as f64 / 1e3 / stats.success_count().max(1) as f64,
                1
            ),
        ),
    ];
    out.extend(checked(stats));
    if stats.rescheduled_count > 0 {
        out.push(format!(
            "Procs were so far behind that their schedule was moved {} {}.",
            count(stats.rescheduled_count),
            plural(stats.rescheduled_count as usize, "time", "times")
        ));
    }
    if stats.backlog_max > 0 {
        out.push(format!(
            "Waiting or in flight: at most {} {}, {} at the end of RUN; dropped: {}.",
            count(stats.backlog_max),
            plural(stats.backlog_max as usize, "operation", "operations"),
            count(stats.backlog_end),
            count(stats.dropped_count)
        ));
    }
    out
}

/// How much of the data read was compared with the data written; records of
/// earlier versions do not have this.
pub fn checked(stats: &PointStats) -> Option<String> {
    let checked = stats.checked_bytes();
    let read = stats
        .ops
        .iter()
        .fold(0u64, |sum, op| sum.saturating_add(op.read_bytes));
    let undecided = match stats.undecided_bytes() {
        0 => String::new(),
        bytes => format!(
            " {} bytes to be compared could not be verified.",
            count(bytes)
        ),
    };
    (checked > 0 || !undecided.is_empty()).then(|| {
        format!(
            "{} bytes of the data read ({} % of it) were compared with the data written.{undecided}",
            count(checked),
            number((100.0 * checked as f64 / read.max(1) as f64).min(100.0), 1)
        )
    })
}

/// The table of phases.
pub fn phase_rows(record: &RunRecord) -> Vec<PhaseRow> {
    let row = |p: &filermark_results::PhaseRecord| PhaseRow {
        point: match p.point {
            0 => "run".into(),
            n => n.to_string(),
        },
        phase: p.phase.name(),
        began: p.began.readable(),
        seconds: number(p.seconds, 1),
        detail: one_line(&p.detail),
        failure: one_line(p.failure.as_deref().unwrap_or_default()),
    };
    record.phases.iter().map(row).collect()
}
