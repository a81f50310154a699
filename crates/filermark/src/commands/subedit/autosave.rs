//! Unsaved input, in a file in the directory of the output: a submission, followed by a comment
//! with the position of the session and the unfinished line.

use filermark_cli_kit::files::{folder_of, read_limited, write_whole};
use filermark_model::text::one_line;
use filermark_submission::{Document, XML_LEN_MAX, write_xml};
use std::fs;
use std::path::{Path, PathBuf};

/// The autosave of one output.
#[derive(Clone, Debug)]
pub struct Autosave {
    path: PathBuf,
}

/// The contents of an autosave.
#[derive(Debug)]
pub struct AutosaveContent {
    /// The submission.
    pub text: String,
    /// The path that the session was at.
    pub at: String,
    /// The line that was not ended.
    pub typed: String,
}

const COMMENT: &str = "<!-- filermark subedit was at ";
const TYPED: &str = " typing: ";

impl Autosave {
    /// `.sub.xml.autosave` for `sub.xml`.
    pub fn beside(output: &Path) -> Self {
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        Self {
            path: folder_of(output).join(format!(".{name}.autosave")),
        }
    }

    /// Its name, for messages.
    pub fn shown(&self) -> String {
        let path = self.path.strip_prefix(".").unwrap_or(&self.path);
        path.display().to_string()
    }

    /// The contents; `None`: there is no file, or it cannot be read.
    pub fn found(&self) -> Option<AutosaveContent> {
        // More than a document's limit, for the comment.
        let content = read_limited(&self.path, (XML_LEN_MAX as u64) << 1).ok()?;
        let text = String::from_utf8_lossy(&content).into_owned();
        let (mut at, mut typed) = (String::new(), String::new());
        if let Some((_, comment)) = text.rsplit_once(COMMENT)
            && let Some(comment) = comment.trim_end().strip_suffix(" -->")
            && let Some((path, line)) = comment.split_once(TYPED)
        {
            at = path.to_owned();
            typed = unescaped(line);
        }
        let text = text
            .rsplit_once(COMMENT)
            .map_or(text.clone(), |(xml, _)| xml.to_owned());
        Some(AutosaveContent { text, at, typed })
    }

    /// Writes a document, the path that the session is at, and the unfinished line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, document: &Document, at: &str, typed: &str) -> Result<(), String> {
        let typed = escaped(typed);
        let text = format!("{}{COMMENT}{at}{TYPED}{typed} -->\n", write_xml(document));
        write_whole(&self.path, text.as_bytes())
    }

    /// Removes it: everything was saved or rejected.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Renames it; returns the new name.
    pub fn move_away(&self) -> Option<String> {
        // Does not overwrite another one that was renamed.
        let aside = (1..1000).find_map(|number| {
            let mut name = self.path.file_name()?.to_owned();
            name.push(match number {
                1 => ".old".to_owned(),
                n => format!(".old{n}"),
            });
            let path = self.path.with_file_name(name);
            (!path.exists()).then_some(Self { path })
        })?;
        fs::rename(&self.path, &aside.path).ok()?;
        Some(aside.shown())
    }

    /// Reports on stderr that there is one, if there is no dialogue.
    pub fn print_if_found(&self) {
        if self.path.exists() {
            filermark_cli_kit::stderr_line!(
                "{}: there is unsaved input of an earlier session, which is not included. Start subedit with this -o at a terminal to resume it",
                self.shown()
            );
        }
    }
}

/// A comment must not contain `--`.
fn escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('-', "&#45;")
}

fn unescaped(text: &str) -> String {
    text.replace("&#45;", "-").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_submission::read_xml;

    #[test]
    fn what_is_kept_is_found_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let autosave = Autosave::beside(&dir.path().join("sub.xml"));
        assert!(autosave.found().is_none());
        let mut document = Document::new();
        let notes = document.find("otherReportNotes").expect("a node");
        document.set(&notes, "a -- b &#45;").expect("a field");
        for typed in ["", "half a -->line", "a--b &#45; -"] {
            autosave
                .keep(&document, "a.b", typed)
                .expect("it is written");
            let found = autosave.found().expect("it is there");
            assert_eq!((found.at.as_str(), found.typed.as_str()), ("a.b", typed));
            let read = read_xml(&found.text).expect("a submission");
            assert_eq!(read.root().value("otherReportNotes"), "a -- b &#45;");
        }
        let whole = fs::read_to_string(&autosave.path).expect("the file");
        assert!(read_xml(&whole).is_ok(), "it is a submission by itself");
        let aside = autosave.move_away().expect("it is renamed");
        assert!(aside.ends_with(".sub.xml.autosave.old"), "{aside}");
        autosave.keep(&document, "a.b", "").expect("it is written");
        let aside = autosave.move_away().expect("it is renamed");
        assert!(aside.ends_with(".sub.xml.autosave.old2"), "{aside}");
        assert!(autosave.found().is_none());
    }
}
