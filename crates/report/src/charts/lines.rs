//! Lines over load: any figures of the load points over their achieved rate.

use super::frame::{Area, axes, legend};
use crate::format::rate;
use crate::scale::{LOG_FROM_RATIO, Scale};
use crate::svg::Svg;
use filermark_model::Figure;

/// A load point on the x axis.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its number.
    pub number: u32,
    /// Whether it counts.
    pub valid: bool,
    /// Its achieved rate, op/s.
    pub achieved: f64,
}

/// A line: its class in the style sheet, its name, and a figure per mark.
#[derive(Clone, Debug)]
pub struct Line {
    /// Without the word `line`.
    pub class: &'static str,
    pub label: String,
    /// `None` where a load point has none.
    pub values: Vec<Option<Figure>>,
}

/// The frame of the lines.
#[derive(Clone, Copy, Debug)]
pub struct ChartSheet<'a> {
    pub id: &'a str,
    pub size: (f64, f64),
    pub title: &'a str,
    /// Unit of the figures: title of the y axis.
    pub unit: &'a str,
    pub has_legend: bool,
    /// The y axis: least and largest value that it must cover.
    pub holds: Option<(f64, f64)>,
}

/// The lowest (above zero) and highest of all figures.
pub fn span(lines: &[Line]) -> Option<(f64, f64)> {
    let all = || {
        lines
            .iter()
            .flat_map(|l| l.values.iter().flatten().map(|f| f.value))
    };
    let low = all().filter(|v| *v > 0.0).min_by(f64::total_cmp)?;
    Some((low, all().max_by(f64::total_cmp)?))
}

/// The lines; `None` if there is nothing to draw.
pub fn lines_chart(sheet: ChartSheet<'_>, marks: &[Mark], lines: &[Line]) -> Option<String> {
    let (low, high) = sheet.holds.or_else(|| span(lines))?;
    let top_rate = marks.iter().map(|m| m.achieved).max_by(f64::total_cmp)?;
    let (width, height) = sheet.size;
    let mut svg = Svg::new(
        sheet.id,
        width,
        height,
        sheet.title,
        &describe(marks, lines, sheet),
    );
    let classes: Vec<String> = lines.iter().map(|l| format!("line {}", l.class)).collect();
    let mut top = 26.0;
    if sheet.has_legend {
        let named = classes.iter().zip(lines);
        let entries: Vec<_> = named.map(|(c, l)| (c.as_str(), l.label.as_str())).collect();
        top = legend(&mut svg, &entries, (10.0, 18.0), width - 20.0) + 30.0;
    }
    let area = Area {
        left: 52.0,
        top,
        right: width - 12.0,
        bottom: height - 42.0,
    };
    let y = match high / low > LOG_FROM_RATIO {
        true => Scale::log(low, high, area.bottom, area.top),
        false => Scale::linear(0.0, high, area.bottom, area.top),
    };
    let x = Scale::exact(0.0, top_rate * 1.03, area.left, area.right);
    let unit = match y.is_log() {
        true => format!("{}, logarithmic", sheet.unit),
        false => sheet.unit.to_owned(),
    };
    axes(&mut svg, &area, &x, &y, ("achieved op/s", &unit));
    for (line, class) in lines.iter().zip(&classes) {
        let at = |m: &Mark, v: Option<Figure>| Some((x.at(m.achieved), y.at(v?.value), m.valid));
        let points: Vec<_> = marks
            .iter()
            .zip(&line.values)
            .filter_map(|(m, v)| at(m, *v))
            .collect();
        let valid: Vec<_> = points.iter().filter(|p| p.2).map(|p| (p.0, p.1)).collect();
        svg.polyline(class, &valid);
        for pair in points.windows(2).filter(|w| !w[0].2 || !w[1].2) {
            svg.polyline(
                &format!("{class} void"),
                &[(pair[0].0, pair[0].1), (pair[1].0, pair[1].1)],
            );
        }
    }
    for line in lines {
        for (mark, value) in marks.iter().zip(&line.values) {
            let Some(value) = value else { continue };
            let at = (x.at(mark.achieved), y.at(value.value));
            match mark.valid {
                true => svg.circle(&format!("dot {}", line.class), at, 2.6, ""),
                false => svg.cross("cross", at, 3.5),
            }
            svg.circle("hit", at, 8.0, &tooltip(mark, line, *value, sheet.unit));
        }
    }
    Some(svg.finish())
}

fn tooltip(mark: &Mark, line: &Line, value: Figure, unit: &str) -> String {
    let verdict = if mark.valid { "" } else { ", INVALID" };
    format!(
        "Load point {}{verdict}, {} op/s: {} {} {unit}",
        mark.number,
        rate(mark.achieved),
        line.label,
        value.text(figure),
    )
}

/// Three significant digits, about.
pub fn figure(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    crate::format::number(value, decimals)
}

/// For users who cannot see the chart: each line from its first to its last figure.
fn describe(marks: &[Mark], lines: &[Line], sheet: ChartSheet<'_>) -> String {
    let ends = |line: &Line| {
        let mut there = marks
            .iter()
            .zip(&line.values)
            .filter_map(|(m, v)| Some((m, (*v)?)));
        let first = there.next()?;
        let last = there.next_back().unwrap_or(first);
        Some(format!(
            "{}: {} at {} op/s, {} at {} op/s",
            line.label,
            first.1.text(figure),
            rate(first.0.achieved),
            last.1.text(figure),
            rate(last.0.achieved)
        ))
    };
    // A thousand clients are easier to read in the table.
    let all: Vec<String> = lines.iter().take(8).filter_map(ends).collect();
    format!("In {}. {}.", sheet.unit, all.join("; "))
}
