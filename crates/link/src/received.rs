//! Messages that wait for the prime, decoded ahead by a few threads.
//!
//! The figures of a load point arrive from all agents at once, and decoding them takes longer than
//! merging them. So long messages are offered to decoding threads while they wait in the queue of
//! events. The order of the queue does not change: when the prime takes a message that no thread
//! has begun, it decodes it itself, and it waits for one that is being decoded. What is decoded
//! ahead has limits; beyond them the prime decodes.

use crate::byte_budget::{BudgetGuard, ByteBudget};
use crate::frame::{Frame, FrameError};
use crate::message::Report;
use crate::sanitize::sanitized;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Frames from this length on are offered to the threads, in bytes: shorter ones take the prime
/// less time than the hand-over.
const AHEAD_FROM: usize = 4 << 10;
/// Longest message that is decoded ahead, unpacked, in bytes. Each thread has one at a time.
const AHEAD_LEN_MAX: usize = 8 << 20;
/// Messages that may wait for the threads; the prime decodes further ones.
const OFFERS_MAX: usize = 1024;
/// Decoding threads at most.
const THREADS_MAX: usize = 16;

/// A report of an agent as it waits in a queue.
#[derive(Clone, Debug)]
pub struct Received(Arc<Mutex<Content>>);

enum Content {
    Frame(Frame),
    /// With the bytes that it reserves.
    Decoded(
        Box<Result<Report, FrameError>>,
        #[expect(dead_code, reason = "releases the bytes when dropped")] BudgetGuard,
    ),
    Taken,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Frame(_) => "Frame",
            Self::Decoded(..) => "Decoded",
            Self::Taken => "Taken",
        })
    }
}

impl From<Frame> for Received {
    fn from(frame: Frame) -> Self {
        Self(Arc::new(Mutex::new(Content::Frame(frame))))
    }
}

impl Received {
    /// The report, with text that is safe to show. Waits for a thread that is decoding it.
    ///
    /// # Errors
    /// It is not a report.
    pub fn into_report(self) -> Result<Report, FrameError> {
        match std::mem::replace(&mut *self.lock(), Content::Taken) {
            Content::Frame(frame) => frame.decode().map(sanitized),
            Content::Decoded(report, _) => *report,
            Content::Taken => Err(FrameError::Malformed("a message that was taken".into())),
        }
    }

