//! Files that netmist's options ask for beside the results: a copy of what is said
//! (`-l`), and a log of all heartbeats (`-q`).

use filermark_results::RunRecord;
use filermark_results::proc_logs::heartbeat_log;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that gets a copy of the talk; one that cannot be written is told once and
/// left.
#[derive(Debug, Default)]
pub struct Copy {
    open: Option<(File, PathBuf)>,
}

impl Copy {
    /// A new file of this name; an older one is replaced.
    ///
    /// # Errors
    /// It cannot be made: a sentence.
    pub fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path).map_err(|e| explain(path, &e))?;
        Ok(Self {
            open: Some((file, path.into())),
        })
    }

    /// Adds a text. Gives a sentence, once, when that fails.
    pub fn add(&mut self, text: &str) -> Option<String> {
        let (file, path) = self.open.as_mut()?;
        let failure = file.write_all(text.as_bytes()).err()?;
        let why = explain(path, &failure);
        self.open = None;
        Some(why)
    }
}

/// Writes every heartbeat of every proc (`-q`); replaces what was there.
///
/// # Errors
/// It cannot be written: a sentence.
pub fn write_heartbeat_log(record: &RunRecord, path: &Path) -> Result<(), String> {
    std::fs::write(path, heartbeat_log(record)).map_err(|e| explain(path, &e))
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
    use filermark_results::testing::composite::composite_record;

    #[test]
    fn the_log_has_a_line_for_every_proc_of_every_heartbeat() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("beats");
        let record = composite_record();
        write_heartbeat_log(&record, &path).expect("it is written");
        let text = std::fs::read_to_string(&path).expect("it is there");
        let lines: usize = record.heartbeats.iter().map(|b| b.ops_per_sec.len()).sum();
        let told = text.lines().filter(|l| l.ends_with("Ops/sec")).count();
        assert!(lines > 0 && told == lines, "{text}");
        let nowhere = dir.path().join("none").join("beats");
        assert!(write_heartbeat_log(&record, &nowhere).is_err());
    }

    #[test]
    fn a_copy_that_cannot_be_written_is_told_once() {
        let mut full = Copy::create(Path::new("/dev/full")).expect("it opens");
        assert!(full.add("x\n").is_some_and(|why| why.contains("/dev/full")));
        assert_eq!(full.add("y\n"), None);
    }
}
