//! Checks whether a sector is what was written.
//!
//! Most sectors are of one generation. A sector that is not is cut where writes
//! began or ended within it ([`Cuts`]); each piece is of one
//! generation. A piece with a whole word shows it, and then all of its bytes are compared.
//! A piece without one is shorter than 15 bytes and cannot be decided: its bytes are not
//! counted as compared. Where writes may be torn, a piece is compared word by word.

use super::compared::CheckOutcome;
use super::generation_set::{Candidates, SectorEnd};
use super::sector::{SECTOR, Sector};
use super::write_boundaries::Cuts;

/// Words of a sector that may show no generation where it is not known which writes
/// were made: fewer of them cannot be distinguished from what several short writes leave.
const UNKNOWN_WORDS_MAX: usize = 8;

/// How the generations of a sector may be arranged in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GenerationMix {
    /// They change only at these places.
    Cut(Cuts),
    /// Also at others, but not twice in a word or in neighbouring words: writes may have
    /// overlapped, or their outcome is not known. With the generations that are accepted.
    Torn(Cuts, Candidates),
    /// Anywhere: other procs have written too.
    Any,
}

/// The bytes of a sector that were read.
pub(super) struct SectorPart<'a> {
    pub(super) sector: Sector<'a>,
    /// Where in the sector they begin.
    pub(super) from: usize,
    pub(super) data: &'a [u8],
    /// Where the zeros begin.
    pub(super) solid: usize,
}

