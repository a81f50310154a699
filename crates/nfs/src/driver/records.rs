//! Record marking (RFC 5531 section 11) on the part of a stream that has been received.

use filermark_net::FrameProgress;
use filermark_onc::record::{RecordTooLong, whole_record};

/// Most fragments of one record. Servers send one; this limits streams of fragments without
/// content.
const FRAGMENTS_MAX: usize = 1024;
const MARK: usize = 4;
const LAST: u32 = 1 << 31;

/// Splits bytes into records and joins records of several fragments.
#[derive(Debug, Default)]
pub(crate) struct RecordSplitter {
    record_max: usize,
    joined: Vec<u8>,
}

/// The front of bytes that do not begin with a whole record of one fragment.
enum RecordFront {
    /// A record of several fragments, this many bytes long with its marks.
    Fragments(usize),
    /// An incomplete record; at least this many bytes are missing.
    Incomplete(usize),
}

impl RecordSplitter {
    /// Refuses records above `record_max` bytes.
    pub(crate) fn new(record_max: usize) -> Self {
        Self {
            record_max,
            joined: Vec::new(),
        }
    }

    /// Passes every whole record in `bytes` to `each`; returns how many bytes were consumed and
    /// how many are missing.
    pub(crate) fn split(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<FrameProgress, RecordTooLong> {
        let mut rest = bytes;
        loop {
            while let Some(whole) = whole_record(rest, self.record_max)? {
                each(whole.record);
                rest = whole.rest;
            }
            if rest.is_empty() {
                return Ok(FrameProgress {
                    consumed: bytes.len(),
                    wanted: 0,
                });
            }
            match self.front(rest)? {
                RecordFront::Incomplete(wanted) => {
                    return Ok(FrameProgress {
                        consumed: bytes.len() - rest.len(),
                        wanted,
                    });
                }
                RecordFront::Fragments(len) => {
                    let (record, behind) = rest.split_at(len);
                    self.join(record);
                    each(&self.joined);
                    rest = behind;
                }
            }
        }
    }

    fn front(&self, bytes: &[u8]) -> Result<RecordFront, RecordTooLong> {
        let mut at = 0;
        let mut content = 0;
        for _ in 0..FRAGMENTS_MAX {
            let Some(mark) = bytes.get(at..).and_then(<[u8]>::first_chunk::<MARK>) else {
                return Ok(RecordFront::Incomplete(at + MARK - bytes.len()));
            };
            let word = u32::from_be_bytes(*mark);
            let len = (word & !LAST) as usize;
            content += len;
            if content > self.record_max {
                return Err(self.too_long(content));
            }
            at += MARK + len;
            let last = word & LAST != 0;
            if at > bytes.len() {
                let next_mark = if last { 0 } else { MARK };
                return Ok(RecordFront::Incomplete(at + next_mark - bytes.len()));
            }
            if last {
                return Ok(RecordFront::Fragments(at));
            }
        }
        Err(self.too_long(content))
    }

    fn too_long(&self, announced: usize) -> RecordTooLong {
        RecordTooLong {
            announced,
            max: self.record_max,
        }
    }

    /// Joins `bytes`, which are whole fragments as checked by [`RecordSplitter::front`].
    fn join(&mut self, bytes: &[u8]) {
        self.joined.clear();
        let mut rest = bytes;
        while let Some((mark, behind)) = rest.split_first_chunk::<MARK>() {
            let len = (u32::from_be_bytes(*mark) & !LAST) as usize;
            let (fragment, behind) = behind.split_at(len.min(behind.len()));
            self.joined.extend_from_slice(fragment);
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_onc::record::append_fragments;
    use proptest::prelude::*;

    proptest! {
        /// Any records in any fragments: complete records are returned, and never more bytes
        /// are requested than are missing.
        #[test]
        fn complete_records_are_returned_unchanged(
            records in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..60), 1usize..70), 0..8),
            cut in 0usize..600,
        ) {
            let mut stream = Vec::new();
            let mut ends = Vec::new();
            for (record, fragment) in &records {
                append_fragments(&mut stream, record, *fragment);
                ends.push(stream.len());
            }
            let cut = cut.min(stream.len());
            let mut splitter = RecordSplitter::new(60);
            let mut seen = Vec::new();
            let feed = splitter.split(&stream[..cut], |r| seen.push(r.to_vec())).expect("sound");
            let whole = ends.iter().filter(|e| **e <= cut).count();
            let wanted: Vec<_> = records[..whole].iter().map(|r| r.0.clone()).collect();
            prop_assert_eq!(seen, wanted);
            prop_assert_eq!(feed.consumed, whole.checked_sub(1).map_or(0, |n| ends[n]));
            if feed.consumed < cut {
                prop_assert!(feed.wanted >= 1 && cut + feed.wanted <= ends[whole]);
            }
        }

        #[test]
        fn random_bytes_are_refused_or_incomplete(noise in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut splitter = RecordSplitter::new(100);
            if let Ok(feed) = splitter.split(&noise, |r| assert!(r.len() <= 100)) {
                prop_assert!(feed.consumed <= noise.len());
            }
        }
    }

    #[test]
    fn endless_empty_fragments_are_refused() {
        let mut splitter = RecordSplitter::new(100);
        assert!(splitter.split(&[0; 4 * FRAGMENTS_MAX], |_| ()).is_err());
    }
}
