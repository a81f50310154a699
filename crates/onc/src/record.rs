//! Record marking on streams (RFC 5531 section 11): a record is a row of fragments, each with a word in
//! front that holds its length and, in the top bit, whether it is the last.
//!
//! Knows nothing of what a record holds. [`RecordReader`] hands out a record *in place* when the input
//! has it complete in one fragment (the hot path: several replies in one receive buffer), and gathers
//! it in a buffer of its own otherwise.

const LAST_FRAGMENT: u32 = 1 << 31;
const MAX_FRAGMENT: usize = (LAST_FRAGMENT - 1) as usize;
const MARK_BYTES: usize = 4;

/// Why a stream can't be split into records any further: the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "record of {announced} bytes or more is above the limit of {max}: the peer is not speaking ONC RPC, or the stream is out of step; close the connection"
)]
pub struct RecordTooLong {
    /// Bytes that the marks so far announced.
    pub announced: usize,
    /// The reader's limit, in bytes.
    pub max: usize,
}

fn read_mark(mark: [u8; MARK_BYTES]) -> (bool, usize) {
    let word = u32::from_be_bytes(mark);
    (word & LAST_FRAGMENT != 0, (word & !LAST_FRAGMENT) as usize)
}

/// Splits a byte stream into records, whatever pieces it comes in.
///
/// The memory it holds is bounded by the record limit, and grows with what has arrived, not with what a
/// mark announces.
#[derive(Debug)]
pub struct RecordReader {
    max_record: usize,
    /// Earlier fragments of the record under way, and what came of the present one.
    gathered: Vec<u8>,
    /// Bytes of a mark that was cut by the end of the input.
    mark: [u8; MARK_BYTES],
    mark_len: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A mark comes next; of a new record, or of a further fragment.
    Mark { new_record: bool },
    /// Bytes of a fragment come next.
    Body { left: usize, last: bool },
    /// The record in `gathered` was handed out.
    Done,
}

impl RecordReader {
    /// A reader that refuses records above `max_record` bytes.
    pub const fn new(max_record: usize) -> Self {
        Self {
            max_record,
            gathered: Vec::new(),
            mark: [0; MARK_BYTES],
            mark_len: 0,
            state: State::Mark { new_record: true },
        }
    }

    /// Takes bytes from the front of `input` until a record is complete, and hands that out; `None` when
    /// `input` is used up first. Call it until it says `None`, then come back with more input.
    ///
    /// ```
    /// # use filermark_onc::record::RecordReader;
    /// let mut reader = RecordReader::new(1 << 20);
    /// let mut input = &b"\x80\0\0\x02hi\x80\0\0\x03you\x80\0"[..];
    /// let mut records = Vec::new();
    /// while let Some(record) = reader.next_record(&mut input)? {
    ///     records.push(record.to_vec());
    /// }
    /// assert_eq!(records, [b"hi".to_vec(), b"you".to_vec()]);
    /// assert!(reader.is_mid_record() && input.is_empty());
    /// # Ok::<(), filermark_onc::record::RecordTooLong>(())
    /// ```
    ///
    /// # Errors
    /// [`RecordTooLong`]; the stream is then out of step for good.
    #[inline]
    pub fn next_record<'s, 'i: 's>(
        &'s mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<&'s [u8]>, RecordTooLong> {
        if matches!(self.state, State::Done | State::Mark { new_record: true })
            && self.mark_len == 0
        {
            let bytes: &'i [u8] = input;
            match whole_record(bytes, self.max_record)? {
                Some(WholeRecord { record, rest }) => {
                    self.state = State::Mark { new_record: true };
                    *input = rest;
                    return Ok(Some(record));
                }
                None => self.gathered.clear(),
            }
        }
        self.gather(input)
    }

