//! Byte ranges that one owner has locked in one file (RFC 8881 section 9.1).

/// Kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeKind {
    /// Several owners may have it.
    Shared,
    /// One owner has it.
    Exclusive,
}

/// A locked range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// First byte.
    pub(crate) first: u64,
    /// Last byte; all ones for "to the end".
    pub(crate) last: u64,
    pub(crate) kind: RangeKind,
}

impl Range {
    /// The range of `length` bytes; all ones for "to the end". `None`: no bytes, or beyond 64 bits.
    pub(crate) fn new(offset: u64, length: u64, kind: RangeKind) -> Option<Range> {
        let last = match length {
            0 => return None,
            u64::MAX => u64::MAX,
            _ => offset.checked_add(length - 1)?,
        };
        Some(Range {
            first: offset,
            last,
            kind,
        })
    }

    /// Bytes; all ones for "to the end".
    pub(crate) const fn length(&self) -> u64 {
        match self.last {
            u64::MAX => u64::MAX,
            last => last - self.first + 1,
        }
    }

    const fn overlaps(&self, other: &Range) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether these ranges of different owners exclude each other.
    pub(crate) fn conflicts(&self, other: &Range) -> bool {
        let is_exclusive = self.kind == RangeKind::Exclusive || other.kind == RangeKind::Exclusive;
        is_exclusive && self.overlaps(other)
    }
}

/// The ranges of one owner: in order, and no two overlap.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<Range>,
}

impl Ranges {
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// A range that excludes this one of another owner.
    pub(super) fn conflict(&self, other: &Range) -> Option<Range> {
        let from = self.ranges.partition_point(|one| one.last < other.first);
        let overlapping = self.ranges[from..].iter().copied();
        let mut overlapping = overlapping.take_while(|one| one.first <= other.last);
        overlapping.find(|one| one.conflicts(other))
    }

    /// Whether to unlock this range makes two of one.
    pub(super) fn splits(&self, range: &Range) -> bool {
        let from = self.ranges.partition_point(|one| one.last < range.first);
        let one = self.ranges.get(from);
        one.is_some_and(|one| one.first < range.first && one.last > range.last)
    }

    /// Locks a range; what was locked of it changes to this kind.
    pub(super) fn lock(&mut self, range: Range) {
        self.unlock(&range);
        let at = self.ranges.partition_point(|one| one.first < range.first);
        self.ranges.insert(at, range);
        self.join(at);
        if at > 0 {
            self.join(at - 1);
        }
    }

    /// Makes one range of the one at this place and the next, where they touch and are of one kind.
    fn join(&mut self, at: usize) {
        let (Some(one), Some(next)) = (self.ranges.get(at), self.ranges.get(at + 1)) else {
            return;
        };
        if one.kind == next.kind && one.last.checked_add(1) == Some(next.first) {
            let last = next.last;
            self.ranges.remove(at + 1);
            self.ranges[at].last = last;
        }
    }

    /// Unlocks a range, of whatever kind it is.
    pub(super) fn unlock(&mut self, range: &Range) {
        let mut left = Vec::with_capacity(self.ranges.len() + 1);
        for one in self.ranges.drain(..) {
            if !one.overlaps(range) {
                left.push(one);
                continue;
            }
            if one.first < range.first {
                let last = range.first - 1;
                left.push(Range { last, ..one });
            }
            if one.last > range.last {
                let first = range.last + 1;
                left.push(Range { first, ..one });
            }
        }
        self.ranges = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of the model; the last one stands for all up to the end.
    const BYTES: u64 = 40;

    fn kind() -> impl Strategy<Value = RangeKind> {
        prop_oneof![Just(RangeKind::Shared), Just(RangeKind::Exclusive)]
    }

    fn range() -> impl Strategy<Value = Range> {
        (0..BYTES, 1..=BYTES, kind()).prop_map(|(first, len, kind)| {
            let last = first + len - 1;
            let last = if last >= BYTES - 1 { u64::MAX } else { last };
            Range { first, last, kind }
        })
    }

    fn bytes(range: &Range) -> std::ops::RangeInclusive<usize> {
        range.first as usize..=range.last.min(BYTES - 1) as usize
    }

    fn of_model(model: &[Option<RangeKind>], range: &Range) -> bool {
        model[bytes(range)]
            .iter()
            .flatten()
            .any(|kind| *kind == RangeKind::Exclusive || range.kind == RangeKind::Exclusive)
    }

    proptest! {
        #[test]
        fn ranges_are_what_a_table_of_bytes_is(
            steps in proptest::collection::vec((any::<bool>(), range()), 1..60),
            probes in proptest::collection::vec(range(), 20),
        ) {
            let mut ranges = Ranges::default();
            let mut model = [None; BYTES as usize];
            for (locks, range) in &steps {
                match locks {
                    true => ranges.lock(*range),
                    false => ranges.unlock(range),
                }
                model[bytes(range)].fill(locks.then_some(range.kind));
                for probe in &probes {
                    prop_assert_eq!(ranges.conflict(probe).is_some(), of_model(&model, probe));
                }
                // In order, apart, and joined where they touch.
                for pair in ranges.ranges.windows(2) {
                    prop_assert!(pair[0].last < pair[1].first);
                    let touch = pair[0].last + 1 == pair[1].first;
                    prop_assert!(!touch || pair[0].kind != pair[1].kind);
                }
                prop_assert_eq!(ranges.is_empty(), model.iter().all(Option::is_none));
            }
        }
    }

    #[test]
    fn lengths_are_those_of_the_protocol() {
        let new = |offset, length| Range::new(offset, length, RangeKind::Shared);
        assert_eq!(new(5, 0), None);
        assert_eq!(new(u64::MAX, 2), None);
        let to_end = new(5, u64::MAX).expect("a range");
        assert_eq!((to_end.last, to_end.length()), (u64::MAX, u64::MAX));
        let one = new(7, 3).expect("a range");
        assert_eq!((one.last, one.length()), (9, 3));
        assert_eq!(new(u64::MAX, 1).map(|range| range.last), Some(u64::MAX));
    }
}
