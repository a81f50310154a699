//! Writes a run record, a line at a time, so that a cut run loses at most the
//! line that was being written.

use crate::record::Line;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is one already.
    #[error(
        "{0} exists already: a run record is never overwritten; choose another suffix (-s; netmist: --suffix) or directory (-d; --dir), or move it away"
    )]
    Exists(PathBuf),
    /// The file system said no.
    #[error("{path}: cannot {step} the run record: {source}")]
    Io {
        /// The record.
        path: PathBuf,
        /// What was being done.
        step: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A figure has no JSON form (a defect).
    #[error("{path}: a line of the run record has no JSON form: {source}")]
    Json {
        /// The record.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// An open record.
#[derive(Debug)]
pub struct RecordWriter {
    file: File,
    path: PathBuf,
}

impl RecordWriter {
    /// Makes a new record. One of that name in which nothing was measured (the
    /// run failed before its first load point) is replaced.
    ///
    /// # Errors
    /// There is one of that name already, or the file system says no.
    pub fn create(path: &Path) -> Result<Self, WriteError> {
        if holds_no_point(path) && !is_being_written(path) {
            std::fs::remove_file(path).map_err(|e| io_error(path, "replace", e))?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        match file {
            Ok(file) => {
                // Held as long as the record is open; see `is_being_written`.
                // Best effort: not every file system has locks.
                let _ = file.try_lock();
                Ok(Self {
                    file,
                    path: path.into(),
                })
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(WriteError::Exists(path.into()))
            }
            Err(e) => Err(io_error(path, "create", e)),
        }
    }

    /// Goes on with a record that is there. A last line that was cut (it has no
    /// line end) is removed; whole lines are never touched.
    ///
    /// # Errors
    /// The file system says no.
    pub fn append(path: &Path) -> Result<Self, WriteError> {
        let open = OpenOptions::new().read(true).write(true).open(path);
        let mut file = open.map_err(|e| io_error(path, "open", e))?;
        let whole = end_of_whole_lines(&mut file)
            .and_then(|end| file.set_len(end).map(|()| end))
            .and_then(|end| file.seek(SeekFrom::Start(end)));
        whole.map_err(|e| io_error(path, "continue", e))?;
        Ok(Self {
            file,
            path: path.into(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line and hands it to the operating system before it returns.
    ///
    /// # Errors
    /// The file system says no (disk full ...); what was written before stays.
    pub fn write(&mut self, line: &Line) -> Result<(), WriteError> {
        let mut text = serde_json::to_vec(line).map_err(|source| WriteError::Json {
            path: self.path.clone(),
            source,
        })?;
        text.push(b'\n');
        // One write of the whole line: nothing is kept back in this process.
        self.file
            .write_all(&text)
            .map_err(|e| io_error(&self.path, "write", e))
    }

    /// Waits until all lines are on the disk.
    ///
    /// # Errors
    /// The file system says no.
    pub fn finish(self) -> Result<(), WriteError> {
        self.file
            .sync_all()
            .map_err(|e| io_error(&self.path, "sync", e))
    }
}

fn io_error(path: &Path, step: &'static str, source: io::Error) -> WriteError {
    WriteError::Io {
        path: path.into(),
        step,
        source,
    }
}

/// Whether there is a record of ours in which no load point was even tried.
fn holds_no_point(path: &Path) -> bool {
    crate::read_record(path).is_ok_and(|record| record.points.is_empty())
}

/// Whether a run that is still under way writes this record: then it is no
/// leftover, however little is in it yet.
fn is_being_written(path: &Path) -> bool {
    File::open(path)
        .is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// The offset behind the last line end, found from the end of the file.
fn end_of_whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; 64 << 10];
    while end > 0 {
        let length = end.min(block.len() as u64);
        file.seek(SeekFrom::Start(end - length))?;
        let block = &mut block[..length as usize];
        file.read_exact(block)?;
        if let Some(at) = block.iter().rposition(|b| *b == b'\n') {
            return Ok(end - length + at as u64 + 1);
        }
        end -= length;
    }
    Ok(0)
}
