//! Contenders that do the same work in turns, and what their ratios are.
//!
//! A ratio is made in each round of the turns of that round, so that what changes slowly (the
//! clock rate, other programs) is in both of its sides; every round begins with another contender.

use crate::figure::{Bar, Figure};
use std::time::Instant;

/// What a contender did in one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// Operations, or whatever else is counted.
    pub ops: f64,
    /// How long they took.
    pub seconds: f64,
    /// Processor time that they took, in nanoseconds.
    pub cpu_ns: f64,
}

impl Turn {
    /// Measures `work`, which returns how many operations it did; `cpu_ns` reads the processor
    /// time of whoever works.
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

    /// Without what `other`, which is part of this turn, took: a start, a log-in.
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

    fn cpu_us(&self) -> f64 {
        self.cpu_ns / 1e3 / self.ops
    }
}

/// What our ratios to a contender should be.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bars {
    /// Our processor time per operation, of theirs.
    pub cpu_at_most: Option<f64>,
    /// Our rate, of theirs.
    pub rate_at_least: Option<f64>,
}

/// One that does the work.
pub struct Contender<'a> {
    name: &'static str,
    /// Without them there are no ratios to this one.
    bars: Option<Bars>,
    turn: Box<dyn FnMut() -> Result<Turn, String> + 'a>,
    turns: Vec<Turn>,
}

impl<'a> Contender<'a> {
    /// One of ours: no ratios to it are made. The first of several has to be one.
    pub fn own(name: &'static str, turn: impl FnMut() -> Result<Turn, String> + 'a) -> Self {
        Self {
            name,
            bars: None,
            turn: Box::new(turn),
            turns: Vec::new(),
        }
    }

    /// Another one, and what our ratios to it should be.
    pub fn other(
        name: &'static str,
        bars: Bars,
        turn: impl FnMut() -> Result<Turn, String> + 'a,
    ) -> Self {
        Self {
            bars: Some(bars),
            ..Self::own(name, turn)
        }
    }
}

/// Lets all work in turns, for so many rounds, and gives the figures: rate (in `unit`) and
/// processor time of each, and our ratios to each of the others.
///
/// # Errors
/// The first of a turn.
pub fn compare(
    of: &str,
    unit: &'static str,
    rounds: u32,
    mut contenders: Vec<Contender<'_>>,
) -> Result<Vec<Figure>, String> {
    let count = contenders.len();
    for round in 0..rounds as usize {
        for place in 0..count {
            let contender = &mut contenders[(round + place) % count];
            let turn = (contender.turn)()?;
            if !(turn.ops > 0.0 && turn.seconds > 0.0) {
                return Err(format!("{of}, {}: nothing was done", contender.name));
            }
            contender.turns.push(turn);
        }
    }
    Ok(figures(of, unit, &contenders))
}

fn figures(of: &str, unit: &'static str, contenders: &[Contender<'_>]) -> Vec<Figure> {
    let Some((ours, others)) = contenders.split_first() else {
        return Vec::new();
    };
    let mut figures = Vec::new();
    for contender in contenders {
        let each = |value: fn(&Turn) -> f64| contender.turns.iter().map(value).collect();
        let name = |what: &str| format!("{of}, {}: {what}", contender.name);
        figures.push(Figure::new(name("rate"), unit, each(Turn::rate)).bar(Bar::More));
        let cpu = Figure::new(name("processor time"), "us each", each(Turn::cpu_us));
        figures.push(cpu);
    }
    for (other, bars) in others.iter().filter_map(|o| Some((o, o.bars?))) {
        let ratios = |value: fn(&Turn) -> f64| {
            let pairs = ours.turns.iter().zip(&other.turns);
            pairs.map(|(a, b)| value(a) / value(b)).collect()
        };
        let name = |what: &str| format!("{of}: {what}, of {}'s", other.name);
        let cpu_bar = bars.cpu_at_most.map_or(Bar::Less, Bar::AtMost);
        let rate_bar = bars.rate_at_least.map_or(Bar::More, Bar::AtLeast);
        figures.extend([
            Figure::new(name("processor time"), "x", ratios(Turn::cpu_us)).bar(cpu_bar),
            Figure::new(name("rate"), "x", ratios(Turn::rate)).bar(rate_bar),
        ]);
    }
    figures
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
    fn ratios_are_of_the_turns_of_one_round() {
        // The machine is half as fast in the second round: no ratio changes.
        let mut ours = [turn(100.0, 1.0, 2e5), turn(50.0, 1.0, 2e5)].into_iter();
        let mut bare = [turn(200.0, 1.0, 2e5), turn(100.0, 1.0, 2e5)].into_iter();
        let next = |turns: &mut dyn Iterator<Item = Turn>| turns.next().ok_or("done".to_owned());
        let bars = Bars {
            cpu_at_most: Some(1.5),
            rate_at_least: Some(0.5),
        };
        let figures = compare(
            "GETATTR",
            "op/s",
            2,
            vec![
                Contender::own("filermark", || next(&mut ours)),
                Contender::other("bare loop", bars, || next(&mut bare)),
            ],
        )
        .expect("figures");
        let names: Vec<_> = figures.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "GETATTR, filermark: rate",
                "GETATTR, filermark: processor time",
                "GETATTR, bare loop: rate",
                "GETATTR, bare loop: processor time",
                "GETATTR: processor time, of bare loop's",
                "GETATTR: rate, of bare loop's",
            ]
        );
        assert_eq!(figures[0].median(), 75.0);
        // 2 us and 4 us, 1 us and 2 us.
        assert_eq!((figures[1].median(), figures[3].median()), (3.0, 1.5));
        assert_eq!(figures[4].spread(), (2.0, 2.0));
        assert_eq!(figures[4].verdict(), Verdict::Short);
        assert_eq!(figures[5].spread(), (0.5, 0.5));
        assert_eq!(figures[5].verdict(), Verdict::Reached);
    }

    #[test]
    fn each_round_begins_with_another() {
        let order = RefCell::new(String::new());
        let work = |who| {
            order.borrow_mut().push(who);
            Ok(turn(1.0, 1.0, 1.0))
        };
        let contenders = vec![
            Contender::own("a", || work('a')),
            Contender::own("b", || work('b')),
            Contender::other("c", Bars::default(), || work('c')),
        ];
        let figures = compare("x", "op/s", 4, contenders).expect("figures");
        // Two of each, and our ratios to the last: a's, none of them to b.
        assert_eq!(figures.len(), 8);
        assert_eq!(figures[6].name, "x: processor time, of c's");
        assert_eq!(order.into_inner(), "abcbcacababc");
    }

    #[test]
    fn what_a_start_takes_is_taken_off_and_nothing_becomes_negative() {
        let whole = turn(30.0, 3.0, 3e6).without(turn(10.0, 1.0, 2e6));
        assert_eq!(whole, turn(20.0, 2.0, 1e6));
        assert_eq!(turn(1.0, 1.0, 1.0).without(whole), turn(0.0, 0.0, 0.0));
    }

    #[test]
    fn a_turn_without_work_is_an_error() {
        let none = Contender::own("a", || Ok(turn(0.0, 1.0, 1.0)));
        let error = compare("x", "op/s", 1, vec![none]).expect_err("no figures");
        assert_eq!(error, "x, a: nothing was done");
    }
}
