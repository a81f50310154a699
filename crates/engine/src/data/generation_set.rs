//! Generations that a word may have been written with, and how much of it they explain.

/// How many are tried.
const TRIED_MAX: u64 = 1 << 14;
/// Generations with the same low half are this far apart.
const HALF_STEP: u64 = 1 << 32;

/// Generations from `first` to `last`, `step` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    first: u64,
    last: u64,
    step: u64,
}

/// An end of a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectorEnd {
    Begin,
    End,
}

impl Candidates {
    /// No generation.
    pub(super) const NONE: Self = Self::range(1, 0);

    /// All from `first` to `last`.
    pub(super) const fn range(first: u64, last: u64) -> Self {
        let step = 1;
        Self { first, last, step }
    }

    /// Whether a generation lies between the first one and the last one.
    #[inline]
    pub(super) fn spans(&self, generation: u64) -> bool {
        (self.first..=self.last).contains(&generation)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first > self.last
    }

    /// This one, if it is among them.
    pub(super) fn only(&self, generation: u64) -> Self {
        match self.spans(generation) {
            true => Self::range(generation, generation),
            false => Self::NONE,
        }
    }

    /// Those with this low half.
    pub(super) fn with_half(&self, half: u64) -> Self {
        if half >= HALF_STEP {
            return Self::NONE;
        }
        let same = self.first / HALF_STEP * HALF_STEP + half;
        let first = match same < self.first {
            true => same.saturating_add(HALF_STEP),
            false => same,
        };
        Self {
            first,
            last: self.last,
            step: HALF_STEP,
        }
    }

    /// How many bytes on one side of `read` one of the generations explains at most: those
    /// from `within` on in the `word` that it writes. `None`: there are too many
    /// generations to try them.
    pub(super) fn matching(
        &self,
        read: &[u8],
        within: usize,
        side: SectorEnd,
        word: impl Fn(u64) -> [u8; 8],
    ) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let further = (self.last - self.first) / self.step;
        if further >= TRIED_MAX {
            return None;
        }
        let matching = |n: u64| {
            let word = word(self.first + n * self.step);
            let same = read
                .iter()
                .zip(&word[within..])
                .map(|(one, two)| one == two);
            match side {
                SectorEnd::Begin => same.take_while(|same| *same).count(),
                SectorEnd::End => same.rev().take_while(|same| *same).count(),
            }
        };
        (0..=further).map(matching).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_stands_for_all_generations_that_have_it() {
        let all = Candidates::range((1 << 32) + 5, (3 << 32) + 5);
        let of_half = |half, first| {
            let found = all.with_half(half);
            assert_eq!((found.first, found.is_empty()), (first, false), "{half}");
        };
        of_half(5, (1 << 32) + 5);
        of_half(4, (2 << 32) + 4);
        assert!(Candidates::range(3, 9).with_half(2).is_empty());
        assert!(Candidates::range(3, 9).with_half(10).is_empty());
        assert!(all.with_half(1 << 32).is_empty());
        assert!(all.only(7).is_empty() && !all.only(1 << 33).is_empty());
    }

    #[test]
    fn bytes_are_explained_from_either_side() {
        let word = |generation: u64| generation.to_le_bytes();
        let some = Candidates::range(0x0101, 0x0104);
        let read = [3, 1, 0, 0, 9, 0, 0, 0];
        assert_eq!(some.matching(&read, 0, SectorEnd::Begin, word), Some(4));
        assert_eq!(some.matching(&read, 0, SectorEnd::End, word), Some(3));
        let part = some.matching(&read[1..3], 1, SectorEnd::Begin, word);
        assert_eq!(part, Some(2));
        let none = Candidates::NONE.matching(&read, 0, SectorEnd::End, word);
        assert_eq!(none, Some(0));
        let (all, more) = (TRIED_MAX - 1, TRIED_MAX);
        let of = |last| Candidates::range(0, last).matching(&[255; 8], 0, SectorEnd::End, word);
        assert_eq!((of(all), of(more)), (Some(0), None));
    }
}
