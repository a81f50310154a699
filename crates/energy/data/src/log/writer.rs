//! Writes a log, a whole line at a time, so that a truncated log loses at most its last line.

use super::{LogEnd, LogLine};
use filermark_results::Timestamp;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The log exists.
    #[error(
        "{0} exists already: an energy log is never overwritten; choose another name (-o) or move it away"
    )]
    Exists(PathBuf),
    /// The file system refused.
    #[error("{path}: cannot write the energy log: {source}")]
    Io {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// An open log.
#[derive(Debug)]
pub struct LogWriter<W: Write = BufWriter<File>> {
    path: PathBuf,
    output: W,
    text: Vec<u8>,
    readings: u64,
    samples: u64,
}

impl LogWriter {
    /// Creates a new log.
    ///
    /// # Errors
    /// The log exists, or the file system refuses.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        let file = File::create_new(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => WriteError::Exists(path.into()),
            _ => WriteError::Io {
                path: path.into(),
                source,
            },
        })?;
        Ok(Self::new(BufWriter::with_capacity(1 << 18, file), path))
    }
}

impl<W: Write> LogWriter<W> {
    /// Writes to anything; `path` is only used in messages.
    pub fn new(output: W, path: &Path) -> Self {
        Self {
            path: path.into(),
            output,
            text: Vec::new(),
            readings: 0,
            samples: 0,
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line. It may wait in memory until [`flush`](Self::flush).
    ///
    /// # Errors
    /// The file system refuses.
    pub fn line(&mut self, line: &LogLine) -> Result<(), WriteError> {
        match line {
            LogLine::Readings(_) => self.readings += 1,
            LogLine::Traffic(traffic) => self.samples += traffic.samples.len() as u64,
            _ => {}
        }
        self.text.clear();
        let written = serde_json::to_writer(&mut self.text, line).map_err(io::Error::from);
        let written = written.and_then(|()| {
            self.text.push(b'\n');
            self.output.write_all(&self.text)
        });
        written.map_err(|source| self.failed(source))
    }

    /// Flushes everything to the file.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.output.flush().map_err(|source| self.failed(source))
    }

    /// Writes the last line and returns the output.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn end(mut self, at: Timestamp) -> Result<W, WriteError> {
        self.line(&LogLine::End(LogEnd {
            at,
            readings: self.readings,
            samples: self.samples,
        }))?;
        self.flush()?;
        Ok(self.output)
    }

    fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Io {
            path: self.path.clone(),
            source,
        }
    }
}
