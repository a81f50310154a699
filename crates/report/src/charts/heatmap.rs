//! Latency over time: which share of a second's operations took how long.
//!
//! The records have powers of two of microseconds per second. Neighbouring seconds
//! are summed, and neighbouring cells of one colour are drawn as one, so that a chart
//! stays below about 30 KB for any length of the run.

use super::ChartWidth;
use super::frame::Area;
use super::series::gathered;
use crate::format::{duration, rate};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_model::stats::Interval;
use filermark_model::units::counted;
use filermark_results::PointRecord;
use std::fmt::Write as _;

/// Steps of the colour scale: two for a decade, from 0.01 % to all.
const LEVELS: usize = 8;
/// Most columns of all charts of a page, and fewest of one chart.
const COLUMNS_OF_ALL: usize = 1_600;
const COLUMNS_MIN: usize = 16;

/// Columns for each of `charts` charts on a page.
pub fn columns_for(charts: usize) -> usize {
    (COLUMNS_OF_ALL / charts.max(1)).clamp(COLUMNS_MIN, 120)
}

/// The colour of a share, from 0.
fn level(count: u32, total: u64) -> Option<usize> {
    let share = f64::from(count) / total.max(1) as f64;
    (count > 0)
        .then(|| (LEVELS as f64 + 2.0 * share.log10()).clamp(0.0, LEVELS as f64 - 1.0) as usize)
}

/// The heat map of a load point with at most `columns` columns; `None` where nothing
/// was counted by second.
pub fn heat_chart(point: &PointRecord, fit: ChartWidth, columns: usize) -> Option<String> {
    let stats = point.stats.as_ref()?;
    let steps = gathered(&stats.intervals, columns);
    let used = |slot: &usize| steps.iter().any(|s| s.2.service_log2_us[*slot] > 0);
    let (low, high) = ((0..24).find(used)?, (0..24).rev().find(used)? + 1);
    let (first, last) = (steps.first()?.0, steps.last()?);
    let (width, number) = (fit.width(), point.load.number);
    let multiple = fit == ChartWidth::Multiple;
    let area = Area {
        left: 52.0,
        top: if multiple { 22.0 } else { 58.0 },
        right: width - 12.0,
        bottom: if multiple { 172.0 } else { 330.0 },
    };
    let end = last.0.saturating_add(last.1 as i64) as f64;
    let x = Scale::exact(first as f64, end, area.left, area.right);
    let row = (area.bottom - area.top) / (high - low) as f64;
    let mut svg = Svg::new(
        &format!("heat-{number}-{}", fit.as_str()),
        width,
        area.bottom + 42.0,
        &format!("Latency over time at load point {number}"),
        &describe(point, &steps),
    );
    svg.rect(
        "heat-ground",
        (area.left, area.top),
        (area.right - area.left, area.bottom - area.top),
        "",
    );
    for (level, d) in cells(&steps, (low, high), &x, &area, row)
        .iter()
        .enumerate()
    {
        svg.stroke(&format!("heat h{level}"), row, d);
    }
    if first < 0 {
        let edge = x.at(0.0);
        svg.rect(
            "veil",
            (area.left, area.top),
            (edge - area.left, area.bottom - area.top),
            "",
        );
        svg.line("edge", (edge, area.top - 14.0), (edge, area.bottom));
        if edge - area.left > 56.0 {
            svg.text("tick", (edge - 6.0, area.top - 5.0), Anchor::End, "WARMUP");
        }
        svg.text("tick", (edge + 6.0, area.top - 5.0), Anchor::Start, "RUN");
    }
    time_axis(&mut svg, &x, &area);
    latency_axis(&mut svg, (low, high), &area, row);
    for (second, n, sum) in &steps {
        let left = x.at(*second as f64);
        let right = x.at(second.saturating_add(*n as i64) as f64);
        let size = (right - left, area.bottom - area.top);
        svg.rect("hit", (left, area.top), size, &tooltip(*second, *n, sum));
    }
    if !multiple {
        colours(&mut svg, area.left, width);
    }
    Some(svg.finish())
}

/// The lines of each colour, as thick as a row is high, one per run of equal cells.
fn cells(
    steps: &[(i64, usize, Interval)],
    (low, high): (usize, usize),
    x: &Scale,
    area: &Area,
    row: f64,
) -> [String; LEVELS] {
    let mut paths: [String; LEVELS] = Default::default();
    for slot in low..high {
        let y = area.bottom - ((slot - low) as f64 + 0.5) * row;
        let colour = |i: usize| level(steps[i].2.service_log2_us[slot], steps[i].2.success_count);
        let mut at = 0;
        while at < steps.len() {
            let mut to = at + 1;
            while to < steps.len() && colour(to) == colour(at) {
                to += 1;
            }
            if let Some(path) = colour(at).and_then(|level| paths.get_mut(level)) {
                let end = &steps[to - 1];
                let left = x.at(steps[at].0 as f64);
                let right = x.at(end.0.saturating_add(end.1 as i64) as f64);
                let _ = write!(path, "M{left:.1} {y:.1}h{:.1}", right - left);
            }
            at = to;
        }
    }
    paths
}

