//! The sequence numbers of a context (RFC 2203 section 5.3.3.1). A server drops calls, without an answer,
//! whose number is too far behind the highest one that it has seen; calls on several connections may
//! arrive in any order.

use filermark_onc::rpc::GSS_MAXSEQ;
use std::collections::VecDeque;

/// More calls than these are not under way in one context, whatever the server allows.
const SIZE_MAX: u32 = 1024;

/// The numbers in use: from the oldest call without a reply to the next one to be given.
#[derive(Debug)]
pub(crate) struct SequenceWindow {
    size: u32,
    /// The number of the first of `open`.
    oldest: u32,
    /// Whether the calls from `oldest` on wait for their reply.
    open: VecDeque<bool>,
}

impl SequenceWindow {
    /// The window that a server allows, in calls. One less is used: ganesha (ntirpc 4.3) drops calls when
    /// a number is higher by its whole window than the highest one before.
    pub(crate) fn new(size: u32) -> Self {
        Self {
            size: size.saturating_sub(1).clamp(1, SIZE_MAX),
            oldest: 1,
            open: VecDeque::new(),
        }
    }

    /// The next number, of a window without calls.
    #[cfg(test)]
    pub(crate) fn begin_at(&mut self, next: u32) {
        self.oldest = next;
    }

    /// How many numbers may be in use.
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }

    /// Whether a call would be too far from the oldest one without a reply.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.open.len() >= self.size as usize
    }

    /// Whether there are no more numbers: another context is needed.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.next() >= GSS_MAXSEQ
    }

    /// Whether no call is under way.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    fn next(&self) -> u32 {
        self.oldest.saturating_add(self.open.len() as u32)
    }

    /// The number of the next call, also if the window is full: that is for the caller to decide.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        let taken = self.next();
        self.open.push_back(true);
        taken
    }

    /// The call of this number has its reply, or will get none.
    #[inline]
    pub(crate) fn release(&mut self, number: u32) {
        let place = number.wrapping_sub(self.oldest) as usize;
        if let Some(open) = self.open.get_mut(place) {
            *open = false;
        }
        while self.open.front() == Some(&false) {
            self.open.pop_front();
            self.oldest += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_oldest_call_limits_the_newest() {
        let mut window = SequenceWindow::new(4);
        let taken = [window.take(), window.take(), window.take()];
        assert_eq!((taken, window.is_full()), ([1, 2, 3], true));
        // The oldest one has no reply yet: a server may have it still before it.
        window.release(2);
        window.release(3);
        assert!(window.is_full());
        window.release(1);
        assert!(!window.is_full());
        assert_eq!(window.take(), 4);
        // Numbers that are not in use change nothing.
        window.release(0);
        window.release(77);
        assert_eq!(window.take(), 5);
    }

    #[test]
    fn a_window_has_limits() {
        assert_eq!(SequenceWindow::new(0).size(), 1);
        assert_eq!(SequenceWindow::new(u32::MAX).size(), SIZE_MAX);
        let mut window = SequenceWindow::new(8);
        window.oldest = GSS_MAXSEQ - 1;
        assert!(!window.is_used_up());
        window.take();
        assert!(window.is_used_up());
    }

    proptest! {
        /// Whatever the order of the replies: no number is given twice, and none is given that a server
        /// would refuse.
        #[test]
        fn numbers_stay_inside_of_the_window(size in 1u32..9, picks in prop::collection::vec(0usize..9, 0..200)) {
            let mut window = SequenceWindow::new(size);
            let (mut under_way, mut last) = (Vec::new(), 0);
            for pick in picks {
                if pick < under_way.len() {
                    window.release(under_way.remove(pick));
                } else if !window.is_full() {
                    let number = window.take();
                    prop_assert_eq!(number, last + 1);
                    last = number;
                    under_way.push(number);
                }
                let oldest = under_way.iter().min().copied().unwrap_or(last + 1);
                prop_assert!(last < oldest + size);
                prop_assert!(size == 1 || last < oldest + size - 1);
            }
        }
    }
}
