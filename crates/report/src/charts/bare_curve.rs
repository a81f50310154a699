//! A curve from plain numbers: for results without a run record.

use super::ChartWidth;
use super::frame::{Area, axes};
use super::lines::figure;
use crate::format::rate;
use crate::scale::{LOG_FROM_RATIO, Scale};
use crate::svg::Svg;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Throughput, or a business metric.
    pub x: f64,
    /// Latency in milliseconds.
    pub y: f64,
    /// Whether it counts; those that do not are crosses.
    pub valid: bool,
}

/// The labels of a curve.
#[derive(Clone, Copy, Debug)]
pub struct CurveLabels<'a> {
    /// The title, for users who cannot see the chart.
    pub title: &'a str,
    /// Unit of the throughput: `op/s`, `BUILDs`.
    pub x: &'a str,
    /// Unit of the latency: `ms`.
    pub y: &'a str,
}

/// The curve; points with figures that are missing or below zero are left out. `None` if
/// none remains.
pub fn curve_chart(
    points: &[CurvePoint],
    labels: &CurveLabels<'_>,
    fit: ChartWidth,
) -> Option<String> {
    let sound = |p: &&CurvePoint| p.x.is_finite() && p.y.is_finite() && p.x >= 0.0 && p.y >= 0.0;
    let mut points: Vec<CurvePoint> = points.iter().filter(sound).copied().collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let right = points.last()?.x;
    let high = points.iter().map(|p| p.y).max_by(f64::total_cmp)?;
    let low = points
        .iter()
        .map(|p| p.y)
        .filter(|y| *y > 0.0)
        .min_by(f64::total_cmp);
    let height = if fit == ChartWidth::Narrow {
        320.0
    } else {
        400.0
    };
    let descriptions: Vec<String> = points
        .iter()
        .map(|p| format!("{} {}: {} {}", rate(p.x), labels.x, figure(p.y), labels.y))
        .collect();
    let id = format!("plain-curve-{}", fit.as_str());
    let mut svg = Svg::new(
        &id,
        fit.width(),
        height,
        labels.title,
        &descriptions.join("; "),
    );
    let area = Area {
        left: 58.0,
        top: 34.0,
        right: fit.width() - 16.0,
        bottom: height - 46.0,
    };
    let y = match low {
        Some(low) if high / low > LOG_FROM_RATIO => Scale::log(low, high, area.bottom, area.top),
        _ => Scale::linear(0.0, high, area.bottom, area.top),
    };
    let x = Scale::exact(0.0, right * 1.03, area.left, area.right);
    let y_title = if y.is_log() {
        format!("{}, logarithmic", labels.y)
    } else {
        labels.y.to_owned()
    };
    axes(&mut svg, &area, &x, &y, (labels.x, &y_title));
    let at = |p: &CurvePoint| (x.at(p.x), y.at(p.y));
    let valid: Vec<_> = points.iter().filter(|p| p.valid).map(at).collect();
    svg.polyline("line service", &valid);
    for pair in points.windows(2).filter(|w| !w[0].valid || !w[1].valid) {
        svg.polyline("line service void", &[at(&pair[0]), at(&pair[1])]);
    }
    for (point, text) in points.iter().zip(&descriptions) {
        match point.valid {
            true => svg.circle("dot service", at(point), 3.5, ""),
            false => svg.cross("cross", at(point), 4.5),
        }
        svg.circle("hit", at(point), 10.0, text);
    }
    Some(svg.finish())
}
