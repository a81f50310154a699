//! A copy of the progress output in a file (netmist's `-l`).

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that gets a copy of the progress output; a write error is reported once and ends
/// the copy.
#[derive(Debug, Default)]
pub struct LogCopy {
    open: Option<(File, PathBuf)>,
}

impl LogCopy {
    /// A new file of this name; an older one is replaced.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|e| explain(path, &e))?;
        Ok(Self {
            open: Some((file, path.into())),
        })
    }

    /// Adds a text. Returns a message, once, when that fails.
    pub fn add(&mut self, text: &str) -> Option<String> {
        let (file, path) = self.open.as_mut()?;
        let failure = file.write_all(text.as_bytes()).err()?;
        let why = explain(path, &failure);
        self.open = None;
        Some(why)
    }
}

fn explain(path: &Path, error: &io::Error) -> String {
    format!(
        "{}: cannot be written: {error}; choose another place",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_cannot_be_written_is_reported_once() {
        let mut full = LogCopy::create(Path::new("/dev/full")).expect("it opens");
        assert!(full.add("x\n").is_some_and(|why| why.contains("/dev/full")));
        assert_eq!(full.add("y\n"), None);
    }
}
