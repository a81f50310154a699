//! A log that grows: new entries are appended.

#[cfg(unix)]
#[path = "live_file/unix.rs"]
mod own;
#[cfg(not(unix))]
#[path = "live_file/other.rs"]
mod own;

use crate::files::FilesError;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most bytes that are buffered for a slow reader of a pipe or a device.
const PENDING_MAX: usize = 4 << 20;
/// Time limit for the reader of a pipe to read the rest when the run has ended.
const REST_MAX: Duration = Duration::from_secs(2);

/// A log that grows. Its entries have an order; a late one is inserted at its place if at
/// most `keep` entries follow it, and appended otherwise.
#[derive(Debug)]
pub(crate) struct LiveFile<K> {
    path: PathBuf,
    /// Bytes in front of `last`.
    settled: u64,
    /// The last entries.
    last: VecDeque<(K, String)>,
    /// How many of them are in the file.
    written: usize,
    /// How many of them are kept, so that late ones can be inserted before them.
    keep: usize,
    /// The file may be longer than its content.
    is_long: bool,
    /// It could not be written: no more writes until the next load point.
    is_broken: bool,
    /// A pipe or a device: it is only written to.
    stream: Option<Stream>,
}

impl<K: Ord> LiveFile<K> {
    /// A file whose last `keep` entries may still change their order.
    pub fn new(path: PathBuf, keep: usize) -> Self {
        let is_stream = std::fs::metadata(&path).is_ok_and(|m| !m.is_file());
        Self {
            path,
            settled: 0,
            last: VecDeque::new(),
            written: 0,
            keep,
            is_long: false,
            is_broken: false,
            stream: is_stream.then(Stream::default),
        }
    }

    /// Removes the content of an earlier run.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn empty(&mut self) -> Result<(), FilesError> {
        let length = std::fs::metadata(&self.path).map_or(0, |m| m.len());
        if self.stream.is_some() || length == 0 {
            return Ok(());
        }
        let file = OpenOptions::new().write(true).open(&self.path);
        file.and_then(|file| file.set_len(0))
            .map_err(|source| self.error(source))
    }

    /// Adds an entry.
    pub fn add(&mut self, key: K, text: String) {
        if self.is_broken {
            return;
        }
        if let Some(stream) = &mut self.stream {
            return stream.add(&text);
        }
        let at = self.last.partition_point(|(other, _)| *other <= key);
        self.written = self.written.min(at);
        self.last.insert(at, (key, text));
    }

    /// Removes an entry if it is still among the last ones.
    pub fn remove(&mut self, key: &K) {
        if let Ok(at) = self.last.binary_search_by(|(other, _)| other.cmp(key)) {
            self.is_long |= at < self.written;
            self.written = self.written.min(at);
            self.last.remove(at);
        }
    }

    /// The file was rendered from the record: it has all entries so far.
    pub fn pass_on(&mut self) {
        self.last.clear();
        self.written = 0;
        self.is_long = false;
    }

    /// New entries are appended to the content of the file.
    pub fn go_on(&mut self) {
        self.is_broken = false;
        self.settled = std::fs::metadata(&self.path).map_or(0, |m| m.len());
    }

    /// Writes the new entries.
    ///
    /// # Errors
    /// The file cannot be written; nothing more is written until [`go_on`](Self::go_on).
    pub fn write(&mut self) -> Result<(), FilesError> {
        if self.is_broken {
            return Ok(());
        }
        let done = match &mut self.stream {
            Some(stream) => stream.write(&self.path),
            None => self.write_new(),
        };
        done.map_err(|source| {
            self.is_broken = true;
            self.pass_on();
            self.error(source)
        })
    }

    /// The run has ended: a pipe or a device gets its last line.
    ///
    /// # Errors
    /// The reader of a pipe has not read all of it.
    pub fn finish(&mut self, last: &str) -> Result<(), FilesError> {
        let Some(stream) = self.stream.as_mut().filter(|_| !self.is_broken) else {
            return Ok(());
        };
        stream.add(last);
        let done = stream.finish(&self.path);
        done.map_err(|source| self.error(source))
    }

    fn write_new(&mut self) -> io::Result<()> {
        if self.written == self.last.len() && !self.is_long {
            return Ok(());
        }
        let length = |(_, text): &(K, String)| text.len() as u64;
        let start = self.settled + self.last.iter().take(self.written).map(length).sum::<u64>();
        let fresh = self.last.iter().skip(self.written);
        let text: String = fresh.map(|(_, text)| text.as_str()).collect();
        write_at(&self.path, start, &text, self.is_long)?;
        self.is_long = false;
        while self.last.len() > self.keep {
            let first = self.last.pop_front();
            self.settled += first.as_ref().map_or(0, length);
        }
        self.written = self.last.len();
        Ok(())
    }

    fn error(&self, source: io::Error) -> FilesError {
        let path = self.path.clone();
        FilesError::Io { path, source }
    }
}

