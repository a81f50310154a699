//! Solving a shape for a table: of all chains that have the shape's zeros and the
//! table's mix, the one nearest to what was drawn (least relative entropy per step).
//!
//! With a multiplier for each operation the drawn chain is tilted: M(s,t) = T(s,t) Z(t),
//! Z(t) = sum over o of E(t,o) exp(l(o)). With M's largest eigenvalue R and eigenvector r
//! the tilted chain is T(s,t) Z(t) r(t) / (R r(s)), and shows E(t,o) exp(l(o)) / Z(t).
//! Its stationary mix is the gradient of ln R, so the multipliers wanted are where
//! ln R - l * table is least; that function is convex, and Newton's method finds the place.

mod tilt;

use super::linear::Matrix;
use super::shape::{reached, reversed};
use super::{Level, Sequence, Shape, State};
use crate::mix::Mix;
use crate::op::Op;
use tilt::{Chain, Tilted};

/// Why a shape cannot have a table as its stationary mix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// An operation of the table is shown nowhere.
    #[error("the mix has {percent} percent of {op}, but no state shows it")]
    NotShown {
        /// Which.
        op: Op,
        /// Its share.
        percent: f64,
    },
    /// Opens and closes differ.
    #[error(
        "everything that is opened is closed, so the mix must have as many of close as of open; \
         it has {open} percent of open and {close} of close"
    )]
    OpenClose {
        /// The share of opens.
        open: f64,
        /// The share of closes.
        close: f64,
    },
    /// What is left of the shape has no way through it.
    #[error(
        "without the operations that the mix leaves out no walker comes by all the others again \
         and again; give the mix a little of them, or draw ways around them"
    )]
    FallsApart,
    /// The table is out of the shape's reach.
    #[error(
        "the sequence cannot show the mix: it comes no nearer than {reached:.2} percent of {op}, \
         and the mix has {asked}; change the mix, or draw states that show {more} of it"
    )]
    OutOfReach {
        /// The operation that it misses by most.
        op: Op,
        /// Its share in the table.
        asked: f64,
        /// Its share in the nearest mix.
        reached: f64,
        /// Whether more or less is wanted.
        more: &'static str,
    },
    /// The weights are too far apart.
    #[error("the weights of the states are too far apart to be solved for; draw them nearer")]
    Numbers,
}

/// How near the mix must come, as a fraction of all operations.
const NEAR: f64 = 1e-12;
/// What is near enough where rounding allows no more.
const NEAR_ENOUGH: f64 = 1e-10;
/// How near places on the way must come.
const NEAR_ON_THE_WAY: f64 = 1e-7;
/// Rounds of Newton's method for one stretch of the way.
const ROUNDS_MAX: usize = 8;
/// The longest step of a round, and the largest multipliers: tables at the very edge of
/// a shape's reach have larger ones.
const STEP_MAX: f64 = 4.0;
const MULTIPLIER_MAX: f64 = 40.0;
/// The most stretches of a way, and the shortest, as a fraction of all of it.
const STRETCHES_MAX: usize = 100;
const STRETCH_MIN: f64 = 1e-4;

impl Shape {
    /// Solves for a table.
    ///
    /// # Errors
    /// Why the shape cannot show it, and which operation is to blame.
    pub fn solve(&self, mix: &Mix) -> Result<Sequence, SolveError> {
        let (open, close) = (mix.percent(Op::Open), mix.percent(Op::Close));
        if (open - close).abs() > 1e-9 {
            return Err(SolveError::OpenClose { open, close });
        }
        let live = self.live(mix)?;
        let chain = Chain::new(self.states(), &live, mix);
        let tilted = nearest(&chain)?;
        let states = chain.fill(self.states(), &live, &tilted);
        Ok(Sequence { states })
    }

