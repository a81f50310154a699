//! The thread that writes the logs of a run that goes on: the prime must not wait for a
//! disk while load is made.

use filermark_results::RunRecord;
use filermark_results::live::{LiveLogs, LogPaths, RunEvent};
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel,
};
use std::time::{Duration, Instant};

/// What the thread has not taken yet; more is left out until the load point has ended.
const QUEUE: usize = 256;
/// The thread has so long to write what it was told, and so much longer for every proc,
/// which has a log of its own.
const SETTLE_MAX: Duration = Duration::from_secs(10);
const SETTLE_PER_PROC: Duration = Duration::from_millis(5);
/// How often the prime looks whether it has.
const LOOK: Duration = Duration::from_millis(5);
/// After writing, the thread pauses so many times as long as that took, so that it needs a
/// twentieth of a processor at most; not shorter and not longer than these.
const PAUSE_FACTOR: u32 = 19;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// The thread, as long as a run goes on.
#[derive(Debug)]
pub(crate) struct LiveWriter {
    /// `None`: it does not come to an end, and is left alone.
    sender: RefCell<Option<SyncSender<WriterMessage>>>,
    /// Lines that the logs have from the record only.
    skipped_lines: Cell<u64>,
    places: LogPaths,
    /// How long it is waited for.
    limit: Duration,
    /// What was asked of a thread that is left alone, which may answer yet.
    late: RefCell<Option<WriterStalled>>,
}

/// A thread that has not written everything in time.
#[derive(Debug)]
struct WriterStalled {
    sender: SyncSender<WriterMessage>,
    /// `None`: its queue was full, and it could not be asked.
    answer: Option<Receiver<Option<String>>>,
    /// What was said of it.
    message: String,
}

/// A thread that was late has written everything after all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WriterRecovered {
    /// What was said of it, which does not hold any more.
    pub message: String,
    /// What went wrong meanwhile.
    pub write_error: Option<String>,
}

enum WriterMessage {
    Event(RunEvent),
    /// Answer when all is written: the first thing that went wrong since the last answer.
    /// Where the run has ended, nothing more comes.
    Settle(SyncSender<Option<String>>, bool),
}

impl LiveWriter {
    /// Begins to write the logs of the run whose record begins so. What goes wrong is told
    /// by [`settle`](Self::settle).
    ///
    /// # Errors
    /// The thread cannot be started: in words.
    pub fn begin(record: RunRecord, places: LogPaths) -> Result<Self, String> {
        let (words, heard) = sync_channel(QUEUE);
        let own = places.clone();
        let limit = limit(record.run.plan.procs.len());
        std::thread::Builder::new()
            .name("live-logs".into())
            .spawn(move || write(record, &own, &heard))
            .map_err(|e: io::Error| {
                format!("the thread that writes logs cannot be started: {e}")
            })?;
        Ok(Self {
            sender: RefCell::new(Some(words)),
            skipped_lines: Cell::new(0),
            places,
            limit,
            late: RefCell::new(None),
        })
    }

    /// Tells what has happened; does not wait.
    pub fn push(&self, news: RunEvent) {
        let words = self.sender.borrow();
        let Some(words) = words.as_ref() else {
            return;
        };
        // A thread that is gone is noticed when it does not settle.
        if let Err(TrySendError::Full(_)) = words.try_send(WriterMessage::Event(news)) {
            self.skipped_lines.set(self.skipped_lines.get() + 1);
        }
    }

    /// Waits until everything is written, for a limited time; nothing more is until the next
    /// load point begins, or at all where the run `has_ended`. Gives what went wrong.
    pub fn settle(&self, has_ended: bool) -> Option<String> {
        let words = self.sender.take()?;
        let until = Instant::now() + self.limit;
        let answer = ask(&words, has_ended, until);
        let answered = match &answer {
            Some(answer) => wait(answer, until),
            None => Err(TryRecvError::Empty),
        };
        match answered {
            Ok(trouble) => {
                self.sender.replace(Some(words));
                trouble
            }
            Err(TryRecvError::Disconnected) => {
                Some("the thread that writes logs has ended".to_owned())
            }
            Err(TryRecvError::Empty) => {
                let told = format!(
                    "{}, {}: the logs of the run could not be written within {} s; see whether a file system hangs (df), and make them from the record with 'filermark report'",
                    self.places.dir.display(),
                    self.places.log_dir.display(),
                    self.limit.as_secs()
                );
                self.late.replace(Some(WriterStalled {
                    sender: words,
                    answer,
                    message: told.clone(),
                }));
                Some(told)
            }
        }
    }

