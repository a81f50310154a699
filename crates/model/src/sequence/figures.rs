//! What a solved sequence does in the long run, computed rather than sampled: what
//! follows an open until it is closed, how long runs are, which orders are most usual,
//! and how far the solved chain is from the drawn one.

use super::linear::{Matrix, dot};
use super::{Level, Sequence, State, Step, Transition};
use crate::op::Op;
use serde::Serialize;

/// Averages of a sequence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// What follows each kind of open that the sequence has.
    pub opens: Vec<OpenFigures>,
    /// Operations that come right behind one another: how many, on average.
    pub runs: Vec<(Op, f64)>,
    /// The share of reads and of writes that go on where the last one ended; `None`:
    /// there are none.
    pub sequential: [Option<f64>; 2],
    /// The relative entropy of the solved chain to the drawn one, in bits per
    /// operation: 0 where they are the same.
    pub distance_bits: f64,
    /// The most usual orders between an open and its close, the most usual first.
    pub paths: Vec<Path>,
}

/// What follows an open until it is closed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenFigures {
    /// The open.
    pub open: Step,
    /// Its share of all opens.
    pub share: f64,
    /// Steps between it and the close, each with how often it comes on average; those
    /// that never come are left out.
    pub steps: Vec<(Step, f64)>,
}

impl OpenFigures {
    /// How often an operation comes between the open and its close.
    pub fn count(&self, op: Op) -> f64 {
        let of = self.steps.iter().filter(|(s, _)| s.op() == op);
        of.fold(0.0, |sum, (_, n)| sum + n)
    }
}

/// An order of operations from an open to its close.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// Its share of all opens.
    pub share: f64,
    /// Its steps; one that comes several times in a row is there once.
    pub steps: Vec<Step>,
}

/// How many orders are printed.
const PATHS: usize = 12;

impl Sequence {
    /// Computes them.
    pub fn figures(&self) -> Figures {
        let chain = Chain::new(self);
        Figures {
            opens: chain.opens(),
            runs: chain.runs(),
            sequential: [
                chain.part(Step::ReadSequential, Op::Read),
                chain.part(Step::WriteSequential, Op::Write),
            ],
            distance_bits: self.distance_bits(),
            paths: chain.paths(),
        }
    }

    fn distance_bits(&self) -> f64 {
        fn of<T>(ways: &[Transition<T>]) -> f64 {
            let drawn: f64 = ways.iter().map(|w| w.weight).sum();
            let used = ways.iter().filter(|w| w.share > 0.0);
            used.map(|w| w.share * (w.share * drawn / w.weight).log2())
                .sum()
        }
        let live = self.states.iter().filter(|s| s.share > 0.0);
        live.map(|s| s.share * (of(&s.emits) + of(&s.next))).sum()
    }
}

/// The states that are used, as numbers.
struct Chain<'a> {
    states: Vec<&'a State>,
    next: Matrix,
}

impl<'a> Chain<'a> {
    fn new(sequence: &'a Sequence) -> Self {
        let all = sequence.states();
        let live = |s: &&State| s.share > 0.0;
        let states: Vec<&State> = all.iter().filter(live).collect();
        let mut next = Matrix::zero(states.len());
        for (at, state) in states.iter().enumerate() {
            for way in state.next.iter().filter(|w| w.share > 0.0) {
                let before = all.iter().take(way.to as usize).filter(live).count();
                next.row_mut(at)[before] = way.share;
            }
        }
        Self { states, next }
    }

    fn shown(&self, at: usize, step: Step) -> f64 {
        let way = self.states[at].emits.iter().find(|w| w.to == step);
        way.map_or(0.0, |w| w.share)
    }

    fn is_open(&self, at: usize) -> bool {
        self.states[at].level != Level::Idle
    }

    /// Where walkers are after they have shown a step, each state by its weight.
    fn after(&self, weights: &[f64], step: Step) -> Vec<f64> {
        let mut after = vec![0.0; weights.len()];
        for (at, weight) in weights.iter().enumerate() {
            let weight = weight * self.shown(at, step);
            if weight > 0.0 {
                let row = self.next.row(at).iter();
                after
                    .iter_mut()
                    .zip(row)
                    .for_each(|(a, p)| *a += weight * p);
            }
        }
        after
    }

    fn shares(&self) -> Vec<f64> {
        self.states.iter().map(|s| s.share).collect()
    }

    /// How often a step comes, as a share of all operations.
    fn frequency(&self, step: Step) -> f64 {
        let states = self.states.iter().enumerate();
        states.map(|(at, s)| s.share * self.shown(at, step)).sum()
    }

    /// How much of an operation a step is.
    fn part(&self, step: Step, op: Op) -> Option<f64> {
        let of_op = Step::ALL.iter().filter(|s| s.op() == op);
        let all: f64 = of_op.map(|s| self.frequency(*s)).sum();
        (all > 0.0).then(|| self.frequency(step) / all)
    }