    /// Decodes it, unless the prime has taken it or it is too long.
    fn decode_ahead(&self, budget: &Arc<ByteBudget>) {
        let mut content = self.lock();
        let Content::Frame(frame) = &*content else {
            return;
        };
        // The prime reports what cannot be unpacked.
        let Ok(plain) = frame.unpack(AHEAD_LEN_MAX) else {
            return;
        };
        if let Some(held) = budget.try_take(plain.len()) {
            let report = plain.decode().map(sanitized);
            *content = Content::Decoded(Box::new(report), held);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where messages are offered to the decoding threads.
#[derive(Clone)]
pub(crate) struct DecodeQueue(SyncSender<Received>);

impl DecodeQueue {
    /// Begins the threads; they end when all clones of the queue are gone. `spawn` starts one, and
    /// returns whether it could.
    pub fn begin(
        budget: &Arc<ByteBudget>,
        spawn: impl Fn(Box<dyn FnOnce() + Send>) -> bool,
    ) -> Self {
        let (sender, offers) = sync_channel(OFFERS_MAX);
        let offers = Arc::new(Mutex::new(offers));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(THREADS_MAX) {
            let (offers, budget) = (Arc::clone(&offers), Arc::clone(budget));
            if !spawn(Box::new(move || decode_offers(&offers, &budget))) {
                break;
            }
        }
        Self(sender)
    }

    /// Offers a message that takes long to decode, if threads are free for it.
    pub fn offer(&self, message: &Received, frame_len: usize) {
        if frame_len >= AHEAD_FROM {
            let _ = self.0.try_send(message.clone());
        }
    }
}

fn decode_offers(offers: &Mutex<Receiver<Received>>, budget: &Arc<ByteBudget>) {
    loop {
        let offer = offers.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match offer {
            Ok(message) => message.decode_ahead(budget),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Deframer, encode};

    fn frame_of(report: &Report) -> Frame {
        let mut deframer = Deframer::of_prime();
        deframer.push(&encode(report).unwrap());
        deframer.next_frame().unwrap().unwrap()
    }

    fn failed(length: usize) -> Frame {
        // Digits that do not repeat, so that it stays long when packed.
        let mut state = 1_u64;
        let digit = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b'a' + (state >> 60) as u8)
        };
        frame_of(&Report::Failed {
            reason: (0..length).map(digit).collect::<String>() + "\u{1b}",
            stopped: false,
        })
    }

    fn is_decoded(message: &Received) -> bool {
        matches!(*message.lock(), Content::Decoded(..))
    }

    #[test]
    fn a_message_decoded_ahead_is_the_one_that_the_prime_decodes() {
        let budget = ByteBudget::new(1 << 20, Arc::default());
        let ahead = Received::from(failed(9000));
        ahead.decode_ahead(&budget);
        assert!(is_decoded(&ahead));
        assert!(budget.try_take(1 << 20).is_none(), "it reserves its bytes");
        let shown = |message: Received| format!("{:?}", message.into_report().unwrap());
        let text = shown(ahead);
        assert_eq!(text, shown(failed(9000).into()));
        assert!(!text.contains("\\u{1b}"), "it is not sanitized");
        assert!(budget.try_take(1 << 20).is_some(), "they are released");
    }

    #[test]
    fn beyond_the_limits_the_prime_decodes() {
        let budget = ByteBudget::new(1000, Arc::default());
        let held = budget.try_take(1);
        let message = Received::from(failed(9000));
        message.decode_ahead(&budget);
        assert!(!is_decoded(&message), "no bytes are free");
        drop(held);
        let long = Received::from(frame_of(&Report::Failed {
            reason: " ".repeat(AHEAD_LEN_MAX),
            stopped: false,
        }));
        // With bytes free for it: only its length is beyond a limit.
        long.decode_ahead(&ByteBudget::new(64 << 20, Arc::default()));
        assert!(!is_decoded(&long), "it is too long");
        assert!(message.into_report().is_ok() && long.into_report().is_ok());
    }

    #[test]
    fn invalid_messages_are_reported_wherever_they_are_decoded() {
        let mut deframer = Deframer::of_prime();
        deframer.push(&encode(&"x".repeat(9000)).unwrap());
        let frame = deframer.next_frame().unwrap().unwrap();
        let budget = ByteBudget::new(1 << 20, Arc::default());
        let ahead = Received::from(frame.clone());
        ahead.decode_ahead(&budget);
        assert!(is_decoded(&ahead));
        let error = ahead.into_report().unwrap_err();
        assert_eq!(error, Received::from(frame).into_report().unwrap_err());
    }

    #[test]
    fn the_threads_decode_what_is_offered_and_end_with_the_queue() {
        let budget = ByteBudget::new(1 << 20, Arc::default());
        let (sender, ended) = std::sync::mpsc::channel();
        let queue = DecodeQueue::begin(&budget, |work| {
            let sender = sender.clone();
            std::thread::spawn(move || {
                work();
                let _ = sender.send(());
            });
            true
        });
        drop(sender);
        let frames = [failed(9000), failed(3)];
        let messages: Vec<Received> = frames.iter().cloned().map(Into::into).collect();
        for (message, frame) in messages.iter().zip(&frames) {
            queue.offer(message, frame.len());
        }
        // All offers have been handled when the threads have ended.
        drop(queue);
        while ended.recv().is_ok() {}
        assert_eq!(
            messages.iter().map(is_decoded).collect::<Vec<_>>(),
            [true, false]
        );
    }
}
