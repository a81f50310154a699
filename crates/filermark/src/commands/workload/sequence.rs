//! A sequence of operations as text: states as they are drawn and as they are run, what follows an
//! open, the most frequent orders, and a sample.

use filermark_model::benchmark::Protocol;
use filermark_model::sequence::{Figures, Sequence, State, Step, Transition, TransitionTables};
use filermark_model::units::counted;
use filermark_model::{Benchmark, Op, Rng};
use std::fmt::Write as _;

/// `write!` into a string cannot fail.
macro_rules! line {
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

/// The tables of a benchmark's sequence.
pub fn text(b: &Benchmark, sequence: &Sequence) -> String {
    let figures = sequence.figures();
    let mut out = String::new();
    mix(&mut out, b, sequence);
    states(&mut out, sequence, &figures);
    opens(&mut out, &figures);
    runs(&mut out, b.protocol, &figures);
    line!(
        out,
        "\nThe most usual orders, percent of all opens (+: once or several times)"
    );
    for path in &figures.paths {
        line!(out, "  {:>5.1}  {}", 100.0 * path.share, order(&path.steps));
    }
    out
}

fn mix(out: &mut String, b: &Benchmark, sequence: &Sequence) {
    let stationary = sequence.stationary_mix();
    line!(
        out,
        "\nOperations, percent: {:<22}{:>7}{:>12}",
        "",
        "table",
        "sequence"
    );
    for op in b.protocol.ops() {
        let found = stationary.iter().find(|(o, _)| o == op);
        let (table, got) = (b.mix.percent(*op), found.map_or(0.0, |(_, p)| *p));
        if table > 0.0 || got > 0.0 {
            line!(
                out,
                "  {:<15} {:<32} {table:>5} {got:>11.6}",
                op.name(),
                b.protocol.op_name(*op)
            );
        }
    }
}

fn states(out: &mut String, sequence: &Sequence, figures: &Figures) {
    line!(
        out,
        "\nStates: {}, percent of all operations; below them what they show and what follows, \
         percent as drawn and as run ({:.4} bits per operation apart)",
        counted(sequence.states().len() as u64, "state"),
        figures.distance_bits
    );
    for state in sequence.states() {
        line!(
            out,
            "  {:<32} {:<10} {:>6.2}  {}",
            state.name,
            state.level.name(),
            100.0 * state.share,
            state.title
        );
        ways(out, "shows", &state.emits, |step| step.name());
        ways(out, "next", &state.next, |to| {
            let next: Option<&State> = sequence.states().get(to as usize);
            next.map_or("", |s| s.name.as_str())
        });
    }
}

fn ways<'a, T: Copy>(
    out: &mut String,
    what: &str,
    ways: &[Transition<T>],
    name: impl Fn(T) -> &'a str,
) {
    let drawn: f64 = ways.iter().map(|w| w.weight).sum();
    for (i, way) in ways.iter().enumerate() {
        line!(
            out,
            "    {:<6} {:<26} {:>6.1} {:>6.1}",
            if i == 0 { what } else { "" },
            name(way.to),
            100.0 * way.weight / drawn,
            100.0 * way.share
        );
    }
}

fn opens(out: &mut String, figures: &Figures) {
    const COUNTED: [(Op, &str); 7] = [
        (Op::Read, "READS"),
        (Op::Write, "WRITES"),
        (Op::QueryFile, "QUERIES"),
        (Op::QuerySecurity, "SECURITY"),
        (Op::SetFile, "SETS"),
        (Op::Lock, "LOCKS"),
        (Op::Flush, "FLUSHES"),
    ];
    line!(out, "\nBetween an open and its close, on average");
    let heads: Vec<String> = COUNTED.iter().map(|(_, h)| format!("{h:>9}")).collect();
    line!(out, "  {:<16} {:>6}{}", "OPEN", "SHARE", heads.concat());
    for open in &figures.opens {
        let count = |(op, _): &(Op, &str)| match open.count(*op) {
            0.0 => format!("{:>9}", "-"),
            n => format!("{n:>9.2}"),
        };
        let counts: Vec<String> = COUNTED.iter().map(count).collect();
        line!(
            out,
            "  {:<16} {:>4.1} %{}",
            open.open.name(),
            100.0 * open.share,
            counts.concat()
        );
    }
}

fn runs(out: &mut String, protocol: Protocol, figures: &Figures) {
    line!(out, "\nOne right behind the other, on average");
    for (op, mean) in figures.runs.iter().filter(|(_, mean)| *mean > 1.05) {
        line!(out, "  {:<32} {mean:>5.2}", protocol.op_name(*op));
    }
    for (what, share) in ["reads", "writes"].iter().zip(figures.sequential) {
        if let Some(share) = share {
            line!(
                out,
                "  {:.1} % of {what} go on where the last one ended",
                100.0 * share
            );
        }
    }
}

/// An order in one line: what may be repeated has a +.
fn order(steps: &[Step]) -> String {
    let word = |step: &Step| match step.op() {
        Op::Open | Op::Close | Op::Lock => step.name().to_owned(),
        _ => format!("{}+", step.name()),
    };
    steps.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The first operations of a proc under a seed.
pub fn sample(protocol: Protocol, sequence: &Sequence, count: u32, seed: u64) -> String {
    let walk = TransitionTables::new(sequence);
    let mut rng = Rng::new(seed, 0);
    let mut cards = walk.cards(&mut rng);
    let mut at = walk.rest(&mut rng);
    let mut out = String::new();
    line!(
        out,
        "{:>8}  {:<32} {:<17} {:<11} OPERATION",
        "NUMBER",
        "STATE",
        "STEP",
        "LEVEL"
    );
    for number in 1..=count {
        let state = sequence.states().get(walk.state(at) as usize);
        let (step, next) = walk.deal(at, &mut cards, &mut rng);
        line!(
            out,
            "{number:>8}  {:<32} {:<17} {:<11} {}",
            state.map_or("", |s| s.name.as_str()),
            step.name(),
            state.map_or("", |s| s.level.name()),
            protocol.op_name(step.op())
        );
        at = next;
    }
    out
}
