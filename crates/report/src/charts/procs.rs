//! The distribution of the procs' shares, one row per load point.

use super::ChartWidth;
use super::frame::Area;
use super::lines::figure;
use crate::scale::{LOG_FROM_RATIO, Scale};
use crate::svg::{Anchor, Svg};
use filermark_model::stats::ProcStats;
use filermark_model::units::counted;
use filermark_results::RunRecord;

const ROW_HEIGHT: f64 = 20.0;
/// Most procs of a row that are drawn one by one.
const TICKS_MAX: usize = 400;

/// The figure that is compared between procs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceOf {
    /// Operations done, as percent of those that were wanted.
    Share,
    /// Mean service time, in milliseconds.
    Mean,
}

impl BalanceOf {
    const fn unit(self) -> &'static str {
        match self {
            Self::Share => "%",
            Self::Mean => "ms",
        }
    }

    fn of(self, p: &ProcStats) -> Option<f64> {
        let (wanted, done) = (p.wanted_count as f64, p.success_count as f64);
        match self {
            Self::Share => (wanted > 0.0).then(|| 100.0 * done / wanted),
            Self::Mean => (done > 0.0).then(|| p.service_sum_ns as f64 / done / 1e6),
        }
    }
}

/// A row's procs by this figure, ascending.
fn figures(procs: &[ProcStats], balance: BalanceOf) -> Vec<(f64, u32)> {
    let of = |p: &ProcStats| Some((balance.of(p)?, p.proc));
    let mut all: Vec<_> = procs.iter().filter_map(of).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// The rows of all load points; `None` when no proc was counted.
pub fn procs_chart(record: &RunRecord, balance: BalanceOf, fit: ChartWidth) -> Option<String> {
    let rows: Vec<(u32, Vec<(f64, u32)>)> = record
        .points
        .iter()
        .filter_map(|p| Some((p.load.number, figures(&p.stats.as_ref()?.procs, balance))))
        .filter(|(_, all)| !all.is_empty())
        .collect();
    let area = Area {
        left: 74.0,
        top: 12.0,
        right: fit.width() - 16.0,
        bottom: 12.0 + rows.len() as f64 * ROW_HEIGHT + 6.0,
    };
    let limit = record.run.plan.limits.proc_pcnt_min;
    let x = x_axis(&rows, balance, limit, &area)?;
    let (name, title, axis_title) = match balance {
        BalanceOf::Share => (
            "procs",
            "Procs by share of their own rate",
            "operations done, of those wanted of the proc",
        ),
        BalanceOf::Mean => (
            "proc-means",
            "Procs by mean service time",
            "mean service time of the proc",
        ),
    };
    let mut svg = Svg::new(
        &format!("{name}-{}", fit.as_str()),
        fit.width(),
        area.bottom + 46.0,
        title,
        "One row per load point, one tick per proc: the closer together, the more evenly the server treats its clients.",
    );
    for value in x.ticks(area.x_tick_count()) {
        let at = x.at(value);
        svg.line("grid faint", (at, area.top), (at, area.bottom));
        let label = format!("{} {}", crate::scale::tick_label(value), balance.unit());
        svg.text("tick", (at, area.bottom + 18.0), Anchor::Middle, &label);
    }
    if balance == BalanceOf::Share {
        svg.line("limit", (x.at(limit), area.top), (x.at(limit), area.bottom));
        svg.line("ideal", (x.at(100.0), area.top), (x.at(100.0), area.bottom));
    }
    let at = (area.right, area.bottom + 38.0);
    svg.text("axis-title", at, Anchor::End, axis_title);
    for (row, (number, all)) in rows.iter().enumerate() {
        let y = area.top + (row as f64 + 0.5) * ROW_HEIGHT + 3.0;
        draw_row(&mut svg, &x, y, all, balance.unit());
        let label = format!("point {number}");
        svg.text("tick", (area.left - 10.0, y + 4.0), Anchor::End, &label);
    }
    Some(svg.finish())
}

/// An axis that covers all figures, and in shares the limit and 100 % too.
fn x_axis(
    rows: &[(u32, Vec<(f64, u32)>)],
    balance: BalanceOf,
    limit: f64,
    area: &Area,
) -> Option<Scale> {
    let values = || rows.iter().flat_map(|(_, all)| all.iter().map(|p| p.0));
    let low = values().min_by(f64::total_cmp)?;
    let high = values().max_by(f64::total_cmp)?;
    Some(match balance {
        BalanceOf::Share => {
            let low = ((low.min(limit) - 5.0).max(0.0) / 10.0).floor() * 10.0;
            let high = (high.max(105.0) / 10.0).ceil() * 10.0;
            Scale::exact(low, high, area.left, area.right)
        }
        BalanceOf::Mean if low > 0.0 && high / low > LOG_FROM_RATIO => {
            Scale::log(low, high, area.left, area.right)
        }
        BalanceOf::Mean => Scale::linear(0.0, high, area.left, area.right),
    })
}

fn draw_row(svg: &mut Svg, x: &Scale, y: f64, all: &[(f64, u32)], unit: &str) {
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
        "{}: least {} {unit} (proc {}), median {} {unit}, most {} {unit} (proc {})",
        counted(all.len() as u64, "proc"),
        figure(worst.0),
        worst.1,
        figure(quantile(0.5)),
        figure(last),
        all[all.len() - 1].1,
    );
    let size = (x.at(last) - x.at(first) + 12.0, 18.0);
    svg.rect("hit", (x.at(first) - 6.0, y - 9.0), size, &title);
}
