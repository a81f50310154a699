//! Texts on older generations in reports: the generation that the benchmark of a run is
//! modelled on, its classical result, and historical systems.

use crate::format::{number, rate};
use filermark_model::benchmark::{HERITAGE_NOTICE, Headline};
use filermark_model::text::one_line;
use filermark_results::historical::System;
use filermark_results::{ClassicalResult, Historical, RunRecord, classical};
use serde::Serialize;

/// The older generation that the run's benchmark is modelled on.
pub fn generation(record: &RunRecord) -> Option<String> {
    let heritage = record.run.plan.benchmark.heritage.as_ref();
    heritage.map(|h| one_line(&h.generation))
}

/// The known facts about it.
pub fn rows(record: &RunRecord) -> Vec<(&'static str, String)> {
    let rows = record.run.plan.benchmark.heritage_rows().into_iter();
    rows.map(|(name, text)| (name, one_line(&text))).collect()
}

/// The generation in one sentence, for short forms.
pub fn description(record: &RunRecord) -> Option<String> {
    Some(format!("After {}. {HERITAGE_NOTICE}", generation(record)?))
}

/// Whether the classical result is the headline figure of the run's benchmark.
pub fn is_headline(record: &RunRecord) -> bool {
    record.run.plan.headline() == Headline::AtLimit
}

/// The headline figure of the run's benchmark, in a sentence.
pub fn headline_text(record: &RunRecord) -> String {
    let plan = &record.run.plan;
    let words = plan.benchmark.headline_text(plan.limits.response_ms);
    let name = one_line(&plan.benchmark.name);
    format!("The result of {name} is one figure, its {words}.")
}

/// The classical result in a sentence; `None` where the benchmark has no limit.
pub fn result(record: &RunRecord) -> Option<String> {
    classical::limit_ms(record)?;
    let what = match is_headline(record) {
        true => "Result: throughput",
        false => "Additional figure: throughput",
    };
    let Some(result) = ClassicalResult::of_record(record) else {
        return Some(format!(
            "{what} at the response limit: {}.",
            classical::no_result(record)
        ));
    };
    Some(format!(
        "{what} at the response limit: {}{} op/s at {} ms, overall response time {} ms ({}).",
        if result.is_lower_bound() {
            "at least "
        } else {
            ""
        },
        rate(result.ops_per_sec),
        filermark_results::figures::plain(result.response_ms),
        number(result.ort_ms, 2),
        result.basis_text()
    ))
}

/// Historical systems, as a table.
#[derive(Serialize)]
pub struct HistoricalView {
    pub notice: &'static str,
    pub title: String,
    pub note: String,
    pub heads: [(&'static str, &'static str); 5],
    /// Name and the other cells.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The heads of that table after the name, with their units.
const HEADS: [(&str, &str); 5] = [
    ("generation", ""),
    ("CPUs", ""),
    ("peak", "op/s"),
    ("ORT", "ms"),
    ("source", ""),
];

impl HistoricalView {
    pub fn of(historical: &Historical) -> Self {
        let row = |s: &System| (one_line(&s.name), cells(s));
        Self {
            notice: historical.notice,
            title: one_line(&historical.title),
            note: one_line(&historical.note),
            heads: HEADS,
            rows: historical.systems.iter().map(row).collect(),
        }
    }
}

/// As published: times with one digit after the point.
pub fn cells(s: &System) -> Vec<String> {
    vec![
        one_line(&s.generation),
        s.cpu_count.map_or("–".into(), |n| n.to_string()),
        rate(s.ops_per_sec),
        filermark_results::figures::plain(s.ort_ms),
        one_line(&s.source),
    ]
}
