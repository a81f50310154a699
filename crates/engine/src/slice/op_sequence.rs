//! Walkers: each steps through the states of a sequence of operations and has its own
//! open file. A proc has as many as it has operations under way at once: one with
//! closed pacing.
//!
//! A walker takes a step only when the one before has ended. A failure on an open file
//! is followed by its close, and the walker starts again: whatever the
//! server refuses, no sequence is invalid.

use filermark_model::sequence::{Position, ProcDecks, Step, TransitionTables};
use filermark_model::{Op, Rng};

/// What a walker has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenTarget {
    /// The accessed file at this index.
    File(u32),
    /// A small file, or one that is deleted when it is closed: its content is known.
    Scratch {
        /// Bytes that are in it.
        bytes: u32,
        /// It is deleted when it is closed.
        temporary: bool,
    },
    /// A file or directory that is not read or written.
    Other,
}

/// An open file or directory.
#[derive(Clone, Copy, Debug)]
pub struct OpenHandle {
    /// What it is.
    pub target: OpenTarget,
    /// Length of every read of this open, in bytes.
    pub read_length: u32,
    /// Length of every write of this open, in bytes.
    pub write_length: u32,
    /// Where the last sequential read ended.
    pub read_at: u32,
    /// Where the last sequential write ended.
    pub write_at: u32,
    /// Sequential writes go to the end of the file.
    pub appends: bool,
    /// The range that is locked: offset, length.
    pub lock: Option<(u32, u32)>,
    /// The append that is under way: offset, length.
    pub appending: Option<(u32, u32)>,
}

impl OpenHandle {
    /// A file or directory that is not read or written.
    pub const OTHER: Self = Self {
        target: OpenTarget::Other,
        read_length: 0,
        write_length: 0,
        read_at: 0,
        write_at: 0,
        appends: false,
        lock: None,
        appending: None,
    };
}

/// A walker.
#[derive(Clone, Copy, Debug)]
struct OpSequenceCursor {
    at: Position,
    /// Its position when the step under way has succeeded.
    after: Position,
    open: Option<OpenHandle>,
    /// An operation on the open file failed.
    must_close: bool,
}

/// The walkers of a proc.
#[derive(Debug, Default)]
pub struct OpSequenceCursors {
    all: Vec<OpSequenceCursor>,
    /// Those without a step under way; the last one to end continues first.
    free: Vec<u16>,
    /// Drawn, and not chosen for yet.
    drawn: Option<(u16, Step)>,
    /// The decks that the steps of all of them are dealt from.
    cards: Option<ProcDecks>,
}

