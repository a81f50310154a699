//! A drawn chain and what multipliers make of it.

use super::super::linear::{Matrix, dot, exp, ln, perron, stationary};
use super::super::{State, Transition};
use super::identity_minus;
use crate::mix::Mix;
use crate::op::Op;

/// The drawn chain as numbers: the states that are used, and the operations of the table.
pub(super) struct Chain {
    /// The operations of the table, and how often each is to come, as a fraction.
    pub ops: Vec<Op>,
    pub table: Vec<f64>,
    /// Drawn probabilities: of the next state by state, of the operation by state.
    next: Matrix,
    emits: Vec<Vec<f64>>,
}

/// The chain with multipliers.
pub(super) struct Tilted {
    /// The stationary mix, as fractions.
    pub mix: Vec<f64>,
    /// The largest eigenvalue's vector: where to begin next time.
    pub vector: Vec<f64>,
    next: Matrix,
    emits: Vec<Vec<f64>>,
    /// How often each state comes.
    shares: Vec<f64>,
    /// exp of the multipliers.
    factors: Vec<f64>,
}

impl Chain {
    pub fn new(states: &[State], live: &[bool], mix: &Mix) -> Self {
        let total: f64 = mix.shares().iter().map(|(_, p)| p).sum();
        let (ops, table): (Vec<_>, Vec<_>) =
            mix.shares().iter().map(|(op, p)| (*op, p / total)).unzip();
        let used: Vec<&State> = of_live(states, live).collect();
        let places = places(live);
        let mut next = Matrix::zero(used.len());
        let mut emits = Vec::new();
        for (at, state) in used.iter().enumerate() {
            let row = next.row_mut(at);
            for way in &state.next {
                if let Some(Some(to)) = places.get(way.to as usize) {
                    row[*to] += way.weight;
                }
            }
            to_one(row);
            let mut shown = vec![0.0; ops.len()];
            for way in &state.emits {
                if let Some(op) = ops.iter().position(|op| *op == way.to.op()) {
                    shown[op] += way.weight;
                }
            }
            to_one(&mut shown);
            emits.push(shown);
        }
        Self {
            ops,
            table,
            next,
            emits,
        }
    }

    /// The same ways, with weights between all equal (0) and as drawn (1).
    pub fn bent(&self, drawn: f64) -> Self {
        let bend = |row: &mut [f64]| {
            let used = row.iter_mut().filter(|cell| **cell > 0.0);
            used.for_each(|cell| *cell = exp(drawn * ln(*cell)));
            to_one(row);
        };
        let mut next = self.next.clone();
        (0..next.size()).for_each(|i| bend(next.row_mut(i)));
        let mut emits = self.emits.clone();
        emits.iter_mut().for_each(|row| bend(row));
        Self {
            ops: self.ops.clone(),
            table: self.table.clone(),
            next,
            emits,
        }
    }

    /// The chain with multipliers; `None`: the numbers went too far apart.
    pub fn tilt(&self, multipliers: &[f64], guess: Option<&[f64]>) -> Option<Tilted> {
        let factors: Vec<f64> = multipliers.iter().map(|l| exp(*l)).collect();
        let weights: Vec<f64> = self.emits.iter().map(|e| dot(e, &factors)).collect();
        let mut matrix = self.next.clone();
        for i in 0..matrix.size() {
            let row = matrix.row_mut(i).iter_mut();
            row.zip(&weights).for_each(|(cell, z)| *cell *= z);
        }
        let even = vec![1.0; matrix.size()];
        let vector = perron(&matrix, guess.unwrap_or(&even))?;
        for i in 0..matrix.size() {
            let row = matrix.row_mut(i);
            row.iter_mut().zip(&vector).for_each(|(cell, r)| *cell *= r);
            to_one(row);
        }
        let emits: Vec<Vec<f64>> = self
            .emits
            .iter()
            .map(|e| {
                let mut row: Vec<f64> = e.iter().zip(&factors).map(|(e, f)| e * f).collect();
                to_one(&mut row);
                row
            })
            .collect();
        let shares = stationary(&matrix);
        let of = |op: usize| shares.iter().zip(&emits).map(|(s, e)| s * e[op]).sum();
        let mix: Vec<f64> = (0..self.ops.len()).map(of).collect();
        mix.iter().all(|m: &f64| m.is_finite()).then_some(Tilted {
            mix,
            vector,
            next: matrix,
            emits,
            shares,
            factors,
        })
    }

