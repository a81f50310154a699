//! Ranges of files that were answered UNSTABLE, and lists of them.
//!
//! A range has the generation of its data and the verifier of its reply, so that lost data
//! can be detected and generated again. All ranges of a shard are in one block of memory;
//! once it has grown, nothing is allocated.

use filermark_onc::nfs3::Verf;

/// The index of no range and of no operation.
pub(super) const NIL: u32 = u32::MAX;

/// A range of bytes of a file: from the first to the last byte of some transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteSpan {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl ByteSpan {
    pub(crate) const NONE: Self = Self {
        from: u64::MAX,
        to: 0,
    };

    pub(crate) fn is_none(self) -> bool {
        self.from > self.to
    }

    /// Whether it has no byte.
    pub(crate) fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// Whether both have a common byte.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// The common bytes of both.
    pub(crate) fn intersection(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    /// The smallest span that has both.
    pub(crate) fn hull(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }
}

/// A range that was answered UNSTABLE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UncommittedRange {
    pub(crate) span: ByteSpan,
    /// The generation of its data.
    pub(crate) generation: u64,
    /// The verifier of the reply.
    pub(crate) verf: Verf,
}

/// A list of ranges, in the order in which they were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeList {
    first: u32,
    last: u32,
}

impl RangeList {
    pub(crate) const EMPTY: Self = Self {
        first: NIL,
        last: NIL,
    };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.first == NIL
    }
}

/// Counts writes by generation. A later write may have split one into several ranges, which
/// are next to each other.
#[derive(Debug, Default)]
struct WriteCounter {
    count: u64,
    last: Option<u64>,
}

impl WriteCounter {
    fn note(&mut self, generation: u64) {
        if self.last != Some(generation) {
            self.count += 1;
            self.last = Some(generation);
        }
    }
}

/// The ranges of a shard.
#[derive(Debug)]
pub(crate) struct Ranges {
    slots: Vec<(UncommittedRange, u32)>,
    free: u32,
}