    /// The states that are left when operations that the table has not are taken away:
    /// those among which walkers go round, show all of the table, and have nothing open
    /// now and then.
    fn live(&self, mix: &Mix) -> Result<Vec<bool>, SolveError> {
        let states = self.states();
        let wanted = |op: Op| mix.percent(op) > 0.0;
        let unseen = |live: &[bool]| -> Option<(Op, f64)> {
            let all = || states.iter().zip(live).filter(|(_, l)| **l);
            let shown = |op: Op| all().any(|(s, _)| s.emits.iter().any(|w| w.to.op() == op));
            mix.shares().iter().copied().find(|(op, _)| !shown(*op))
        };
        if let Some((op, percent)) = unseen(&vec![true; states.len()]) {
            return Err(SolveError::NotShown { op, percent });
        }
        let shows = |s: &State| s.emits.iter().any(|w| wanted(w.to.op()));
        let ways = self.ways_among(&states.iter().map(shows).collect::<Vec<_>>());
        let back = reversed(&ways);
        let round = |from: usize| -> Vec<bool> {
            let there = reached(&ways, |at| at == from);
            let here = reached(&back, |at| at == from);
            there.iter().zip(here).map(|(a, b)| *a && b).collect()
        };
        let idle = |live: &[bool]| {
            states
                .iter()
                .zip(live)
                .any(|(s, l)| *l && s.level == Level::Idle)
        };
        (0..states.len())
            .filter(|at| !ways[*at].is_empty())
            .map(round)
            .find(|live| idle(live) && unseen(live).is_none())
            .ok_or(SolveError::FallsApart)
    }

    /// The ways between states that are all there.
    fn ways_among(&self, there: &[bool]) -> Vec<Vec<u32>> {
        let among = |to: u32| there.get(to as usize).copied().unwrap_or(false);
        let ways = self.states().iter().zip(there).map(|(s, here)| {
            let next = s.next.iter().map(|w| w.to);
            next.filter(|to| *here && among(*to)).collect()
        });
        ways.collect()
    }
}

/// Multipliers, and the chain that they make.
struct SolverPoint {
    multipliers: Vec<f64>,
    tilted: Tilted,
}

/// The tilted chain whose mix is the table. Mostly it is found at once. Where the drawing
/// is too far from the table, that of the same shape with all weights equal is found
/// first, and bent to the drawing while it keeps its mix. What can be shown at all does
/// not depend on the weights.
fn nearest(chain: &Chain) -> Result<Tilted, SolveError> {
    let unbent = || vec![0.0; chain.ops.len()];
    if let Some(place) = newton(chain, unbent(), &chain.table, NEAR) {
        return Ok(place.tilted);
    }
    let even = chain.bent(0.0);
    let begin = even.tilt(&unbent(), None).ok_or(SolveError::Numbers)?;
    let drawn = begin.mix.clone();
    let begin = SolverPoint {
        multipliers: unbent(),
        tilted: begin,
    };
    let first = by_stretches(begin, |ahead, to| {
        let between = drawn.iter().zip(&chain.table);
        let aim: Vec<f64> = between.map(|(d, t)| d + to * (t - d)).collect();
        newton(&even, ahead, &aim, near(to))
    });
    let first = first.map_err(|last| out_of_reach(chain, &last.tilted))?;
    let last = by_stretches(first, |ahead, to| {
        newton(&chain.bent(to), ahead, &chain.table, near(to))
    });
    last.map(|p| p.tilted).map_err(|_| SolveError::Numbers)
}

/// How near is near on the way, and at its end.
fn near(done: f64) -> f64 {
    if done < 1.0 { NEAR_ON_THE_WAY } else { NEAR }
}

