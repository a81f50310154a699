//! Runs side by side as one self-contained HTML page.

use crate::charts::{Bar, ChartWidth, curves_chart, forest_chart};
use crate::comparison::{method_text, role, validity_text, value, work_text};
use crate::format::number;
use crate::heritage::HistoricalView;
use crate::html::Chart;
use crate::templates::{TemplateError, Templates};
use filermark_model::NOT_A_SPEC_RESULT;
use filermark_results::compare::{
    Against, Comparison, Difference, FieldChange, Group, Judgement, Overall, PointDifference,
    RunFacts, SideFacts, Work, signed,
};
use serde::Serialize;

#[derive(Serialize)]
struct Page {
    title: String,
    forced: bool,
    sides: Vec<SideRow>,
    service: Option<Chart>,
    response: Option<Chart>,
    against: Vec<AgainstView>,
    historical: Option<HistoricalView>,
    method: Option<String>,
    notice: &'static str,
}

#[derive(Serialize)]
struct SideRow {
    role: String,
    name: String,
    places: String,
    suffix: String,
    started: String,
    benchmark: String,
    version: String,
    verdict: &'static str,
    peak: String,
    ort: String,
    classical: String,
}

#[derive(Serialize)]
struct AgainstView {
    id: usize,
    name: String,
    verdict: &'static str,
    class: &'static str,
    reasons: Vec<String>,
    work: String,
    other_work: Vec<FieldChange>,
    places: Vec<FieldChange>,
    setup: Vec<FieldChange>,
    remarks: Vec<String>,
    forest: Option<Chart>,
    sweep: Vec<Row>,
    points: Vec<PointView>,
    ops: Vec<Row>,
    op_forest: Option<Chart>,
}

#[derive(Serialize)]
struct PointView {
    number: u32,
    load: String,
    held: bool,
    before: String,
    after: String,
    standing: String,
    rows: Vec<Row>,
    ops: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    unit: &'static str,
    before: String,
    after: String,
    change: String,
    interval: String,
    p_value: String,
    verdict: &'static str,
    class: &'static str,
}

/// The comparison as a page; `groups` are the groups compared.
///
/// # Errors
/// A user's template cannot be rendered.
pub fn comparison_html(
    comparison: &Comparison,
    groups: &[Group<'_>],
    templates: &Templates,
) -> Result<String, TemplateError> {
    let sides = comparison.sides.iter().enumerate();
    let names: Vec<&str> = comparison.sides.iter().map(|s| s.name.as_str()).collect();
    let threshold = comparison.threshold_pcnt;
    let historical = comparison.historical.as_ref();
    let page = Page {
        title: names.join(" | "),
        forced: comparison.forced,
        sides: sides
            .flat_map(|(i, side)| side_rows(&role(i, comparison), side))
            .collect(),
        service: Chart::of(ChartWidth::Wide, |fit| {
            curves_chart(groups, false, fit, historical)
        }),
        response: Chart::of(ChartWidth::Wide, |fit| {
            curves_chart(groups, true, fit, historical)
        }),
        against: (1..)
            .zip(&comparison.against)
            .map(|(id, against)| against_view(id, against, threshold))
            .collect(),
        historical: historical.map(HistoricalView::of),
        method: (!comparison.against.is_empty()).then(|| method_text(comparison)),
        notice: NOT_A_SPEC_RESULT,
    };
    templates.render("compare.html", &page)
}

fn side_rows(role: &str, side: &SideFacts) -> Vec<SideRow> {
    let figure = |value: Option<f64>, decimals| value.map_or("–".into(), |v| number(v, decimals));
    let row = |run: &RunFacts| SideRow {
        role: role.to_owned(),
        name: side.name.clone(),
        places: side.mount_points.join(" "),
        suffix: run.suffix.clone(),
        started: run.started.readable(),
        benchmark: run.benchmark.clone(),
        version: run.version.clone(),
        verdict: run.verdict,
        peak: figure(run.peak_ops_per_sec, 0),
        ort: figure(run.ort_ms, 2),
        classical: run.classical.map_or("–".into(), |c| c.short()),
    };
    side.runs.iter().map(row).collect()
}

fn against_view(id: usize, against: &Against, threshold: f64) -> AgainstView {
    let bars = sweep_bars(against);
    let op_bars: Vec<Bar> = against
        .ops
        .iter()
        .map(|o| bar(o.name.clone(), &o.service))
        .collect();
    AgainstView {
        id,
        name: against.name.clone(),
        verdict: against.verdict.text(),
        class: match against.verdict {
            Overall::Faster => "valid",
            Overall::Slower => "invalid",
            Overall::Mixed | Overall::NothingToCompare => "qualified",
            Overall::NoDifferenceShown => "",
        },
        reasons: against.reasons.clone(),
        work: work_text(against),
        other_work: against.other_work.clone(),
        places: match against.work {
            Work::Same => Vec::new(),
            _ => against.places.clone(),
        },
        setup: against.setup.clone(),
        remarks: against.remarks.clone(),
        forest: Chart::of(ChartWidth::Wide, |fit| {
            forest_chart(&format!("{id}"), &bars, threshold, fit)
        }),
        sweep: against
            .sweep
            .iter()
            .map(|d| row(d.kind.words(), d))
            .collect(),
        points: against.points.iter().map(point_view).collect(),
        ops: against
            .ops
            .iter()
            .map(|o| row(&o.name, &o.service))
            .collect(),
        op_forest: Chart::of(ChartWidth::Wide, |fit| {
            forest_chart(&format!("{id}-ops"), &op_bars, threshold, fit)
        }),
    }
}

/// The figures over the sweep, then those of each load point.
fn sweep_bars(against: &Against) -> Vec<Bar> {
    let sweep = against.sweep.iter();
    let mut bars: Vec<Bar> = sweep
        .map(|d| bar(format!("sweep: {}", d.kind.short()), d))
        .collect();
    for point in &against.points {
        let rows = point.figures.iter();
        bars.extend(
            rows.filter(|d| !(point.held_by_pacing && d.kind.is_rate()))
                .map(|d| bar(format!("{}: {}", point.load, d.kind.short()), d)),
        );
    }
    bars
}

fn bar(label: String, d: &Difference) -> Bar {
    Bar {
        title: format!("{label}: {}, {}", d.text(), d.verdict.label()),
        label,
        pcnt: (d.change_pcnt, d.low_pcnt, d.high_pcnt),
        class: class(d.verdict),
    }
}

fn class(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Faster => "faster",
        Judgement::Slower => "slower",
        Judgement::NoDifferenceShown => "none",
    }
}

