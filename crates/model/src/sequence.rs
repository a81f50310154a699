//! Sequences of operations: a hidden Markov model of what a user of a protocol with
//! state does.
//!
//! A walker is in a hidden state and shows an operation; which states may follow one
//! another is part of the definition, so that no sequence is ever wrong: nothing is
//! done to a file that is not open, everything that is opened is closed. That is proved
//! when a definition is read ([`Shape`]). How often which state comes is solved for
//! ([`Shape::solve`]), so that the stationary mix of the operations is the benchmark's
//! table. docs/src/reference/smb-workload.md describes it.
//!
//! This module has steps and numbers; the engine and the driver carry out the steps.

mod figures;
mod linear;
mod shape;
mod solve;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod walk;

use crate::mix::Mix;
use crate::op::Op;
use serde::{Deserialize, Serialize};

pub use figures::{Figures, OpenFigures, Path};
pub use shape::{DefinitionSpot, Shape, ShapeError};
pub use solve::SolveError;
pub use step::{Level, Step};
pub(crate) use table::SequenceTable;
pub use walk::{Position, ProcDecks, TransitionTables};

/// The model as it is drawn from: checked, solved, ready to walk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Sequence {
    states: Vec<State>,
}

/// A hidden state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its name: one word or a few with hyphens.
    pub name: String,
    /// What it stands for, in a sentence.
    pub title: String,
    /// What is open while it lasts.
    pub level: Level,
    /// How often a walker is in it, as a share of all operations; 0: the table has no
    /// use for it.
    pub share: f64,
    /// What it shows; the shares add up to 1.
    pub emits: Vec<Transition<Step>>,
    /// What follows: numbers of states; the shares add up to 1.
    pub next: Vec<Transition<u32>>,
}

/// One of several things that may come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition<T> {
    /// What comes.
    pub to: T,
    /// How often, as the definition draws it; only the ratios count.
    pub weight: f64,
    /// How often, as it was solved for: a probability.
    pub share: f64,
}

/// What a sequence is read as before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    states: Vec<State>,
}

impl TryFrom<Raw> for Sequence {
    type Error = String;

    fn try_from(raw: Raw) -> Result<Self, String> {
        for state in &raw.states {
            let emits = state.emits.iter().map(|w| w.share);
            let next = state.next.iter().map(|w| w.share);
            for (what, total) in [("emits", sum(emits)), ("next", sum(next))] {
                let whole = if state.share > 0.0 { 1.0 } else { 0.0 };
                if total.is_none_or(|t| (t - whole).abs() > 1e-6) {
                    let name = crate::text::quoted(&state.name);
                    return Err(format!(
                        "state {name}: its shares of '{what}' do not add up to {whole}"
                    ));
                }
            }
        }
        let total = sum(raw.states.iter().map(|s| s.share));
        if total.is_none_or(|t| (t - 1.0).abs() > 1e-6) {
            return Err("the shares of the states do not add up to 1".into());
        }
        let shape = Shape::new(raw.states).map_err(|e| e.to_string())?;
        let sequence = Self {
            states: shape.into_states(),
        };
        match sequence.is_closed() {
            true => Ok(sequence),
            false => Err("a state that is used leads to one that is not".into()),
        }
    }
}

/// The total of probabilities; `None`: one of them is none.
fn sum(mut shares: impl Iterator<Item = f64>) -> Option<f64> {
    shares.try_fold(0.0, |total, share| {
        (0.0..=1.000_001).contains(&share).then_some(total + share)
    })
}

impl Sequence {
    /// The hidden states.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The same shape, solved for another table.
    ///
    /// # Errors
    /// The shape cannot show such a table.
    pub fn for_mix(&self, mix: &Mix) -> Result<Self, SolveError> {
        Shape::trusted(self.states.clone()).solve(mix)
    }

    /// The stationary mix: how often each operation comes, in percent, in the order of
    /// [`Op::ALL`]; operations that never come are left out.
    pub fn stationary_mix(&self) -> Vec<(Op, f64)> {
        let mut percent = [0.0; Op::COUNT];
        for state in &self.states {
            for way in &state.emits {
                percent[way.to.op().index()] += 100.0 * state.share * way.share;
            }
        }
        let all = Op::ALL.iter().map(|op| (*op, percent[op.index()]));
        all.filter(|(_, p)| *p > 0.0).collect()
    }

    /// Whether walkers stay among the states that are used, one of them with nothing
    /// open.
    fn is_closed(&self) -> bool {
        let used = |at: u32| self.states.get(at as usize).is_some_and(|s| s.share > 0.0);
        let mut live = self.states.iter().filter(|s| s.share > 0.0);
        self.states
            .iter()
            .any(|s| s.share > 0.0 && s.level == Level::Idle)
            && live.all(|s| s.next.iter().all(|w| w.share == 0.0 || used(w.to)))
    }
}
