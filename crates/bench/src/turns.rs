//! Contenders that do the same work in turns, and the ratios between them.
//!
//! Ratios are computed within a round, so that slow changes (clock rate, other programs) affect
//! both sides; each round begins with another contender.

use crate::figure::{Bar, Figure};
use std::time::Instant;

/// The work of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Operations, or MiB where bytes are counted.
    pub ops: f64,
    /// Elapsed time.
    pub seconds: f64,
    /// Processor time, in nanoseconds.
    pub cpu_ns: f64,
}

impl Turn {
    /// Measures `work`, which returns the number of its operations; `cpu_ns` reads the processor
    /// time of the threads or processes that work.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn measure(
        cpu_ns: impl Fn() -> u64,
        work: impl FnOnce() -> Result<f64, String>,
    ) -> Result<Self, String> {
        let (began, before) = (Instant::now(), cpu_ns());
        let ops = work()?;
        Ok(Self {
            ops,
            seconds: began.elapsed().as_secs_f64(),
            cpu_ns: cpu_ns().saturating_sub(before) as f64,
        })
    }

    /// Subtracts a part of the turn that is not to be measured: a program's start, a log-in.
    pub fn without(self, other: Self) -> Self {
        let left = |whole: f64, part: f64| (whole - part).max(0.0);
        Self {
            ops: left(self.ops, other.ops),
            seconds: left(self.seconds, other.seconds),
            cpu_ns: left(self.cpu_ns, other.cpu_ns),
        }
    }

    fn rate(&self) -> f64 {
        self.ops / self.seconds
    }

    /// Processor time of an operation, in microseconds.
    pub fn cpu_us(&self) -> f64 {
        self.cpu_ns / 1e3 / self.ops
    }
}

/// The bars of Filermark's ratios to another contender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bars {
    /// Filermark's processor time per operation, divided by the other's.
    pub cpu_at_most: Option<f64>,
    /// Filermark's rate, divided by the other's.
    pub rate_at_least: Option<f64>,
}

/// One program or loop that does the work.
pub struct Contender<'a> {
    name: &'static str,
    /// For all contenders but the first.
    bars: Bars,
    turn: Box<dyn FnMut() -> Result<Turn, String> + 'a>,
}

impl<'a> Contender<'a> {
    /// Filermark: the first contender, whose ratios are computed.
    pub fn filermark(turn: impl FnMut() -> Result<Turn, String> + 'a) -> Self {
        Self::other("filermark", Bars::default(), turn)
    }

    /// Another contender, and the bars of Filermark's ratios to it.
    pub fn other(
        name: &'static str,
        bars: Bars,
        turn: impl FnMut() -> Result<Turn, String> + 'a,
    ) -> Self {
        Self {
            name,
            bars,
            turn: Box::new(turn),
        }
    }
}

/// The turns of one contender.
#[derive(Debug)]
struct Side {
    name: &'static str,
    bars: Bars,
    turns: Vec<Turn>,
}

impl Side {
    fn rates(&self, unit: &'static str) -> Figure {
        let rates = self.turns.iter().map(Turn::rate).collect();
        Figure::new("rate", unit, rates).bar(Bar::More)
    }

    fn cpu_times(&self) -> Figure {
        let times = self.turns.iter().map(Turn::cpu_us).collect();
        Figure::new("processor time", "us each", times)
    }

    /// Ratios of `ours` to this side, round by round: of processor time and of rate.
    fn ratios(&self, ours: &Self) -> (Figure, Figure) {
        let of_each = |value: fn(&Turn) -> f64| {
            let pairs = ours.turns.iter().zip(&self.turns);
            pairs.map(|(a, b)| value(a) / value(b)).collect()
        };
        let cpu_bar = self.bars.cpu_at_most.map_or(Bar::Less, Bar::AtMost);
        let rate_bar = self.bars.rate_at_least.map_or(Bar::More, Bar::AtLeast);
        (
            Figure::new("processor time", "x", of_each(Turn::cpu_us)).bar(cpu_bar),
            Figure::new("rate", "x", of_each(Turn::rate)).bar(rate_bar),
        )
    }
}

/// The same work by several contenders, in turns.
#[derive(Debug)]
pub struct Comparison {
    /// What was done.
    pub of: String,
    unit: &'static str,
    sides: Vec<Side>,
}

/// Filermark and another contender, for a table of comparisons.
pub struct ComparisonRow {
    /// The other contender.
    pub name: &'static str,
    /// Filermark's rate and processor time per operation.
    pub ours: (Figure, Figure),
    /// Those of the other contender.
    pub other: (Figure, Figure),
    /// Filermark's processor time per operation and rate, divided by the other's.
    pub ratios: (Figure, Figure),
}

impl Comparison {
    /// Rate and processor time of each contender, and the ratios to each of the others.
    pub fn figures(&self) -> Vec<Figure> {
        let Some((ours, others)) = self.sides.split_first() else {
            return Vec::new();
        };
        let of = &self.of;
        let mut figures = Vec::new();
        for side in &self.sides {
            let named = |figure: Figure| figure.prefixed(&format!("{of}, {}: ", side.name));
            figures.extend([side.rates(self.unit), side.cpu_times()].map(named));
        }
        for side in others {
            let (cpu, rate) = side.ratios(ours);
            let named = |f: Figure| f.prefixed(&format!("{of}, ratio to {}: ", side.name));
            figures.extend([cpu, rate].map(named));
        }
        figures
    }

