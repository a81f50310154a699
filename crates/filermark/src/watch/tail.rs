//! The lines of a file that another process writes, or of a program that offers its events.

use crate::http::{GetError, ServerUrl, Token, get_lines};
use filermark_system::{file_number, open_at_once, stdin, wait_readable};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest line; the events of a run with thousands of load points are shorter.
const LINE_LEN_MAX: usize = 16 << 20;

/// Interval at which the input is read.
pub const WAIT: Duration = Duration::from_millis(200);

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A line, without its end.
    Line(String),
    /// Nothing yet.
    Wait,
    /// The other end of the pipe is closed.
    End,
}

/// A file that grows, standard input, or the events of a running program.
pub struct Tail {
    name: String,
    input: Box<dyn Read>,
    /// The regular file: what has been written to it can be more later.
    file: Option<(PathBuf, u64)>,
    read_len: u64,
    /// What has been read and not been returned, from `start` on.
    text: Vec<u8>,
    start: usize,
}

/// A pipe, a FIFO or a terminal: a read ends after [`WAIT`] or at a signal, so that the caller
/// can stop.
struct Polled(File);

impl Read for Polled {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        match wait_readable(&self.0, Some(WAIT))? {
            true => self.0.read(part),
            false => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Tail {
    /// Opens the file; `-` is standard input.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, String> {
        if path == Path::new("-") {
            let name = "standard input";
            let input = stdin().map_err(|e| format!("{name}: cannot be read: {e}"))?;
            let input = Box::new(Polled(input));
            return Ok(Self::of(name.into(), input, None));
        }
        let name = path.display().to_string();
        let opened = File::open(path);
        let opened = opened.and_then(|file| Ok((file.metadata()?, file_number(&file)?, file)));
        let (meta, number, file) = opened.map_err(|e| {
            format!("{name}: cannot be read: {e}; give the file of `run --events FILE`")
        })?;
        if meta.is_dir() {
            return Err(format!(
                "{name}: this is a directory; give the file of `run --events FILE`"
            ));
        }
        Ok(match meta.is_file() {
            true => Self::of(name, Box::new(file), Some((path.to_owned(), number))),
            false => Self::of(name, Box::new(Polled(file)), None),
        })
    }

    /// Reads the events of a running program (`--metrics`).
    ///
    /// # Errors
    /// It cannot be reached, or refuses.
    pub fn attach(url: &ServerUrl, token: Option<&Token>) -> Result<Self, String> {
        let lines = get_lines(url, "/events", token, WAIT).map_err(|e| {
            let port = url.port();
            let why = match e {
                GetError::Connection(e) => format!(
                    "cannot be read: {e}; give the port of a run that is under way with \
                     `--metrics {port}`"
                ),
                GetError::Status(401) => "a token is needed, the one of the run: \
                     --metrics-token-file FILE or FILERMARK_METRICS_TOKEN"
                    .into(),
                GetError::Status(503) => "too many readers; end another `watch`".into(),
                GetError::Status(status) => format!(
                    "answers with status {status}; give the port of `run --metrics {port}` of \
                     this version"
                ),
                GetError::NotHttp => {
                    "this is no HTTP server; give the port of `run --metrics PORT`".into()
                }
            };
            format!("{url}: {why}")
        })?;
        Ok(Self::of(url.to_string(), Box::new(lines), None))
    }

    fn of(name: String, input: Box<dyn Read>, file: Option<(PathBuf, u64)>) -> Self {
        Self {
            name,
            input,
            file,
            read_len: 0,
            text: Vec::new(),
            start: 0,
        }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next whole line.
    ///
    /// # Errors
    /// It cannot be read, has a line that is too long, or was replaced by another file.
    pub fn next(&mut self) -> Result<Next, String> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Next::Line(line));
            }
            if self.text.len() > LINE_LEN_MAX {
                return Err(format!("{}: a line is longer than 16 MiB", self.name));
            }
            let mut part = [0; 64 << 10];
            match self.input.read(&mut part) {
                Ok(0) if self.file.is_none() => return Ok(Next::End),
                Ok(0) => return self.check_replaced().map(|()| Next::Wait),
                Ok(len) => {
                    self.read_len += len as u64;
                    self.text.extend_from_slice(&part[..len]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The time limit of a socket or a pipe.
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    return Ok(Next::Wait);
                }
                Err(e) => return Err(format!("{}: cannot be read: {e}", self.name)),
            }
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let rest = &self.text[self.start..];
        let Some(len) = rest.iter().position(|byte| *byte == b'\n') else {
            self.text.drain(..self.start);
            self.start = 0;
            return None;
        };
        let line = String::from_utf8_lossy(&rest[..len]).into_owned();
        self.start += len + 1;
        Some(line)
    }

    /// Another run has replaced the file or begun it again.
    fn check_replaced(&self) -> Result<(), String> {
        let Some((path, number)) = &self.file else {
            return Ok(());
        };
        // A pipe of that name is another file. It is not opened: its writer would take that for a
        // reader, and without a writer the wait would have no end.
        let now = match std::fs::metadata(path) {
            Ok(meta) if meta.is_file() => open_at_once(path),
            Ok(_) => Err(io::ErrorKind::InvalidInput.into()),
            Err(e) => Err(e),
        };
        let now = now.and_then(|file| Ok((file_number(&file)?, file.metadata()?)));
        let same = now.is_ok_and(|(now, meta)| now == *number && meta.len() >= self.read_len);
        match same {
            true => Ok(()),
            false => Err(format!(
                "{}: the file was replaced or removed; start `watch` again for the new run",
                self.name
            )),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_reported_and_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("events");
        std::fs::write(&path, "one\n").expect("a file");
        let mut tail = Tail::open(&path).expect("it opens");
        assert_eq!(tail.next(), Ok(Next::Line("one".into())));
        assert_eq!(tail.next(), Ok(Next::Wait));
        std::fs::remove_file(&path).expect("removed");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, fifo, mode, 0).expect("a FIFO");
        let why = tail.next().expect_err("it was replaced");
        assert!(why.contains("was replaced"), "{why}");
    }
}
