//! Walking a sequence: the hot path.

use super::{Level, Sequence, State, Step, Transition};
use crate::rng::Rng;

/// The model as tables for the hot path; shared by all walkers.
#[derive(Clone, Debug)]
pub struct TransitionTables {
    emits: Vec<Table<Step>>,
    next: Vec<Table<u32>>,
    /// Where a walker with nothing open goes on: states of `Idle`, as the stationary
    /// chain has them.
    rest: Table<u32>,
    /// The numbers of the states in the model.
    numbers: Vec<u32>,
}

/// Where a walker is: in the state whose operation it shows next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(u32);

/// Outcomes with cumulated probabilities, in units of 2^-32; at least one.
#[derive(Clone, Debug)]
struct Table<T>(Vec<(u64, T)>);

impl<T: Copy> Table<T> {
    fn new(outcomes: impl Iterator<Item = (T, f64)>) -> Self {
        let mut upper = 0.0;
        let mut rows = Vec::new();
        for (outcome, probability) in outcomes.filter(|(_, p)| *p > 0.0) {
            upper += probability;
            rows.push(((upper * (1u64 << 32) as f64).round() as u64, outcome));
        }
        Self(rows)
    }

    /// One draw.
    #[inline]
    fn draw(&self, rng: &mut Rng) -> T {
        self.at(rng.next_u64() >> 32)
    }

    /// One card of a deck; nothing is drawn where there is no choice.
    #[inline]
    fn deal(&self, deck: &mut Deck, rng: &mut Rng) -> T {
        match self.0.len() {
            1 => self.0[0].1,
            _ => self.at(deck.deal(rng)),
        }
    }

    /// The outcome at a place of the whole, from 0 to below 2^32; the last one catches
    /// what rounding left over.
    #[inline]
    fn at(&self, place: u64) -> T {
        let last = self.0.len() - 1;
        let row = self.0.iter().find(|(upper, _)| place < *upper);
        row.unwrap_or(&self.0[last]).1
    }
}

/// The cards of a proc: two decks for each state, for what it shows and for what follows.
/// Draws from them come out as the model says with far fewer operations than draws by
/// themselves do: over 100,000 operations those would miss the share of reads by half a
/// percentage point, since reads come in runs.
#[derive(Clone, Debug)]
pub struct ProcDecks(Box<[[Deck; 2]]>);

/// 32 cards, each a place in its own 32nd of all that may come. They are dealt in any
/// order; when the last is gone, the next deck's places are moved on by the golden
/// section, so that all decks together fill the whole evenly.
#[derive(Clone, Copy, Debug)]
struct Deck {
    /// The cards that are left, as bits.
    left: u32,
    /// Where in its 32nd each card's place is, in units of 2^-32 of it.
    offset: u32,
}

impl Deck {
    /// 2^32 by the golden section.
    const GOLDEN: u32 = 0x9e37_79b9;

    /// A card: a place of the whole, from 0 to below 2^32.
    #[inline]
    fn deal(&mut self, rng: &mut Rng) -> u64 {
        if self.left == 0 {
            self.left = u32::MAX;
            self.offset = self.offset.wrapping_add(Self::GOLDEN);
        }
        let mut rest = self.left;
        for _ in 0..rng.below(u64::from(rest.count_ones())) {
            rest &= rest - 1;
        }
        let card = rest.trailing_zeros();
        self.left &= !(1 << card);
        u64::from(card << 27 | self.offset >> 5)
    }
}

impl TransitionTables {
    /// The tables of a model. States that the model has no use for are left out.
    pub fn new(model: &Sequence) -> Self {
        let mut live: Vec<&State> = Vec::new();
        let (mut places, mut numbers) = (Vec::new(), Vec::new());
        for (number, state) in (0u32..).zip(model.states()) {
            places.push(live.len() as u32);
            if state.share > 0.0 {
                live.push(state);
                numbers.push(number);
            }
        }
        let emits = |s: &&State| Table::new(s.emits.iter().map(|w| (w.to, w.share)));
        let way = |w: &Transition<u32>| (places.get(w.to as usize).copied().unwrap_or(0), w.share);
        let next = |s: &&State| Table::new(s.next.iter().map(way));
        let idle = (0u32..).zip(&live).filter(|(_, s)| s.level == Level::Idle);
        let at_rest: f64 = idle.clone().map(|(_, s)| s.share).sum();
        Self {
            rest: Table::new(idle.map(|(at, s)| (at, s.share / at_rest))),
            emits: live.iter().map(emits).collect(),
            next: live.iter().map(next).collect(),
            numbers,
        }
    }

    /// A place for a walker that has nothing open: an idle state, as often as walkers
    /// are in it in the long run.
    pub fn rest(&self, rng: &mut Rng) -> Position {
        Position(self.rest.draw(rng))
    }

    /// The number of the state where a walker is, as the model counts.
    pub fn state(&self, at: Position) -> u32 {
        self.numbers[at.0 as usize]
    }

    /// Whole decks for a proc.
    pub fn cards(&self, rng: &mut Rng) -> ProcDecks {
        let mut deck = || Deck {
            left: 0,
            offset: rng.next_u64() as u32,
        };
        ProcDecks(self.next.iter().map(|_| [deck(), deck()]).collect())
    }

    /// The operation that a walker shows, and where it is then, dealt from the cards of
    /// its proc.
    #[inline]
    pub fn deal(&self, at: Position, cards: &mut ProcDecks, rng: &mut Rng) -> (Step, Position) {
        let state = at.0 as usize;
        let [shown, next] = &mut cards.0[state];
        let step = self.emits[state].deal(shown, rng);
        (step, Position(self.next[state].deal(next, rng)))
    }

    /// The same, drawn with nothing remembered.
    #[inline]
    pub fn step(&self, at: Position, rng: &mut Rng) -> (Step, Position) {
        let state = at.0 as usize;
        let step = self.emits[state].draw(rng);
        (step, Position(self.next[state].draw(rng)))
    }
}
