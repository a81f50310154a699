//! The report as plain text: the content of the page, for terminals, mail and `diff`.

use crate::breakdown;
use crate::heritage::{self, HistoricalView};
use crate::options::{Edition, ReportOptions};
use crate::search::{self, SearchRow};
use crate::setup;
use crate::templates::TemplateError;
use crate::view::{self, FindingView};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_model::text::one_line;
use filermark_results::{RunRecord, definition_fingerprint};
use serde::Serialize;

/// Longest cell that is taken for a figure.
const FIGURE_MAX: usize = 16;

#[derive(Serialize)]
struct Page {
    suffix: String,
    title: String,
    benchmark: String,
    started: String,
    verdict: &'static str,
    reasons: Vec<String>,
    search: Vec<SearchRow>,
    cut: Option<String>,
    figures: Vec<view::Figure>,
    heritage: Vec<(&'static str, String)>,
    classical: Option<String>,
    historical: Option<(String, HistoricalView)>,
    knee: Option<breakdown::KneeView>,
    points: String,
    findings: Vec<FindingView>,
    percentiles: Option<String>,
    peak_number: Option<u32>,
    components: Option<String>,
    ops: Option<String>,
    remarks: Vec<String>,
    clients: Option<String>,
    phases: Option<String>,
    events: Vec<(String, String, String)>,
    all_findings: Option<String>,
    plan: String,
    environments: Vec<String>,
    mounts: Vec<(String, String)>,
    parameters: String,
    fingerprint: String,
    definition_fingerprint: u32,
    program: String,
    notice: &'static str,
}

/// The report, laid out by the template `report.txt`.
///
/// # Errors
/// As those of [`crate::html()`].
pub fn text(record: &RunRecord, options: &ReportOptions<'_>) -> Result<String, TemplateError> {
    let (edition, historical) = (options.edition, options.historical);
    let run = &record.run;
    let verdict = record.verdict();
    let peak_number = record.peak().map(|p| p.load.number);
    let peak = view::point_views(record).into_iter().find(|v| v.is_peak);
    let clients = breakdown::clients_views(record);
    let parameters = setup::parameter_rows(record).into_iter().map(|p| {
        let mark = if p.not_standard {
            "  (not standard)"
        } else {
            ""
        };
        (p.name, format!("{}{mark}", p.value))
    });
    let page = Page {
        suffix: one_line(&run.suffix),
        title: one_line(&run.plan.benchmark.title),
        benchmark: filermark_results::text::benchmark(&run.plan),
        started: run.started.readable(),
        verdict: verdict.label(),
        reasons: view::reasons(record),
        search: search::rows(record),
        cut: record.cut.as_deref().map(one_line),
        figures: view::figures(record),
        heritage: heritage::rows(record),
        classical: heritage::result(record),
        historical: historical.map(|h| {
            let view = HistoricalView::of(h);
            let rows = view.rows.iter().map(|(name, cells)| row(name, cells));
            (table(&heads("system", &view.heads), rows), view)
        }),
        knee: breakdown::knee_view(record),
        points: points_table(record),
        findings: view::findings(record),
        percentiles: percentiles_table(record),
        peak_number,
        components: peak.as_ref().filter(|p| !p.components.is_empty()).map(|p| {
            let rows = p.components.iter().map(|c| row(&c.name, &c.cells));
            table(&heads("component", p.component_heads), rows)
        }),
        ops: peak.as_ref().map(|p| {
            let rows = p.ops.iter().map(|o| row(o.name, &o.cells));
            table(&heads("operation", &view::OP_HEADS), rows)
        }),
        remarks: peak.map_or(Vec::new(), |p| p.remarks),
        clients: clients.iter().find(|c| c.is_peak).map(|c| {
            let rows = c.rows.iter().map(|r| row(&r.name, &r.cells));
            table(&heads("client", &breakdown::CLIENT_HEADS), rows)
        }),
        phases: phases_table(record),
        events: record
            .events
            .iter()
            .map(|e| (e.at.readable(), one_line(&e.host), one_line(&e.message)))
            .collect(),
        all_findings: (edition == Edition::Reviewer).then(|| {
            let rows = breakdown::all_findings(record).into_iter();
            table(
                &heads("where", &breakdown::FINDING_HEADS),
                rows.map(|f| row(&f.place, &f.cells)),
            )
        }),
        plan: pairs(
            setup::plan_rows(record)
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v)),
        ),
        environments: record
            .environments
            .iter()
            .map(|e| pairs(e.rows().into_iter().map(|(n, v)| (n.to_owned(), v))))
            .collect(),
        mounts: setup::mount_rows(record)
            .into_iter()
            .map(|(mount, facts)| (mount, pairs(facts.into_iter())))
            .collect(),
        parameters: pairs(parameters),
        fingerprint: one_line(&run.fingerprint),
        definition_fingerprint: definition_fingerprint(&run.plan.benchmark).1,
        program: one_line(&format!("{} {}", run.program, run.version)),
        notice: NOT_A_SPEC_RESULT,
    };
    options.templates.render("report.txt", &page)
}

