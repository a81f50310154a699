//! Drawings of a sequence of operations: for Graphviz, and as an SVG image.

mod dot;
mod lanes;
mod svg;

use filermark_model::sequence::State;

pub use dot::sequence_dot;
pub use svg::sequence_svg;

/// Whether a state closes something: arrows from it go back to states with nothing open.
fn closes(state: &State) -> bool {
    use filermark_model::Op;
    state.emits.iter().any(|w| w.to.op() == Op::Close)
}

/// Whether a state opens something.
fn opens(state: &State) -> bool {
    use filermark_model::Op;
    state.emits.iter().any(|w| w.to.op() == Op::Open)
}

/// A share in percent, for people.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.095 => format!("{p:.1} %"),
        p => format!("{p:.2} %"),
    }
}

/// The steps of a state, the most frequent first.
fn steps(state: &State) -> Vec<&'static str> {
    let mut ways: Vec<_> = state.emits.iter().filter(|w| w.share > 0.0).collect();
    ways.sort_by(|a, b| b.share.total_cmp(&a.share));
    ways.iter().map(|w| w.to.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Benchmark;
    use filermark_model::sequence::Sequence;

    fn shipped() -> Sequence {
        let b = Benchmark::shipped("general-smb1").unwrap();
        b.classic().unwrap().sequence.clone().unwrap()
    }

    #[test]
    fn every_state_and_every_way_is_in_the_graph() {
        let sequence = shipped();
        let dot = sequence_dot("general \"smb1\"", &sequence);
        assert!(dot.starts_with("digraph \"general \\\"smb1\\\"\" {\n") && dot.ends_with("}\n"));
        for (at, state) in sequence.states().iter().enumerate() {
            assert!(dot.contains(&format!("s{at} [label=\"{}\\n", state.name)));
        }
        let ways: usize = sequence.states().iter().map(|s| s.next.len()).sum();
        assert_eq!(dot.matches(" -> ").count(), ways);
        assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    }

    #[test]
    fn the_image_is_whole_and_its_boxes_do_not_overlap() {
        let sequence = shipped();
        let svg = sequence_svg("a<b", &sequence);
        assert!(svg.contains("of a&lt;b</title>") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<rect").count(), sequence.states().len());
        for tag in ["g", "text", "title", "svg", "style"] {
            let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
            let begun =
                svg.matches(&format!("{open} ")).count() + svg.matches(&format!("{open}>")).count();
            assert_eq!(begun, svg.matches(&close).count(), "{tag}");
        }
        assert!(!svg.contains("NaN"));
        let places = lanes::Lanes::of(&sequence).places;
        for (i, a) in places.iter().enumerate() {
            for b in &places[..i] {
                let (a, b) = (a.unwrap(), b.unwrap());
                assert!(a.0 != b.0 || (a.1 - b.1).abs() >= 1.0, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn unused_states_are_not_drawn() {
        use filermark_model::{Mix, Op};
        let mix = Mix::new([(Op::Find, 50.0), (Op::QueryPath, 50.0)]).unwrap();
        let sequence = shipped().for_mix(&mix).unwrap();
        assert_eq!(sequence_svg("x", &sequence).matches("<rect").count(), 2);
        assert_eq!(sequence_dot("x", &sequence).matches(" -> ").count(), 4);
    }

    /// The page of the manual has the current drawing and figures. After an intended change:
    /// `UPDATE_GOLDEN=1 cargo test`, and correct the page.
    #[test]
    fn the_manual_has_the_current_drawing() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
        let sequence = shipped();
        let image = docs.join("images/general-smb1.svg");
        let made = sequence_svg("general-smb1", &sequence);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&image, &made).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&image).unwrap(), made);
        let page = std::fs::read_to_string(docs.join("reference/smb-workload.md")).unwrap();
        let has = |row: String| assert!(page.contains(&row), "{row}");
        for state in sequence.states() {
            let shown: Vec<_> = state.emits.iter().map(|w| w.to.name()).collect();
            has(format!(
                "| `{}` | {} | {:.2} % | `{}` | {} |",
                state.name,
                state.level.name(),
                100.0 * state.share,
                shown.join("`, `"),
                state.title
            ));
        }
        let figures = sequence.figures();
        for open in &figures.opens {
            has(format!(
                "| `{}` | {:.1} % |",
                open.open.name(),
                100.0 * open.share
            ));
        }
        let [reads, writes] = figures.sequential.map(|s| 100.0 * s.unwrap());
        has(format!(
            "{reads:.1} % of reads and {writes:.1} % of writes continue"
        ));
        let run = |op| figures.runs.iter().find(|(o, _)| *o == op).unwrap().1;
        use filermark_model::Op;
        has(format!(
            "{:.1} reads and {:.1} writes come in a row",
            run(Op::Read),
            run(Op::Write)
        ));
        has(format!("{:.4} bits per operation", figures.distance_bits));
    }
}