    /// The states with the shares of the tilted chain; what is not used has none.
    pub fn fill(&self, states: &[State], live: &[bool], tilted: &Tilted) -> Vec<State> {
        let places = places(live);
        let mut filled = states.to_vec();
        for (state, place) in filled.iter_mut().zip(&places) {
            state.share = place.map_or(0.0, |at| round(tilted.shares[at]).max(GRAIN));
            for way in &mut state.emits {
                let op = self.ops.iter().position(|op| *op == way.to.op());
                let factor = op.map_or(0.0, |op| tilted.factors[op]);
                way.share = place.map_or(0.0, |_| way.weight * factor);
            }
            for way in &mut state.next {
                let to = places.get(way.to as usize).copied().flatten();
                way.share = match (place, to) {
                    (Some(from), Some(to)) => tilted.next.row(*from)[to],
                    _ => 0.0,
                };
            }
            finish(&mut state.emits);
            finish(&mut state.next);
        }
        filled
    }
}

impl Tilted {
    /// The largest distance of an operation from a mix.
    pub fn miss(&self, aim: &[f64]) -> f64 {
        let gaps = self.mix.iter().zip(aim).map(|(m, t)| (m - t).abs());
        gaps.fold(0.0, f64::max)
    }

    /// The second derivatives: how the mix answers to the multipliers. That is the
    /// variance per step of how often operations come, in the long run.
    pub fn curvature(&self, chain: &Chain) -> Matrix {
        let count = chain.ops.len();
        let mut system = identity_minus(&self.next);
        for i in 0..system.size() {
            let row = system.row_mut(i).iter_mut();
            row.zip(&self.shares).for_each(|(cell, s)| *cell += s);
        }
        let factors = system.factor();
        let centred = |op: usize| -> Vec<f64> {
            let of = self.emits.iter().map(|e| e[op] - self.mix[op]);
            of.collect()
        };
        let shown: Vec<Vec<f64>> = (0..count).map(centred).collect();
        // What is still to come of an operation, beyond the average, from each state on.
        let ahead: Vec<Vec<f64>> = shown.iter().map(|f| factors.solve(f)).collect();
        let mean = |a: &[f64], b: &[f64]| -> f64 {
            let products = a.iter().zip(b).map(|(a, b)| a * b);
            products.zip(&self.shares).map(|(p, s)| p * s).sum()
        };
        let column = |op: usize| -> Vec<f64> { self.emits.iter().map(|e| e[op]).collect() };
        let raw: Vec<Vec<f64>> = (0..count).map(column).collect();
        let mut out = Matrix::zero(count);
        for a in 0..count {
            for b in 0..count {
                let within = match a == b {
                    true => self.mix[a] - mean(&raw[a], &raw[a]),
                    false => -mean(&raw[a], &raw[b]),
                };
                let between = mean(&shown[a], &ahead[b]) + mean(&shown[b], &ahead[a])
                    - mean(&shown[a], &shown[b]);
                out.row_mut(a)[b] = within + between;
            }
        }
        out
    }
}

/// Shares are rounded to this, so that records hold them without loss.
const GRAIN: f64 = 1e-12;

fn round(share: f64) -> f64 {
    (share * 1e12).round() / 1e12
}

/// Makes shares of numbers, rounded, with what rounding left over at the largest.
fn finish<T>(ways: &mut [Transition<T>]) {
    let total: f64 = ways.iter().map(|w| w.share).sum();
    if total <= 0.0 {
        return;
    }
    ways.iter_mut()
        .for_each(|w| w.share = round(w.share / total));
    let rest = 1.0 - ways.iter().map(|w| w.share).sum::<f64>();
    let largest = ways.iter_mut().max_by(|a, b| a.share.total_cmp(&b.share));
    if let Some(way) = largest {
        way.share = round(way.share + rest);
    }
}

fn of_live<'a>(states: &'a [State], live: &'a [bool]) -> impl Iterator<Item = &'a State> {
    states.iter().zip(live).filter(|(_, l)| **l).map(|(s, _)| s)
}

/// The number of each state among those that are used.
fn places(live: &[bool]) -> Vec<Option<usize>> {
    let mut count = 0;
    let place = |used: &bool| {
        count += usize::from(*used);
        used.then(|| count - 1)
    };
    live.iter().map(place).collect()
}

/// Divides by the total.
fn to_one(row: &mut [f64]) {
    let total: f64 = row.iter().sum();
    if total > 0.0 {
        row.iter_mut().for_each(|cell| *cell /= total);
    }
}
