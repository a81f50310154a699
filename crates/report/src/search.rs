//! The search for the highest load (LOAD=search), in the summary, in the text report, on the
//! page and for programs.

use crate::format::{ms, rate};
use crate::summary::Paint;
use filermark_model::plan::{SEARCH_NUMBERS, SearchPlan};
use filermark_model::text::one_line;
use filermark_results::RunRecord;
use filermark_results::search::{SearchPoint, SearchResult};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A load point of a search, in text.
#[derive(Serialize)]
pub(crate) struct SearchRow {
    /// Its number in the search, from 1.
    pub number: u32,
    /// `probe` or `confirm`.
    pub kind: &'static str,
    /// Requested load: op/s, or units.
    pub requested: String,
    /// The unit of the requested load: `op/s`, `BUILDs`.
    pub unit: String,
    /// Achieved rate, in op/s.
    pub achieved: String,
    /// Mean service time, in ms.
    pub mean_ms: String,
    /// Whether the load held.
    pub held: bool,
    /// `held`, or why not; or why it shows nothing about the server.
    pub outcome: String,
}

impl SearchRow {
    fn of(record: &RunRecord, tried: &SearchPoint) -> Self {
        let (stats, load) = (tried.point.measured(), tried.point.load);
        let outcome = match (&tried.reason, &tried.unjudged, tried.lost_client()) {
            (_, _, Some(lost)) => format!("does not count: {}", one_line(&lost.message)),
            (None, None, _) => "held".to_owned(),
            (None, Some(unjudged), _) => format!("held; {}", one_line(unjudged)),
            (Some(reason), ..) if tried.undecided => {
                format!("undecided: {}", one_line(reason))
            }
            (Some(reason), ..) => format!("not held: {}", one_line(reason)),
        };
        let units = load.units > 0.0;
        Self {
            number: number(tried),
            kind: tried.kind.name(),
            unit: match (&record.run.plan.search, load.units as u64) {
                (Some(plan), 1) => plan.shown(1).split_off(2),
                (Some(plan), _) => plan.unit(),
                (None, _) => "op/s".to_owned(),
            },
            requested: match units {
                true => load.units.to_string(),
                false => rate(load.requested.0),
            },
            achieved: stats.map_or_else(|| "-".into(), |s| rate(s.achieved_ops_per_sec())),
            mean_ms: stats.map_or_else(|| "-".into(), |s| ms(s.service().mean_ns())),
            held: tried.held,
            outcome,
        }
    }
}

fn number(tried: &SearchPoint) -> u32 {
    tried.point.load.number.saturating_sub(SEARCH_NUMBERS)
}

/// The load points of the search, in order.
pub(crate) fn rows(record: &RunRecord) -> Vec<SearchRow> {
    record
        .search
        .iter()
        .map(|tried| SearchRow::of(record, tried))
        .collect()
}

/// The unit of the loads of the search.
pub(crate) fn unit(record: &RunRecord) -> String {
    let plan = record.run.plan.search.as_ref();
    plan.map_or_else(|| "op/s".to_owned(), SearchPlan::unit)
}

/// The line on stderr when a load point of a search ends.
pub fn search_line(record: &RunRecord, tried: &SearchPoint, colour: bool) -> String {
    let (row, paint) = (SearchRow::of(record, tried), Paint { on: colour });
    let outcome = match row.held {
        true => paint.good(&row.outcome),
        false => paint.warn(&row.outcome),
    };
    format!(
        "search {:>2}, {}: {} {} requested, {} op/s achieved, mean {} ms  {outcome}",
        row.number, row.kind, row.requested, row.unit, row.achieved, row.mean_ms
    )
}

/// A table of the load points of the search; empty without a search.
pub(crate) fn table(
    record: &RunRecord,
    paint: &Paint,
    wrapped: impl Fn(&str, usize) -> String,
) -> String {
    let mut out = String::new();
    if record.search.is_empty() {
        return out;
    }
    let units = unit(record);
    let requested = match units.as_str() {
        "op/s" => "requested",
        units => units,
    };
    let head = format!(
        "{:>6} {:<7} {:>9} {:>9} {:>7}",
        "search", "kind", requested, "achieved", "mean ms"
    );
    let _ = writeln!(out, "{}", paint.strong(&head));
    for row in rows(record) {
        let outcome = wrapped(&row.outcome, 43);
        let outcome = match row.held {
            true => paint.good(&outcome),
            false => outcome,
        };
        let _ = writeln!(
            out,
            "{:>6} {:<7} {:>9} {:>9} {:>7}  {outcome}",
            row.number, row.kind, row.requested, row.achieved, row.mean_ms
        );
    }
    out
}

/// The search for programs; `None`: the run has none.
pub(crate) fn json(record: &RunRecord) -> Option<Value> {
    let plan = record.run.plan.search.as_ref()?;
    let points: Vec<Value> = record.search.iter().map(point).collect();
    let found = record.found.as_ref();
    Some(json!({
        "goal": plan.goal,
        "unit": plan.unit(),
        "load": found.and_then(|found| found.load),
        "achieved_ops_per_sec": found.and_then(|found| found.achieved),
        "held_count": found.map(|found| found.held_count),
        "full_count": found.map(|found| found.full_count),
        "failed_at": found.and_then(|found| found.failed_at),
        "text": found.map(|found: &SearchResult| found.text(plan)),
        "lost_client": found.and_then(|found| found.lost.as_ref()),
        "held_before_loss": found.and_then(|found| found.held_before),
        "unjudged": found.and_then(|found| found.unjudged.as_ref()),
        "undecided_count": found.map(|found| found.undecided_count),
        "undecided_loads": found.map_or(&[][..], |found| &found.undecided_loads),
        "changes": found.map_or(&[][..], |found| &found.changes),
        "points": points,
    }))
}

fn point(tried: &SearchPoint) -> Value {
    let stats = tried.point.measured();
    json!({
        "number": number(tried),
        "kind": tried.kind.name(),
        "requested_ops_per_sec": tried.point.load.requested.0,
        "units": (tried.point.load.units > 0.0).then_some(tried.point.load.units),
        "achieved_ops_per_sec": stats.map(|stats| stats.achieved_ops_per_sec()),
        "service_ms_mean": stats.map(|stats| stats.service().mean_ns() / 1e6),
        "held": tried.held,
        "undecided": tried.undecided,
        "reason": tried.reason,
        "unjudged": tried.unjudged,
    })
}