impl SectorPart<'_> {
    /// Whether all of its bytes are of one accepted generation.
    #[inline(always)]
    pub(super) fn check_whole(
        &self,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> Option<CheckOutcome> {
        let whole = <&[u8; SECTOR]>::try_from(self.data).ok()?;
        let generation = self.sector.read_whole(whole, self.solid)?;
        let good = accepts(generation) && is_zero(&whole[self.solid..]);
        let bytes = SECTOR as u64;
        Some(CheckOutcome { good, bytes })
    }

    /// Whether it is what this generation wrote.
    pub(super) fn check_fixed(&self, generation: u64) -> CheckOutcome {
        let mut whole = [0; SECTOR];
        self.sector.write(generation, &mut whole);
        whole[self.solid..].fill(0);
        CheckOutcome {
            good: whole[self.from..self.end()] == *self.data,
            bytes: self.data.len() as u64,
        }
    }

    /// Whether it is an allowed mixture.
    pub(super) fn check_mixture(
        &self,
        mixture: GenerationMix,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> CheckOutcome {
        let mut checked = self.check_names_and_zeros();
        let end = self.end().min(self.solid);
        let (cuts, torn) = match mixture {
            GenerationMix::Any => {
                checked.add(self.check_any(accepts));
                return checked;
            }
            GenerationMix::Cut(cuts) => (cuts, None),
            GenerationMix::Torn(cuts, accepted) => (cuts, Some(accepted)),
        };
        let mut from = self.from;
        while from < end {
            let to = cuts.next(from).min(end);
            checked.add(self.check_piece((from, to), torn, accepts));
            from = to;
        }
        checked
    }

    /// Checks the first word, which all generations have, and the zeros.
    fn check_names_and_zeros(&self) -> CheckOutcome {
        let first = self.sector.word(0, 0).to_le_bytes();
        let named = self.from.min(8)..self.end().min(8);
        let zeros = self.end().min(self.solid.max(self.from));
        CheckOutcome {
            good: self.bytes(named.start, named.end) == &first[named.clone()]
                && is_zero(self.bytes(zeros, self.end())),
            bytes: (named.len() + self.end() - zeros) as u64,
        }
    }

    /// Checks a piece that is of one generation, or of several of these where it may be torn.
    fn check_piece(
        &self,
        (from, to): (usize, usize),
        torn: Option<Candidates>,
        accepts: &mut impl FnMut(u64) -> bool,
    ) -> CheckOutcome {
        let from = from.max(8);
        let words = from.div_ceil(8)..to / 8;
        let Some(shown) = words.clone().find(|at| *at > 1) else {
            if !words.contains(&1) {
                return CheckOutcome::NOTHING;
            }
            // The second word names the low half of a generation only.
            let half = self.generation_of(1).filter(|half| is_half(*half));
            return match (half, torn) {
                (Some(half), Some(accepted)) if accepted.with_half(half).is_empty() => {
                    CheckOutcome::NOTHING
                }
                (None, Some(_)) => CheckOutcome::NOTHING,
                (half, _) => CheckOutcome {
                    good: half.is_some(),
                    bytes: 8,
                },
            };
        };
        if let Some(generation) = self.generation_of(shown)
            && accepts(generation)
        {
            let mut whole = [0; SECTOR];
            self.sector.write(generation, &mut whole);
            if whole[from..to] == *self.bytes(from, to) {
                let bytes = (to - from) as u64;
                return CheckOutcome { good: true, bytes };
            }
        }
        match torn {
            Some(accepted) => self.check_torn((from, to), accepted),
            None => CheckOutcome {
                good: false,
                bytes: (to - from) as u64,
            },
        }
    }

    /// Checks a piece whose generation may change anywhere, but not twice in a word or in
    /// neighbouring words.
    fn check_torn(&self, (from, to): (usize, usize), accepted: Candidates) -> CheckOutcome {
        let mut checked = CheckOutcome::NOTHING;
        let mut before = None;
        let mut at = from;
        while at < to {
            let end = (at / 8 * 8 + 8).min(to);
            let shown = self.shown((at, end), accepted);
            let is_known = shown.is_some_and(|shown| !shown.is_empty());
            checked.add(match is_known {
                true => CheckOutcome {
                    good: true,
                    bytes: (end - at) as u64,
                },
                false => {
                    let after = match end < to {
                        true => self.shown((end, (end + 8).min(to)), accepted),
                        false => None,
                    };
                    self.check_split((at, end), [before, after], accepted)
                }
            });
            before = shown;
            at = end;
        }
        checked
    }

    /// The accepted generations that a whole word shows: one, none, or those that have the
    /// half which the second word names. `None` for a part of a word, which shows nothing.
    fn shown(&self, (from, to): (usize, usize), accepted: Candidates) -> Option<Candidates> {
        if to - from < 8 {
            return None;
        }
        let shown = self.generation_of(from / 8);
        Some(shown.map_or(Candidates::NONE, |shown| match from / 8 {
            1 => accepted.with_half(shown),
            _ => accepted.only(shown),
        }))
    }

    /// Checks a word, or a part of one, that begins with one generation and ends with
    /// another: those that the adjacent words show. Where no whole word is adjacent,
    /// any that is accepted may be; then the bytes do not count as compared. Nor do they
    /// where the generations of a side are too many to be tried.
    fn check_split(
        &self,
        (from, to): (usize, usize),
        beside: [Option<Candidates>; 2],
        accepted: Candidates,
    ) -> CheckOutcome {
        let length = to - from;
        let within = from % 8;
        let matching = |candidates: Candidates, side| {
            let word = |generation| self.sector.word(from / 8, generation).to_le_bytes();
            candidates.matching(self.bytes(from, to), within, side, word)
        };
        // A generation that explains a whole word is shown by it.
        let untried = length.min(7);
        let sides = [(beside[0], SectorEnd::Begin), (beside[1], SectorEnd::End)];
        let by_shown = sides.map(|(shown, side)| shown.and_then(|shown| matching(shown, side)));
        let is_shown = by_shown.iter().flatten().sum::<usize>() >= length;
        let good = is_shown || {
            let [begin, end] = sides.map(|(shown, side)| {
                let explained = match shown {
                    Some(_) => by_shown[usize::from(side == SectorEnd::End)],
                    None => matching(accepted, side),
                };
                explained.unwrap_or(untried)
            });
            begin + end >= length
        };
        let is_compared = is_shown || !good;
        CheckOutcome {
            good,
            bytes: if is_compared { length as u64 } else { 0 },
        }
    }

    /// Checks words that other procs have written too.
    fn check_any(&self, accepts: &mut impl FnMut(u64) -> bool) -> CheckOutcome {
        let mut checked = CheckOutcome::NOTHING;
        let words = self.from.div_ceil(8).max(1)..self.end().min(self.solid) / 8;
        let mut unknown = 0;
        let mut before = None;
        for at in words.clone() {
            let known = self.generation_of(at).filter(|g| match at {
                1 => is_half(*g),
                _ => accepts(*g),
            });
            match known.is_some() || (at + 1 < words.end && self.is_boundary(at, before)) {
                true => checked.bytes += 8,
                false => unknown += 1,
            }
            before = known;
        }
        checked.good = unknown <= (words.len() / 2).max(UNKNOWN_WORDS_MAX);
        checked
    }

    /// Whether a word begins with the generation of the word before it, and ends with
    /// the one of the word after it.
    fn is_boundary(&self, at: usize, before: Option<u64>) -> bool {
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

    /// The generation that a word in the part was written with.
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
