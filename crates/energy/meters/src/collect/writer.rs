//! The thread that writes the log, and the queue to it.
//!
//! The queue is bounded. Meters wait while it is full. The collector of sFlow must continue to
//! read its socket, so it drops and counts samples.

use super::clock::Clock;
use super::live_state::LiveState;
use filermark_energy_data::log::{EventKind, LogEvent, LogLine, LogWriter, WriteError};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Most batches in the queue. One holds 4096 samples at most.
const POSTS_MAX: usize = 64;
/// A line waits no longer than this in memory.
const FLUSH: Duration = Duration::from_secs(1);

/// Lines that belong together.
pub(super) type LineBatch = Vec<LogLine>;

/// The sending end of the queue.
#[derive(Clone)]
pub(super) struct LogSender {
    posts: SyncSender<LineBatch>,
    /// The state of the live view.
    pub now: Arc<LiveState>,
    pub clock: Arc<dyn Clock>,
}

/// Why a batch was not sent.
pub(super) enum NotSent {
    /// The queue is full.
    Full(LineBatch),
    /// The writer has ended.
    Closed,
}

impl LogSender {
    /// Both ends of the queue.
    pub fn new(now: Arc<LiveState>, clock: Arc<dyn Clock>) -> (Self, Receiver<LineBatch>) {
        let (posts, incoming) = sync_channel(POSTS_MAX);
        (Self { posts, now, clock }, incoming)
    }

    /// Sends lines; waits while the queue is full. Returns whether the writer still runs.
    pub fn send(&self, lines: LineBatch) -> bool {
        self.posts.send(lines).is_ok()
    }

    /// Sends lines, or returns them if the queue is full.
    pub fn try_send(&self, lines: LineBatch) -> Result<(), NotSent> {
        self.posts.try_send(lines).map_err(|error| match error {
            TrySendError::Full(lines) => NotSent::Full(lines),
            TrySendError::Disconnected(_) => NotSent::Closed,
        })
    }

    /// An event as a line; problems are also shown in the live view.
    pub fn event(&self, source: Option<u32>, what: EventKind, message: String) -> LogLine {
        match what {
            EventKind::Recovered | EventKind::Note => {}
            _ => self.now.set_last_problem(message.clone()),
        }
        LogLine::Event(LogEvent {
            at: self.clock.now(),
            source,
            what,
            message,
        })
    }
}

/// Writes lines until all senders are dropped, then the last line. Returns the numbers of
/// lines of readings and of samples.
///
/// # Errors
/// The log cannot be written; later lines are lost.
pub(super) fn write<W: Write>(
    mut log: LogWriter<W>,
    posts: &Receiver<LineBatch>,
    clock: &dyn Clock,
) -> Result<(u64, u64), WriteError> {
    let (mut readings, mut samples) = (0, 0);
    // When the first line that is not flushed was written.
    let mut waiting: Option<Duration> = None;
    loop {
        let left = waiting.map_or(FLUSH, |since| {
            FLUSH.saturating_sub(clock.passed().saturating_sub(since))
        });
        if left.is_zero() {
            log.flush()?;
            waiting = None;
            continue;
        }
        match posts.recv_timeout(left) {
            Ok(lines) => {
                // The head is flushed at once, so that a reader can identify the log.
                let first = matches!(lines.first(), Some(LogLine::Energy(_) | LogLine::Source(_)));
                for line in &lines {
                    match line {
                        LogLine::Readings(_) => readings += 1,
                        LogLine::Traffic(traffic) => samples += traffic.samples.len() as u64,
                        _ => {}
                    }
                    log.line(line)?;
                }
                let now = clock.passed();
                waiting.get_or_insert(if first { Duration::ZERO } else { now });
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    log.end(clock.now())?;
    Ok((readings, samples))
}