fn time_axis(svg: &mut Svg, x: &Scale, area: &Area) {
    for value in x.ticks(area.x_tick_count().min(12)) {
        let label = format!("{} s", crate::scale::tick_label(value));
        svg.text(
            "tick",
            (x.at(value), area.bottom + 18.0),
            Anchor::Middle,
            &label,
        );
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    let at = (area.right, area.bottom + 36.0);
    svg.text("axis-title", at, Anchor::End, "seconds since RUN began");
}

/// Ticks at decades; if two do not fit, at every power of two.
fn latency_axis(svg: &mut Svg, (low, high): (usize, usize), area: &Area, row: f64) {
    let decades: Vec<f64> = (0..8).map(|e| 10f64.powi(e)).collect();
    let inside = |us: &f64| (low as f64..=high as f64).contains(&us.log2());
    let mut ticks: Vec<f64> = decades.into_iter().filter(inside).collect();
    if ticks.len() < 2 {
        ticks = (low..=high).map(|slot| 2f64.powi(slot as i32)).collect();
    }
    for us in ticks {
        let y = area.bottom - (us.log2() - low as f64) * row;
        svg.line("axis", (area.left - 4.0, y), (area.left, y));
        let label = match us {
            v if v >= 1e6 => format!("{} s", crate::scale::tick_label(v / 1e6)),
            v if v >= 1e3 => format!("{} ms", crate::scale::tick_label(v / 1e3)),
            v => format!("{v:.0} µs"),
        };
        svg.text("tick", (area.left - 7.0, y + 4.0), Anchor::End, &label);
    }
}

/// The colour scale.
fn colours(svg: &mut Svg, left: f64, width: f64) {
    let each = ((width - left - 12.0) / 3.0 / LEVELS as f64).clamp(12.0, 26.0);
    let label = "of the operations of a second";
    svg.text("tick", (left, 20.0), Anchor::Start, "0.01 %");
    let from = left + 48.0;
    for level in 0..LEVELS {
        let at = (from + level as f64 * each, 14.0);
        svg.stroke(
            &format!("heat h{level}"),
            12.0,
            &format!("M{:.1} {:.1}h{each:.1}", at.0, at.1 + 1.0),
        );
    }
    let at = (from + LEVELS as f64 * each + 8.0, 20.0);
    let text = if width > 500.0 {
        format!("100 % {label}")
    } else {
        "100 % of a second".into()
    };
    svg.text("tick", at, Anchor::Start, &text);
}

fn tooltip(second: i64, n: usize, sum: &Interval) -> String {
    let phase = if second < 0 { " of WARMUP" } else { "" };
    let span = match n {
        1 => format!("second {second}{phase}"),
        n => format!(
            "seconds {second} to {}{phase}",
            second.saturating_add(n as i64 - 1)
        ),
    };
    format!(
        "{span}: {} op/s, mean {}, half below {}, 99 % below {}, longest response {}, {}",
        rate(sum.success_count as f64 / n.max(1) as f64),
        duration(sum.service_mean_ns()),
        duration(below(sum, 0.5)),
        duration(below(sum, 0.99)),
        duration(sum.response_max_ns as f64),
        counted(sum.error_count, "error"),
    )
}

/// The upper bound, in nanoseconds, of the bucket that holds this share.
fn below(sum: &Interval, share: f64) -> f64 {
    let total: u64 = sum.service_log2_us.iter().map(|n| u64::from(*n)).sum();
    let mut seen = 0;
    for (slot, n) in sum.service_log2_us.iter().enumerate() {
        seen += u64::from(*n);
        if seen as f64 >= total as f64 * share {
            return 2f64.powi(slot as i32 + 1) * 1e3;
        }
    }
    0.0
}

fn describe(point: &PointRecord, steps: &[(i64, usize, Interval)]) -> String {
    let mut run = Interval::default();
    steps
        .iter()
        .filter(|s| s.0 >= 0)
        .for_each(|s| run.merge(&s.2));
    format!(
        "Each column is {}; from below to above ever longer service times, the darker the more operations. In the RUN of load point {} half of them took less than {}, 99 % less than {}.",
        match steps.first().map_or(1, |s| s.1) {
            1 => "a second".to_owned(),
            n => format!("{n} seconds"),
        },
        point.load.number,
        duration(below(&run, 0.5)),
        duration(below(&run, 0.99)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn colours_follow_decades() {
        assert_eq!(level(0, 10), None);
        assert_eq!(level(10, 10), Some(7));
        assert_eq!(level(2, 10), Some(6));
        assert_eq!(level(5, 100), Some(5));
        assert_eq!(level(1, 1_000_000), Some(0));
        assert_eq!(level(1, 0), Some(7));
    }

    #[test]
    fn a_day_takes_no_more_space_than_a_minute() {
        let mut record = testing::record();
        let point = &mut record.points[0];
        let stats = point.stats.as_mut().unwrap();
        let second = |second: i64| {
            let mut service_log2_us = [0; 24];
            for (slot, n) in service_log2_us.iter_mut().enumerate() {
                *n = (second.unsigned_abs() as u32).wrapping_mul(2_654_435_761) >> (8 + slot);
            }
            Interval {
                second,
                success_count: 1 << 24,
                service_log2_us,
                ..Interval::default()
            }
        };
        stats.intervals = (-300..86_400).map(second).collect();
        let svg = heat_chart(point, ChartWidth::Wide, columns_for(1)).unwrap();
        assert!(svg.len() < 80_000, "{}", svg.len());
        let svg = heat_chart(point, ChartWidth::Multiple, columns_for(100)).unwrap();
        assert!(svg.len() < 14_000, "{}", svg.len());
        assert!(svg.contains("WARMUP"));
        assert!(columns_for(0) > 0 && columns_for(usize::MAX) == COLUMNS_MIN);
    }
}
