//! `[[sequence.state]]` tables of a definition file: text in, checked shape out.

use super::{DefinitionSpot, Level, Shape, State, Step, Transition};
use crate::text::{nearest, quoted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// `[sequence]` as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SequenceTable {
    state: Vec<Spanned<StateTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateTable {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    level: Level,
    emits: Weights,
    next: Weights,
}

/// Names and weights, with the places where the names stand.
type Weights = BTreeMap<Spanned<String>, f64>;

impl SequenceTable {
    /// The shape that is drawn.
    ///
    /// # Errors
    /// The first thing that is wrong, and where it stands in the text.
    pub fn shape(self) -> Result<Shape, (Range<usize>, String)> {
        let names: Vec<String> = self
            .state
            .iter()
            .map(|s| s.get_ref().name.get_ref().clone())
            .collect();
        let mut states = Vec::new();
        let mut places = Vec::new();
        for table in self.state {
            let (state, place) = table.into_inner().read(&names)?;
            states.push(state);
            places.push(place);
        }
        let place = |spot: DefinitionSpot| -> Option<Range<usize>> {
            match spot {
                DefinitionSpot::Whole => places.first().map(|p| p.name.clone()),
                DefinitionSpot::State(at) => Some(places.get(at)?.name.clone()),
                DefinitionSpot::Emits(at, i) => places.get(at)?.emits.get(i).cloned(),
                DefinitionSpot::Next(at, i) => places.get(at)?.next.get(i).cloned(),
            }
        };
        Shape::new(states).map_err(|e| (place(e.spot).unwrap_or_default(), e.reason))
    }
}

/// Where the words of a state stand in the text.
struct SourceSpans {
    name: Range<usize>,
    emits: Vec<Range<usize>>,
    next: Vec<Range<usize>>,
}

impl StateTable {
    fn read(self, names: &[String]) -> Result<(State, SourceSpans), (Range<usize>, String)> {
        let mut places = SourceSpans {
            name: self.name.span(),
            emits: Vec::new(),
            next: Vec::new(),
        };
        let mut emits = Vec::new();
        for (name, weight) in in_order(self.emits) {
            let to = Step::from_name(name.get_ref()).ok_or_else(|| {
                let known = || Step::ALL.iter().map(|s| s.name());
                let list = known().collect::<Vec<_>>().join(", ");
                let text = unknown("step", name.get_ref(), known(), &list);
                (name.span(), text)
            })?;
            places.emits.push(name.span());
            emits.push(drawn(to, weight));
        }
        let mut next = Vec::new();
        for (name, weight) in in_order(self.next) {
            let to = names.iter().position(|n| n == name.get_ref());
            let to = to.ok_or_else(|| {
                let known = names.iter().map(String::as_str);
                let text = unknown("state", name.get_ref(), known, &quoted(&names.join(", ")));
                (name.span(), text)
            })?;
            places.next.push(name.span());
            next.push(drawn(to as u32, weight));
        }
        let state = State {
            name: self.name.into_inner(),
            title: self.title,
            level: self.level,
            share: 0.0,
            emits,
            next,
        };
        Ok((state, places))
    }
}

/// In the order of the text.
fn in_order(weights: Weights) -> Vec<(Spanned<String>, f64)> {
    let mut all: Vec<_> = weights.into_iter().collect();
    all.sort_by_key(|(name, _)| name.span().start);
    all
}

const fn drawn<T: Copy>(to: T, weight: f64) -> Transition<T> {
    let share = 0.0;
    Transition { to, weight, share }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>, list: &str) -> String {
    let hint = match nearest(name, known) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("known: {list}"),
    };
    format!("there is no {what} '{}'; {hint}", quoted(name))
}
