//! Reads, and what came in parts.

use super::{FrameProgress, Link, Read, ReadOutcome, outcome_of, system};
use crate::pool::BufferPool;
use std::io;

/// From this many missing bytes on, they are read to where they belong; below it
/// they are copied there, and the read may bring more messages behind them.
pub(super) const DIRECT_MIN: usize = 16 << 10;

/// A message that lacks so many bytes is a long one. The next one may be as long: of that only the
/// beginning is read into the scratch buffer and copied, as much as [`DIRECT_MIN`].
const LONG_MIN: usize = 256 << 10;

impl Link {
    /// One read: into `scratch`, or straight into the message under way where that
    /// lacks much. `None`: nothing is there. With TLS the bytes are to be decrypted with
    /// [`Link::open`], after the clock was read.
    ///
    /// # Errors
    /// The connection broke; its end is `UnexpectedEof`.
    pub fn receive(&mut self, scratch: &mut [u8]) -> io::Result<Option<ReadOutcome>> {
        if self.tls.is_some() {
            return self.receive_sealed(scratch);
        }
        let direct = self.wanted >= DIRECT_MIN;
        let most = match self.is_long {
            true => scratch.len().min(DIRECT_MIN),
            false => scratch.len(),
        };
        let scratch = scratch.get_mut(..most).unwrap_or_default();
        let read = if direct {
            self.partial.reserve_exact(self.wanted);
            system::read_behind(&self.stream, &mut self.partial)
        } else {
            system::read(&self.stream, scratch)
        };
        let (came, age) = match outcome_of(read)? {
            Read::Bytes(came, age) => (came, age),
            Read::Nothing => return Ok(None),
            Read::Interrupted => return Ok(Some(ReadOutcome::INTERRUPTED)),
        };
        if direct {
            self.wanted = self.wanted.saturating_sub(came);
            return Ok(Some(ReadOutcome {
                scratch_len: 0,
                more: self.partial.len() == self.partial.capacity(),
                age,
            }));
        }
        Ok(Some(ReadOutcome {
            scratch_len: came,
            more: came == scratch.len(),
            age,
        }))
    }

    /// With TLS: decrypts what [`Link::receive`] brought; the plaintext is at the front of `scratch`
    /// then. Without TLS it does nothing.
    ///
    /// # Errors
    /// The connection broke, or its TLS; the reason is inside.
    #[inline]
    pub fn open(&mut self, read: &mut ReadOutcome, scratch: &mut [u8]) -> io::Result<()> {
        match self.tls.is_some() {
            true => self.open_sealed(read, scratch),
            false => Ok(()),
        }
    }

    /// Shows what [`Link::receive`] brought to `messages`, in pieces that begin at a
    /// message: in place as a rule, out of the link's own buffer where a message
    /// came in parts. It may change them where they are (decrypt them), as far as it
    /// says that they are consumed. What `messages` leaves is kept for the next time.
    ///
    /// # Errors
    /// The first of `messages`; the connection is to be closed then.
    pub fn feed<E>(
        &mut self,
        mut input: &mut [u8],
        pool: &mut BufferPool,
        mut messages: impl FnMut(&mut [u8]) -> Result<FrameProgress, E>,
    ) -> Result<(), E> {
        loop {
            if self.partial.is_empty() {
                if input.is_empty() {
                    return Ok(());
                }
                let feed = messages(&mut *input)?;
                let rest = input.get(feed.consumed..).unwrap_or_default();
                if rest.is_empty() {
                    self.is_long = false;
                } else {
                    self.partial = pool.take();
                    self.keep(rest);
                    self.lacks(feed.wanted);
                }
                return Ok(());
            }
            let (now, later) = input.split_at_mut(self.wanted.min(input.len()));
            self.keep(now);
            self.wanted -= now.len();
            input = later;
            if self.wanted > 0 {
                return Ok(());
            }
            let feed = messages(&mut self.partial)?;
            if feed.consumed >= self.partial.len() {
                pool.give_back(&mut self.partial);
            } else {
                self.partial.drain(..feed.consumed);
                self.lacks(feed.wanted);
            }
        }
    }

    /// Copies a part of the message under way behind what is there of it.
    fn keep(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        #[cfg(test)]
        {
            self.copied += bytes.len();
        }
    }

    /// The message under way lacks so many bytes.
    fn lacks(&mut self, wanted: usize) {
        self.wanted = wanted.max(1);
        self.is_long = wanted >= LONG_MIN;
    }

    /// Whether the message under way lacks so much that it is better read to where it belongs, by
    /// [`Link::receive`].
    #[inline]
    pub fn lacks_much(&self) -> bool {
        self.wanted >= DIRECT_MIN
    }
}
