//! The energy report as plain text, for terminals and mail.

use super::findings;
use super::labels;
use super::names::{self, RunNames};
use super::plan;
use super::rows::{self, Table};
use filermark_energy_data::reduce::{BestFoot, Reduction, WorkloadReduction};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_report::parts::{heads, table};
use filermark_results::text::one_line;

/// No line of a table is made narrower than this.
const WIDTH_MIN: usize = 60;
/// Most events of a run that are listed.
const EVENTS_MAX: usize = 40;

/// The report. Tables wider than `width` columns continue below, with their first column.
pub fn text(reduction: &Reduction, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let mut out = String::from("FILERMARK ENERGY REPORT\n\n");
    if reduction.simulated {
        out.push_str(&format!("*** {} ***\n", labels::SIMULATED.to_uppercase()));
        out.push_str("A source reported made-up figures. They are not measurements.\n\n");
    }
    out.push_str("MAXIMUM EFFICIENCY\n\n");
    match reduction.workloads.is_empty() {
        true => out.push_str("No run was given.\n"),
        false => out.push_str(&fitted(&rows::summary_table(&reduction.workloads), width)),
    }
    for sentence in reduction.best_foot.iter().filter_map(plan::single) {
        out.push_str(&format!("\n{sentence}\n"));
    }
    let plans = reduction.best_foot.iter();
    for plan in plans.filter(|plan| plan::single(plan).is_none()) {
        plan_text(&mut out, reduction, plan, width);
    }
    let called = names::of_runs(&reduction.workloads);
    for (run, called) in reduction.workloads.iter().zip(&called) {
        run_text(&mut out, run, called, width);
    }
    findings_text(&mut out, reduction);
    if !reduction.workloads.is_empty() {
        out.push_str("\nWORKSHEET\n\n");
        out.push_str(&fitted(&rows::worksheet_table(&reduction.workloads), width));
    }
    out.push_str("\nSOURCES\n\n");
    let sources = rows::sources_table(reduction);
    match sources.rows.is_empty() {
        true => out.push_str("No meter, sensor or switch was read.\n"),
        false => out.push_str(&fitted(&sources, width)),
    }
    out.push_str(&format!(
        "\nMiB/s per W are cut to two decimals (three digits below 1), never rounded up.\n{NOT_A_SPEC_RESULT}\n{}\n",
        labels::NO_PROGRAMME_RESULT
    ));
    out
}

fn plan_text(out: &mut String, reduction: &Reduction, plan: &BestFoot, width: usize) {
    let benchmark = labels::name(&plan.benchmark).to_uppercase();
    let mark = mark(plan::plan_is_simulated(reduction, plan));
    out.push_str(&format!("\nBEST FOOT FORWARD, {benchmark}{mark}\n\n"));
    out.push_str(&fitted(&plan::drives_table(plan), width));
    let sentences = plan::range_sentences(plan);
    let next = plan.next.iter().map(|n| format!("Next: {}", one_line(n)));
    for sentence in std::iter::once(plan::known(plan).to_owned())
        .chain(sentences)
        .chain(next)
    {
        out.push_str(&format!("  - {sentence}\n"));
    }
}

/// The mark after a heading where figures are made up.
fn mark(simulated: bool) -> String {
    match simulated {
        true => format!(" ({})", labels::SIMULATED),
        false => String::new(),
    }
}

fn run_text(out: &mut String, run: &WorkloadReduction, called: &RunNames, width: usize) {
    let mark = mark(run.simulated);
    out.push_str(&format!("\n{}{mark}\n", called.both()));
    if let Some(began) = rows::began(run) {
        out.push_str(&format!("From {}. ", began.readable()));
    }
    let from = labels::traffic_from(run.traffic_from);
    out.push_str(&format!("Traffic from: {from}.\n\n"));
    if run.points.is_empty() {
        out.push_str("No load point was measured.\n");
        return;
    }
    out.push_str(&fitted(&rows::reduction_table(run), width));
    out.push('\n');
    out.push_str(&fitted(&rows::point_table(run), width));
    if !run.events.is_empty() {
        out.push_str("\nEvents\n");
    }
    for (at, message) in run.events.iter().take(EVENTS_MAX) {
        out.push_str(&format!("{}  {}\n", at.readable(), one_line(message)));
    }
    if run.events.len() > EVENTS_MAX {
        let more = run.events.len() - EVENTS_MAX;
        out.push_str(&format!("and {more} events more; the JSON has all\n"));
    }
}

fn findings_text(out: &mut String, reduction: &Reduction) {
    out.push_str("\nFINDINGS\n\n");
    let views = findings::views(reduction);
    let has_any = !views.is_empty();
    if !has_any {
        out.push_str("Nothing unusual was noticed.\n");
    }
    for view in views {
        out.push_str(&format!("{} {}\n", view.severity, view.rule));
        for (place, message) in view.messages {
            let place = match place.is_empty() {
                true => place,
                false => format!("{place}: "),
            };
            out.push_str(&format!("  - {place}{message}\n"));
        }
    }
    if has_any {
        out.push_str(&format!("\n{}\n", labels::RULES_PAGE));
    }
}

/// The table in as many parts as the width requires, each with the first column. A column
/// that is wider than that is a part of its own.
fn fitted(all: &Table, width: usize) -> String {
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < all.heads.len() {
        let mut to = from + 1;
        let mut piece = part(all, from, to);
        while to < all.heads.len() {
            let wider = part(all, from, to + 1);
            if wider.lines().any(|line| line.chars().count() > width) {
                break;
            }
            piece = wider;
            to += 1;
        }
        pieces.push(piece);
        from = to;
    }
    pieces.join("\n")
}

/// The first column and those from `from` up to before `to`.
fn part(all: &Table, from: usize, to: usize) -> String {
    let named: Vec<(&str, &str)> = all.heads[from..to]
        .iter()
        .map(|(head, unit)| (head.as_str(), unit.as_str()))
        .collect();
    let rows = all.rows.iter().map(|row| {
        let cells = row.cells.iter().skip(from).take(to - from).cloned();
        std::iter::once(row.first.clone()).chain(cells).collect()
    });
    let lines = table(&heads(all.first, &named), rows);
    match named.iter().any(|(_, unit)| !unit.is_empty()) {
        true => lines,
        // The line of units is empty.
        false => without_second_line(&lines),
    }
}

fn without_second_line(lines: &str) -> String {
    let mut kept = String::with_capacity(lines.len());
    for (i, line) in lines.lines().enumerate() {
        if i != 1 {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
