//! Historical systems on a chart: a hollow mark at the published peak and overall response
//! time, with its name. There is no curve.

use super::ChartWidth;
use super::frame::Area;
use crate::format::{number, rate};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use filermark_model::text::one_line;
use filermark_results::Historical;
use filermark_results::historical::System;

/// The legend's text for the marks, without a sample.
const LEGEND: (&str, &str) = (
    "key-none",
    "○ historical, not comparable: published peak and overall response time",
);
/// The legend of narrow charts.
const LEGEND_NARROW: (&str, &str) = ("key-none", "○ historical, not comparable: peak, ORT");
/// Most characters of a label.
const LABEL_CHARS_MAX: usize = 34;
/// Approximate width of a character and height of a line, in units of the drawing.
const CHAR_WIDE: f64 = 6.4;
const LINE_HIGH: f64 = 14.0;
/// The ratio of a run's peak to that of a historical system, either way, above which a
/// linear axis would draw one of them as a line at its edge.
const FAR_RATIO: f64 = 6.0;

/// The legend's entry for them.
pub const fn legend_entry(fit: ChartWidth) -> (&'static str, &'static str) {
    match fit {
        ChartWidth::Wide => LEGEND,
        _ => LEGEND_NARROW,
    }
}

/// The axis of the achieved rates, with its title: logarithmic if historical systems are
/// far away. `None` without a rate.
pub fn rate_axis(
    rates: impl Iterator<Item = f64>,
    historical: Option<&Historical>,
    area: &Area,
) -> Option<(Scale, &'static str)> {
    let rates: Vec<f64> = rates.collect();
    let own_top = rates.iter().copied().max_by(f64::total_cmp)?;
    let systems = historical.iter().flat_map(|h| &h.systems);
    let all: Vec<f64> = systems.map(|s| s.ops_per_sec).chain([own_top]).collect();
    let top = all.iter().copied().max_by(f64::total_cmp)?;
    let low = rates
        .iter()
        .chain(&all)
        .copied()
        .filter(|r| *r > 0.0)
        .min_by(f64::total_cmp)?;
    let own_top = own_top.max(low);
    let nearest = all.iter().copied().min_by(f64::total_cmp)?.max(low);
    let far = top / own_top > FAR_RATIO || own_top / nearest > FAR_RATIO;
    Some(match historical.is_some() && far {
        true => (
            Scale::log(low, top * 1.03, area.left, area.right),
            "achieved op/s, logarithmic",
        ),
        false => (
            Scale::exact(0.0, top * 1.03, area.left, area.right),
            "achieved op/s",
        ),
    })
}

/// Marks and labels; labels avoid each other as far as possible.
pub fn marks(svg: &mut Svg, historical: &Historical, area: &Area, x: &Scale, y: &Scale) {
    let systems = &historical.systems;
    let at = |s: &System| (x.at(s.ops_per_sec), y.at(s.ort_ms));
    let mut taken: Vec<LabelBox> = systems.iter().map(|s| LabelBox::mark(at(s))).collect();
    for system in systems {
        let mark = at(system);
        let label = label(system);
        let place = place(mark, &label, area, &taken);
        if (place.1 - mark.1).abs() > 2.0 * LINE_HIGH {
            svg.line(
                "leader",
                mark,
                (
                    place.0,
                    place.1 + if place.1 < mark.1 { 3.0 } else { -11.0 },
                ),
            );
        }
        svg.text("historical-label", place, Anchor::Middle, &label);
        taken.push(LabelBox::label(place, &label));
    }
    for system in systems {
        svg.circle("historical", at(system), 5.0, "");
        svg.circle("hit", at(system), 10.0, &title(system));
    }
}

fn title(s: &System) -> String {
    let cpus = s.cpu_count.map_or(String::new(), |n| format!(", {n} CPUs"));
    format!(
        "{}{cpus}, {}: published peak {} op/s, overall response time {} ms (not the response time at the peak); historical, not comparable",
        one_line(&s.name),
        one_line(&s.generation),
        rate(s.ops_per_sec),
        number(s.ort_ms, 1)
    )
}

/// Name, and the version of the protocol if the generation ends with it.
fn label(s: &System) -> String {
    let version = s.generation.rsplit_once(" version ").map(|(_, v)| v);
    let text = match version {
        Some(version) => format!("{}, v{version}", s.name),
        None => s.name.clone(),
    };
    one_line(&text).chars().take(LABEL_CHARS_MAX).collect()
}

/// An occupied area.
#[derive(Clone, Copy)]
struct LabelBox {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl LabelBox {
    fn mark((x, y): (f64, f64)) -> Self {
        Self {
            left: x - 7.0,
            right: x + 7.0,
            top: y - 7.0,
            bottom: y + 7.0,
        }
    }

    fn label((x, y): (f64, f64), text: &str) -> Self {
        let half = text.chars().count() as f64 * CHAR_WIDE / 2.0;
        Self {
            left: x - half,
            right: x + half,
            top: y - LINE_HIGH + 2.0,
            bottom: y + 3.0,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// The position of a label: above or below its mark, at the nearest free distance.
fn place(mark: (f64, f64), label: &str, area: &Area, taken: &[LabelBox]) -> (f64, f64) {
    let half = label.chars().count() as f64 * CHAR_WIDE / 2.0;
    let (left, right) = (area.left + half, area.right - half);
    let x = if left < right {
        mark.0.clamp(left, right)
    } else {
        (left + right) / 2.0
    };
    let steps = (0..12u32).map(f64::from);
    let rows = steps.flat_map(|i| [mark.1 - 10.0 - i * LINE_HIGH, mark.1 + 19.0 + i * LINE_HIGH]);
    let inside = |y: &f64| *y - LINE_HIGH >= area.top && *y + 4.0 <= area.bottom;
    let free = |y: &f64| {
        !taken
            .iter()
            .any(|t| t.meets(&LabelBox::label((x, *y), label)))
    };
    let found = rows.filter(inside).find(free);
    (
        x,
        found.unwrap_or((mark.1 - 10.0).max(area.top + LINE_HIGH)),
    )
}
