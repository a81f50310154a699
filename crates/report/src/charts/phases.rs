//! The length of the phases of each load point.

use super::ChartWidth;
use super::frame::{Area, legend};
use crate::format::seconds;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_results::{Phase, RunRecord};

const ROW_HEIGHT: f64 = 20.0;

const fn class(phase: Phase) -> &'static str {
    match phase {
        Phase::Validate => "phase-validate",
        Phase::Init => "phase-init",
        Phase::Warmup => "phase-warmup",
        Phase::Run => "phase-run",
        Phase::Cleanup => "phase-cleanup",
    }
}

/// One bar of phases per load point; `None` without phases.
pub fn phases_chart(record: &RunRecord, fit: ChartWidth) -> Option<String> {
    let mut rows: Vec<u32> = record.phases.iter().map(|p| p.point).collect();
    rows.sort_unstable();
    rows.dedup();
    let length = |row: u32| -> f64 {
        let of_row = record.phases.iter().filter(|p| p.point == row);
        of_row.map(|p| p.seconds.max(0.0)).sum()
    };
    let longest = rows.iter().map(|r| length(*r)).max_by(f64::total_cmp)?;
    let area = Area {
        left: 74.0,
        top: 34.0,
        right: fit.width() - 16.0,
        bottom: 34.0 + rows.len() as f64 * ROW_HEIGHT + 4.0,
    };
    let x = Scale::exact(0.0, longest, area.left, area.right);
    let mut svg = Svg::new(
        &format!("phases-{}", fit.as_str()),
        fit.width(),
        area.bottom + 26.0,
        "Phases of each load point",
        "The figures are in the table below.",
    );
    let used = |phase: &Phase| record.phases.iter().any(|p| p.phase == *phase);
    let entries: Vec<(String, &str)> = [
        Phase::Validate,
        Phase::Init,
        Phase::Warmup,
        Phase::Run,
        Phase::Cleanup,
    ]
    .into_iter()
    .filter(used)
    .map(|p| (format!("swatch {}", class(p)), p.name()))
    .collect();
    let entries: Vec<_> = entries.iter().map(|(c, n)| (c.as_str(), *n)).collect();
    legend(&mut svg, &entries, (10.0, 18.0), fit.width());
    for value in x.ticks(area.x_tick_count()) {
        svg.line(
            "grid faint",
            (x.at(value), area.top),
            (x.at(value), area.bottom),
        );
        let label = format!("{} s", crate::scale::tick_label(value));
        svg.text(
            "tick",
            (x.at(value), area.bottom + 18.0),
            Anchor::Middle,
            &label,
        );
    }
    for (row, point) in rows.iter().enumerate() {
        let top = area.top + row as f64 * ROW_HEIGHT + 3.0;
        let label = match point {
            0 => "run".to_owned(),
            n => format!("point {n}"),
        };
        svg.text("tick", (area.left - 10.0, top + 11.0), Anchor::End, &label);
        let mut from = 0.0;
        for phase in record.phases.iter().filter(|p| p.point == *point) {
            let to = from + phase.seconds.max(0.0);
            let size = (x.at(to) - x.at(from) - 1.0, ROW_HEIGHT - 6.0);
            let failed = phase
                .failure
                .as_ref()
                .map_or(String::new(), |f| format!(", FAILED: {f}"));
            let title = format!("{}: {}{failed}", phase.phase, seconds(phase.seconds));
            svg.rect(class(phase.phase), (x.at(from), top), size, &title);
            if phase.failure.is_some() {
                svg.cross("cross", (x.at(to) - 7.0, top + 7.0), 4.0);
            }
            from = to;
        }
    }
    Some(svg.finish())
}
