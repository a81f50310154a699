//! The drawing as text for Graphviz (`dot -Tsvg`).

use super::{closes, percent, steps};
use filermark_model::sequence::{Level, Sequence};
use filermark_model::text::multi_line;
use std::fmt::Write as _;

/// The graph of a sequence: states by level, arrow widths by frequency.
pub fn sequence_dot(name: &str, sequence: &Sequence) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "digraph {} {{", text(name));
    out += "  rankdir=LR; newrank=true; ranksep=0.6; nodesep=0.25;\n";
    out += "  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=10];\n";
    out += "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#5b6b7b\"];\n";
    for level in Level::ALL {
        cluster(&mut out, sequence, level);
    }
    let states = sequence.states();
    for (from, state) in states.iter().enumerate().filter(|(_, s)| s.share > 0.0) {
        for way in state.next.iter().filter(|w| w.share > 0.0) {
            let width = 0.3 + 4.0 * (state.share * way.share).sqrt() / 0.35;
            let back = match closes(state) {
                true => ", color=\"#c3ccd5\", constraint=false",
                false => "",
            };
            let _ = writeln!(
                out,
                "  s{from} -> s{} [label={}, penwidth={width:.2}{back}];",
                way.to,
                text(&percent(way.share))
            );
        }
    }
    out += "}\n";
    out
}

fn cluster(out: &mut String, sequence: &Sequence, level: Level) {
    let states = sequence.states().iter().enumerate();
    let here: Vec<_> = states
        .filter(|(_, s)| s.level == level && s.share > 0.0)
        .collect();
    if here.is_empty() {
        return;
    }
    let name = level.name();
    let _ = writeln!(out, "  subgraph \"cluster_{name}\" {{");
    let _ = writeln!(out, "    label={}; color=\"#c3ccd5\";", text(name));
    for (at, state) in here {
        let label = format!(
            "{}\n{}\n{}",
            state.name,
            steps(state).join("\n"),
            percent(state.share)
        );
        let _ = writeln!(
            out,
            "    s{at} [label={}, tooltip={}];",
            text(&label),
            text(&state.title)
        );
    }
    out.push_str("  }\n");
}

/// A string in Graphviz syntax.
fn text(value: &str) -> String {
    let mut out = String::from("\"");
    for c in multi_line(value).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
