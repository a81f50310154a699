//! Tags and notes of records, in one file beside them. A record is never changed.

use filermark_model::text::one_line;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The name of the file.
pub const TAG_FILE: &str = "filermark-tags.json";
/// The version of its form.
const FORMAT: u32 = 1;
/// Largest file that is read.
const FILE_LEN_MAX: u64 = 64 << 20;
/// Longest tag, in characters.
const TAG_CHARS_MAX: usize = 64;
/// Most tags of a record.
const TAGS_MAX: usize = 64;
/// Longest note, in characters.
const NOTE_CHARS_MAX: usize = 4_000;

/// The tags and the note of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tags {
    /// Its tags.
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// Its note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The tags of the records of a directory. The schema of the file is
/// `crates/history/schema/tags-v1.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagFile {
    format: u32,
    /// By the name of the record's file.
    records: BTreeMap<String, Tags>,
}

/// Why tags cannot be read or set.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// The file cannot be read.
    #[error("{0}: cannot be read: {1}")]
    Io(PathBuf, std::io::Error),
    /// It is no file of tags.
    #[error("{0}: not a file of tags of this version: {1}; correct it, or move it away")]
    Form(PathBuf, String),
    /// A tag or note that is not allowed.
    #[error("{0}")]
    Word(String),
}

impl Default for TagFile {
    fn default() -> Self {
        Self {
            format: FORMAT,
            records: BTreeMap::new(),
        }
    }
}

impl TagFile {
    /// Reads the file of a directory; without one there are no tags.
    ///
    /// # Errors
    /// It cannot be read, or has another form.
    pub fn read(dir: &Path) -> Result<Self, TagError> {
        let path = dir.join(TAG_FILE);
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(TagError::Io(path, e)),
        };
        let mut text = Vec::new();
        match file.take(FILE_LEN_MAX + 1).read_to_end(&mut text) {
            Ok(len) if len as u64 > FILE_LEN_MAX => {
                return Err(TagError::Form(path, "too large".into()));
            }
            Ok(_) => {}
            Err(e) => return Err(TagError::Io(path, e)),
        }
        let read: Result<Self, _> = serde_json::from_slice(&text);
        match read {
            Ok(tags) if tags.format == FORMAT => Ok(tags),
            Ok(tags) => Err(TagError::Form(path, format!("format {}", tags.format))),
            Err(e) => Err(TagError::Form(path, one_line(&e.to_string()))),
        }
    }

    /// The tags of a record of this directory.
    pub fn of(&self, record: &Path) -> Tags {
        let name = name_of(record).ok();
        let tags = name.and_then(|name| self.records.get(name));
        tags.cloned().unwrap_or_default()
    }

    /// Adds and removes tags of a record, and sets its note; an empty note removes it.
    ///
    /// # Errors
    /// A word is not allowed as a tag, or there are too many.
    pub fn change(
        &mut self,
        record: &Path,
        changes: &[String],
        note: Option<&str>,
    ) -> Result<(), TagError> {
        let name = name_of(record)?;
        let mut tags = self.of(record);
        for change in changes {
            match change.strip_prefix('-') {
                Some(word) => drop(tags.tags.remove(checked(word)?)),
                None => {
                    let word = checked(change.strip_prefix('+').unwrap_or(change))?;
                    tags.tags.insert(word.to_owned());
                }
            }
        }
        if tags.tags.len() > TAGS_MAX {
            return Err(TagError::Word(format!(
                "{name}: {TAGS_MAX} tags are the most"
            )));
        }
        if let Some(note) = note {
            let note = one_line(note.trim());
            if note.chars().count() > NOTE_CHARS_MAX {
                let sentence = format!("a note has at most {NOTE_CHARS_MAX} characters");
                return Err(TagError::Word(sentence));
            }
            tags.note = Some(note).filter(|n| !n.is_empty());
        }
        match tags == Tags::default() {
            true => drop(self.records.remove(name)),
            false => drop(self.records.insert(name.to_owned(), tags)),
        }
        Ok(())
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        // Strings and maps with text keys always become JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// The name by which a record has its tags.
fn name_of(record: &Path) -> Result<&str, TagError> {
    let name = record.file_name().unwrap_or_default();
    name.to_str().ok_or_else(|| {
        TagError::Word(format!(
            "{}: a name that is not UTF-8 cannot have tags; rename the record",
            record.display()
        ))
    })
}

/// A tag: letters, digits and `._:/=`, also `-` inside.
fn checked(word: &str) -> Result<&str, TagError> {
    let is_allowed = |c: char| c.is_alphanumeric() || "._:/=-".contains(c);
    let length = word.chars().count();
    let is_tag = (1..=TAG_CHARS_MAX).contains(&length)
        && !word.starts_with('-')
        && word.chars().all(is_allowed);
    is_tag.then_some(word).ok_or_else(|| {
        let word = filermark_model::text::sanitize(word, 80);
        TagError::Word(format!(
            "'{word}' is not a tag: use up to {TAG_CHARS_MAX} letters, digits and . _ : / = -"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_added_removed_and_read_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut file = TagFile::read(dir.path()).expect("none");
        let record = dir.path().join("a.run.jsonl");
        let words = ["+before", "fw=9.1", "tmp"].map(String::from);
        file.change(&record, &words, Some("  new\ncache "))
            .expect("tags");
        file.change(&record, &["-tmp".into()], None).expect("tags");
        std::fs::write(dir.path().join(TAG_FILE), file.text()).expect("written");
        let again = TagFile::read(dir.path()).expect("read");
        assert_eq!(again, file);
        let tags = again.of(&record);
        assert_eq!(tags.tags, ["before", "fw=9.1"].map(String::from).into());
        assert!(tags.note.expect("a note").starts_with("new"));
        let both = ["-before", "-fw=9.1"].map(String::from);
        file.change(&record, &both, Some("")).expect("tags");
        assert_eq!(file, TagFile::default());
    }

    #[test]
    fn words_and_files_that_are_none_are_refused() {
        let mut file = TagFile::default();
        let long = "x".repeat(65);
        for word in ["", "+", "-", "--x", "a b", "a,b", "\x1b[2J", &long] {
            let refused = file.change(Path::new("a"), &[word.to_owned()], None);
            assert!(refused.is_err(), "{word:?}");
        }
        let dir = tempfile::tempdir().expect("a directory");
        for text in ["", "[]", "{\"format\":2,\"records\":{}}", "{\"format\":1}"] {
            std::fs::write(dir.path().join(TAG_FILE), text).expect("written");
            let error = TagFile::read(dir.path()).expect_err(text);
            assert!(error.to_string().contains(TAG_FILE), "{error}");
        }
    }

    #[test]
    fn the_file_matches_its_schema() {
        let mut file = TagFile::default();
        file.change(Path::new("a.run.jsonl"), &["x".into()], Some("n"))
            .expect("tags");
        let value = serde_json::from_str(&file.text()).expect("JSON");
        crate::entry::check_schema(include_str!("../schema/tags-v1.json"), &value);
    }
}
