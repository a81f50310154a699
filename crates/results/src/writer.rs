//! Writes a run record, one line at a time, so that a cut run loses at most the
//! line that was being written.

use crate::files::OTHER_DIRECTORY;
use crate::record::Line;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is one already.
    #[error(
        "{0} exists already: a run record is never overwritten; choose another directory (-d; netmist: --dir), or another suffix (-s; netmist: --suffix), or move it away. A file set that was kept is used again only with its own suffix"
    )]
    Exists(PathBuf),
    /// Another run is writing this record.
    #[error(
        "{0}: another run is writing it now; wait until that run has ended, or choose another suffix (-s; netmist: --suffix) or directory (-d; --dir)"
    )]
    InUse(PathBuf),
    /// The file system returned an error.
    #[error("{path}: cannot {step} the run record: {source}; {OTHER_DIRECTORY}")]
    Io {
        /// The record.
        path: PathBuf,
        /// The failed step.
        step: &'static str,
        /// The error of the operating system.
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
    /// The path until it gets its own name.
    draft: Option<PathBuf>,
    /// Whether it begins with the lines of the record that it replaces.
    goes_on: bool,
}

/// Whether a record of this name may be begun: there is none, or one in which nothing was
/// measured (its run failed before the first load point) and that no run is writing.
///
/// # Errors
/// It may not.
pub fn check_record_place(path: &Path) -> Result<(), WriteError> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    if is_being_written(path) {
        return Err(WriteError::InUse(path.into()));
    }
    match holds_no_point(path) {
        true => Ok(()),
        false => Err(WriteError::Exists(path.into())),
    }
}

impl RecordWriter {
    /// Creates a new record. If a record of that name without measurements exists, and
    /// always with `as_draft`, it is a draft: it has another name until
    /// [`keep`](Self::keep), and is removed without that.
    ///
    /// # Errors
    /// There is one of that name already, or a file cannot be written.
    pub fn create(path: &Path, as_draft: bool) -> Result<Self, WriteError> {
        check_record_place(path)?;
        let draft = draft_of(path).filter(|_| as_draft || std::fs::symlink_metadata(path).is_ok());
        if let Some(draft) = &draft {
            if is_being_written(draft) {
                return Err(WriteError::InUse(path.into()));
            }
            // The draft of a run that was killed early.
            let _ = std::fs::remove_file(draft);
        }
        let place = draft.as_deref().unwrap_or(path);
        let file = OpenOptions::new().write(true).create_new(true).open(place);
        match file {
            Ok(file) => {
                // Locked while the record is open; see `is_being_written`.
                // Best effort: not every file system has locks.
                let _ = file.try_lock();
                Ok(Self {
                    file,
                    path: path.into(),
                    draft,
                    goes_on: false,
                })
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(WriteError::Exists(path.into()))
            }
            Err(e) => Err(io_error(place, "create", e)),
        }
    }

    /// Whether it is a draft.
    pub const fn is_draft(&self) -> bool {
        self.draft.is_some()
    }

    /// Gives a draft its own name, in place of a record without measurements.
    ///
    /// # Errors
    /// Another run has begun a record of this name in the meantime, or the file cannot be renamed.
    pub fn keep(&mut self) -> Result<(), WriteError> {
        let Some(draft) = &self.draft else {
            return Ok(());
        };
        match self.goes_on {
            true if is_being_written(&self.path) => {
                return Err(WriteError::InUse(self.path.clone()));
            }
            true => {}
            false => check_record_place(&self.path)?,
        }
        std::fs::rename(draft, &self.path).map_err(|e| io_error(&self.path, "replace", e))?;
        self.draft = None;
        Ok(())
    }

    /// Resumes the record at `path`, as a draft: until [`keep`](Self::keep) the record
    /// stays unchanged. A truncated last line (without a line end) is left out of the
    /// draft; whole lines are copied unchanged.
    ///
    /// If several processes try this at once, one gets the draft. Read the record after this
    /// call: from then on no other process resumes it.
    ///
    /// # Errors
    /// A run is writing the record, or a file cannot be written.
    pub fn go_on(path: &Path) -> Result<Self, WriteError> {
        let draft = draft_of(path).unwrap_or_else(|| path.into());
        let failed = |e| io_error(path, "continue", e);
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&draft);
        let mut file = open.map_err(failed)?;
        // Locked while the record is open; see `is_being_written`.
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        // The run that had the lock may have renamed or removed the draft in the
        // meantime.
        let is_draft = !is_taken && is_at(&file, &draft);
        if !is_draft || is_being_written(path) {
            if is_draft {
                let _ = std::fs::remove_file(&draft);
            }
            return Err(WriteError::InUse(path.into()));
        }
        let copied = File::open(path).and_then(|mut record| {
            file.set_len(0)?;
            io::copy(&mut record, &mut file)
        });
        if let Err(e) = copied {
            let _ = std::fs::remove_file(&draft);
            return Err(failed(e));
        }
        let whole = end_of_whole_lines(&mut file)
            .and_then(|end| file.set_len(end).map(|()| end))
            .and_then(|end| file.seek(SeekFrom::Start(end)));
        whole.map_err(failed)?;
        Ok(Self {
            file,
            path: path.into(),
            draft: Some(draft),
            goes_on: true,
        })
    }

    /// Its final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line and passes it to the operating system before it returns.
    ///
    /// # Errors
    /// The file cannot be written (disk full ...); earlier lines stay.
    pub fn write(&mut self, line: &Line) -> Result<(), WriteError> {
        let mut text = serde_json::to_vec(line).map_err(|source| WriteError::Json {
            path: self.path.clone(),
            source,
        })?;
        text.push(b'\n');
        // One write of the whole line: nothing is buffered in this process.
        self.file
            .write_all(&text)
            .map_err(|e| io_error(&self.path, "write", e))
    }

    /// Waits until all lines are on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<(), WriteError> {
        self.file
            .sync_all()
            .map_err(|e| io_error(&self.path, "sync", e))
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            let _ = std::fs::remove_file(draft);
        }
        // A child process that was forked and has not begun its program yet has the file open,
        // too: without this the lock would last until then.
        let _ = self.file.unlock();
    }
}

/// The name of a draft.
fn draft_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    Some(path.with_file_name(format!(".{name}.draft")))
}

fn io_error(path: &Path, step: &'static str, source: io::Error) -> WriteError {
    WriteError::Io {
        path: path.into(),
        step,
        source,
    }
}

/// Whether there is a record of ours without any load point.
fn holds_no_point(path: &Path) -> bool {
    crate::read_record(path).is_ok_and(|record| record.points.is_empty())
}

/// Whether an open file is the file at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |one: &Metadata, other: &Metadata| -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            (one.dev(), one.ino()) == (other.dev(), other.ino())
        }
        #[cfg(not(unix))]
        {
            one.created().ok() == other.created().ok()
        }
    };
    let found = file.metadata().and_then(|one| {
        let other = std::fs::symlink_metadata(path)?;
        Ok(same(&one, &other))
    });
    found.unwrap_or(false)
}

/// Whether a run in progress writes this record: then it is not a leftover, even if it is
/// nearly empty.
fn is_being_written(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let locked = file.try_lock();
    if locked.is_ok() {
        // See `RecordWriter::drop`.
        let _ = file.unlock();
    }
    matches!(locked, Err(TryLockError::WouldBlock))
}

/// The offset after the last line end, found from the end of the file.
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
