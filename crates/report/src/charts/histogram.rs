//! Latency histograms of one load point: by group of operations, and service
//! against response time.

use super::ChartWidth;
use super::frame::{Area, legend};
use crate::format::duration;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_model::{Latency, OpGroup, PointStats};

/// Upper bound of the first bucket, in nanoseconds.
const FIRST_NS: u64 = 1_000;
/// Each bucket is wider than the one before by this factor: the fourth root of two.
const RATIO: f64 = 1.189_207_115;
/// Approximate width of a character of a label.
const CHAR_WIDE: f64 = 7.0;
/// Height of one group's row.
const ROW_HEIGHT: f64 = 68.0;

/// Shares of all latencies by bucket, in percent.
fn shares(latency: &Latency) -> Vec<f64> {
    let total = latency.count().max(1) as f64;
    let buckets = latency.buckets(FIRST_NS, RATIO);
    buckets
        .iter()
        .map(|(_, n)| 100.0 * *n as f64 / total)
        .collect()
}

/// The bounds in nanoseconds of bucket `i`.
fn bounds(i: usize) -> (f64, f64) {
    let upper = FIRST_NS as f64 * RATIO.powi(i as i32);
    (upper / RATIO, upper)
}

/// An axis that covers every bucket of these histograms that is not empty.
fn x_scale(all: &[Vec<f64>], area: &Area) -> Option<Scale> {
    let used = |shares: &Vec<f64>| -> Option<(usize, usize)> {
        let first = shares.iter().position(|s| *s > 0.0)?;
        Some((first, shares.iter().rposition(|s| *s > 0.0)?))
    };
    let first = all.iter().filter_map(used).map(|u| u.0).min()?;
    let last = all.iter().filter_map(used).map(|u| u.1).max()?;
    let (low, high) = (bounds(first).0, bounds(last).1);
    Some(Scale::log(low, high, area.left, area.right))
}

/// The outline of a histogram over `base`, and whether it is closed there.
fn outline(shares: &[f64], x: &Scale, base: f64, height_per_percent: f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    let first = shares.iter().position(|s| *s > 0.0).unwrap_or(0);
    let last = shares.iter().rposition(|s| *s > 0.0).unwrap_or(0);
    for (i, share) in shares.iter().enumerate().take(last + 1).skip(first) {
        let (low, high) = bounds(i);
        if points.is_empty() {
            points.push((x.at(low), base));
        }
        let y = base - share * height_per_percent;
        points.push((x.at(low), y));
        points.push((x.at(high), y));
    }
    if let Some(end) = points.last().copied() {
        points.push((end.0, base));
    }
    points
}