impl OpSequenceCursors {
    /// The next step of a free walker, or of a new one.
    pub fn draw(&mut self, walk: &TransitionTables, rng: &mut Rng) -> Op {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                let at = walk.rest(rng);
                self.all.push(OpSequenceCursor {
                    at,
                    after: at,
                    open: None,
                    must_close: false,
                });
                (self.all.len() - 1) as u16
            }
        };
        let cards = self.cards.get_or_insert_with(|| walk.cards(rng));
        let walker = &mut self.all[usize::from(number)];
        let step = match walker.must_close {
            true => {
                walker.after = walk.rest(rng);
                Step::Close
            }
            false => {
                let (step, after) = walk.deal(walker.at, cards, rng);
                walker.after = after;
                step
            }
        };
        self.drawn = Some((number, step));
        step.op()
    }

    /// The step that was drawn last.
    pub fn take_drawn(&mut self) -> Option<(u16, Step)> {
        self.drawn.take()
    }

    /// What a walker has open.
    pub fn open(&self, number: u16) -> Option<&OpenHandle> {
        self.all.get(usize::from(number))?.open.as_ref()
    }

    /// What a walker has open, mutable.
    pub fn open_mut(&mut self, number: u16) -> Option<&mut OpenHandle> {
        self.all.get_mut(usize::from(number))?.open.as_mut()
    }

    /// A walker is about to open a file or directory.
    pub fn begin_open(&mut self, number: u16, opened: OpenHandle) {
        if let Some(walker) = self.all.get_mut(usize::from(number)) {
            walker.open = Some(opened);
        }
    }

    /// Whether a walker other than `number` has the file at an index open.
    pub fn others_have(&self, number: u16, file: u32) -> bool {
        let all = self.all.iter().enumerate();
        all.filter(|(at, _)| *at != usize::from(number))
            .any(|(_, w)| w.open.is_some_and(|o| o.target == OpenTarget::File(file)))
    }

    /// A step has ended.
    pub fn end(
        &mut self,
        number: u16,
        step: Step,
        worked: bool,
        walk: &TransitionTables,
        rng: &mut Rng,
    ) {
        let Some(walker) = self.all.get_mut(usize::from(number)) else {
            return;
        };
        let opens = step.op() == Op::Open;
        if step == Step::Close || (opens && !worked) {
            walker.open = None;
        }
        walker.must_close = !worked && walker.open.is_some();
        walker.at = match opens && !worked {
            true => walk.rest(rng),
            false => walker.after,
        };
        self.free.push(number);
    }

    /// The numbers of those that have something open.
    pub fn with_open(&self) -> impl Iterator<Item = u16> + '_ {
        let all = (0u16..).zip(&self.all);
        all.filter(|(_, w)| w.open.is_some()).map(|(n, _)| n)
    }

    /// Resets: nothing is open or under way.
    pub fn forget(&mut self) {
        self.all.clear();
        self.free.clear();
        self.drawn = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_model::Benchmark;
    use std::collections::HashMap;

    /// Whatever fails, and however many operations are under way: no operation works on
    /// what is not open, nothing is opened twice, what has failed is closed.
    #[test]
    fn no_sequence_is_invalid_whatever_fails() {
        let benchmark = Benchmark::shipped("general-smb1").unwrap();
        let model = benchmark.classic().unwrap().sequence.clone().unwrap();
        let walk = TransitionTables::new(&model);
        let mut rng = Rng::new(3, 3);
        let mut walkers = OpSequenceCursors::default();
        // By walker: whether something has failed on what it has open.
        let mut open: HashMap<u16, bool> = HashMap::new();
        let mut under_way: Vec<(u16, Step)> = Vec::new();
        let mut taken = 0;
        while taken < 1_000_000 {
            if under_way.len() < 5 && rng.percent(60.0) {
                walkers.draw(&walk, &mut rng);
                let (number, step) = walkers.take_drawn().unwrap();
                taken += 1;
                assert!(
                    !under_way.iter().any(|(n, _)| *n == number),
                    "one step at a time"
                );
                let has_failed = open.get(&number).copied();
                match step.op() {
                    Op::Open => {
                        assert_eq!(has_failed, None, "opened twice");
                        walkers.begin_open(number, OpenHandle::OTHER);
                    }
                    Op::Echo | Op::QueryFs => {}
                    Op::QueryPath | Op::Find => assert_eq!(has_failed, None, "left open"),
                    Op::Close => assert!(has_failed.is_some(), "closed without an open"),
                    _ => assert_eq!(has_failed, Some(false), "used though not (well) open"),
                }
                under_way.push((number, step));
            } else if !under_way.is_empty() {
                let at = rng.below(under_way.len() as u64) as usize;
                let (number, step) = under_way.swap_remove(at);
                let worked = rng.percent(95.0);
                walkers.end(number, step, worked, &walk, &mut rng);
                match step.op() {
                    Op::Open if worked => drop(open.insert(number, false)),
                    Op::Close => drop(open.remove(&number)),
                    _ if !worked => drop(open.get_mut(&number).map(|failed| *failed = true)),
                    _ => {}
                }
                assert_eq!(walkers.open(number).is_some(), open.contains_key(&number));
            }
        }
    }
}