    /// At the end of the run: whether a thread that was late has answered meanwhile. One
    /// that has not is not waited for.
    pub fn settle_again(&self) -> Option<WriterRecovered> {
        let late = self.late.take()?;
        let before = match late.answer {
            Some(answer) => answer.try_recv().ok()?,
            None => None,
        };
        let answer = ask(&late.sender, true, Instant::now())?;
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

    /// How many lines were left out since this was asked, since the file system is slow.
    pub fn take_left_out(&self) -> u64 {
        self.skipped_lines.take()
    }
}

/// How long the logs of so many procs may take.
fn limit(procs: usize) -> Duration {
    SETTLE_MAX + SETTLE_PER_PROC * u32::try_from(procs).unwrap_or(u32::MAX)
}

/// Asks for an answer; `None`: the queue stays full.
fn ask(
    words: &SyncSender<WriterMessage>,
    has_ended: bool,
    until: Instant,
) -> Option<Receiver<Option<String>>> {
    let (answer, answered) = sync_channel(1);
    let mut word = WriterMessage::Settle(answer, has_ended);
    loop {
        match words.try_send(word) {
            // A thread that is gone has dropped the answer's other end.
            Ok(()) | Err(TrySendError::Disconnected(_)) => return Some(answered),
            Err(TrySendError::Full(same)) => word = same,
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK);
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

fn write(record: RunRecord, places: &LogPaths, heard: &Receiver<WriterMessage>) {
    let mut trouble = None;
    let mut logs = LiveLogs::new(record, places);
    if let Err(e) = &logs {
        trouble = Some(e.to_string());
    }
    // When what was taken in is to be written.
    let mut due = Instant::now();
    let mut is_new = false;
    loop {
        let word = match is_new {
            true => heard.recv_timeout(due.saturating_duration_since(Instant::now())),
            false => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let mut settle = None;
        match word {
            Ok(WriterMessage::Event(news)) => {
                if let Ok(logs) = &mut logs {
                    logs.take(news);
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
                trouble.get_or_insert(e.to_string());
            }
            if settle.is_some() {
                logs.pause();
            }
        }
        if let Some((answer, _)) = settle {
            let _ = answer.send(trouble.take());
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

    /// A pipe that nobody reads is a fault that is told, and no end of the run.
    #[test]
    fn nobody_waits_for_who_does_not_read_a_pipe() {
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
        assert_eq!(writer.settle(false), None, "somebody may come yet");
        let told = writer.settle(true).expect("nobody came");
        assert!(told.contains("/q: "), "{told}");
        assert!(told.contains(" bytes were not read "), "{told}");
        assert!(!writer.has_failed());
    }

    /// One whose thread is at the other end, and is not waited for.
    fn writer() -> (LiveWriter, Receiver<WriterMessage>) {
        let (words, heard) = sync_channel(QUEUE);
        let dir = std::path::PathBuf::from("/nowhere");
        let writer = LiveWriter {
            sender: RefCell::new(Some(words)),
            skipped_lines: Cell::new(0),
            places: LogPaths {
                dir: dir.clone(),
                log_dir: dir,
                heartbeat_log: None,
            },
            limit: Duration::ZERO,
            late: RefCell::new(None),
        };
        (writer, heard)
    }

    /// More than the queue holds is left out, and nobody waits for a thread that hangs.
    #[test]
    fn the_queue_has_a_limit_and_what_is_left_out_is_counted() {
        let (writer, heard) = writer();
        (0..QUEUE + 7).for_each(|_| writer.push(heartbeat_event(1)));
        assert_eq!((writer.take_left_out(), writer.take_left_out()), (7, 0));
        let told = writer.settle(false).expect("it hangs");
        assert!(told.contains("/nowhere: the logs"), "{told}");
        assert!(writer.has_failed());
        assert_eq!(
            writer.settle(true),
            None,
            "told once, and not waited for again"
        );
        assert_eq!(writer.settle_again(), None, "its queue is still full");
        drop(heard);
    }

    /// Answers everything that is asked, as the thread does.
    fn answer_all(heard: Receiver<WriterMessage>) {
        std::thread::spawn(move || {
            for word in heard {
                if let WriterMessage::Settle(answer, _) = word {
                    let _ = answer.send(None);
                }
            }
        });
    }

    #[test]
    fn a_thread_that_is_late_is_asked_once_more_at_the_end() {
        let (mut late, heard) = writer();
        let told = late.settle(true).expect("it is late");
        assert!(late.has_failed());
        let Ok(WriterMessage::Settle(answer, true)) = heard.try_recv() else {
            panic!("it was asked");
        };
        answer.send(Some("a disk is full".into())).expect("heard");
        late.limit = limit(0);
        answer_all(heard);
        let trouble = Some("a disk is full".to_owned());
        assert_eq!(
            late.settle_again(),
            Some(WriterRecovered {
                message: told,
                write_error: trouble
            })
        );
        assert!(!late.has_failed());
        assert_eq!(late.settle_again(), None);
        // One that has not answered is not waited for.
        let (mut hangs, heard) = writer();
        assert!(hangs.settle(true).is_some());
        hangs.limit = limit(0);
        assert_eq!(hangs.settle_again(), None);
        assert!(hangs.has_failed());
        drop(heard);
    }

    #[test]
    fn the_limit_grows_with_the_procs() {
        assert_eq!(limit(0), Duration::from_secs(10));
        assert_eq!(limit(10_000), Duration::from_secs(60));
    }
}