/// Writes a part of a file, which is created if missing. After the `last` part the file is
/// truncated.
pub(crate) fn write_at(path: &Path, start: u64, text: &str, last: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.seek(SeekFrom::Start(start))?;
    file.write_all(text.as_bytes())?;
    let end = start + text.len() as u64;
    if last && file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    Ok(())
}

/// Output to a pipe or a device, without waiting.
#[derive(Debug, Default)]
struct Stream {
    /// Open while it has a reader.
    out: Option<File>,
    pending: VecDeque<u8>,
    /// Bytes that did not fit into the buffer.
    lost: u64,
}

impl Stream {
    fn add(&mut self, text: &str) {
        match self.pending.len() + text.len() > PENDING_MAX {
            true => self.lost += text.len() as u64,
            false => self.pending.extend(text.as_bytes()),
        }
    }

    /// Writes as much as possible without waiting.
    fn write(&mut self, path: &Path) -> io::Result<()> {
        while !self.pending.is_empty() {
            let Some(out) = open_stream(&mut self.out, path)? else {
                return Ok(());
            };
            match out.write(self.pending.as_slices().0) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The reader is gone; another one may come.
                Err(e) if e.kind() == ErrorKind::BrokenPipe => {
                    self.out = None;
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn finish(&mut self, path: &Path) -> io::Result<()> {
        let began = Instant::now();
        self.write(path)?;
        while !self.pending.is_empty() && self.out.is_some() && began.elapsed() < REST_MAX {
            std::thread::sleep(Duration::from_millis(20));
            self.write(path)?;
        }
        let left = std::mem::take(&mut self.pending).len() as u64 + std::mem::take(&mut self.lost);
        match left {
            0 => Ok(()),
            bytes => Err(io::Error::other(format!(
                "{bytes} bytes were not read before the run ended; start a reader first, or give a file"
            ))),
        }
    }
}

/// The open pipe or device; `None`: it has no reader.
fn open_stream<'a>(out: &'a mut Option<File>, path: &Path) -> io::Result<Option<&'a mut File>> {
    if out.is_none() {
        *out = own::open_stream(path)?;
    }
    Ok(out.as_mut())
}

/// Writes a whole log. The part that a growing log already has stays where it is, so that
/// `tail -f` continues. A pipe or a device is left alone: it got the lines during
/// the run.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn complete(path: &Path, text: &str) -> io::Result<()> {
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|m| !m.is_file()) {
        return Ok(());
    }
    let length = there.map_or(u64::MAX, |m| m.len());
    if length <= text.len() as u64 {
        let there = std::fs::read(path)?;
        if let Some(rest) = text.as_bytes().strip_prefix(&there[..]) {
            let mut file = OpenOptions::new().append(true).open(path)?;
            return file.write_all(rest);
        }
    }
    std::fs::write(path, text)
}

#[cfg(test)]
mod tests;
