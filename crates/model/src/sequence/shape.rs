//! The shape of a sequence: states, what they show and what may follow, drawn by hand.
//! That no walk through it can ever be wrong is proved here, once.

use super::{Level, State, Step};
use crate::text::quoted;

/// States with weights, checked: no sequence of steps that they allow is wrong, every
/// state is reached, and a walker comes from every state to every other.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    states: Vec<State>,
}

/// Where in a definition something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionSpot {
    /// The sequence as a whole.
    Whole,
    /// A state, by its number.
    State(usize),
    /// What a state shows: its number, and that of the step.
    Emits(usize, usize),
    /// What follows a state: its number, and that of the way.
    Next(usize, usize),
}

/// Why states are no sequence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ShapeError {
    /// Where.
    pub spot: DefinitionSpot,
    /// What is wrong, in plain words.
    pub reason: String,
}

/// Longest title of a state, in characters.
const TITLE_CHARS_MAX: usize = 120;

impl Shape {
    /// Most states that a sequence may have.
    pub const STATES_MAX: usize = 100;
    /// The weights that may be drawn.
    pub const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

    /// Checks states. Their shares are not looked at.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn new(states: Vec<State>) -> Result<Self, ShapeError> {
        let shape = Self { states };
        shape.check_size()?;
        for at in 0..shape.states.len() {
            shape.check_state(at)?;
            let after = shape.check_steps(at)?;
            shape.check_next(at, after)?;
        }
        shape.check_ways()?;
        Ok(shape)
    }

    /// States of something that was checked before.
    pub(super) const fn trusted(states: Vec<State>) -> Self {
        Self { states }
    }

    /// The states, with weights.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    pub(super) fn into_states(self) -> Vec<State> {
        self.states
    }

    fn check_size(&self) -> Result<(), ShapeError> {
        let count = self.states.len();
        if count > Self::STATES_MAX {
            let most = Self::STATES_MAX;
            let text = format!("there are {count} states; {most} are the most");
            return Err(wrong(DefinitionSpot::Whole, text));
        }
        match self.states.iter().any(|s| s.level == Level::Idle) {
            true => Ok(()),
            false => {
                let text = "no state has the level 'idle', where a walker begins";
                Err(wrong(DefinitionSpot::Whole, text))
            }
        }
    }

    fn check_state(&self, at: usize) -> Result<(), ShapeError> {
        let state = &self.states[at];
        let name = quoted(&state.name);
        if !is_name(&state.name) {
            let text = format!("state name '{name}': use 1 to 32 letters, digits, - and _");
            return Err(wrong(DefinitionSpot::State(at), text));
        }
        let earlier = self.states[..at].iter();
        if earlier.clone().any(|s| s.name == state.name) {
            let text = format!("there is a state {name} already");
            return Err(wrong(DefinitionSpot::State(at), text));
        }
        if state.title.chars().any(char::is_control)
            || state.title.chars().count() > TITLE_CHARS_MAX
        {
            let text = format!(
                "the title of state {name}: use at most {TITLE_CHARS_MAX} characters, and none that \
                 a terminal would obey"
            );
            return Err(wrong(DefinitionSpot::State(at), text));
        }
        for (what, none) in [
            ("shows nothing; give it 'emits'", state.emits.is_empty()),
            ("leads nowhere; give it 'next'", state.next.is_empty()),
        ] {
            if none {
                return Err(wrong(
                    DefinitionSpot::State(at),
                    format!("state {name} {what}"),
                ));
            }
        }
        Ok(())
    }

    /// What is open after a state, whichever of its steps it shows.
    fn check_steps(&self, at: usize) -> Result<Level, ShapeError> {
        let state = &self.states[at];
        let (name, level) = (&state.name, state.level);
        let mut first: Option<(Step, Level)> = None;
        for (i, way) in state.emits.iter().enumerate() {
            let (step, spot) = (way.to, DefinitionSpot::Emits(at, i));
            self.check_weight(spot, step.name(), way.weight)?;
            if state.emits[..i].iter().any(|w| w.to == step) {
                let text = format!("state {name} shows {} twice", step.name());
                return Err(wrong(spot, text));
            }
            let Some(after) = level.after(step) else {
                return Err(wrong(spot, not_here(name, level, step)));
            };
            match first {
                Some((other, then)) if then != after => {
                    let text = format!(
                        "state {name} shows both {}, after which the level is '{}', and {}, after \
                         which it is '{}'; make two states of it",
                        other.name(),
                        then.name(),
                        step.name(),
                        after.name()
                    );
                    return Err(wrong(spot, text));
                }
                _ => first = Some((step, after)),
            }
        }
        Ok(first.map_or(level, |(_, after)| after))
    }

    fn check_next(&self, at: usize, after: Level) -> Result<(), ShapeError> {
        let state = &self.states[at];
        for (i, way) in state.next.iter().enumerate() {
            let (name, spot) = (&state.name, DefinitionSpot::Next(at, i));
            let Some(next) = self.states.get(way.to as usize) else {
                let text = format!("state {name} leads to state {}, which is not there", way.to);
                return Err(wrong(spot, text));
            };
            self.check_weight(spot, &next.name, way.weight)?;
            if state.next[..i].iter().any(|w| w.to == way.to) {
                let text = format!("state {name} leads to {} twice", next.name);
                return Err(wrong(spot, text));
            }
            if next.level != after {
                let text = format!(
                    "state {name} leads to {}, whose level is '{}'; after {name} the level is '{}'",
                    next.name,
                    next.level.name(),
                    after.name()
                );
                return Err(wrong(spot, text));
            }
        }
        Ok(())
    }

    fn check_weight(
        &self,
        spot: DefinitionSpot,
        what: &str,
        weight: f64,
    ) -> Result<(), ShapeError> {
        match Self::WEIGHTS.contains(&weight) {
            true => Ok(()),
            false => {
                let (least, most) = (Self::WEIGHTS.start(), Self::WEIGHTS.end());
                let what = quoted(what);
                let text = format!("{what} = {weight}: a weight goes from {least} to {most}");
                Err(wrong(spot, text))
            }
        }
    }

    /// That a walker comes from everywhere to everywhere.
    fn check_ways(&self) -> Result<(), ShapeError> {
        let ways: Vec<Vec<u32>> = self
            .states
            .iter()
            .map(|s| s.next.iter().map(|w| w.to).collect())
            .collect();
        let idle = |s: &State| s.level == Level::Idle;
        let name = |at: usize| &self.states[at].name;
        let from_idle = reached(&ways, |at| idle(&self.states[at]));
        if let Some(lost) = from_idle.iter().position(|r| !r) {
            let text = format!(
                "nothing leads to state {} from where walkers begin",
                name(lost)
            );
            return Err(wrong(DefinitionSpot::State(lost), text));
        }
        let back = reversed(&ways);
        let to_idle = reached(&back, |at| idle(&self.states[at]));
        if let Some(stuck) = to_idle.iter().position(|r| !r) {
            let text = format!(
                "a walker in state {} never comes to a close again; lead it to one",
                name(stuck)
            );
            return Err(wrong(DefinitionSpot::State(stuck), text));
        }
        let (there, here) = (reached(&ways, |at| at == 0), reached(&back, |at| at == 0));
        let apart = |(at, from, to): (usize, &str, usize)| {
            let text = format!("there is no way from state {from} to state {}", name(to));
            wrong(DefinitionSpot::State(at), text)
        };
        if let Some(lost) = there.iter().position(|r| !r) {
            return Err(apart((lost, name(0), lost)));
        }
        match here.iter().position(|r| !r) {
            Some(lost) => Err(apart((lost, name(lost), 0))),
            None => Ok(()),
        }
    }
}

