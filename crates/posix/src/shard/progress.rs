//! How far the transfer of a range has come: which bytes the next system call moves, and what its
//! result means. The same for calls that wait and for those under way.

use super::ranges::Span;
use super::work::OpTally;
use crate::counters::{Counters, Tally};
use crate::sys::{Errno, Result};
use std::ops::Range;

/// A read of whole multiples of an alignment around a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadProgress {
    /// Where it begins in the file.
    from: u64,
    unit: usize,
    /// Bytes before the span.
    skip: usize,
    /// Bytes up to the end of the span.
    needed: usize,
    got: usize,
}

impl ReadProgress {
    /// With this alignment; 0: none.
    #[inline]
    pub(super) fn new(span: Span, align: u64) -> Self {
        let unit = align.max(1);
        let from = span.offset - span.offset % unit;
        let skip = (span.offset - from) as usize;
        Self {
            from,
            unit: unit as usize,
            skip,
            needed: skip + span.length,
            got: 0,
        }
    }

    /// Bytes of the buffer that it takes.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.needed.next_multiple_of(self.unit)
    }

    /// The part of the buffer for the next call, and the place in the file; `None`: there is no
    /// more.
    #[inline]
    pub(super) fn next(&self) -> Option<(Range<usize>, u64)> {
        let more = self.got < self.needed;
        more.then(|| (self.got..self.capacity(), self.from + self.got as u64))
    }

    /// A call has read so many bytes; whether another one is to follow.
    #[inline]
    pub(super) fn took(
        &mut self,
        count: usize,
        counters: &mut Counters,
        work: &mut OpTally,
    ) -> bool {
        work.physical += 1;
        self.got += count;
        // Past the cache only the end of the file is not a whole multiple.
        if count == 0 || (self.got < self.needed && !self.got.is_multiple_of(self.unit)) {
            return false;
        }
        if self.got < self.needed {
            counters.add(Tally::ShortReads);
        }
        self.got < self.needed
    }

    /// The part of the buffer that holds the span, shorter where the file ends before.
    #[inline]
    pub(super) fn finish(&self, counters: &mut Counters, work: &mut OpTally) -> Range<usize> {
        if self.got < self.needed {
            work.end = true;
            counters.add(Tally::EarlyEofs);
        }
        let got = self.skip.min(self.got)..self.got.min(self.needed);
        work.read_bytes += got.len() as u64;
        got
    }
}

/// A write of a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteProgress {
    offset: u64,
    length: usize,
    put: usize,
}

impl WriteProgress {
    #[inline]
    pub(super) fn new(span: Span) -> Self {
        Self {
            offset: span.offset,
            length: span.length,
            put: 0,
        }
    }

    /// The part of the buffer for the next call, and the place in the file; `None`: there is no
    /// more.
    #[inline]
    pub(super) fn next(&self) -> Option<(Range<usize>, u64)> {
        let more = self.put < self.length;
        more.then(|| (self.put..self.length, self.offset + self.put as u64))
    }

    /// A call has written so many bytes; whether another one is to follow.
    ///
    /// # Errors
    /// It has written none.
    #[inline]
    pub(super) fn took(
        &mut self,
        count: usize,
        counters: &mut Counters,
        work: &mut OpTally,
    ) -> Result<bool> {
        work.physical += 1;
        work.written_bytes += count as u64;
        self.put += count;
        if count == 0 {
            return Err(Errno::IO);
        }
        if self.put < self.length {
            counters.add(Tally::ShortWrites);
        }
        Ok(self.put < self.length)
    }
}
