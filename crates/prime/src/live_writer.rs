//! The thread that writes the logs during a run: the prime must not wait for a disk while
//! load is made.

use filermark_results::RunRecord;
use filermark_results::live::{LiveLogs, LogPaths, RunEvent};
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use std::time::{Duration, Instant};

/// Length of the thread's queue. Further events are dropped until the load point has ended.
const QUEUE: usize = 256;
/// Time limit for writing all queued events, and what each proc adds, since each has its
/// own log.
const SETTLE_MAX: Duration = Duration::from_secs(10);
const SETTLE_PER_PROC: Duration = Duration::from_millis(5);
/// How often the prime tries again while the queue is full.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// After writing, the thread pauses for this multiple of the time that it took, so that it
/// uses a twentieth of a processor at most; between the minimum and the maximum.
const PAUSE_FACTOR: u32 = 19;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The thread of a run under way.
#[derive(Debug)]
pub(crate) struct LiveWriter {
    /// `None`: the thread has failed and gets no more events.
    sender: RefCell<Option<SyncSender<WriterMessage>>>,
    /// Events that were dropped; the logs get them from the record at the end.
    dropped_count: Cell<u64>,
    places: LogPaths,
    /// How long to wait for the thread.
    limit: Duration,
    /// A thread that was late and may still answer.
    late: RefCell<Option<WriterStalled>>,
}

/// A thread that has not written everything in time.
#[derive(Debug)]
struct WriterStalled {
    sender: SyncSender<WriterMessage>,
    /// `None`: the queue was full, and the request could not be sent.
    answer: Option<Receiver<Option<String>>>,
    /// The message about it.
    message: String,
}

/// A thread that was late has written everything.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WriterRecovered {
    /// The message about it, which is no longer true.
    pub message: String,
    /// The first error meanwhile.
    pub write_error: Option<String>,
}

enum WriterMessage {
    Event(RunEvent),
    /// Answer when all is written, with the first error since the last answer. `true`: the
    /// run has ended, and no more events follow.
    Settle(SyncSender<Option<String>>, bool),
}

impl LiveWriter {
    /// Begins to write the logs of the run with this record. [`settle`](Self::settle)
    /// returns the errors.
    ///
    /// # Errors
    /// The thread cannot be started; the text is for users.
    pub fn begin(record: RunRecord, places: LogPaths) -> Result<Self, String> {
        let (sender, messages) = sync_channel(QUEUE);
        let own = places.clone();
        let limit = limit(record.run.plan.procs.len());
        std::thread::Builder::new()
            .name("live-logs".into())
            .spawn(move || write(record, &own, &messages))
            .map_err(|e: io::Error| {
                format!("the thread that writes logs cannot be started: {e}")
            })?;
        Ok(Self {
            sender: RefCell::new(Some(sender)),
            dropped_count: Cell::new(0),
            places,
            limit,
            late: RefCell::new(None),
        })
    }

    /// Queues an event; does not wait.
    pub fn push(&self, event: RunEvent) {
        let sender = self.sender.borrow();
        let Some(sender) = sender.as_ref() else {
            return;
        };
        // `settle` notices a thread that has ended.
        if let Err(TrySendError::Full(_)) = sender.try_send(WriterMessage::Event(event)) {
            self.dropped_count.set(self.dropped_count.get() + 1);
        }
    }

    /// Waits until everything is written, for a limited time. Nothing more is written until
    /// the next load point begins, or at all if the run `has_ended`. Returns the first error.
    pub fn settle(&self, has_ended: bool) -> Option<String> {
        let sender = self.sender.take()?;
        let until = Instant::now() + self.limit;
        let answer = request_answer(&sender, has_ended, until);
        let answered = match &answer {
            Some(answer) => wait(answer, until),
            None => Err(TryRecvError::Empty),
        };
        match answered {
            Ok(write_error) => {
                self.sender.replace(Some(sender));
                write_error
            }
            Err(TryRecvError::Disconnected) => {
                Some("the thread that writes logs has ended".to_owned())
            }
            Err(TryRecvError::Empty) => {
                let message = format!(
                    "{}, {}: the logs of the run could not be written within {} s; check whether a file system hangs (df), and make the logs from the record with 'filermark report'",
                    self.places.dir.display(),
                    self.places.log_dir.display(),
                    self.limit.as_secs()
                );
                self.late.replace(Some(WriterStalled {
                    sender,
                    answer,
                    message: message.clone(),
                }));
                Some(message)
            }
        }
    }

