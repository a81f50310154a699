//! Differences with their intervals, one row each (a forest plot).

use super::ChartWidth;
use super::frame::Area;
use crate::scale::{Scale, tick_label};
use crate::svg::{Anchor, Svg};

const ROW_HEIGHT: f64 = 22.0;
/// Characters of a row's label that fit, wide and narrow.
const LABEL_CHARS: (usize, usize) = (44, 22);
/// Largest range of an axis, in percent: longer intervals end there.
const REACH_MAX: f64 = 400.0;

/// A row.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its label.
    pub label: String,
    /// Change in percent, with the ends of its interval.
    pub pcnt: (f64, f64, f64),
    /// `faster`, `slower` or `none`.
    pub class: &'static str,
    /// The tooltip.
    pub title: String,
}

/// The rows, with the band of differences that do not matter; `None` without rows.
pub fn forest_chart(
    id: &str,
    bars: &[Bar],
    threshold_pcnt: f64,
    fit: ChartWidth,
) -> Option<String> {
    if bars.is_empty() {
        return None;
    }
    let far = |b: &Bar| b.pcnt.1.abs().max(b.pcnt.2.abs());
    let reach = bars.iter().map(far).fold(2.0 * threshold_pcnt, f64::max);
    let high = reach.clamp(1.0, REACH_MAX);
    // No figure can shrink by more than 100 %.
    let low = -high.min(100.0);
    let (label_width, label_chars) = match fit {
        ChartWidth::Narrow => (150.0, LABEL_CHARS.1),
        _ => (300.0, LABEL_CHARS.0),
    };
    let area = Area {
        left: label_width,
        top: 14.0,
        right: fit.width() - 18.0,
        bottom: 14.0 + bars.len() as f64 * ROW_HEIGHT,
    };
    let x = Scale::exact(low, high, area.left, area.right);
    let mut svg = Svg::new(
        &format!("forest-{id}-{}", fit.as_str()),
        fit.width(),
        area.bottom + 44.0,
        "Changes with their 95 % intervals",
        "One row per figure: the mark is the change in percent, the line its interval. The figures are in the tables.",
    );
    let (from, to) = (x.at(-threshold_pcnt), x.at(threshold_pcnt));
    let size = (to - from, area.bottom - area.top);
    svg.rect(
        "warmup",
        (from, area.top),
        size,
        "differences that do not matter",
    );
    for value in x.ticks(area.x_tick_count().min(9)) {
        svg.line(
            "grid faint",
            (x.at(value), area.top),
            (x.at(value), area.bottom),
        );
        let label = (x.at(value), area.bottom + 18.0);
        svg.text("tick", label, Anchor::Middle, &tick_label(value));
    }
    svg.line("axis", (x.at(0.0), area.top), (x.at(0.0), area.bottom));
    let title = (area.right, area.bottom + 36.0);
    svg.text(
        "axis-title",
        title,
        Anchor::End,
        "change in percent of before",
    );
    for (row, bar) in bars.iter().enumerate() {
        let y = area.top + (row as f64 + 0.5) * ROW_HEIGHT;
        let label: String = bar.label.chars().take(label_chars).collect();
        svg.text("row-label", (0.0, y + 4.0), Anchor::Start, &label);
        let (change, low, high) = bar.pcnt;
        let class = format!("interval {}", bar.class);
        svg.line(&class, (x.at(low), y), (x.at(high), y));
        for end in [low, high] {
            svg.line(&class, (x.at(end), y - 4.0), (x.at(end), y + 4.0));
        }
        svg.circle(&format!("change {}", bar.class), (x.at(change), y), 4.0, "");
        let wide = (area.right - area.left, ROW_HEIGHT);
        svg.rect("hit", (area.left, y - 0.5 * ROW_HEIGHT), wide, &bar.title);
    }
    Some(svg.finish())
}
