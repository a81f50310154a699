//! What charts with two axes have in common.

use crate::scale::{Scale, tick_label};
use crate::svg::{Anchor, Svg};

/// The plot area.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// Its left edge, in the drawing's units.
    pub left: f64,
    /// Its upper edge.
    pub top: f64,
    /// Its right edge.
    pub right: f64,
    /// Its lower edge.
    pub bottom: f64,
}

impl Area {
    /// Ticks that fit next to each other.
    pub fn x_tick_count(&self) -> usize {
        ((self.right - self.left) / 54.0) as usize
    }

    /// Ticks that fit above each other.
    pub fn y_tick_count(&self) -> usize {
        ((self.bottom - self.top) / 48.0) as usize
    }
}

/// Grid lines, tick labels and axis titles.
pub fn axes(svg: &mut Svg, area: &Area, x: &Scale, y: &Scale, titles: (&str, &str)) {
    let ticks = x.ticks(area.x_tick_count());
    axes_at(svg, area, (x, &ticks), y, titles);
}

/// The axes, with given ticks of the x axis.
pub fn axes_at(
    svg: &mut Svg,
    area: &Area,
    (x, x_ticks): (&Scale, &[f64]),
    y: &Scale,
    titles: (&str, &str),
) {
    for value in y.ticks(area.y_tick_count()) {
        let at = y.at(value);
        svg.line("grid", (area.left, at), (area.right, at));
        let label = (area.left - 8.0, at + 4.0);
        svg.text("tick", label, Anchor::End, &tick_label(value));
    }
    for value in x_ticks {
        let at = x.at(*value);
        svg.line("grid faint", (at, area.top), (at, area.bottom));
        let label = (at, area.bottom + 18.0);
        svg.text("tick", label, Anchor::Middle, &tick_label(*value));
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    svg.text(
        "axis-title",
        (area.right, area.bottom + 38.0),
        Anchor::End,
        titles.0,
    );
    svg.text(
        "axis-title",
        (area.left, area.top - 12.0),
        Anchor::Start,
        titles.1,
    );
}

/// A legend of (class, label) from `at` to the right, in lines of `width`;
/// gives the height it took.
pub fn legend(svg: &mut Svg, entries: &[(&str, &str)], at: (f64, f64), width: f64) -> f64 {
    let (mut x, mut y) = at;
    for (class, label) in entries {
        // No font metrics here: this is wide enough for the fonts of the page.
        let char_wide = |c: char| if c.is_uppercase() { 9.5 } else { 7.0 };
        let wide = 34.0 + label.chars().map(char_wide).sum::<f64>();
        if x > at.0 && x + wide > at.0 + width {
            x = at.0;
            y += 20.0;
        }
        svg.line(class, (x, y - 4.0), (x + 22.0, y - 4.0));
        svg.text("legend", (x + 28.0, y), Anchor::Start, label);
        x += wide + 12.0;
    }
    y - at.1 + 20.0
}