    /// At the end of the run: whether a thread that was late has answered meanwhile. Does
    /// not wait for one that has not.
    pub fn settle_again(&self) -> Option<WriterRecovered> {
        let late = self.late.take()?;
        let before = match late.answer {
            Some(answer) => answer.try_recv().ok()?,
            None => None,
        };
        let answer = request_answer(&late.sender, true, Instant::now())?;
        let after = wait(&answer, Instant::now() + self.limit).ok()?;
        self.sender.replace(Some(late.sender));
        Some(WriterRecovered {
            message: late.message,
            write_error: before.or(after),
        })
    }

    /// Whether the logs' file systems do not answer, or the thread has ended.
    pub fn has_failed(&self) -> bool {
        self.sender.borrow().is_none()
    }

    /// How many events were dropped since the last call, because the file system is slow.
    pub fn take_dropped(&self) -> u64 {
        self.dropped_count.take()
    }
}

/// Time limit for writing the logs of this many procs.
fn limit(procs: usize) -> Duration {
    SETTLE_MAX + SETTLE_PER_PROC * u32::try_from(procs).unwrap_or(u32::MAX)
}

/// Asks for an answer; `None`: the queue stays full.
fn request_answer(
    sender: &SyncSender<WriterMessage>,
    has_ended: bool,
    until: Instant,
) -> Option<Receiver<Option<String>>> {
    let (answer, answered) = sync_channel(1);
    let mut message = WriterMessage::Settle(answer, has_ended);
    loop {
        match sender.try_send(message) {
            // A thread that has ended has dropped the other end of the answer's channel.
            Ok(()) | Err(TrySendError::Disconnected(_)) => return Some(answered),
            Err(TrySendError::Full(same)) => message = same,
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

fn wait(
    answered: &Receiver<Option<String>>,
    until: Instant,
) -> Result<Option<String>, TryRecvError> {
    let left = until.saturating_duration_since(Instant::now());
    answered.recv_timeout(left).map_err(|e| match e {
        RecvTimeoutError::Timeout => TryRecvError::Empty,
        RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
    })
}

fn write(record: RunRecord, places: &LogPaths, messages: &Receiver<WriterMessage>) {
    let mut write_error = None;
    let mut logs = LiveLogs::new(record, places);
    if let Err(e) = &logs {
        write_error = Some(e.to_string());
    }
    // When the events so far are to be written.
    let mut due = Instant::now();
    let mut is_new = false;
    loop {
        let message = match is_new {
            true => messages.recv_timeout(due.saturating_duration_since(Instant::now())),
            false => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let mut settle = None;
        match message {
            Ok(WriterMessage::Event(event)) => {
                if let Ok(logs) = &mut logs {
                    logs.take(event);
                }
                is_new = true;
                if Instant::now() < due {
                    continue;
                }
            }
            Ok(WriterMessage::Settle(answer, has_ended)) => settle = Some((answer, has_ended)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let began = Instant::now();
        let has_ended = settle.as_ref().is_some_and(|(_, ended)| *ended);
        if let Ok(logs) = &mut logs {
            let mut written = logs.write();
            if has_ended {
                written = written.and(logs.finish());
            }
            if let Err(e) = written {
                write_error.get_or_insert(e.to_string());
            }
            if settle.is_some() {
                logs.pause();
            }
        }
        if let Some((answer, _)) = settle {
            let _ = answer.send(write_error.take());
        }
        is_new = false;
        due = Instant::now() + (began.elapsed() * PAUSE_FACTOR).clamp(PAUSE_MIN, PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::Line;
    use filermark_results::record::Phase;
    use filermark_results::testing::composite::composite_record;
    use filermark_results::{Heartbeat, Timestamp};

    fn heartbeat_event(point: u32) -> RunEvent {
        let beat = Heartbeat {
            at: Timestamp::now(),
            point,
            phase: Phase::Run,
            seconds: 1.0,
            ops_per_sec: vec![1.0; 10],
        };
        RunEvent::Line(Box::new(Line::Heartbeat(beat)))
    }

    /// A pipe without a reader is reported as an error and does not end the run.
    #[cfg(unix)]
    #[test]
    fn a_pipe_without_a_reader_does_not_block_the_run() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("q");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
        let places = LogPaths {
            dir: dir.path().into(),
            log_dir: dir.path().into(),
            heartbeat_log: Some(pipe.clone()),
        };
        let mut record = composite_record();
        let number = record.run.plan.points[0].number;
        record.points.clear();
        let writer = LiveWriter::begin(record, places).expect("a thread");
        writer.push(RunEvent::Point(number, Timestamp::now()));
        (0..1_000).for_each(|_| writer.push(heartbeat_event(number)));
        assert_eq!(writer.settle(false), None, "a reader may still open it");
        let message = writer.settle(true).expect("no reader came");
        assert!(message.contains("/q: "), "{message}");
        assert!(message.contains(" bytes were not read "), "{message}");
        assert!(!writer.has_failed());
    }

    /// A writer with a time limit of zero, and the thread's end of its queue.
    fn writer() -> (LiveWriter, Receiver<WriterMessage>) {
        let (sender, messages) = sync_channel(QUEUE);
        let dir = std::path::PathBuf::from("/nowhere");
        let writer = LiveWriter {
            sender: RefCell::new(Some(sender)),
            dropped_count: Cell::new(0),
            places: LogPaths {
                dir: dir.clone(),
                log_dir: dir,
                heartbeat_log: None,
            },
            limit: Duration::ZERO,
            late: RefCell::new(None),
        };
        (writer, messages)
    }

    /// Events beyond the queue's length are dropped, and a thread that hangs is not waited for.
    #[test]
    fn the_queue_has_a_limit_and_dropped_events_are_counted() {
        let (writer, messages) = writer();
        (0..QUEUE + 7).for_each(|_| writer.push(heartbeat_event(1)));
        assert_eq!((writer.take_dropped(), writer.take_dropped()), (7, 0));
        let message = writer.settle(false).expect("it hangs");
        assert!(message.contains("/nowhere: the logs"), "{message}");
        assert!(writer.has_failed());
        assert_eq!(
            writer.settle(true),
            None,
            "reported once, and not waited for again"
        );
        assert_eq!(writer.settle_again(), None, "its queue is still full");
        drop(messages);
    }

    /// Answers all requests, as the thread does.
    fn answer_all(messages: Receiver<WriterMessage>) {
        std::thread::spawn(move || {
            for message in messages {
                if let WriterMessage::Settle(answer, _) = message {
                    let _ = answer.send(None);
                }
            }
        });
    }

    #[test]
    fn a_thread_that_is_late_is_asked_once_more_at_the_end() {
        let (mut late, messages) = writer();
        let message = late.settle(true).expect("it is late");
        assert!(late.has_failed());
        let Ok(WriterMessage::Settle(answer, true)) = messages.try_recv() else {
            panic!("it was asked");
        };
        answer
            .send(Some("a disk is full".into()))
            .expect("received");
        late.limit = limit(0);
        answer_all(messages);
        let write_error = Some("a disk is full".to_owned());
        assert_eq!(
            late.settle_again(),
            Some(WriterRecovered {
                message,
                write_error
            })
        );
        assert!(!late.has_failed());
        assert_eq!(late.settle_again(), None);
        // One that has not answered is not waited for.
        let (mut hangs, messages) = writer();
        assert!(hangs.settle(true).is_some());
        hangs.limit = limit(0);
        assert_eq!(hangs.settle_again(), None);
        assert!(hangs.has_failed());
        drop(messages);
    }

    #[test]
    fn the_limit_grows_with_the_procs() {
        assert_eq!(limit(0), Duration::from_secs(10));
        assert_eq!(limit(10_000), Duration::from_secs(60));
    }
}
