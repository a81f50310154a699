//! One load point second by second: operations and mean service time.

use crate::format::{duration, rate};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_model::stats::Interval;
use filermark_model::units::counted;
use filermark_results::PointRecord;

const WIDTH: f64 = 330.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = WIDTH - 10.0;
/// (top, bottom) of the two plots.
const PLOTS: [(f64, f64); 2] = [(20.0, 88.0), (114.0, 176.0)];
const HEIGHT: f64 = 206.0;
/// Most steps that are drawn; longer runs are averaged.
const STEPS_MAX: usize = 160;

/// Neighbouring seconds summed to about `steps_max` steps: (first second, seconds,
/// sum). No step has seconds of both WARMUP and RUN.
pub fn gathered(intervals: &[Interval], steps_max: usize) -> Vec<(i64, usize, Interval)> {
    let per_step = intervals.len().div_ceil(steps_max.max(1)).max(1);
    let run = intervals.partition_point(|i| i.second < 0);
    let (warmup, run) = intervals.split_at(run);
    let step = |seconds: &[Interval]| {
        let mut sum = Interval::default();
        seconds.iter().for_each(|i| sum.merge(i));
        (seconds[0].second, seconds.len(), sum)
    };
    warmup
        .chunks(per_step)
        .chain(run.chunks(per_step))
        .map(step)
        .collect()
}

/// Both series of a point; `None` without any.
pub fn series_chart(point: &PointRecord) -> Option<String> {
    let stats = point.stats.as_ref()?;
    let steps = gathered(&stats.intervals, STEPS_MAX);
    let (first, last) = (steps.first()?.0, steps.last()?);
    let x = Scale::exact(
        first as f64,
        last.0.saturating_add(last.1 as i64) as f64,
        LEFT,
        RIGHT,
    );
    let ops: Vec<f64> = steps
        .iter()
        .map(|(_, n, i)| i.success_count as f64 / *n as f64)
        .collect();
    let means: Vec<f64> = steps.iter().map(|s| s.2.service_mean_ns() / 1e6).collect();
    let number = point.load.number;
    let mut svg = Svg::new(
        &format!("series-{number}"),
        WIDTH,
        HEIGHT,
        &format!("Load point {number} by second"),
        "Above: operations per second, with the requested rate dashed. Below: mean service time in milliseconds. The warm-up is shaded.",
    );
    if first < 0 {
        let size = (x.at(0.0) - LEFT, PLOTS[1].1 - PLOTS[0].0);
        svg.rect("warmup", (LEFT, PLOTS[0].0), size, "WARMUP: not measured");
    }
    let requested = point.load.requested.0;
    let high = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let y_ops = Scale::linear(0.0, high(&ops).max(requested) * 1.1, PLOTS[0].1, PLOTS[0].0);
    let y_ms = Scale::linear(0.0, high(&means), PLOTS[1].1, PLOTS[1].0);
    plot(&mut svg, PLOTS[0], &y_ops, "op/s");
    plot(&mut svg, PLOTS[1], &y_ms, "mean ms");
    if requested > 0.0 {
        let at = y_ops.at(requested);
        svg.line("ideal", (LEFT, at), (RIGHT, at));
    }
    svg.polyline("line thin service", &stairs(&steps, &ops, &x, &y_ops));
    svg.polyline("line thin p99", &stairs(&steps, &means, &x, &y_ms));
    for (i, (second, n, sum)) in steps.iter().enumerate() {
        let left = x.at(*second as f64);
        let width = x.at(second.saturating_add(*n as i64) as f64) - left;
        if sum.error_count > 0 {
            svg.line("error-mark", (left, PLOTS[1].1), (left, PLOTS[1].1 - 5.0));
        }
        let title = format!(
            "second {second}: {} op/s, mean {}, longest response {}, {}",
            rate(ops[i]),
            duration(sum.service_mean_ns()),
            duration(sum.response_max_ns as f64),
            counted(sum.error_count, "error")
        );
        svg.rect(
            "hit",
            (left, PLOTS[0].0),
            (width, PLOTS[1].1 - PLOTS[0].0),
            &title,
        );
    }
    for value in x.ticks(4) {
        let label = format!("{value:.0} s");
        svg.text(
            "tick",
            (x.at(value), PLOTS[1].1 + 18.0),
            Anchor::Middle,
            &label,
        );
    }
    Some(svg.finish())
}

fn plot(svg: &mut Svg, (top, bottom): (f64, f64), y: &Scale, title: &str) {
    for value in [0.0, y.high() / 2.0, y.high()] {
        svg.line("grid", (LEFT, y.at(value)), (RIGHT, y.at(value)));
    }
    svg.line("axis", (LEFT, bottom), (RIGHT, bottom));
    for value in [0.0, y.high()] {
        let at = (LEFT - 6.0, y.at(value) + 4.0);
        svg.text("tick", at, Anchor::End, &crate::scale::tick_label(value));
    }
    svg.text("axis-title", (LEFT, top - 7.0), Anchor::Start, title);
}

fn stairs(
    steps: &[(i64, usize, Interval)],
    values: &[f64],
    x: &Scale,
    y: &Scale,
) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(steps.len() * 2);
    for ((second, n, _), value) in steps.iter().zip(values) {
        points.push((x.at(*second as f64), y.at(*value)));
        points.push((x.at(second.saturating_add(*n as i64) as f64), y.at(*value)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_averaged_without_loss() {
        let second = |second| Interval {
            second,
            success_count: 3,
            ..Interval::default()
        };
        let intervals: Vec<_> = (-300..300).map(second).collect();
        let steps = gathered(&intervals, STEPS_MAX);
        assert!(steps.len() <= STEPS_MAX + 1);
        assert_eq!(steps.iter().map(|s| s.2.success_count).sum::<u64>(), 1_800);
        assert_eq!(steps.iter().map(|s| s.1).sum::<usize>(), 600);
        assert!(gathered(&[], STEPS_MAX).is_empty());
    }
}