    /// The general case: any number of fragments, cut anywhere.
    fn gather(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, RecordTooLong> {
        loop {
            match self.state {
                State::Done => {
                    self.gathered.clear();
                    self.state = State::Mark { new_record: true };
                }
                State::Mark { .. } => {
                    let Some((last, left)) = self.take_mark(input) else {
                        return Ok(None);
                    };
                    let announced = self.gathered.len().saturating_add(left);
                    check(announced, self.max_record)?;
                    self.state = State::Body { left, last };
                }
                State::Body { left, last } => {
                    let (now, rest) = input.split_at(left.min(input.len()));
                    self.gathered.extend_from_slice(now);
                    *input = rest;
                    if now.len() < left {
                        self.state = State::Body {
                            left: left - now.len(),
                            last,
                        };
                        return Ok(None);
                    }
                    if last {
                        self.state = State::Done;
                        return Ok(Some(&self.gathered));
                    }
                    self.state = State::Mark { new_record: false };
                }
            }
        }
    }

    fn take_mark(&mut self, input: &mut &[u8]) -> Option<(bool, usize)> {
        while self.mark_len < MARK_BYTES {
            let (byte, rest) = input.split_first()?;
            *input = rest;
            self.mark[self.mark_len] = *byte;
            self.mark_len += 1;
        }
        self.mark_len = 0;
        Some(read_mark(self.mark))
    }

    /// Whether the bytes so far end inside a record: at the end of the stream this is a cut-off record.
    pub const fn is_mid_record(&self) -> bool {
        match self.state {
            State::Done | State::Mark { new_record: true } => self.mark_len > 0,
            State::Mark { new_record: false } | State::Body { .. } => true,
        }
    }

    /// How many bytes the present fragment still lacks, at least (0 between records): a hint for the
    /// size of the next read.
    pub const fn wanted(&self) -> usize {
        match self.state {
            State::Body { left, .. } => left,
            _ => 0,
        }
    }

    /// Bytes of memory that the reader holds for a record that has come in part.
    pub const fn partial_bytes(&self) -> usize {
        if self.is_mid_record() {
            self.gathered.capacity()
        } else {
            0
        }
    }

    /// Gives memory back that is beyond `keep` bytes, between records: for idle connections.
    pub fn trim(&mut self, keep: usize) {
        if !self.is_mid_record() {
            self.gathered.clear();
            self.gathered.shrink_to(keep);
            self.state = State::Mark { new_record: true };
        }
    }

    /// Forgets the stream, for a new connection; keeps the memory.
    pub fn reset(&mut self) {
        self.gathered.clear();
        self.mark_len = 0;
        self.state = State::Mark { new_record: true };
    }
}

const fn check(announced: usize, max: usize) -> Result<(), RecordTooLong> {
    if announced > max {
        Err(RecordTooLong { announced, max })
    } else {
        Ok(())
    }
}

/// The record at the front of `input` and what follows it, if it is there complete and in one fragment;
/// for callers that keep partial records in their own receive buffer.
///
/// # Errors
/// [`RecordTooLong`] when the mark announces more than `max_record` bytes.
#[inline]
pub fn whole_record(
    input: &[u8],
    max_record: usize,
) -> Result<Option<WholeRecord<'_>>, RecordTooLong> {
    let Some((mark, rest)) = input.split_first_chunk::<MARK_BYTES>() else {
        return Ok(None);
    };
    let (last, len) = read_mark(*mark);
    check(len, max_record)?;
    Ok(match rest.split_at_checked(len) {
        Some((record, rest)) if last => Some(WholeRecord { record, rest }),
        _ => None,
    })
}

/// A record in place, and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeRecord<'a> {
    /// The record, without its mark.
    pub record: &'a [u8],
    /// The bytes behind it.
    pub rest: &'a [u8],
}

/// A record being written: its mark is a gap until [`OpenRecord::finish`] knows the length.
#[derive(Debug)]
#[must_use = "a record without its mark is garbage: call finish"]
pub struct OpenRecord {
    start: usize,
}

impl OpenRecord {
    /// Leaves a gap for the mark at the end of `out`; append the record's bytes after it.
    #[inline]
    pub fn begin(out: &mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(&[0; MARK_BYTES]);
        Self { start }
    }

    /// A record whose mark begins at `start`, to be finished (again).
    #[inline]
    pub const fn at(start: usize) -> Self {
        Self { start }
    }

    /// Writes the mark: one fragment from the gap to the end of `out`. Returns the record's length in
    /// bytes, without the mark. (Callers keep records below 2 GiB; NFS transfers are far below.)
    #[inline]
    pub fn finish(self, out: &mut [u8]) -> usize {
        let len = out.len().saturating_sub(self.start + MARK_BYTES);
        debug_assert!(len <= MAX_FRAGMENT, "a fragment's length has 31 bits");
        let mark = LAST_FRAGMENT | (len as u32);
        if let Some(gap) = out.get_mut(self.start..self.start + MARK_BYTES) {
            gap.copy_from_slice(&mark.to_be_bytes());
        }
        len
    }

    /// Takes the record back.
    pub fn cancel(self, out: &mut Vec<u8>) {
        out.truncate(self.start);
    }
}

/// Appends `record` in fragments of at most `fragment` bytes each (0 counts as 1): what a peer may do,
/// and tests must.
pub fn append_fragments(out: &mut Vec<u8>, record: &[u8], fragment: usize) {
    let size = fragment.clamp(1, MAX_FRAGMENT);
    let mut rest = record;
    loop {
        let (now, later) = rest.split_at(size.min(rest.len()));
        let last = if later.is_empty() { LAST_FRAGMENT } else { 0 };
        out.extend_from_slice(&(last | now.len() as u32).to_be_bytes());
        out.extend_from_slice(now);
        if later.is_empty() {
            return;
        }
        rest = later;
    }
}
