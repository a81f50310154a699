//! Latency over achieved rate, and achieved over requested rate.

use super::frame::{Area, axes, legend};
use super::{ChartWidth, historical};
use crate::format::{duration, rate};
use crate::labels;
use crate::scale::{LOG_FROM_RATIO, Scale};
use crate::svg::{Anchor, Svg};
use filermark_model::{Figure, Latency, PointStats};
use filermark_results::{ClassicalResult, Historical};
use filermark_results::{PointRecord, RunRecord};

/// One measured point's figures.
struct Dot {
    number: u32,
    valid: bool,
    /// The requested load, in its own unit.
    load: String,
    /// 0: no limit.
    requested: f64,
    achieved: f64,
    /// In the order of [`LINES`], in milliseconds.
    ms: [Figure; 4],
}

/// The lines: (class, label).
const LINES: [(&str, &str); 4] = [
    ("line service", "mean service time"),
    ("line p95", "95 % of service times"),
    ("line p99", "99 % of service times"),
    ("line response", "mean response time"),
];

fn dots(record: &RunRecord) -> Vec<Dot> {
    let of = |point: &PointRecord, stats: &PointStats| {
        let (service, response): (Latency, Latency) = (stats.service(), stats.response());
        let figures = [
            service.mean(),
            service.percentile(95.0),
            service.percentile(99.0),
            response.mean(),
        ];
        Dot {
            number: point.load.number,
            valid: point.is_valid(),
            load: labels::load(record, point.load),
            requested: labels::requested(record, point.load).unwrap_or(0.0),
            achieved: stats.achieved_ops_per_sec(),
            ms: figures.map(Figure::ms),
        }
    };
    let measured = |p| PointRecord::measured(p).map(|stats| of(p, stats));
    record.points.iter().filter_map(measured).collect()
}

/// Mean service time, its 95th and 99th percentile and the mean response time
/// over the achieved rate, with the classical result if there is one, and historical
/// systems; `None` when nothing was measured.
pub fn response_chart(
    record: &RunRecord,
    fit: ChartWidth,
    historical: Option<&Historical>,
) -> Option<String> {
    let dots = dots(record);
    let systems = || historical.iter().flat_map(|h| &h.systems);
    let values = || {
        dots.iter()
            .flat_map(|d| d.ms)
            .map(|f| f.value)
            .filter(|v| *v > 0.0)
    };
    values().next()?;
    let values = || values().chain(systems().map(|s| s.ort_ms));
    let low = values().min_by(f64::total_cmp)?;
    let high = values().max_by(f64::total_cmp)?;
    let rates = dots.iter().map(|d| d.achieved);
    let height = if fit == ChartWidth::Narrow {
        360.0
    } else {
        430.0
    };
    let mut svg = Svg::new(
        &format!("curve-{}", fit.as_str()),
        fit.width(),
        height,
        "Latency over achieved throughput",
        &describe(&dots),
    );
    let mut entries = LINES.to_vec();
    entries.extend(historical.map(|_| historical::legend_entry(fit)));
    let legend_height = legend(&mut svg, &entries, (10.0, 18.0), fit.width() - 20.0);
    let area = Area {
        left: 58.0,
        top: legend_height + 30.0,
        right: fit.width() - 16.0,
        bottom: height - 46.0,
    };
    let y = if high / low > LOG_FROM_RATIO {
        Scale::log(low, high, area.bottom, area.top)
    } else {
        Scale::linear(0.0, high, area.bottom, area.top)
    };
    let (x, x_title) = historical::rate_axis(rates, historical, &area)?;
    let y_title = if y.is_log() {
        "milliseconds, logarithmic"
    } else {
        "milliseconds"
    };
    axes(&mut svg, &area, &x, &y, (x_title, y_title));
    limit_line(&mut svg, record, &area, &y);
    knee_line(&mut svg, record, &area, &x);
    for (i, (class, _)) in LINES.iter().enumerate().rev() {
        let at = |d: &Dot| (x.at(d.achieved), y.at(d.ms[i].value));
        draw_line(&mut svg, class, &dots, at);
    }
    for (i, (class, label)) in LINES.iter().enumerate().rev() {
        for dot in &dots {
            let at = (x.at(dot.achieved), y.at(dot.ms[i].value));
            draw_dot(
                &mut svg,
                class,
                dot,
                at,
                &format!("{label} {}", dot.ms[i].text(|ms| duration(ms * 1e6))),
            );
        }
    }
    result_mark(&mut svg, record, &area, (&x, &y));
    if let Some(systems) = historical {
        historical::marks(&mut svg, systems, &area, &x, &y);
    }
    Some(svg.finish())
}

