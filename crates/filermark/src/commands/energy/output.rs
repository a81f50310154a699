//! A log that is written whole or not at all.

use crate::exit::Failure;
use crate::files::{folder_of, refuse_inputs};
use filermark_energy::log::{LogWriter, WriteError};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// A log that is being made beside its place. Dropped before it is kept, it is removed.
pub struct NewLog {
    place: PathBuf,
    beside: PathBuf,
    kept: bool,
}

impl NewLog {
    /// For a log at `place`.
    ///
    /// # Errors
    /// There is one and `force` is not given, or it is one of the inputs.
    pub fn create(place: &Path, force: bool, inputs: &[&Path]) -> Result<Self, Failure> {
        refuse_inputs(place, inputs)?;
        refuse_old(place, force)?;
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let beside = format!(".{name}.{}.tmp", std::process::id());
        Ok(Self {
            place: place.into(),
            beside: folder_of(place).join(beside),
            kept: false,
        })
    }

    /// Where its lines go.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn writer(&self) -> Result<LogWriter<BufWriter<File>>, Failure> {
        let file = File::create(&self.beside).map_err(|source| {
            Failure::of(WriteError::Io {
                path: self.place.clone(),
                source,
            })
        })?;
        let output = BufWriter::with_capacity(1 << 20, file);
        Ok(LogWriter::new(output, &self.place))
    }

    /// Puts it in its place: it is whole.
    ///
    /// # Errors
    /// The file system says no.
    pub fn keep(mut self) -> Result<(), Failure> {
        fs::rename(&self.beside, &self.place).map_err(|e| {
            Failure::of(format!("{}: cannot be written: {e}", self.place.display()))
        })?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for NewLog {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// Refuses to write over what is there.
///
/// # Errors
/// It is there, and `force` is not given.
pub fn refuse_old(place: &Path, force: bool) -> Result<(), Failure> {
    match place.exists() && !force {
        true => Err(Failure::Usage(vec![format!(
            "{} exists already: give another name (-o), or --force to write over it",
            place.display()
        )])),
        false => Ok(()),
    }
}