fn points_table(record: &RunRecord) -> String {
    if record.points.is_empty() {
        return "No load point was measured.\n".into();
    }
    let point_heads = view::point_heads(record);
    let mut all = vec!["#".to_owned()];
    all.extend(crate::labels::unit(record).map(|u| format!("load\n{u}s")));
    all.push("requested\nop/s".into());
    all.extend(heads("", point_heads).into_iter().skip(1));
    all.push("verdict".into());
    let rows = view::point_rows(record).into_iter().map(|p| {
        let mut cells = vec![p.number.to_string()];
        cells.extend(p.units);
        cells.push(p.requested);
        match p.cells.is_empty() {
            true => cells.extend(point_heads.iter().map(|_| String::new())),
            false => cells.extend(p.cells),
        }
        cells.push(format!(
            "{}{}",
            p.verdict,
            if p.is_peak { " PEAK" } else { "" }
        ));
        cells
    });
    table(&all, rows)
}

fn percentiles_table(record: &RunRecord) -> Option<String> {
    let rows = breakdown::percentile_rows(record);
    let mut all = vec!["#".to_owned()];
    for latency in ["service", "response"] {
        let heads = breakdown::percentile_heads().into_iter();
        all.extend(heads.map(|(head, _)| format!("{latency}\n{head}")));
    }
    let cells = rows.iter().map(|r| row(&r.number.to_string(), &r.cells));
    (!rows.is_empty()).then(|| table(&all, cells))
}

fn phases_table(record: &RunRecord) -> Option<String> {
    let rows = view::phase_rows(record);
    let all = [("phase", ""), ("began", ""), ("took", "s"), ("did", "")];
    let cells = rows.iter().map(|p| {
        let failed = match p.failure.as_str() {
            "" => String::new(),
            failure => format!(" FAILED: {failure}"),
        };
        let did = format!("{}{failed}", p.detail);
        row(
            &p.point,
            &[p.phase.to_owned(), p.began.clone(), p.seconds.clone(), did],
        )
    });
    (!rows.is_empty()).then(|| table(&heads("point", &all), cells))
}

/// The cells of a row.
fn row(first: &str, cells: &[String]) -> Vec<String> {
    let mut row = vec![first.to_owned()];
    row.extend_from_slice(cells);
    row
}

/// Heads with their units below.
pub fn heads(first: &str, heads: &[(&str, &str)]) -> Vec<String> {
    let with_unit = heads.iter().map(|(head, unit)| match *unit {
        "" => (*head).to_owned(),
        unit => format!("{head}\n{unit}"),
    });
    std::iter::once(first.to_owned()).chain(with_unit).collect()
}

/// Columns as wide as their widest cell; those with figures are right-aligned.
pub fn table(heads: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let plain = |cell: &str| cell.replace('\u{a0}', " ");
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for head in heads {
        let (head, unit) = head.split_once('\n').unwrap_or((head, ""));
        first.push(plain(head));
        second.push(plain(unit));
    }
    let body: Vec<Vec<String>> = rows
        .map(|row| row.iter().map(|cell| plain(cell)).collect())
        .collect();
    let is_text = |column: usize| {
        let cells = body.iter().filter_map(|r: &Vec<String>| r.get(column));
        let mut full = cells.filter(|c| !c.is_empty() && *c != "–").peekable();
        full.peek().is_some() && !full.all(|c| is_figure(c))
    };
    let mut lines = vec![first, second];
    lines.extend(body.iter().cloned());
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|r| r.get(column));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let columns: Vec<(usize, bool)> = (0..heads.len()).map(|i| (width(i), is_text(i))).collect();
    let mut out = String::new();
    for line in lines {
        let cell = |(text, (width, is_text)): (&String, &(usize, bool))| match is_text {
            true => format!("{text:<width$}"),
            false => format!("{text:>width$}"),
        };
        let cells: Vec<String> = line.iter().zip(&columns).map(cell).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// Whether it reads as a figure, also with a unit or a remark.
fn is_figure(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || c == '-') && cell.chars().count() <= FIGURE_MAX
}

/// Names and values, with the values aligned.
fn pairs(pairs: impl Iterator<Item = (String, String)>) -> String {
    let pairs: Vec<_> = pairs.collect();
    let width = pairs
        .iter()
        .map(|(n, _)| n.chars().count())
        .max()
        .unwrap_or(0)
        .min(32);
    let line = |(name, value): &(String, String)| format!("{name:<width$}  {value}\n");
    pairs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::Templates;
    use filermark_results::testing;

    fn of(record: &RunRecord, edition: Edition) -> String {
        let templates = Templates::builtin();
        let options = ReportOptions {
            edition,
            ..ReportOptions::new(&templates)
        };
        text(record, &options).unwrap()
    }

    #[test]
    fn the_text_is_as_it_was() {
        let record = testing::record();
        crate::html::golden("report.txt", &of(&record, Edition::Public));
        let reviewed = of(&record, Edition::Reviewer);
        assert!(reviewed.contains("ALL FINDINGS"), "{reviewed}");
        let composite = testing::composite::composite_record();
        crate::html::golden("report_build.txt", &of(&composite, Edition::Public));
    }

    #[test]
    fn records_without_points_still_give_a_text() {
        let mut record = testing::record();
        record.points.clear();
        record.phases.clear();
        record.run.suffix = "\x1b[2J<b>&".into();
        let text = of(&record, Edition::Reviewer);
        assert!(text.contains("<b>&") && !text.contains('\x1b'), "{text}");
    }
}
