//! The energy report as one self-contained HTML page.

use super::charts::{Curve, curves_chart, drives_chart, slices_table, timeline_chart};
use super::findings::{self, FindingView};
use super::labels;
use super::names::{self, RunNames};
use super::plan;
use super::rows::{self, PHASE_ROWS_MAX, Table};
use filermark_energy_data::reduce::{BestFoot, Reduction, WorkloadReduction};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_report::parts::Chart;
use filermark_report::parts::ChartWidth;
use filermark_report::{Shipped, TemplateError, Templates};
use filermark_results::text::one_line;
use serde::Serialize;

/// Most events of a run that are listed.
const EVENTS_MAX: usize = 200;
/// Longer suffixes are not links.
const LINK_LENGTH_MAX: usize = 100;

#[derive(Serialize)]
struct Page {
    simulated: bool,
    runs: Vec<String>,
    summary: Table,
    plans: Vec<PlanView>,
    /// The next measurements of benchmarks with one number of drives.
    single: Vec<String>,
    efficiency: Option<Chart>,
    operations: Option<Chart>,
    power: Option<Chart>,
    workloads: Vec<WorkloadView>,
    findings: Vec<FindingView>,
    worksheet: Table,
    sources: Table,
    program: String,
    notices: [&'static str; 2],
    simulated_word: &'static str,
    rules_page: &'static str,
}

#[derive(Serialize)]
struct PlanView {
    benchmark: String,
    chart: Option<Chart>,
    measured: Table,
    range: Vec<String>,
    known: &'static str,
    next: Vec<String>,
    simulated: bool,
}

#[derive(Serialize)]
struct WorkloadView {
    id: usize,
    title: String,
    run: String,
    /// The run's own page, in the same folder where both were made together.
    page: Option<String>,
    began: Option<String>,
    traffic: &'static str,
    simulated: bool,
    timeline: Option<Chart>,
    slices: Option<Table>,
    reduction: Table,
    points: Table,
    phases: Table,
    phases_left_out: usize,
    events: Vec<(String, String)>,
    events_left_out: usize,
}

/// The page, laid out by the shipped template `energy.html`.
///
/// # Errors
/// The template cannot be filled in: a defect.
pub fn html(reduction: &Reduction) -> Result<String, TemplateError> {
    html_by(reduction, &templates())
}

/// The templates of the page; a user may replace them ([`Templates::and_dir`]).
pub const TEMPLATES: Shipped = &[("energy.html", include_str!("../templates/energy.html"))];

/// The shipped templates, with that of the page.
pub fn templates() -> Templates {
    Templates::builtin_and(TEMPLATES)
}

/// The page, laid out by these templates' `energy.html`.
///
/// # Errors
/// The template cannot be filled in; the error names the line of a user's template.
pub fn html_by(reduction: &Reduction, templates: &Templates) -> Result<String, TemplateError> {
    templates.render("energy.html", &page(reduction))
}

fn page(reduction: &Reduction) -> Page {
    let runs = &reduction.workloads;
    let called = names::of_runs(runs);
    let curves = |curve, wide| Chart::of(wide, |fit| curves_chart(runs, curve, fit));
    let plans = reduction.best_foot.iter().enumerate();
    let plans = plans.filter(|(_, plan)| plan::single(plan).is_none());
    Page {
        simulated: reduction.simulated,
        runs: called.iter().map(|c| c.run.clone()).collect(),
        summary: rows::summary_table(runs),
        plans: plans
            .map(|(place, plan)| plan_view(reduction, place, plan))
            .collect(),
        single: reduction
            .best_foot
            .iter()
            .filter_map(plan::single)
            .collect(),
        efficiency: curves(Curve::Efficiency, ChartWidth::Wide),
        operations: curves(Curve::Operations, ChartWidth::Half),
        power: curves(Curve::Power, ChartWidth::Half),
        workloads: runs
            .iter()
            .zip(&called)
            .enumerate()
            .map(workload_view)
            .collect(),
        findings: findings::views(reduction),
        worksheet: rows::worksheet_table(&reduction.workloads),
        sources: rows::sources_table(reduction),
        program: format!("filermark {}", env!("CARGO_PKG_VERSION")),
        notices: [NOT_A_SPEC_RESULT, labels::NO_PROGRAMME_RESULT],
        simulated_word: labels::SIMULATED,
        rules_page: labels::RULES_PAGE,
    }
}

fn plan_view(reduction: &Reduction, place: usize, plan: &BestFoot) -> PlanView {
    PlanView {
        benchmark: labels::name(&plan.benchmark).to_uppercase(),
        chart: Chart::of(ChartWidth::Wide, |fit| drives_chart(plan, place, fit)),
        measured: plan::drives_table(plan),
        range: plan::range_sentences(plan),
        known: plan::known(plan),
        next: plan.next.iter().map(|n| one_line(n)).collect(),
        simulated: plan::plan_is_simulated(reduction, plan),
    }
}

fn workload_view((id, (run, called)): (usize, (&WorkloadReduction, &RunNames))) -> WorkloadView {
    let events = run.events.iter().take(EVENTS_MAX);
    WorkloadView {
        id,
        title: called.title.clone(),
        run: called.run.clone(),
        page: run_page(run),
        began: rows::began(run).map(|at| at.readable()),
        traffic: labels::traffic_from(run.traffic_from),
        simulated: run.simulated,
        timeline: Chart::of(ChartWidth::Wide, |fit| timeline_chart(run, called, id, fit)),
        slices: slices_table(run),
        reduction: rows::reduction_table(run),
        points: rows::point_table(run),
        phases: rows::phase_table(run),
        phases_left_out: run.phases.len().saturating_sub(PHASE_ROWS_MAX),
        events: events
            .map(|(at, message)| (at.readable(), one_line(message)))
            .collect(),
        events_left_out: run.events.len().saturating_sub(EVENTS_MAX),
    }
}

/// The file of the run's own report, where its suffix is plain enough for a link.
fn run_page(run: &WorkloadReduction) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_link = run.name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && run.name.len() <= LINK_LENGTH_MAX
        && run.name.chars().all(is_plain);
    is_link.then(|| format!("{}.html", run.name))
}
