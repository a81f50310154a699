//! The drawing as a self-contained SVG image.

use super::lanes::Lanes;
use super::{closes, percent, steps};
use crate::svg::escape;
use filermark_model::sequence::{Sequence, State};
use std::fmt::Write as _;

/// A box, and the cell around it.
const BOX: (f64, f64) = (146.0, 44.0);
const CELL: (f64, f64) = (206.0, 62.0);
const MARGIN: f64 = 40.0;

const STYLE: &str = "\
svg{font-family:system-ui,sans-serif;background:#fff}\
.b{fill:#f3f6f9;stroke:#7b8b9b}.n{font-size:12px;font-weight:600;fill:#1c2733}\
.s{font-size:10px;fill:#41505f}.a{fill:none;stroke:#4a7fb5;stroke-opacity:.55}\
.h{fill:#4a7fb5;fill-opacity:.75}.t{font-size:11px;fill:#41505f}\
@media(prefers-color-scheme:dark){svg{background:#141a20}.b{fill:#1f2831;stroke:#65758a}\
.n{fill:#e7edf3}.s,.t{fill:#b4c0cc}}";

/// A sequence as SVG: open states from left to right, arrow widths by frequency. From a
/// state that closes, walkers go back to the first column; those arrows are left
/// out.
pub fn sequence_svg(name: &str, sequence: &Sequence) -> String {
    let lanes = Lanes::of(sequence);
    let width = 2.0 * MARGIN + lanes.columns as f64 * CELL.0;
    let height = 2.0 * MARGIN + lanes.rows as f64 * CELL.1 + 20.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         role=\"img\"><title>The sequence of operations of {0}</title><style>{STYLE}</style>\
         <text class=\"t\" x=\"{MARGIN}\" y=\"22\">{0}: states, what they show, and how many \
         percent of all operations that is; arrows as wide as they are often gone; after a \
         close it goes on in the first column</text>\n",
        escape(name)
    );
    for (from, state) in sequence.states().iter().enumerate() {
        let Some(here) = lanes.places[from] else {
            continue;
        };
        for way in state.next.iter().filter(|w| w.share > 0.0) {
            match lanes.places.get(way.to as usize).copied().flatten() {
                Some(there) if !closes(state) => {
                    arrow(
                        &mut out,
                        corner(here),
                        corner(there),
                        state.share * way.share,
                    );
                }
                _ => {}
            }
        }
    }
    for (at, state) in sequence.states().iter().enumerate() {
        if let Some(place) = lanes.places[at] {
            state_box(&mut out, corner(place), state);
        }
    }
    out += "</svg>\n";
    out
}

/// The upper left corner of a box.
fn corner((column, row): (usize, f64)) -> (f64, f64) {
    (
        MARGIN + column as f64 * CELL.0 + (CELL.0 - BOX.0) / 2.0 - 20.0,
        MARGIN + row * CELL.1 + 10.0,
    )
}

/// `write!` into a string cannot fail.
fn state_box(out: &mut String, (x, y): (f64, f64), state: &State) {
    let shown = steps(state);
    // The title has what does not fit.
    let all = shown.join(", ");
    let more = match all.len() <= 28 {
        true => all,
        false => format!("{} and {} more", shown[0], shown.len() - 1),
    };
    let middle = x + BOX.0 / 2.0;
    let _ = writeln!(
        out,
        "<g><title>{}: {}</title><rect class=\"b\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{}\" \
         height=\"{}\" rx=\"7\"/><text class=\"n\" text-anchor=\"middle\" x=\"{middle:.1}\" \
         y=\"{:.1}\">{}</text><text class=\"s\" text-anchor=\"middle\" x=\"{middle:.1}\" \
         y=\"{:.1}\">{}</text><text class=\"s\" text-anchor=\"middle\" x=\"{middle:.1}\" \
         y=\"{:.1}\">{}</text></g>",
        escape(&shown.join(", ")),
        escape(&state.title),
        BOX.0,
        BOX.1,
        y + 14.0,
        escape(&state.name),
        y + 26.0,
        escape(&more),
        y + 38.0,
        percent(state.share)
    );
}

/// An arrow between two boxes, or from one to itself.
fn arrow(out: &mut String, from: (f64, f64), to: (f64, f64), share: f64) {
    let width = 0.4 + 14.0 * share.sqrt();
    let half = BOX.1 / 2.0;
    let (begin, a, b, end, right) = if from == to {
        let (x, y) = (from.0 + BOX.0 * 0.5, from.1);
        let (left, top) = (x - 34.0, y - 17.0);
        (
            (x + 18.0, y),
            (x + 34.0, top),
            (left, top),
            (x - 18.0, y),
            None,
        )
    } else if to.0 > from.0 {
        let (begin, end) = ((from.0 + BOX.0, from.1 + half), (to.0, to.1 + half));
        let bend = (end.0 - begin.0) * 0.5;
        let (a, b) = ((begin.0 + bend, begin.1), (end.0 - bend, end.1));
        (begin, a, b, end, Some(true))
    } else {
        // In its own column or back: along the left side.
        let shift = if to.1 > from.1 { 7.0 } else { -7.0 };
        let (begin, end) = ((from.0, from.1 + half + shift), (to.0, to.1 + half + shift));
        let bend = 26.0 + 0.05 * (from.1 - to.1).abs();
        let (a, b) = ((begin.0 - bend, begin.1), (end.0 - bend, end.1));
        let from_left = to.0 == from.0;
        match from_left {
            true => (begin, a, b, end, Some(true)),
            false => {
                let (begin, end) = (begin, (to.0 + BOX.0, end.1));
                (begin, a, (end.0 + bend, end.1), end, Some(false))
            }
        }
    };
    let _ = writeln!(
        out,
        "<path class=\"a\" stroke-width=\"{width:.2}\" d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} \
         {:.1} {:.1}\"/>",
        begin.0, begin.1, a.0, a.1, b.0, b.1, end.0, end.1
    );
    let size = 3.0 + 0.7 * width;
    let (x, y) = end;
    let tip = match right {
        Some(true) => [
            (x, y),
            (x - size, y - 0.6 * size),
            (x - size, y + 0.6 * size),
        ],
        Some(false) => [
            (x, y),
            (x + size, y - 0.6 * size),
            (x + size, y + 0.6 * size),
        ],
        None => [
            (x, y),
            (x - 0.6 * size, y - size),
            (x + 0.6 * size, y - size),
        ],
    };
    let points: Vec<String> = tip.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polygon class=\"h\" points=\"{}\"/>",
        points.join(" ")
    );
}
