//! A figure over runs of the same work.

use crate::change_points::{ChangePoint, change_points};
use crate::entry::Entry;
use crate::export::{cell, line};
use filermark_model::assertion::{AssertedFigure, PointFigure};
use filermark_model::text::one_line;
use filermark_results::assertion::figure_of;
use filermark_results::compare::{Work, work};
use filermark_results::record::RunHeader;
use filermark_results::{RunRecord, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The version of the JSON.
const FORMAT: u32 = 1;
/// Columns of the bars.
const BAR_COLUMNS: usize = 24;
/// Columns of the CSV.
const CSV_COLUMNS: [&str; 8] = [
    "run_id",
    "record",
    "suffix",
    "started",
    "verdict",
    "figure",
    "value",
    "is_change",
];

/// A run in the trend.
#[derive(Clone, Debug, Serialize)]
pub struct TrendPoint {
    /// The run: `STARTED/SUFFIX`.
    pub run_id: String,
    /// The record's file.
    pub record: String,
    /// The suffix of the run.
    pub suffix: String,
    /// When the run began.
    pub started: Timestamp,
    /// The verdict with its qualifiers.
    pub verdict: String,
    /// The figure.
    pub value: f64,
}

/// A run that is not in the trend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The record's file.
    pub record: String,
    /// Why.
    pub reason: String,
}

/// A figure over runs.
#[derive(Clone, Debug)]
pub struct Trend {
    figure: AssertedFigure,
    /// The figure as it was asked for.
    pub name: String,
    /// The runs, by their start.
    pub points: Vec<TrendPoint>,
    /// Its changes; `at` counts the points from 0.
    pub changes: Vec<ChangePoint>,
    /// The other runs.
    pub left_out: Vec<LeftOut>,
}

/// What a trend needs of a run, so that one record at a time is in memory.
#[derive(Clone, Debug)]
pub struct TrendRun {
    what: PointFigure,
    header: RunHeader,
    entry: Entry,
    value: Result<f64, String>,
}

impl TrendRun {
    /// The figure of a run.
    pub fn of(what: PointFigure, entry: &Entry, record: &RunRecord) -> Self {
        Self {
            what,
            header: record.run.clone(),
            entry: entry.clone(),
            value: match entry.is_valid {
                true => figure_of(what, record).map(|(value, _)| value),
                false => Err("the run is INVALID".to_owned()),
            },
        }
    }
}

impl TrendRun {
    /// What it did. The load points that follow a search are its result, unless the figure is of
    /// one of them.
    fn work(&self) -> RunHeader {
        let mut header = self.header.clone();
        if header.plan.search.is_some() && self.what.point.is_none() {
            header.plan.points.clear();
        }
        header
    }
}

/// The trend of a figure over the runs that did the work of the newest one; `name`: the figure as
/// it was asked for.
pub fn trend(figure: AssertedFigure, name: &str, mut runs: Vec<TrendRun>) -> Trend {
    runs.sort_by_key(|run| run.entry.started);
    let newest = runs.iter().rfind(|run| run.value.is_ok()).cloned();
    let mut points = Vec::new();
    let mut left_out = Vec::new();
    for run in runs {
        let reason = match &run.value {
            Err(why) => Some(why.clone()),
            Ok(_) => newest.as_ref().and_then(|newest| other_than(newest, &run)),
        };
        match (reason, run.value) {
            (Some(reason), _) | (None, Err(reason)) => left_out.push(LeftOut {
                record: run.entry.record,
                reason,
            }),
            (None, Ok(value)) => points.push(TrendPoint::of(run.entry, value)),
        }
    }
    let series: Vec<f64> = points.iter().map(|p| p.value).collect();
    Trend {
        figure,
        name: name.to_owned(),
        changes: change_points(&series),
        points,
        left_out,
    }
}

impl TrendPoint {
    fn of(entry: Entry, value: f64) -> Self {
        Self {
            run_id: entry.run_id,
            record: entry.record,
            suffix: entry.suffix,
            started: entry.started,
            verdict: entry.verdict,
            value,
        }
    }
}

/// Why a run does not belong to the newest one.
fn other_than(newest: &TrendRun, run: &TrendRun) -> Option<String> {
    if run.entry.targets != newest.entry.targets {
        let target = run.entry.targets.first().map_or("none", String::as_str);
        return Some(format!("another target than the newest run: {target}"));
    }
    let (newest, run) = (newest.work(), run.work());
    let (verdict, _, fields) = work(&newest, &run);
    (verdict == Work::Different).then(|| {
        let names: Vec<&str> = fields.iter().take(3).map(|f| &*f.name).collect();
        format!("other work than the newest run: {}", names.join(", "))
    })
}