    fn opening(&self) -> impl Iterator<Item = Step> {
        let opens = Step::ALL.iter().copied().filter(|s| s.op() == Op::Open);
        opens.filter(|s| self.frequency(*s) > 0.0)
    }

    fn opens(&self) -> Vec<OpenFigures> {
        let all: f64 = self.opening().map(|s| self.frequency(s)).sum();
        // Steps among what is open, from the last to the first: columns are where from.
        let mut system = Matrix::zero(self.states.len());
        for from in 0..self.states.len() {
            system.row_mut(from)[from] += 1.0;
            for to in 0..self.states.len() {
                if self.is_open(from) && self.is_open(to) {
                    system.row_mut(to)[from] -= self.next.row(from)[to];
                }
            }
        }
        let system = system.factor();
        let figures = |open: Step| {
            let frequency = self.frequency(open);
            let begin = self.after(&self.shares(), open);
            let visits = system.solve(&begin);
            let count = |step: Step| -> f64 {
                let open = (0..self.states.len()).filter(|at| self.is_open(*at));
                open.map(|at| visits[at] * self.shown(at, step) / frequency)
                    .sum()
            };
            let steps = Step::ALL.iter().filter(|s| s.op() != Op::Close);
            let counts = steps.map(|s| (*s, count(*s)));
            OpenFigures {
                open,
                share: frequency / all,
                steps: counts.filter(|(_, n)| *n > 0.0).collect(),
            }
        };
        self.opening().map(figures).collect()
    }

    fn runs(&self) -> Vec<(Op, f64)> {
        let shown = |op: Op| -> Vec<f64> {
            let of = |at: usize| -> f64 {
                let steps = Step::ALL.iter().filter(|s| s.op() == op);
                steps.map(|s| self.shown(at, *s)).sum()
            };
            (0..self.states.len()).map(of).collect()
        };
        let mut runs = Vec::new();
        for op in Op::SMB {
            let shown = shown(*op);
            let again = self.next.times(&shown);
            let often: f64 = dot(&self.shares(), &shown);
            let twice: f64 = (0..self.states.len())
                .map(|at| self.states[at].share * shown[at] * again[at])
                .sum();
            // A run begins where the operation comes and did not come before.
            if often > 0.0 && often - twice > 1e-9 * often {
                runs.push((*op, often / (often - twice)));
            }
        }
        runs
    }

    /// The most usual orders: what is known of them is gone on with where most of it
    /// is, until enough have come to their close.
    fn paths(&self) -> Vec<Path> {
        const ROUNDS_MAX: usize = 2_000;
        let all: f64 = self.opening().map(|s| self.frequency(s)).sum();
        let begin: Vec<f64> = self.shares().iter().map(|s| s / all).collect();
        let mut begun: Vec<(Vec<Step>, Vec<f64>)> = self
            .opening()
            .map(|open| (vec![open], self.after(&begin, open)))
            .collect();
        let mut paths: Vec<Path> = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let weight = |p: &(Vec<Step>, Vec<f64>)| p.1.iter().sum::<f64>();
            let best =
                (0..begun.len()).max_by(|a, b| weight(&begun[*a]).total_cmp(&weight(&begun[*b])));
            let Some((steps, here)) = best.map(|at| begun.swap_remove(at)) else {
                break;
            };
            let last = steps.last().copied();
            for step in Step::ALL.iter().copied().filter(|s| Some(*s) != last) {
                let there = self.in_a_row(&here, step);
                let share: f64 = there.iter().sum();
                if share < 1e-9 {
                    continue;
                }
                let mut steps = steps.clone();
                steps.push(step);
                match step == Step::Close {
                    true => paths.push(Path { share, steps }),
                    false => begun.push((steps, there)),
                }
            }
            paths.sort_by(|a, b| b.share.total_cmp(&a.share));
            let left = begun.iter().map(weight).fold(0.0, f64::max);
            if paths.get(PATHS - 1).is_some_and(|p| p.share >= left) {
                break;
            }
        }
        paths.truncate(PATHS);
        paths
    }

    /// Where walkers are after they have shown a step once or several times.
    fn in_a_row(&self, weights: &[f64], step: Step) -> Vec<f64> {
        const ROUNDS_MAX: usize = 5_000;
        let mut total = self.after(weights, step);
        if step == Step::Close {
            return total;
        }
        let mut more = self.after(&total, step);
        for _ in 0..ROUNDS_MAX {
            if more.iter().sum::<f64>() < 1e-12 {
                break;
            }
            total.iter_mut().zip(&more).for_each(|(t, m)| *t += m);
            more = self.after(&more, step);
        }
        total
    }
}
