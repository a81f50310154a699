//! Whether a sector is what was written.
//!
//! Most are of one generation, and that is all. A sector that is not is cut where writes
//! began or ended within it ([`Seams`](super::seams::Seams)); each piece is of one
//! generation. A piece with a whole word tells it, and then all of its bytes are compared.
//! One without is shorter than 15 bytes and cannot be decided: its bytes are not counted
//! as compared.

use super::history::Checked;
use super::seams::Cuts;
use super::sector::{SECTOR, Sector};

/// Words of a sector that may tell no generation where nobody knows which writes there
/// were: fewer of them cannot be told from what several short writes leave.
const UNKNOWN_WORDS_MAX: usize = 8;

/// How the generations of a sector may lie in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mixture {
    /// They change only at these places.
    Cut(Cuts),
    /// Also at one more between two of them: writes may have overlapped, or their
    /// fate is not known.
    Torn(Cuts),
    /// Anywhere: others have written too.
    Any,
}

/// The bytes of a sector that were read.
pub(super) struct Part<'a> {
    pub(super) sector: Sector<'a>,
    /// Where in the sector they begin.
    pub(super) from: usize,
    pub(super) data: &'a [u8],
    /// Where the zeros begin.
    pub(super) solid: usize,
}

impl Part<'_> {
    /// Whether it is of one generation that is accepted, in all its bytes.
    #[inline]
    pub(super) fn check_whole(&self, accepts: &mut impl FnMut(u64) -> bool) -> Option<Checked> {
        let whole = <&[u8; SECTOR]>::try_from(self.data).ok()?;
        let generation = self.sector.read_whole(whole, self.solid)?;
        let good = accepts(generation) && is_zero(&whole[self.solid..]);
        let bytes = SECTOR as u64;
        Some(Checked { good, bytes })
    }

    /// Whether it is what this generation wrote.
    pub(super) fn check_fixed(&self, generation: u64) -> Checked {
        let mut whole = [0; SECTOR];
        self.sector.write(generation, &mut whole);
        whole[self.solid..].fill(0);
        Checked {
            good: whole[self.from..self.end()] == *self.data,
            bytes: self.data.len() as u64,
        }
    }

    /// Whether it is a mixture that there may be.
    pub(super) fn check_mixture(
        &self,
        mixture: Mixture,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> Checked {
        let mut checked = self.check_names_and_zeros();
        let end = self.end().min(self.solid);
        let (cuts, may_tear) = match mixture {
            Mixture::Any => {
                checked.add(self.check_any(accepts));
                return checked;
            }
            Mixture::Cut(cuts) => (cuts, false),
            Mixture::Torn(cuts) => (cuts, true),
        };
        let mut from = self.from;
        while from < end {
            let to = cuts.next(from).min(end);
            checked.add(self.check_piece((from, to), may_tear, accepts));
            from = to;
        }
        checked
    }

    /// The first word, which all generations have, and the zeros.
    fn check_names_and_zeros(&self) -> Checked {
        let first = self.sector.word(0, 0).to_le_bytes();
        let named = self.from.min(8)..self.end().min(8);
        let zeros = self.end().min(self.solid.max(self.from));
        Checked {
            good: self.bytes(named.start, named.end) == &first[named.clone()]
                && is_zero(self.bytes(zeros, self.end())),
            bytes: (named.len() + self.end() - zeros) as u64,
        }
    }

    /// A piece that is of one generation, or of two where it may be torn.
    fn check_piece(
        &self,
        (from, to): (usize, usize),
        may_tear: bool,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> Checked {
        let from = from.max(8);
        let words = from.div_ceil(8)..to / 8;
        let Some(telling) = words.clone().find(|at| *at > 1) else {
            // The second word names the low half of a generation only.
            let named = words.contains(&1).then(|| self.generation_of(1));
            return match named {
                Some(half) => Checked {
                    good: half.is_some_and(is_half) || may_tear,
                    bytes: 8,
                },
                None => Checked::NOTHING,
            };
        };
        if let Some(generation) = self.generation_of(telling)
            && accepts(generation)
        {
            let mut whole = [0; SECTOR];
            self.sector.write(generation, &mut whole);
            if whole[from..to] == *self.bytes(from, to) {
                let bytes = (to - from) as u64;
                return Checked { good: true, bytes };
            }
        }
        match may_tear {
            true => self.check_torn(telling..to / 8, accepts),
            false => Checked {
                good: false,
                bytes: (to - from) as u64,
            },
        }
    }

    /// Words whose generation may change anywhere, but not twice in a word.
    fn check_torn(
        &self,
        words: std::ops::Range<usize>,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> Checked {
        let mut checked = Checked::NOTHING;
        let mut before = None;
        for at in words.clone() {
            let known = self.generation_of(at).filter(|g| accepts(*g));
            let is_edge = at == words.start || at + 1 == words.end;
            if known.is_some() || !is_edge {
                checked.bytes += 8;
                checked.good &= known.is_some() || self.meet(at, before);
            }
            before = known;
        }
        checked
    }

    /// Words that others have written too.
    fn check_any(&self, accepts: &mut impl FnMut(u64) -> bool) -> Checked {
        let mut checked = Checked::NOTHING;
        let words = self.from.div_ceil(8).max(1)..self.end().min(self.solid) / 8;
        let mut unknown = 0;
        let mut before = None;
        for at in words.clone() {
            let known = self.generation_of(at).filter(|g| match at {
                1 => is_half(*g),
                _ => accepts(*g),
            });
            match known.is_some() || (at + 1 < words.end && self.meet(at, before)) {
                true => checked.bytes += 8,
                false => unknown += 1,
            }
            before = known;
        }
        checked.good = unknown <= (words.len() / 2).max(UNKNOWN_WORDS_MAX);
        checked
    }

    /// Whether a word begins as the generation of the word before, and ends as another
    /// one, which the word behind has.
    fn meet(&self, at: usize, before: Option<u64>) -> bool {
        let (Some(before), Some(after)) = (before, self.generation_of(at + 1)) else {
            return false;
        };
        let read = self.bytes(at * 8, at * 8 + 8);
        let [before_bytes, after_bytes] =
            [before, after].map(|generation| self.sector.word(at, generation).to_le_bytes());
        let is_split =
            |split| before_bytes[..split] == read[..split] && after_bytes[split..] == read[split..];
        before != after && (1..8).any(is_split)
    }

    /// The generation that a word which lies in the part was written with.
    fn generation_of(&self, at: usize) -> Option<u64> {
        let word = <[u8; 8]>::try_from(self.bytes(at * 8, at * 8 + 8)).ok()?;
        self.sector.generation_of(at, u64::from_le_bytes(word))
    }

    /// Bytes by their places in the sector; empty where they are not in the part.
    fn bytes(&self, from: usize, to: usize) -> &[u8] {
        let at = |place: usize| place.checked_sub(self.from);
        match (at(from), at(to)) {
            (Some(from), Some(to)) => self.data.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }

    fn end(&self) -> usize {
        self.from + self.data.len()
    }
}

/// Whether a number is the low half of a generation.
fn is_half(names: u64) -> bool {
    names >> 32 == 0
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}
