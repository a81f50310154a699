//! One proc: its identity, its random stream, its schedule, its figures, and the
//! actions of its operations. What it works on is its slice.

use crate::driver::Action;
use crate::schedule::Schedule;
use crate::slice::Slice;
use crate::slice::classic::PoolId;
use crate::slice::tree::TreePendingEffect;
use filermark_model::mix::MixSampler;
use filermark_model::sequence::Step;
use filermark_model::stats::{ProcOp, ProcStats};
use filermark_model::{Mix, Nanos, Op, Rng};

/// The change to the proc's state when an operation's outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingEffect {
    /// Nothing.
    None,
    /// A name was to be made.
    Make(PoolId, u16),
    /// A name was to be removed.
    Remove(PoolId, u16),
    /// A name that exists was used, and exists still.
    Keep(PoolId, u16),
    /// A small file was to move from one name to another.
    Move(u16, u16),
    /// Bytes were to be appended to a file: index, offset, length.
    Append(u32, u32, u32),
    /// A directory was being listed.
    Listing,
    /// Something in a proc's own tree.
    Tree(TreePendingEffect),
    /// A step of a sequence: the walker's number, the step.
    Walk(u16, Step),
}

/// What a proc is to do for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenAction {
    /// The operation itself.
    Measured(Action, PendingEffect),
    /// First something outside of the mix, because its object is missing.
    Prepare(Action, PendingEffect),
    /// Nothing: all objects of the kind are in flight (open pacing), or there are none.
    Impossible,
}

/// What operations a shard's procs draw.
#[derive(Clone, Debug)]
pub struct Operations {
    mix: Mix,
    sampler: MixSampler,
}

impl Operations {
    /// Drawn by the shares of `mix`.
    pub fn new(mix: &Mix) -> Self {
        Self {
            mix: mix.clone(),
            sampler: mix.sampler(),
        }
    }

    /// The mix that operations are drawn from.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// Draws an operation; from the proc's deck, where it has one.
    #[inline]
    pub fn draw(&self, deck: &mut Option<Deck>, rng: &mut Rng) -> Op {
        match deck {
            Some(deck) => self.sampler.at(deck.deal(rng)),
            None => self.sampler.draw(rng),
        }
    }
}

/// Cards of a deck: one per percent of a mix.
const CARDS: usize = 100;

/// Makes draws match the mix also where there are few of them: a shuffled
/// deck with a card for every percent, dealt to its end. Procs of composites may do
/// one operation a second; in five minutes, independent draws would miss shares of a few
/// percent by chance.
#[derive(Clone, Debug)]
pub struct Deck {
    cards: [u8; CARDS],
    dealt: usize,
}

impl Default for Deck {
    fn default() -> Self {
        Self {
            cards: std::array::from_fn(|card| card as u8),
            dealt: CARDS,
        }
    }
}

impl Deck {
    /// A place of the whole, from 0 to below 2^32.
    #[inline]
    fn deal(&mut self, rng: &mut Rng) -> u64 {
        if self.dealt == CARDS {
            self.dealt = 0;
            for at in (1..CARDS).rev() {
                self.cards.swap(at, rng.below(at as u64 + 1) as usize);
            }
        }
        let card = u64::from(self.cards[self.dealt]);
        self.dealt += 1;
        (card << 32 | rng.next_u64() >> 32) / CARDS as u64
    }
}

/// The proc whose single steps the DEBUG flags show (manual M, table 3: the
/// first child on the first client).
pub const WATCHED_PROC: u32 = 0;

/// One proc.
#[derive(Debug)]
pub struct Proc {
    /// Its number in the whole run.
    pub number: u32,
    /// Its random stream.
    pub rng: Rng,
    /// Its intended starts.
    pub schedule: Schedule,
    /// Operations under way.
    pub in_flight: u32,
    /// Whether it waits in the timer queue.
    pub queued: bool,
    /// Its figures.
    pub stats: ProcStats,
    /// Since when it could have started another operation: it had fewer under way than it may
    /// have, and its thread was in no call of a blocking driver.
    pub free_since: Nanos,
    /// What it works on.
    pub slice: Slice,
    /// Its figures per operation, in the order of the mix; empty where they are not needed.
    pub ops: Vec<ProcOp>,
    /// Operations that ended since it began, WARMUP included.
    pub ended_count: u64,
    /// What its operations are dealt from; `None`: each is drawn by itself.
    pub deck: Option<Deck>,
}

impl Proc {
    /// A proc that has nothing to do yet.
    pub fn new(number: u32, seed: u64, schedule: Schedule, slice: Slice) -> Self {
        Self {
            number,
            rng: Rng::new(seed, u64::from(number)),
            schedule,
            in_flight: 0,
            queued: false,
            stats: ProcStats {
                proc: number,
                ..ProcStats::default()
            },
            free_since: Nanos::ZERO,
            slice,
            ops: Vec::new(),
            ended_count: 0,
            deck: None,
        }
    }

    /// Whether it has a start before `end` that was not made yet.
    pub fn is_due_before(&self, end: Nanos) -> bool {
        !self.schedule.is_unlimited() && self.schedule.next() < end
    }

    /// RUN begins: forgets its figures.
    pub fn begin_run(&mut self) {
        self.stats = ProcStats {
            proc: self.number,
            ..ProcStats::default()
        };
        for op in &mut self.ops {
            *op = no_figures(op.op);
        }
    }

    /// A proc of a composite: deals its operations from a deck, and keeps figures per
    /// operation.
    pub fn keep_ops(&mut self, mix: &Mix) {
        self.deck = Some(Deck::default());
        self.ops = mix.shares().iter().map(|(op, _)| no_figures(*op)).collect();
    }
}

fn no_figures(op: Op) -> ProcOp {
    ProcOp {
        op,
        success_count: 0,
        error_count: 0,
        read_bytes: 0,
        written_bytes: 0,
        service_sum_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_keeps_the_mix_exactly_and_in_no_order() {
        let shares = [
            (Op::ReadRandom, 86.0),
            (Op::Read, 5.0),
            (Op::Readdir, 3.0),
            (Op::Stat, 6.0),
        ];
        let operations = Operations::new(&Mix::new(shares).unwrap());
        let mut rng = Rng::new(5, 5);
        let mut deck = Some(Deck::default());
        let mut decks = Vec::new();
        for _ in 0..3 {
            let dealt: Vec<Op> = (0..100)
                .map(|_| operations.draw(&mut deck, &mut rng))
                .collect();
            for (op, percent) in shares {
                let count = dealt.iter().filter(|o| **o == op).count();
                assert_eq!(count as f64, percent, "{op}");
            }
            decks.push(dealt);
        }
        assert!(decks[0] != decks[1] && decks[1] != decks[2]);
    }

    #[test]
    fn shares_of_less_than_a_percent_come_up_in_the_mean() {
        let operations = Operations::new(&Mix::new([(Op::Stat, 99.5), (Op::Rename, 0.5)]).unwrap());
        let mut rng = Rng::new(5, 5);
        let mut deck = Some(Deck::default());
        let renames = (0..40_000)
            .filter(|_| operations.draw(&mut deck, &mut rng) == Op::Rename)
            .count();
        assert!((160..240).contains(&renames), "{renames}");
    }
}