/// Goes a way from 0 to 1 in stretches as long as can be gone, each begun in the
/// direction of the last; `Err`: where it ended.
fn by_stretches(
    mut place: SolverPoint,
    go: impl Fn(Vec<f64>, f64) -> Option<SolverPoint>,
) -> Result<SolverPoint, SolverPoint> {
    let (mut done, mut stretch) = (0.0, 1.0f64);
    let mut direction = vec![0.0; place.multipliers.len()];
    for _ in 0..STRETCHES_MAX {
        if done == 1.0 {
            return Ok(place);
        }
        let to = (done + stretch).min(1.0);
        let length = to - done;
        let ahead = place.multipliers.iter().zip(&direction);
        match go(ahead.map(|(l, d)| l + length * d).collect(), to) {
            Some(there) => {
                let moved = there.multipliers.iter().zip(&place.multipliers);
                direction = moved.map(|(to, from)| (to - from) / length).collect();
                (place, done, stretch) = (there, to, 2.0 * length);
            }
            None => stretch = 0.3 * length,
        }
        if stretch < STRETCH_MIN {
            break;
        }
    }
    Err(place)
}

/// From multipliers to those whose mix is `aim`; `None`: that is too far for Newton's
/// method.
fn newton(chain: &Chain, from: Vec<f64>, aim: &[f64], near: f64) -> Option<SolverPoint> {
    let mut multipliers = from;
    let mut tilted = chain.tilt(&multipliers, None)?;
    for _ in 0..ROUNDS_MAX {
        let step = step_to(chain, &tilted, aim);
        let longest = step.iter().fold(0.0f64, |m, s| m.max(s.abs()));
        multipliers.iter_mut().zip(&step).for_each(|(l, s)| *l += s);
        let largest = multipliers.iter().fold(0.0f64, |m, l| m.max(l.abs()));
        // A comparison with what is no number fails, too.
        if !(longest <= STEP_MAX && largest <= MULTIPLIER_MAX) {
            return None;
        }
        let missed = tilted.miss(aim);
        tilted = chain.tilt(&multipliers, Some(&tilted.vector))?;
        let miss = tilted.miss(aim);
        let stalled = miss > 0.1 * missed;
        if miss < near || (stalled && miss < NEAR_ENOUGH) {
            return Some(SolverPoint {
                multipliers,
                tilted,
            });
        }
        if miss > missed {
            return None;
        }
    }
    None
}

/// Where Newton's method would go. Directions that change nothing (all multipliers
/// together; open against close) are flat: a hair of damping keeps them still.
fn step_to(chain: &Chain, here: &Tilted, aim: &[f64]) -> Vec<f64> {
    let count = chain.ops.len();
    let mut curvature = here.curvature(chain);
    let largest = (0..count).fold(0.0f64, |m, i| m.max(curvature.row(i)[i]));
    for i in 0..count {
        curvature.row_mut(i)[i] += 1e-12 * largest + f64::MIN_POSITIVE;
    }
    let gap: Vec<f64> = aim.iter().zip(&here.mix).map(|(a, m)| a - m).collect();
    let mut step = curvature.factor().solve(&gap);
    let mean = step.iter().sum::<f64>() / count.max(1) as f64;
    step.iter_mut().for_each(|s| *s -= mean);
    step
}

fn out_of_reach(chain: &Chain, here: &Tilted) -> SolveError {
    let rows = chain.ops.iter().zip(chain.table.iter().zip(&here.mix));
    let miss = |(table, mix): (&f64, &f64)| (table - mix).abs();
    let worst = rows.max_by(|a, b| miss(a.1).total_cmp(&miss(b.1)));
    let Some((op, (table, mix))) = worst else {
        return SolveError::Numbers;
    };
    SolveError::OutOfReach {
        op: *op,
        // Without the dust of the division.
        asked: (table * 1e8).round() / 1e6,
        reached: 100.0 * mix,
        more: if table > mix { "more" } else { "less" },
    }
}

/// A matrix for a chain and the identity: small helper of the tilt.
fn identity_minus(chain: &Matrix) -> Matrix {
    let mut out = chain.clone();
    for i in 0..chain.size() {
        out.row_mut(i).iter_mut().for_each(|c| *c = -*c);
        out.row_mut(i)[i] += 1.0;
    }
    out
}
