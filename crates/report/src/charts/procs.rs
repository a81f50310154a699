//! How evenly the procs got their share, one row per load point.

use super::Fit;
use super::frame::Area;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_model::stats::ProcStats;
use filermark_model::units::counted;
use filermark_results::RunRecord;

const ROW_HEIGHT: f64 = 20.0;
/// Most procs of a row that are drawn one by one.
const TICKS_MAX: usize = 400;

/// A row's procs as percent of their own rate, ascending.
fn percents(procs: &[ProcStats]) -> Vec<(f64, u32)> {
    let of = |p: &ProcStats| {
        let wanted = p.wanted_count.max(1) as f64;
        (100.0 * p.success_count as f64 / wanted, p.proc)
    };
    let wanted = procs.iter().filter(|p| p.wanted_count > 0);
    let mut all: Vec<_> = wanted.map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// The strip of all load points; `None` when no proc was counted.
pub fn procs_chart(record: &RunRecord, fit: Fit) -> Option<String> {
    let rows: Vec<(u32, Vec<(f64, u32)>)> = record
        .points
        .iter()
        .filter_map(|p| Some((p.load.number, percents(&p.stats.as_ref()?.procs))))
        .filter(|(_, all)| !all.is_empty())
        .collect();
    let values = || rows.iter().flat_map(|(_, all)| all.iter().map(|p| p.0));
    let limit = record.run.plan.limits.proc_pcnt_min;
    let low = values().min_by(f64::total_cmp)?.min(limit) - 5.0;
    let high = values().max_by(f64::total_cmp)?.max(105.0);
    let area = Area {
        left: 74.0,
        top: 12.0,
        right: fit.width() - 16.0,
        bottom: 12.0 + rows.len() as f64 * ROW_HEIGHT + 6.0,
    };
    let low = (low.max(0.0) / 10.0).floor() * 10.0;
    let x = Scale::exact(low, (high / 10.0).ceil() * 10.0, area.left, area.right);
    let mut svg = Svg::new(
        &format!("procs-{}", fit.word()),
        fit.width(),
        area.bottom + 46.0,
        "Procs by share of their own rate",
        "One row per load point, one tick per proc: the closer together, the more evenly the server treats its clients.",
    );
    for value in x.ticks(area.x_tick_count()) {
        svg.line(
            "grid faint",
            (x.at(value), area.top),
            (x.at(value), area.bottom),
        );
        let label = format!("{} %", crate::scale::tick_label(value));
        svg.text(
            "tick",
            (x.at(value), area.bottom + 18.0),
            Anchor::Middle,
            &label,
        );
    }
    svg.line("limit", (x.at(limit), area.top), (x.at(limit), area.bottom));
    svg.line("ideal", (x.at(100.0), area.top), (x.at(100.0), area.bottom));
    let at = (area.right, area.bottom + 38.0);
    svg.text(
        "axis-title",
        at,
        Anchor::End,
        "operations done, of those wanted of the proc",
    );
    for (row, (number, all)) in rows.iter().enumerate() {
        let y = area.top + (row as f64 + 0.5) * ROW_HEIGHT + 3.0;
        draw_row(&mut svg, &x, y, all);
        let label = format!("point {number}");
        svg.text("tick", (area.left - 10.0, y + 4.0), Anchor::End, &label);
    }
    Some(svg.finish())
}

fn draw_row(svg: &mut Svg, x: &Scale, y: f64, all: &[(f64, u32)]) {
    let quantile = |q: f64| all[((all.len() - 1) as f64 * q).round() as usize].0;
    let (first, last) = (quantile(0.0), quantile(1.0));
    svg.line("grid", (x.at(first), y), (x.at(last), y));
    if all.len() <= TICKS_MAX {
        for (percent, _) in all {
            let at = x.at(*percent);
            svg.line("proc-tick", (at, y - 5.0), (at, y + 5.0));
        }
    } else {
        let left = x.at(quantile(0.05));
        let size = (x.at(quantile(0.95)) - left, 8.0);
        svg.rect("proc-band", (left, y - 4.0), size, "");
        let middle = x.at(quantile(0.5));
        svg.line("proc-tick", (middle, y - 6.0), (middle, y + 6.0));
    }
    let worst = all[0];
    let title = format!(
        "{}: least {:.1} % (proc {}), median {:.1} %, most {last:.1} %",
        counted(all.len() as u64, "proc"),
        worst.0,
        worst.1,
        quantile(0.5),
    );
    let size = (x.at(last) - x.at(first) + 12.0, 18.0);
    svg.rect("hit", (x.at(first) - 6.0, y - 9.0), size, &title);
}