/// The trend as JSON: `crates/history/schema/trend-v1.json`.
pub fn trend_json(trend: &Trend) -> Value {
    json!({
        "format": FORMAT,
        "figure": trend.name,
        "unit": trend.figure.unit(),
        "notice": filermark_model::NOT_A_SPEC_RESULT,
        "points": trend.points,
        "changes": trend.changes,
        "left_out": trend.left_out,
    })
}

/// The trend as CSV (RFC 4180): a line per run.
pub fn trend_csv(trend: &Trend) -> String {
    let mut out = line(CSV_COLUMNS.iter().copied());
    for (at, point) in trend.points.iter().enumerate() {
        let is_change = trend.changes.iter().any(|c| c.at == at);
        let cells = [
            cell(&point.run_id),
            cell(&point.record),
            cell(&point.suffix),
            point.started.to_string(),
            point.verdict.clone(),
            trend.name.clone(),
            point.value.to_string(),
            is_change.to_string(),
        ];
        out += &line(cells.iter().map(String::as_str));
    }
    out
}

/// The trend for people: a line per run with a bar, then the changes.
pub fn trend_text(trend: &Trend) -> String {
    let mut out = String::new();
    let largest = trend.points.iter().map(|p| p.value).fold(0.0, f64::max);
    for (at, point) in trend.points.iter().enumerate() {
        let share = if largest > 0.0 {
            point.value / largest
        } else {
            0.0
        };
        let bar = "#".repeat((share * BAR_COLUMNS as f64).round() as usize);
        let mark = match trend.changes.iter().any(|c| c.at == at) {
            true => '*',
            false => ' ',
        };
        let started = point.started.to_string();
        let suffix: String = one_line(&point.suffix).chars().take(14).collect();
        let _ = writeln!(
            out,
            "{mark}{} {suffix:<14} {:>18} {bar}",
            started.get(..16).unwrap_or(&started).replace('T', " "),
            trend.figure.shown(point.value),
        );
    }
    for change in &trend.changes {
        let suffix = trend.points.get(change.at).map_or("", |p| &p.suffix);
        let percent = change
            .change_pcnt
            .map_or(String::new(), |p| format!(" ({p:+.1} %)"));
        let _ = writeln!(
            out,
            "change at {}: {} before, {} since{percent}",
            one_line(suffix),
            trend.figure.shown(change.mean_before),
            trend.figure.shown(change.mean_after),
        );
    }
    let count = trend.points.len();
    if trend.changes.is_empty() && count > 0 {
        let _ = writeln!(
            out,
            "{}",
            match count < 4 {
                true => format!("no change can be found in fewer than 4 runs; here are {count}"),
                false => format!("no change found in {count} runs"),
            }
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags::Tags;
    use filermark_results::testing::compare::Simulated;
    use std::path::Path;

    fn collected(change: impl Fn(usize, &mut RunRecord)) -> Trend {
        let what = PointFigure::parse("mean@1", false).expect("a figure");
        let mut runs = Vec::new();
        // The order in which files are found is not that of time.
        for number in (0..6).rev() {
            let mut record = Simulated::default().run(&format!("r{number}"), number as u64);
            record.run.started = Timestamp::from_unix_seconds(1e9 + number as f64);
            change(number, &mut record);
            let path = format!("r{number}.run.jsonl");
            let entry = Entry::of(Path::new(&path), &record, Tags::default());
            runs.push(TrendRun::of(what, &entry, &record));
        }
        trend(what.figure, "mean@1", runs)
    }

    #[test]
    fn runs_of_the_same_work_are_in_the_order_of_time() {
        let trend = collected(|number, record| match number {
            1 => record.run.plan.seed += 1,
            2 => record.points.clear(),
            3 => record.run.plan.clients[0].mounts[0].host = "other".into(),
            _ => {}
        });
        let suffixes: Vec<_> = trend.points.iter().map(|p| p.suffix.as_str()).collect();
        assert_eq!(suffixes, ["r0", "r4", "r5"]);
        let reasons: Vec<_> = trend.left_out.iter().map(|l| l.reason.as_str()).collect();
        assert!(reasons[0].contains("other work"), "{reasons:?}");
        assert!(reasons[1].contains("INVALID"), "{reasons:?}");
        assert!(reasons[2].contains("another target"), "{reasons:?}");
        assert!(trend_text(&trend).contains("fewer than 4 runs"));
        crate::entry::check_schema(include_str!("../schema/trend-v1.json"), &trend_json(&trend));
        let csv = trend_csv(&trend);
        assert_eq!(csv.lines().count(), 4, "{csv}");
        assert!(
            csv.lines().nth(1).is_some_and(|l| l.ends_with(",false")),
            "{csv}"
        );
    }

    #[test]
    fn a_trend_of_nothing_is_empty() {
        let trend = collected(|_, record| record.points.clear());
        assert_eq!((trend.points.len(), trend.left_out.len()), (0, 6));
        assert_eq!(trend_text(&trend), "");
    }
}