impl Ranges {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self {
            slots: Vec::with_capacity(count),
            free: NIL,
        }
    }

    pub(crate) fn push(&mut self, list: &mut RangeList, held: UncommittedRange) {
        let at = match self.free {
            NIL => {
                self.slots.push((held, NIL));
                self.slots.len() as u32 - 1
            }
            at => {
                self.free = self.slots[at as usize].1;
                self.slots[at as usize] = (held, NIL);
                at
            }
        };
        match list.last {
            NIL => list.first = at,
            last => self.slots[last as usize].1 = at,
        }
        list.last = at;
    }

    /// Removes the first range of a list.
    pub(crate) fn pop(&mut self, list: &mut RangeList) -> Option<UncommittedRange> {
        let at = list.first;
        let (held, next) = *self.slots.get(at as usize)?;
        list.first = next;
        if next == NIL {
            list.last = NIL;
        }
        self.slots[at as usize].1 = self.free;
        self.free = at;
        Some(held)
    }

    /// Empties a list; returns the number of writes whose ranges were in it.
    pub(crate) fn clear(&mut self, list: &mut RangeList) -> u64 {
        let mut writes = WriteCounter::default();
        while let Some(held) = self.pop(list) {
            writes.note(held.generation);
        }
        writes.count
    }

    /// Moves all ranges of `from` to the end of `list`.
    pub(crate) fn append(&mut self, list: &mut RangeList, from: &mut RangeList) {
        let from = std::mem::replace(from, RangeList::EMPTY);
        match list.last {
            _ if from.is_empty() => {}
            NIL => *list = from,
            last => {
                self.slots[last as usize].1 = from.first;
                list.last = from.last;
            }
        }
    }

    pub(crate) fn iter(&self, list: RangeList) -> impl Iterator<Item = &UncommittedRange> {
        let mut at = list.first;
        std::iter::from_fn(move || {
            let (held, next) = self.slots.get(at as usize)?;
            at = *next;
            Some(held)
        })
    }

    /// Removes `span` from the ranges that are older than generation `before`.
    pub(crate) fn cut(&mut self, list: &mut RangeList, span: ByteSpan, before: u64) {
        let is_cut = |held: &UncommittedRange| held.generation < before && held.span.overlaps(span);
        if !self.iter(*list).any(is_cut) {
            return;
        }
        let mut kept = RangeList::EMPTY;
        while let Some(held) = self.pop(list) {
            if !is_cut(&held) {
                self.push(&mut kept, held);
                continue;
            }
            for part in [
                ByteSpan {
                    to: span.from,
                    ..held.span
                },
                ByteSpan {
                    from: span.to,
                    ..held.span
                },
            ] {
                if part.from < part.to {
                    self.push(&mut kept, UncommittedRange { span: part, ..held });
                }
            }
        }
        *list = kept;
    }

    /// Applies a COMMIT reply with `verf`: ranges written under it are stable and leave `sent`,
    /// all others are lost and move to `lost`. Returns the number of lost writes and the oldest
    /// generation among them.
    pub(crate) fn settle(
        &mut self,
        sent: &mut RangeList,
        lost: &mut RangeList,
        verf: Verf,
    ) -> (u64, u64) {
        let (mut writes, mut oldest) = (WriteCounter::default(), u64::MAX);
        while let Some(held) = self.pop(sent) {
            if held.verf != verf {
                writes.note(held.generation);
                oldest = oldest.min(held.generation);
                self.push(lost, held);
            }
        }
        (writes.count, oldest)
    }

    /// Ranges in use.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        let mut free = 0;
        let mut at = self.free;
        while let Some((_, next)) = self.slots.get(at as usize) {
            (at, free) = (*next, free + 1);
        }
        self.slots.len() - free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(from: u64, to: u64, generation: u64, verf: u8) -> UncommittedRange {
        UncommittedRange {
            span: ByteSpan { from, to },
            generation,
            verf: [verf; 8],
        }
    }

    fn spans(ranges: &Ranges, list: RangeList) -> Vec<(u64, u64, u64)> {
        let all = ranges.iter(list);
        all.map(|h| (h.span.from, h.span.to, h.generation))
            .collect()
    }

    #[test]
    fn a_later_write_cuts_its_range_from_earlier_ones() {
        let mut ranges = Ranges::with_capacity(0);
        let mut list = RangeList::EMPTY;
        for one in [
            held(0, 10, 1, 1),
            held(20, 30, 2, 1),
            held(5, 25, 9, 1),
            held(40, 50, 3, 1),
        ] {
            ranges.push(&mut list, one);
        }
        ranges.cut(&mut list, ByteSpan { from: 4, to: 22 }, 5);
        let left = [(0, 4, 1), (22, 30, 2), (5, 25, 9), (40, 50, 3)];
        assert_eq!(spans(&ranges, list), left);
        ranges.cut(&mut list, ByteSpan { from: 44, to: 46 }, 5);
        let left = [(0, 4, 1), (22, 30, 2), (5, 25, 9), (40, 44, 3), (46, 50, 3)];
        assert_eq!(spans(&ranges, list), left);
        let mut lost = RangeList::EMPTY;
        assert_eq!(ranges.settle(&mut list, &mut lost, [1; 8]).0, 0);
        for (from, generation) in [(0, 1), (10, 1), (20, 2)] {
            ranges.push(&mut list, held(from, from + 5, generation, 1));
        }
        let all = list;
        assert_eq!(ranges.iter(all).count(), 3);
        assert_eq!(ranges.settle(&mut list, &mut lost, [2; 8]), (2, 1));
        ranges.append(&mut list, &mut lost);
        assert!(lost.is_empty() && list == all);
        ranges.cut(&mut list, ByteSpan { from: 0, to: 99 }, u64::MAX);
        assert!(list.is_empty() && ranges.used() == 0);
    }

    #[test]
    fn a_commit_separates_stable_from_lost_ranges() {
        let mut ranges = Ranges::with_capacity(0);
        let (mut sent, mut lost) = (RangeList::EMPTY, RangeList::EMPTY);
        for (n, verf) in [(7, 1), (4, 1), (5, 2)] {
            ranges.push(&mut sent, held(n, n + 1, n, verf));
        }
        assert_eq!(ranges.settle(&mut sent, &mut lost, [2; 8]), (2, 4));
        assert!(sent.is_empty());
        assert_eq!(spans(&ranges, lost), [(7, 8, 7), (4, 5, 4)]);
        assert_eq!(ranges.clear(&mut lost), 2);
        assert_eq!(ranges.used(), 0);
    }
}
