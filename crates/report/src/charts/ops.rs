//! The cost of the operations: their share of the time at one load point, and their
//! latency over load.

use super::ChartWidth;
use super::lines::{ChartSheet, Line, lines_chart, span};
use super::percentiles::marks;
use crate::format::{count, duration, number};
use crate::svg::{Anchor, Svg};
use filermark_model::{Figure, Op, OpStats, PointStats};
use filermark_results::{PointRecord, RunRecord};

/// Height of an operation's row.
const ROW_HEIGHT: f64 = 40.0;
/// Most operations that have a row, or a chart of their own over load.
const ROWS_MAX: usize = 12;
const CHARTS_MAX: usize = 9;

/// The operations with at least one success, by time, longest first.
fn by_time(stats: &PointStats) -> Vec<&OpStats> {
    let mut ops: Vec<&OpStats> = stats.ops.iter().filter(|o| o.success_count > 0).collect();
    ops.sort_by_key(|o| std::cmp::Reverse(o.service.sum_ns()));
    ops
}

/// Share of the whole service time, and of all operations, in percent.
fn shares(stats: &PointStats, o: &OpStats) -> (f64, f64) {
    let time: f64 = stats.ops.iter().map(|o| o.service.sum_ns() as f64).sum();
    let all = stats.success_count().max(1) as f64;
    (
        100.0 * o.service.sum_ns() as f64 / time.max(1.0),
        100.0 * o.success_count as f64 / all,
    )
}

/// One row per operation at a load point: its share of the time above, of the
/// operations below.
pub fn ops_chart(record: &RunRecord, stats: &PointStats, fit: ChartWidth) -> Option<String> {
    let protocol = record.run.plan.benchmark.protocol;
    let mut ops = by_time(stats);
    let more = ops.len().saturating_sub(ROWS_MAX);
    ops.truncate(ROWS_MAX);
    let most = ops
        .iter()
        .map(|o| shares(stats, o))
        .map(|(time, all)| time.max(all))
        .max_by(f64::total_cmp)?
        .max(1e-9);
    let (left, right) = (4.0, fit.width() - 4.0);
    let descriptions: Vec<String> = ops
        .iter()
        .map(|o| format!("{} {:.1} %", protocol.op_name(o.op), shares(stats, o).0))
        .collect();
    let height = ops.len() as f64 * ROW_HEIGHT + if more > 0 { 24.0 } else { 4.0 };
    let mut svg = Svg::new(
        &format!("ops-{}", fit.as_str()),
        fit.width(),
        height,
        "Share of the time by operation",
        &format!("Share of all service time: {}.", descriptions.join(", ")),
    );
    for (row, o) in ops.iter().enumerate() {
        let top = row as f64 * ROW_HEIGHT;
        let (time, all) = shares(stats, o);
        let name = protocol.op_name(o.op);
        svg.text("row-label", (left, top + 15.0), Anchor::Start, name);
        let figures = format!(
            "{} % of the time, mean {}, 99 % {}",
            number(time, 1),
            duration(o.service.mean_ns()),
            duration(o.service.percentile_ns(99.0) as f64)
        );
        svg.text("tick", (right, top + 15.0), Anchor::End, &figures);
        let wide = |share: f64| (right - left) * share / most;
        svg.rect("bar-ground", (left, top + 21.0), (right - left, 11.0), "");
        svg.rect("bar-time", (left, top + 21.0), (wide(time), 7.0), "");
        svg.rect("bar-count", (left, top + 29.0), (wide(all), 3.0), "");
        let title = format!(
            "{name}: {} % of the time, {} % of the operations ({}), mean {}, 99 % {}, longest {}",
            number(time, 1),
            number(all, 1),
            count(o.success_count),
            duration(o.service.mean_ns()),
            duration(o.service.percentile_ns(99.0) as f64),
            duration(o.service.max_ns() as f64),
        );
        svg.rect("hit", (left, top), (right - left, ROW_HEIGHT - 4.0), &title);
    }
    if more > 0 {
        let text = format!("and {more} more: see the table");
        svg.text("tick", (left, height - 6.0), Anchor::Start, &text);
    }
    Some(svg.finish())
}

/// Mean and 99 % over load of the operations that took most of the time at `stats`:
/// (name, chart). All have one scale, so that they can be compared by eye.
pub fn op_charts(record: &RunRecord, stats: &PointStats) -> Vec<(&'static str, String)> {
    let protocol = record.run.plan.benchmark.protocol;
    let mean = |o: &OpStats| o.service.mean_ns();
    let p99 = |o: &OpStats| o.service.percentile_ns(99.0) as f64;
    let lines_of = |o: &OpStats| {
        let lines = [
            of_op(record, o.op, "p99", "99 %", p99),
            of_op(record, o.op, "service", "mean", mean),
        ];
        (protocol.op_name(o.op), lines)
    };
    let ops = by_time(stats).into_iter().take(CHARTS_MAX);
    let all: Vec<(&'static str, [Line; 2])> = ops.map(lines_of).collect();
    let each: Vec<Line> = all.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let (holds, marks) = (span(&each), marks(record));
    let chart = |(i, (name, lines)): (usize, &(&'static str, [Line; 2]))| {
        let sheet = ChartSheet {
            id: &format!("op-{i}"),
            size: (ChartWidth::Multiple.width(), 190.0),
            title: &format!("{name} over load"),
            unit: "ms",
            has_legend: false,
            holds,
        };
        Some((*name, lines_chart(sheet, &marks, lines)?))
    };
    all.iter().enumerate().filter_map(chart).collect()
}

fn of_op(
    record: &RunRecord,
    op: Op,
    class: &'static str,
    label: &str,
    figure_ns: impl Fn(&OpStats) -> f64,
) -> Line {
    let value = |s: &PointStats| {
        let o = s.op(op).filter(|o| o.success_count > 0)?;
        Some(Figure::exact(figure_ns(o) / 1e6))
    };
    let measured = record.points.iter().filter_map(PointRecord::measured);
    Line {
        class,
        label: label.to_owned(),
        values: measured.map(value).collect(),
    }
}
