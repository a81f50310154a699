//! The output of events: a file, a FIFO, standard output. A separate thread writes the lines, so
//! that a slow or missing reader does not delay a run.

use filermark_cli_kit::output::is_closed_pipe;
use filermark_system::create_at_once;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for the reader of a FIFO.
const READER_MAX: Duration = Duration::from_secs(10);
/// Interval of the attempts to open it.
const LOOK: Duration = Duration::from_millis(50);
/// Limits of the queue of lines: from the first on, events that may be dropped are dropped; from
/// the second on, all.
const PASSING_MAX: usize = 4_096;
const LINES_MAX: usize = 16_384;
/// Longest wait for a reader at the end.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// The output of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Standard output (`-`).
    Stdout,
    /// A file or a FIFO.
    File(PathBuf),
}

impl Target {
    /// The option's value.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("give a file, or - for standard output".into()),
            "-" => Ok(Self::Stdout),
            path => Ok(Self::File(path.into())),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".into(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// The writing side of the events of one run.
pub struct EventWriter {
    shared: Arc<Shared>,
    name: String,
    is_reported: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    lines: VecDeque<String>,
    /// A line is being written.
    busy: bool,
    closed: bool,
    dropped_count: u64,
    failure: Option<io::Error>,
}

impl EventWriter {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened; the FIFO has no reader within 10 s.
    pub fn open(target: &Target) -> Result<Self, String> {
        let name = target.name();
        match target {
            Target::Stdout => Self::start(name, io::stdout()),
            Target::File(path) => Self::start(name, open_file(path, READER_MAX)?),
        }
    }

    fn start(name: String, to: impl Write + Send + 'static) -> Result<Self, String> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("events".into())
            .spawn(move || write_all(&its, to))
            .map_err(|e| format!("--events {name}: cannot start its thread: {e}"))?;
        Ok(Self {
            shared,
            name,
            is_reported: false,
        })
    }

    /// Queues a line. `false`: it was dropped.
    pub fn push(&self, line: String, is_passing: bool) -> bool {
        let mut queue = self.shared.lock();
        let most = if is_passing { PASSING_MAX } else { LINES_MAX };
        if queue.failure.is_some() || queue.lines.len() >= most {
            queue.dropped_count += 1;
            return false;
        }
        queue.lines.push_back(line);
        self.shared.wake.notify_all();
        true
    }

    /// Why no more lines are written, once.
    pub fn take_write_error(&mut self) -> Option<String> {
        if self.is_reported {
            return None;
        }
        let queue = self.shared.lock();
        let why = match queue.failure.as_ref()? {
            e if is_closed_pipe(e) => "the reader has closed it".to_owned(),
            e => format!("cannot be written: {e}"),
        };
        self.is_reported = true;
        Some(format!(
            "--events {}: {why}; the run continues without events",
            self.name
        ))
    }