fn time_axis(svg: &mut Svg, area: &Area, x: &Scale, title: &str) {
    let mut free_from = f64::NEG_INFINITY;
    for value in x.ticks(area.x_tick_count()) {
        let at = x.at(value);
        svg.line("grid faint", (at, area.top), (at, area.bottom));
        let label = short_duration(value);
        // On a wide range labels would overlap.
        let half = label.chars().count() as f64 * CHAR_WIDE / 2.0;
        if at - half >= free_from {
            svg.text("tick", (at, area.bottom + 18.0), Anchor::Middle, &label);
            free_from = at + half + CHAR_WIDE;
        }
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    let at = (area.right, area.bottom + 38.0);
    svg.text("axis-title", at, Anchor::End, title);
}

/// `100 µs`, `2 ms`, `1 s`.
fn short_duration(ns: f64) -> String {
    match ns {
        v if v >= 0.999e9 => format!("{:.0} s", v / 1e9),
        v if v >= 0.999e6 => format!("{:.0} ms", v / 1e6),
        v => format!("{:.0} µs", v / 1e3),
    }
}

/// Service times by group of operations, one row each.
pub fn groups_chart(stats: &PointStats, fit: ChartWidth) -> Option<String> {
    let groups: Vec<(&str, Latency)> = OpGroup::ALL
        .iter()
        .map(|group| {
            let of_group = stats.ops.iter().filter(|o| o.op.group() == *group);
            (group.name(), of_group.map(|o| &o.service).sum::<Latency>())
        })
        .filter(|(_, latency)| latency.count() > 0)
        .collect();
    let all: Vec<_> = groups.iter().map(|(_, l)| shares(l)).collect();
    let area = Area {
        left: 12.0,
        top: 8.0,
        right: fit.width() - 16.0,
        bottom: 8.0 + groups.len() as f64 * ROW_HEIGHT,
    };
    let x = x_scale(&all, &area)?;
    let mut svg = Svg::new(
        &format!("groups-{}", fit.as_str()),
        fit.width(),
        area.bottom + 46.0,
        "Service times by group of operations",
        "Each row is one group's histogram, scaled to its own highest bucket.",
    );
    time_axis(&mut svg, &area, &x, "service time, logarithmic");
    for (row, ((name, latency), shares)) in groups.iter().zip(&all).enumerate() {
        let base = area.top + (row + 1) as f64 * ROW_HEIGHT;
        let high = shares.iter().copied().max_by(f64::total_cmp).unwrap_or(1.0);
        let points = outline(shares, &x, base, (ROW_HEIGHT - 22.0) / high);
        svg.polygon(&format!("ridge g{row}"), &points);
        svg.line("grid", (area.left, base), (area.right, base));
        let at = |percentile| x.at(latency.percentile_ns(percentile) as f64);
        for percentile in [50.0, 99.0] {
            let px = at(percentile);
            svg.line("mark", (px, base), (px, base - 9.0));
        }
        svg.text(
            "row-label",
            (area.left, base - ROW_HEIGHT + 15.0),
            Anchor::Start,
            name,
        );
        let p99 = duration(latency.percentile_ns(99.0) as f64);
        let figures = match fit {
            ChartWidth::Narrow => format!("99 % {p99}"),
            _ => {
                let p50 = duration(latency.percentile_ns(50.0) as f64);
                format!("50 % {p50}, 99 % {p99}")
            }
        };
        svg.text(
            "tick",
            (area.right, base - ROW_HEIGHT + 15.0),
            Anchor::End,
            &figures,
        );
    }
    Some(svg.finish())
}

/// Service against response times of all operations.
pub fn overlay_chart(stats: &PointStats, fit: ChartWidth) -> Option<String> {
    let both = [shares(&stats.service()), shares(&stats.response())];
    let height = 8.0 + 4.0 * ROW_HEIGHT + 46.0;
    let area = Area {
        left: 44.0,
        top: 50.0,
        right: fit.width() - 16.0,
        bottom: height - 46.0,
    };
    let x = x_scale(&both, &area)?;
    let high = both.iter().flatten().copied().max_by(f64::total_cmp)?;
    let y = Scale::linear(0.0, high, area.bottom, area.top);
    let mut svg = Svg::new(
        &format!("overlay-{}", fit.as_str()),
        fit.width(),
        height,
        "Service times against response times",
        "Where the response times lie to the right of the service times, operations waited before they were sent.",
    );
    let entries = [("line service", "service"), ("line response", "response")];
    legend(&mut svg, &entries, (10.0, 16.0), fit.width());
    for value in y.ticks(area.y_tick_count()) {
        let at = y.at(value);
        svg.line("grid", (area.left, at), (area.right, at));
        let label = format!("{} %", crate::scale::tick_label(value));
        svg.text("tick", (area.left - 6.0, at + 4.0), Anchor::End, &label);
    }
    time_axis(&mut svg, &area, &x, "time, logarithmic");
    let per_percent = (area.bottom - area.top) / y.high();
    for (class, shares) in ["service", "response"].iter().zip(&both) {
        let points = outline(shares, &x, area.bottom, per_percent);
        svg.polygon(&format!("wash {class}"), &points);
        svg.polyline(&format!("line {class}"), &points);
    }
    Some(svg.finish())
}