fn point_view(point: &PointDifference) -> PointView {
    PointView {
        number: point.number,
        load: point.load.clone(),
        held: point.held_by_pacing,
        before: point.before.text(),
        after: point.after.text(),
        standing: validity_text(point),
        rows: point
            .figures
            .iter()
            .map(|d| row(d.kind.words(), d))
            .collect(),
        ops: point.ops.iter().map(|o| row(&o.name, &o.service)).collect(),
    }
}

fn row(name: &str, d: &Difference) -> Row {
    Row {
        name: name.to_owned(),
        unit: d.unit,
        before: value(d, d.before),
        after: value(d, d.after),
        change: format!("{} %", signed(d.change_pcnt)),
        interval: format!("{} to {}", signed(d.low_pcnt), signed(d.high_pcnt)),
        p_value: match d.adjusted_p_value {
            p if p < 0.001 => "< 0.001".into(),
            p => format!("{p:.3}"),
        },
        verdict: d.verdict.label(),
        class: class(d.verdict),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::tests::{groups, records};
    use filermark_results::compare::{Options, compare};

    #[test]
    fn the_page_is_self_contained_and_names_are_never_markup() {
        let records = records();
        let groups = groups(&records);
        let comparison = compare(&groups, &Options::default()).unwrap();
        let page = comparison_html(&comparison, &groups, &Templates::builtin()).unwrap();
        for foreign in [
            "http://", "https://", "src=", "@import", "url(", "<script", "<base>",
        ] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        for needed in [
            "&lt;base&gt;",
            NOT_A_SPEC_RESULT,
            ">slower<",
            "forest-1-wide",
            "curves-service-narrow",
        ] {
            assert!(page.contains(needed), "{needed}");
        }
        assert!(page.trim_end().ends_with("</html>"));
        let mut seen = std::collections::BTreeSet::new();
        for piece in page.split(" id=\"").skip(1) {
            let id = piece.split('"').next().unwrap();
            assert!(seen.insert(id), "twice: {id}");
        }
    }

    #[test]
    fn nothing_measured_still_gives_a_page() {
        let mut records = records();
        records.iter_mut().for_each(|r| r.points.clear());
        let groups = groups(&records);
        let comparison = compare(&groups, &Options::default()).unwrap();
        let page = comparison_html(&comparison, &groups, &Templates::builtin()).unwrap();
        assert!(page.contains("nothing to compare"));
    }
}
