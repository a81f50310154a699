//! The one thread that writes the log, and the way to it.
//!
//! The way has a limit. Meters wait for room; the collector of sFlow, which must go on
//! reading its socket, counts what it cannot get rid of.

use super::clock::Clock;
use super::live_state::LiveState;
use filermark_energy_data::log::{EventKind, LogEvent, LogLine, LogWriter, WriteError};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// Most posts on the way to the writer. One holds 4096 samples at most.
const POSTS_MAX: usize = 64;
/// A line waits no longer than this in memory.
const FLUSH: Duration = Duration::from_secs(1);

/// Lines that belong together.
pub(super) type LineBatch = Vec<LogLine>;

/// The way to the writer.
#[derive(Clone)]
pub(super) struct LogSender {
    posts: SyncSender<LineBatch>,
    /// What the live view shows.
    pub now: Arc<LiveState>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// Why a post did not go.
pub(super) enum NotSent {
    /// There is no room now.
    Full(LineBatch),
    /// The writer has given up: nothing will go any more.
    Closed,
}

impl LogSender {
    /// The way and its other end.
    pub fn new(now: Arc<LiveState>, clock: Arc<dyn Clock>) -> (Self, Receiver<LineBatch>) {
        let (posts, incoming) = sync_channel(POSTS_MAX);
        (Self { posts, now, clock }, incoming)
    }

    /// Hands lines over; waits for room. Gives whether there is still somebody who writes.
    pub fn send(&self, lines: LineBatch) -> bool {
        self.posts.send(lines).is_ok()
    }

    /// Hands lines over, or gives them back.
    pub fn try_send(&self, lines: LineBatch) -> Result<(), NotSent> {
        self.posts.try_send(lines).map_err(|error| match error {
            TrySendError::Full(lines) => NotSent::Full(lines),
            TrySendError::Disconnected(_) => NotSent::Closed,
        })
    }

    /// An event as a line; the live view hears of it too.
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

/// Writes what comes until all senders have gone, then the last line. Gives the numbers of
/// lines of readings and of samples.
///
/// # Errors
/// The file system says no: what comes later is lost, and nobody waits for it.
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
                // Whoever looks into the log sees at once what it is.
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