/// The classical result: a diamond on the line of the mean, at the limit or at the peak.
fn result_mark(svg: &mut Svg, record: &RunRecord, area: &Area, axes: (&Scale, &Scale)) {
    let Some(result) = ClassicalResult::of_record(record) else {
        return;
    };
    let (x, y) = (axes.0.at(result.ops_per_sec), axes.1.at(result.response_ms));
    let r = 7.0;
    let diamond = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)];
    svg.polygon("result-mark", &diamond);
    let least = if result.is_lower_bound() {
        "at least "
    } else {
        ""
    };
    let label = format!("result: {least}{} op/s", rate(result.ops_per_sec));
    let (anchor, side) = match x > (area.left + area.right) / 2.0 {
        true => (Anchor::End, -12.0),
        false => (Anchor::Start, 12.0),
    };
    // Above the line of the limit, if there is one.
    let at = (x + side, (y - 8.0).max(area.top + 12.0));
    svg.text("result-label", at, anchor, &label);
    svg.circle("hit", (x, y), 10.0, &result.line());
}

fn limit_line(svg: &mut Svg, record: &RunRecord, area: &Area, y: &Scale) {
    let limit = record.run.plan.limits.response_ms;
    if limit > 0.0 && (y.low()..=y.high()).contains(&limit) {
        let at = y.at(limit);
        svg.line("limit", (area.left, at), (area.right, at));
        let label = format!("limit of the mean: {limit} ms");
        // Below the line where the title of the axis is above it.
        let y = match at - area.top < 12.0 {
            true => at + 14.0,
            false => at - 6.0,
        };
        svg.text("limit-label", (area.left + 6.0, y), Anchor::Start, &label);
    }
}

/// A line at the knee, if there is one: see [`crate::knee`].
fn knee_line(svg: &mut Svg, record: &RunRecord, area: &Area, x: &Scale) {
    let Some((point, stats)) = knee_point(record) else {
        return;
    };
    let at = x.at(stats.achieved_ops_per_sec());
    svg.line("knee", (at, area.top), (at, area.bottom));
    let label = format!("knee: load point {}", point.load.number);
    let (anchor, side) = match at > (area.left + area.right) / 2.0 {
        true => (Anchor::End, -6.0),
        false => (Anchor::Start, 6.0),
    };
    svg.text("knee-label", (at + side, area.top + 12.0), anchor, &label);
}

/// The load point at the knee of the mean service time.
pub fn knee_point(record: &RunRecord) -> Option<(&PointRecord, &PointStats)> {
    let valid: Vec<_> = record
        .valid_points()
        .filter_map(|p| Some((p, p.measured()?)))
        .collect();
    let curve: Vec<_> = valid
        .iter()
        .map(|(_, s)| (s.achieved_ops_per_sec(), s.service().mean_ns() / 1e6))
        .collect();
    valid.get(crate::knee::knee(&curve)?).copied()
}

/// Solid through the points that count, dotted to those that do not.
fn draw_line(svg: &mut Svg, class: &str, dots: &[Dot], at: impl Fn(&Dot) -> (f64, f64)) {
    let valid: Vec<_> = dots.iter().filter(|d| d.valid).map(&at).collect();
    svg.polyline(class, &valid);
    for pair in dots.windows(2).filter(|w| !w[0].valid || !w[1].valid) {
        svg.polyline(&format!("{class} void"), &[at(&pair[0]), at(&pair[1])]);
    }
}