    /// Filermark compared with each other contender.
    pub fn rows(&self) -> Vec<ComparisonRow> {
        let Some((ours, others)) = self.sides.split_first() else {
            return Vec::new();
        };
        let figures = |side: &Side| (side.rates(self.unit), side.cpu_times());
        let row = |side: &Side| ComparisonRow {
            name: side.name,
            ours: figures(ours),
            other: figures(side),
            ratios: side.ratios(ours),
        };
        others.iter().map(row).collect()
    }
}

/// Runs all contenders in turns, for this number of rounds. Rates are in `unit`.
///
/// # Errors
/// The first error of a turn.
pub fn compare(
    of: &str,
    unit: &'static str,
    rounds: u32,
    mut contenders: Vec<Contender<'_>>,
) -> Result<Comparison, String> {
    let side = |contender: &Contender<'_>| Side {
        name: contender.name,
        bars: contender.bars,
        turns: Vec::new(),
    };
    let mut sides: Vec<Side> = contenders.iter().map(side).collect();
    let count = contenders.len();
    for round in 0..rounds as usize {
        for place in 0..count {
            let at = (round + place) % count;
            let turn = (contenders[at].turn)().map_err(|e| format!("{of}: {e}"))?;
            if !(turn.ops > 0.0 && turn.seconds > 0.0) {
                return Err(format!("{of}, {}: no operation was done", sides[at].name));
            }
            sides[at].turns.push(turn);
        }
    }
    Ok(Comparison {
        of: of.to_owned(),
        unit,
        sides,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Verdict;
    use std::cell::RefCell;

    fn turn(ops: f64, seconds: f64, cpu_ns: f64) -> Turn {
        Turn {
            ops,
            seconds,
            cpu_ns,
        }
    }

    #[test]
    fn ratios_are_computed_within_a_round() {
        // The machine is half as fast in the second round: no ratio changes.
        let mut ours = [turn(100.0, 1.0, 2e5), turn(50.0, 1.0, 2e5)].into_iter();
        let mut bare = [turn(200.0, 1.0, 2e5), turn(100.0, 1.0, 2e5)].into_iter();
        let next = |turns: &mut dyn Iterator<Item = Turn>| turns.next().ok_or("done".to_owned());
        let bars = Bars {
            cpu_at_most: Some(1.5),
            rate_at_least: Some(0.5),
        };
        let contenders = vec![
            Contender::filermark(|| next(&mut ours)),
            Contender::other("bare loop", bars, || next(&mut bare)),
        ];
        let compared = compare("GETATTR", "op/s", 2, contenders).expect("compared");
        let figures = compared.figures();
        let names: Vec<_> = figures.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "GETATTR, filermark: rate",
                "GETATTR, filermark: processor time",
                "GETATTR, bare loop: rate",
                "GETATTR, bare loop: processor time",
                "GETATTR, ratio to bare loop: processor time",
                "GETATTR, ratio to bare loop: rate",
            ]
        );
        assert_eq!(figures[0].median(), 75.0);
        // 2 us and 4 us, 1 us and 2 us.
        assert_eq!((figures[1].median(), figures[3].median()), (3.0, 1.5));
        assert_eq!(figures[4].spread(), (2.0, 2.0));
        assert_eq!(figures[4].verdict(), Verdict::Short);
        assert_eq!(figures[5].spread(), (0.5, 0.5));
        assert_eq!(figures[5].verdict(), Verdict::Reached);
        let rows = compared.rows();
        assert_eq!((rows.len(), rows[0].name), (1, "bare loop"));
        assert_eq!(rows[0].ours.0.median(), 75.0);
        assert_eq!(rows[0].other.1.median(), 1.5);
        assert_eq!(rows[0].ratios.0.median(), 2.0);
    }

    #[test]
    fn each_round_begins_with_another_contender() {
        let order = RefCell::new(String::new());
        let work = |name| {
            order.borrow_mut().push(name);
            Ok(turn(1.0, 1.0, 1.0))
        };
        let contenders = vec![
            Contender::filermark(|| work('a')),
            Contender::other("b", Bars::default(), || work('b')),
            Contender::other("c", Bars::default(), || work('c')),
        ];
        let compared = compare("x", "op/s", 4, contenders).expect("compared");
        // Two of each contender, two ratios to each of the others.
        assert_eq!(compared.figures().len(), 10);
        assert_eq!(order.into_inner(), "abcbcacababc");
    }

    #[test]
    fn a_start_is_subtracted_and_nothing_becomes_negative() {
        let whole = turn(30.0, 3.0, 3e6).without(turn(10.0, 1.0, 2e6));
        assert_eq!(whole, turn(20.0, 2.0, 1e6));
        assert_eq!(turn(1.0, 1.0, 1.0).without(whole), turn(0.0, 0.0, 0.0));
    }

    #[test]
    fn a_turn_without_operations_is_an_error() {
        let none = Contender::filermark(|| Ok(turn(0.0, 1.0, 1.0)));
        let error = compare("x", "op/s", 1, vec![none]).expect_err("no operation");
        assert_eq!(error, "x, filermark: no operation was done");
    }

    #[test]
    fn an_error_names_the_work() {
        let broken = Contender::filermark(|| Err("refused".into()));
        let error = compare("READ", "op/s", 1, vec![broken]).expect_err("an error");
        assert_eq!(error, "READ: refused");
    }
}
