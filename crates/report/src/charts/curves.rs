//! The curves of several runs in one chart: latency over achieved rate.

use super::frame::{Area, axes, legend};
use super::{ChartWidth, historical};
use crate::format::{duration, rate};
use crate::labels;
use crate::scale::{LOG_FROM_RATIO, Scale};
use crate::svg::Svg;
use filermark_model::text::one_line;
use filermark_results::compare::Group;
use filermark_results::{Historical, PointRecord, RunRecord};

/// Colours that distinguish sides; with more sides they repeat.
const CLASSES: [&str; 4] = ["service", "p99", "p95", "response"];
/// Most characters of a side's name in the legend.
const NAME_CHARS_MAX: usize = 40;

struct Dot {
    valid: bool,
    achieved: f64,
    service_ns: f64,
    response_ns: f64,
    title: String,
}

struct Curve {
    class: &'static str,
    dots: Vec<Dot>,
}

fn curve(side: usize, name: &str, record: &RunRecord) -> Curve {
    let dot = |point: &PointRecord| {
        let stats = point.measured()?;
        let (service, response) = (stats.service().mean_ns(), stats.response().mean());
        let valid = point.is_valid();
        let achieved = stats.achieved_ops_per_sec();
        let title = format!(
            "{name}, run {}, load point {}{}: {} op/s achieved of {} requested; mean service time {}, mean response time {}",
            one_line(&record.run.suffix),
            point.load.number,
            if valid { "" } else { ", INVALID" },
            rate(achieved),
            labels::load(record, point.load),
            duration(service),
            response.text(duration),
        );
        (service > 0.0 && response.value > 0.0).then_some(Dot {
            valid,
            achieved,
            service_ns: service,
            response_ns: response.value,
            title,
        })
    };
    Curve {
        class: CLASSES[side % CLASSES.len()],
        dots: record.points.iter().filter_map(dot).collect(),
    }
}

/// Mean service time (or response time) over the achieved rate, a line for each record
/// and a colour for each side, with historical systems; `None` when nothing was measured.
pub fn curves_chart(
    groups: &[Group<'_>],
    response: bool,
    fit: ChartWidth,
    historical: Option<&Historical>,
) -> Option<String> {
    let named = groups.iter().map(|g| {
        let name: String = one_line(&g.name).chars().take(NAME_CHARS_MAX).collect();
        (name, g)
    });
    let named: Vec<_> = named.collect();
    let curves: Vec<Curve> = named
        .iter()
        .enumerate()
        .flat_map(|(i, (name, g))| g.records.iter().map(move |r| curve(i, name, r)))
        .collect();
    let latency = |d: &Dot| if response { d.response_ns } else { d.service_ns } / 1e6;
    let dots = || curves.iter().flat_map(|c| &c.dots);
    dots().next()?;
    let systems = || historical.iter().flat_map(|h| &h.systems);
    let latencies = || dots().map(latency).chain(systems().map(|s| s.ort_ms));
    let low = latencies().min_by(f64::total_cmp)?;
    let high = latencies().max_by(f64::total_cmp)?;
    let height = if fit == ChartWidth::Narrow {
        340.0
    } else {
        400.0
    };
    let what = if response { "response" } else { "service" };
    let mut svg = Svg::new(
        &format!("curves-{what}-{}", fit.as_str()),
        fit.width(),
        height,
        &format!("Mean {what} time over achieved throughput"),
        "One line per run, one colour per side. The figures are in the tables below.",
    );
    let classes: Vec<String> = (0..named.len())
        .map(|i| format!("line solid {}", CLASSES[i % CLASSES.len()]))
        .collect();
    let mut entries: Vec<(&str, &str)> = named
        .iter()
        .zip(&classes)
        .map(|((name, _), class)| (class.as_str(), name.as_str()))
        .collect();
    entries.extend(historical.map(|_| historical::legend_entry(fit)));
    let legend_height = legend(&mut svg, &entries, (10.0, 18.0), fit.width() - 20.0);
    let area = Area {
        left: 58.0,
        top: legend_height + 30.0,
        right: fit.width() - 16.0,
        bottom: height - 46.0,
    };
    let y = match high / low > LOG_FROM_RATIO {
        true => Scale::log(low, high, area.bottom, area.top),
        false => Scale::linear(0.0, high, area.bottom, area.top),
    };
    let (x, x_title) = historical::rate_axis(dots().map(|d| d.achieved), historical, &area)?;
    let unit = if y.is_log() {
        "milliseconds, logarithmic"
    } else {
        "milliseconds"
    };
    axes(&mut svg, &area, &x, &y, (x_title, unit));
    let at = |d: &Dot| (x.at(d.achieved), y.at(latency(d)));
    for curve in &curves {
        let class = format!("line solid {}", curve.class);
        let valid: Vec<_> = curve.dots.iter().filter(|d| d.valid).map(at).collect();
        svg.polyline(&class, &valid);
        for pair in curve.dots.windows(2).filter(|w| !w[0].valid || !w[1].valid) {
            svg.polyline(&format!("{class} void"), &[at(&pair[0]), at(&pair[1])]);
        }
    }
    for curve in &curves {
        for dot in &curve.dots {
            match dot.valid {
                true => svg.circle(&format!("dot {}", curve.class), at(dot), 3.5, ""),
                false => svg.cross("cross", at(dot), 4.5),
            }
            svg.circle("hit", at(dot), 10.0, &dot.title);
        }
    }
    if let Some(systems) = historical {
        historical::marks(&mut svg, systems, &area, &x, &y);
    }
    Some(svg.finish())
}