    /// Waits, with a limit, until all lines are written. Returns a remark if there is one, or why
    /// the output could not be written.
    pub fn close(mut self) -> Result<Option<String>, String> {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.wake.notify_all();
        let open =
            |queue: &mut Queue| queue.failure.is_none() && (queue.busy || !queue.lines.is_empty());
        let waited = self.shared.wake.wait_timeout_while(queue, DRAIN_MAX, open);
        let (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let missing = queue.dropped_count + queue.lines.len() as u64;
        let failed = queue.failure.is_some();
        let broken = queue.failure.as_ref();
        let broken = broken.filter(|e| !is_closed_pipe(e));
        if let Some(e) = broken {
            return Err(format!("--events {}: cannot be written: {e}", self.name));
        }
        drop(queue);
        Ok(match missing {
            0 => self.take_write_error(),
            _ if failed => self.take_write_error(),
            n => Some(format!(
                "--events {}: the reader was too slow, {n} events were dropped",
                self.name
            )),
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_all(shared: &Shared, mut to: impl Write) {
    loop {
        let mut queue = shared.lock();
        queue.busy = false;
        shared.wake.notify_all();
        let idle = |queue: &mut Queue| queue.lines.is_empty() && !queue.closed;
        let mut queue = shared
            .wake
            .wait_while(queue, idle)
            .unwrap_or_else(PoisonError::into_inner);
        let Some(line) = queue.lines.pop_front() else {
            return;
        };
        queue.busy = true;
        drop(queue);
        if let Err(e) = to.write_all(line.as_bytes()).and_then(|()| to.flush()) {
            let mut queue = shared.lock();
            queue.dropped_count += 1 + queue.lines.len() as u64;
            queue.lines.clear();
            queue.failure = Some(e);
            shared.wake.notify_all();
            return;
        }
    }
}

/// Opens a file for writing; a FIFO only when it has a reader, within a limit.
fn open_file(path: &Path, limit: Duration) -> Result<File, String> {
    let began = Instant::now();
    let error = |why: String| format!("--events {}: {why}", path.display());
    loop {
        match create_at_once(path) {
            Ok(Some(file)) => return Ok(file),
            // The FIFO has no reader.
            Ok(None) => {
                if began.elapsed() >= limit {
                    let seconds = limit.as_secs_f64();
                    return Err(error(format!(
                        "the FIFO has no reader within {seconds} s; start the reader first"
                    )));
                }
                std::thread::sleep(LOOK);
            }
            Err(e) => {
                return Err(error(format!(
                    "cannot be written: {e}; choose another file"
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn fifo(dir: &tempfile::TempDir) -> PathBuf {
        let path = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .expect("a FIFO");
        path
    }

    #[test]
    fn lines_come_to_a_file_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("events");
        std::fs::write(&path, "an older one, longer than the new one").expect("a file");
        let target = Target::parse(path.to_str().expect("a path")).expect("a target");
        let sink = EventWriter::open(&target).expect("it opens");
        for n in 0..100 {
            assert!(sink.push(format!("{n}\n"), n % 2 == 0));
        }
        assert_eq!(sink.close(), Ok(None));
        let wanted: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), wanted);
        assert_eq!(Target::parse("-"), Ok(Target::Stdout));
        assert!(Target::parse("").is_err());
    }

    #[test]
    fn the_wait_for_the_reader_of_a_fifo_is_limited() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = fifo(&dir);
        let began = Instant::now();
        let why = open_file(&path, Duration::from_millis(200)).expect_err("no reader");
        assert!(why.contains("start the reader first"), "{why}");
        assert!(began.elapsed() < Duration::from_secs(5));
        let nowhere = open_file(&dir.path().join("no/where"), READER_MAX).expect_err("no dir");
        assert!(nowhere.contains("choose another file"), "{nowhere}");
    }

    #[test]
    fn a_reader_may_open_late_and_close_early() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = fifo(&dir);
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(100));
                let mut line = String::new();
                let file = File::open(path).expect("it opens");
                BufReader::new(file).read_line(&mut line).expect("a line");
                line
            })
        };
        let mut sink = EventWriter::open(&Target::File(path)).expect("the reader opens it");
        assert!(sink.push("first\n".into(), false));
        assert_eq!(reader.join().expect("it ends"), "first\n");
        let began = Instant::now();
        while sink.push("more\n".into(), false) {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "its end is not reported"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let why = sink.take_write_error().expect("a remark");
        assert!(why.contains("the reader has closed it"), "{why}");
        assert_eq!(
            (sink.take_write_error(), sink.close()),
            (None, Ok(None)),
            "once"
        );
    }

    #[test]
    fn with_a_slow_reader_lines_that_may_be_dropped_are_dropped_first() {
        let (shared, name) = (Arc::new(Shared::default()), "x".to_owned());
        let sink = EventWriter {
            shared,
            name,
            is_reported: false,
        };
        let kept = (0..PASSING_MAX + 10).filter(|_| sink.push("s\n".into(), true));
        assert_eq!(kept.count(), PASSING_MAX);
        assert!(sink.push("important\n".into(), false));
        let kept = (0..LINES_MAX).filter(|_| sink.push("i\n".into(), false));
        assert!(kept.count() < LINES_MAX);
        // The writer is blocked; closing still has its limit.
        let began = Instant::now();
        let why = sink.close().expect("it was open").expect("a remark");
        assert!(why.contains("was too slow"), "{why}");
        assert!(began.elapsed() < DRAIN_MAX * 2);
    }
}