fn draw_dot(svg: &mut Svg, class: &str, dot: &Dot, at: (f64, f64), what: &str) {
    let verdict = if dot.valid { "" } else { ", INVALID" };
    let title = format!(
        "Load point {}{verdict}: {} op/s achieved of {} requested; {what}",
        dot.number,
        rate(dot.achieved),
        dot.load,
    );
    let class = class.replace("line", "dot");
    if dot.valid {
        svg.circle(&class, at, 3.5, "");
    } else {
        svg.cross("cross", at, 4.5);
    }
    svg.circle("hit", at, 10.0, &title);
}

fn describe(dots: &[Dot]) -> String {
    let point = |d: &Dot| {
        format!(
            "{} op/s: {:.2} ms{}",
            rate(d.achieved),
            d.ms[0].value,
            if d.valid { "" } else { " (invalid)" }
        )
    };
    let all: Vec<_> = dots.iter().map(point).collect();
    format!("Mean service time by achieved rate: {}.", all.join("; "))
}

/// Achieved over requested rate, with the line of equal rates.
pub fn load_chart(record: &RunRecord, fit: ChartWidth) -> Option<String> {
    let mut dots = dots(record);
    dots.retain(|d| d.requested > 0.0);
    let rates = || dots.iter().flat_map(|d| [d.requested, d.achieved]);
    let high = rates().max_by(f64::total_cmp)? * 1.03;
    let height = 330.0;
    let mut svg = Svg::new(
        &format!("load-{}", fit.as_str()),
        fit.width(),
        height,
        "Achieved over requested throughput",
        "Points on the diagonal achieved what was requested.",
    );
    let entries = [("line service", "achieved"), ("ideal", "as requested")];
    let legend_height = legend(&mut svg, &entries, (10.0, 18.0), fit.width() - 20.0);
    let area = Area {
        left: 58.0,
        top: legend_height + 30.0,
        right: fit.width() - 16.0,
        bottom: height - 46.0,
    };
    let x = Scale::exact(0.0, high, area.left, area.right);
    let y = Scale::exact(0.0, high, area.bottom, area.top);
    axes(&mut svg, &area, &x, &y, ("requested op/s", "achieved op/s"));
    svg.line("ideal", (x.at(0.0), y.at(0.0)), (x.at(high), y.at(high)));
    let at = |d: &Dot| (x.at(d.requested), y.at(d.achieved));
    draw_line(&mut svg, LINES[0].0, &dots, at);
    for dot in &dots {
        let pcnt = 100.0 * dot.achieved / dot.requested.max(1e-9);
        draw_dot(&mut svg, LINES[0].0, dot, at(dot), &format!("{pcnt:.1} %"));
    }
    for failed in record.points.iter().filter(|p| p.measured().is_none()) {
        let requested = labels::requested(record, failed.load).unwrap_or(0.0);
        if requested > 0.0 && requested <= high {
            svg.cross("cross", (x.at(requested), area.bottom), 4.5);
        }
    }
    Some(svg.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    /// Ten load points are ten dots of the curve, each at its achieved rate and its mean.
    #[test]
    fn the_curve_has_every_load_point_at_its_rate_and_latency() {
        let mut record = testing::record();
        record.points.truncate(10);
        let dots = dots(&record);
        assert_eq!(dots.len(), 10);
        for (dot, point) in dots.iter().zip(&record.points) {
            let stats = point.measured().expect("measured");
            assert_eq!(dot.number, point.load.number);
            assert_eq!(dot.achieved, stats.achieved_ops_per_sec());
            let mean_ms = stats.service().mean_ns() / 1e6;
            assert!((dot.ms[0].value - mean_ms).abs() < 1e-9, "{mean_ms}");
        }
        assert!(dots.is_sorted_by(|a, b| a.achieved < b.achieved));
        assert!(dots.is_sorted_by(|a, b| a.ms[0].value <= b.ms[0].value));
        let svg = response_chart(&record, ChartWidth::Wide, None).expect("a chart");
        for dot in &dots {
            let title = format!(
                "mean service time {}",
                dot.ms[0].text(|ms| duration(ms * 1e6))
            );
            assert!(svg.contains(&title), "{title}");
        }
        record.points.clear();
        assert!(response_chart(&record, ChartWidth::Wide, None).is_none());
    }
}