/// Whether a state may have this name.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=32).contains(&name.len()) && name.chars().all(plain)
}

fn wrong(spot: DefinitionSpot, reason: impl Into<String>) -> ShapeError {
    let reason = reason.into();
    ShapeError { spot, reason }
}

fn not_here(state: &str, level: Level, step: Step) -> String {
    let levels: Vec<_> = step.levels().map(Level::name).collect();
    format!(
        "state {state} has the level '{}', where {} is not possible; it is at: {}",
        level.name(),
        step.name(),
        levels.join(", ")
    )
}

/// Which states are reached from those that `begin` says.
pub(super) fn reached(ways: &[Vec<u32>], begin: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut known: Vec<bool> = (0..ways.len()).map(&begin).collect();
    let mut open: Vec<usize> = (0..ways.len()).filter(|at| begin(*at)).collect();
    while let Some(at) = open.pop() {
        for to in &ways[at] {
            let to = *to as usize;
            if !std::mem::replace(&mut known[to], true) {
                open.push(to);
            }
        }
    }
    known
}

/// The same ways, the other way round.
pub(super) fn reversed(ways: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut back = vec![Vec::new(); ways.len()];
    for (from, to) in (0u32..).zip(ways) {
        for at in to {
            back[*at as usize].push(from);
        }
    }
    back
}
