//! The parser of the text form: reports all mistakes at once, line by line.

use super::draft::{DefinitionBuilder, ValueError};
use super::keys::{Key, KeyLookup, known};
use crate::error::{ConfigError, SourceLocation, nearest, quoted};
use filermark_model::WorkloadObject;
use filermark_model::workload::is_name;

/// Reading ends after so many mistakes.
const ERRORS_MAX: usize = 50;
/// Most workloads in one file.
const WORKLOADS_MAX: usize = 1_000;

/// Reads workload objects; `file` is its name in messages. Blanks and the case of
/// letters do not matter; lines that begin with `#` are comments. What has no line is
/// 0 or the attribute's default.
///
/// # Errors
/// Everything that is wrong, in the order of the lines; reading ends after fifty.
pub fn parse(file: &str, text: &str) -> Result<Vec<WorkloadObject>, Vec<ConfigError>> {
    let mut reader = DefinitionReader {
        file,
        draft: None,
        objects: Vec::new(),
        names: Vec::new(),
        errors: Vec::new(),
    };
    for (i, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first().is_some_and(|w| !w.starts_with('#')) {
            reader.line(i + 1, line, &words);
        }
        if reader.errors.len() >= ERRORS_MAX || reader.names.len() > WORKLOADS_MAX {
            break;
        }
    }
    reader.end()
}

struct DefinitionReader<'a> {
    file: &'a str,
    draft: Option<DefinitionBuilder>,
    objects: Vec<WorkloadObject>,
    /// Names in capitals, in the order of the file.
    names: Vec<String>,
    errors: Vec<ConfigError>,
}

impl DefinitionReader<'_> {
    fn line(&mut self, number: usize, line: &str, words: &[&str]) {
        let is =
            |at: usize, known: &str| words.get(at).is_some_and(|w| w.eq_ignore_ascii_case(known));
        let wrong = if is(0, "workload") && is(1, "name") {
            self.finish_draft();
            let begun = self.begin(number, line, &words[2..]);
            if let (Err(_), Some(draft)) = (&begun, &mut self.draft) {
                draft.is_unnamed = true;
            }
            begun
        } else if is(0, "title") {
            let from = column(line, words, 0) - 1 + words[0].chars().count();
            let title: String = line.chars().skip(from).collect();
            self.set(number, line, words, Key::Title, title.trim())
        } else {
            self.attribute(number, line, words)
        };
        if let Err((column, wrong)) = wrong {
            self.push(number, column, wrong);
        }
    }

    fn begin(
        &mut self,
        number: usize,
        line: &str,
        rest: &[&str],
    ) -> Result<(), (usize, ValueError)> {
        let name = rest.join(" ");
        self.draft = Some(DefinitionBuilder::new(&name, number));
        let wrong = |message: String, hint: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = if rest.is_empty() { 0 } else { 2 };
            Err((column(line, &words, at), (message, hint.to_owned())))
        };
        if !is_name(&name) {
            let message = format!("'{}' is not a name of a workload", quoted(&name));
            return wrong(message, "use one word of 1 to 32 letters, digits and '_'");
        }
        let upper = name.to_ascii_uppercase();
        let known = self.names.contains(&upper);
        self.names.push(upper);
        if known {
            let message = format!("workload {name} is in the file already");
            return wrong(message, "give every workload a name of its own");
        }
        if self.names.len() > WORKLOADS_MAX {
            let message = format!("there are more than {WORKLOADS_MAX} workloads");
            return wrong(message, "make several files of it");
        }
        Ok(())
    }

    fn attribute(
        &mut self,
        number: usize,
        line: &str,
        words: &[&str],
    ) -> Result<(), (usize, ValueError)> {
        let (value, key) = words.split_last().unwrap_or((&"", &[]));
        let found = Key::find(key);
        if let (KeyLookup::SlotNumber | KeyLookup::Unknown, Some(draft)) = (&found, &mut self.draft)
        {
            draft.mark_wrong(words[0]);
        }
        match found {
            KeyLookup::Key(key) => self.set(number, line, words, key, value),
            KeyLookup::SlotNumber => {
                let message = format!("'{}' is not a slot", quoted(words[2]));
                let hint = "slots have the numbers 0 to 15".to_owned();
                Err((column(line, words, 2), (message, hint)))
            }
            KeyLookup::Unknown => {
                let at = column(line, words, 0);
                Err((at, unknown(words, key)))
            }
        }
    }

    fn set(
        &mut self,
        number: usize,
        line: &str,
        words: &[&str],
        key: Key,
        value: &str,
    ) -> Result<(), (usize, ValueError)> {
        let Some(draft) = &mut self.draft else {
            let message = "this is before the first 'Workload name'".to_owned();
            let hint = "begin every workload with 'Workload name NAME'".to_owned();
            return Err((column(line, words, 0), (message, hint)));
        };
        let at = words.len().saturating_sub(1);
        draft.set(key, value, number).map_err(|wrong| {
            draft.mark_key_wrong(key);
            (column(line, words, at), wrong)
        })
    }

    fn finish_draft(&mut self) {
        let Some(draft) = self.draft.take().filter(|d| !d.is_unnamed) else {
            return;
        };
        let line = draft.line;
        match draft.finish() {
            Ok(object) => self.objects.push(object),
            Err(all) => all.into_iter().for_each(|wrong| self.push(line, 1, wrong)),
        }
    }

    fn push(&mut self, line: usize, column: usize, (message, hint): ValueError) {
        let place = SourceLocation::line(self.file, line, column);
        self.errors.push(ConfigError::new(place, message, hint));
    }

    fn end(mut self) -> Result<Vec<WorkloadObject>, Vec<ConfigError>> {
        self.finish_draft();
        if self.names.is_empty() && self.errors.is_empty() {
            let message = "there is no 'Workload name' in it".to_owned();
            let hint = "begin with what `filermark workload export METADATA` prints".to_owned();
            self.push(1, 1, (message, hint));
        }
        // Totals are checked at the end of a workload and reported at the line where it begins.
        self.errors.sort_by(|a, b| a.location.cmp(&b.location));
        if self.errors.len() >= ERRORS_MAX {
            self.errors.truncate(ERRORS_MAX);
            let place = SourceLocation::File(self.file.to_owned());
            let message = format!("not read further after {ERRORS_MAX} mistakes");
            self.errors.push(ConfigError::new(place, message, ""));
        }
        match self.errors.is_empty() {
            true => Ok(self.objects),
            false => Err(self.errors),
        }
    }
}

/// The column where word `at` of a line begins, from 1.
fn column(line: &str, words: &[&str], at: usize) -> usize {
    let Some(word) = words.get(at) else {
        return 1;
    };
    // Words are parts of the line.
    let offset = word.as_ptr() as usize - line.as_ptr() as usize;
    line.get(..offset)
        .map_or(1, |before| before.chars().count() + 1)
}

/// The error for an invalid line.
fn unknown(words: &[&str], key: &[&str]) -> ValueError {
    let whole = words.join(" ");
    if let KeyLookup::Key(key) = Key::find(words) {
        let message = format!("'{}' has no value", key.text());
        return (message, "write the value after it".into());
    }
    let text = key.join(" ");
    let slot = matches!(words.get(1), Some(w) if w.eq_ignore_ascii_case("elem"));
    let hint = match nearest(&text, known()) {
        _ if slot => {
            "write 'Read elem N xfer min size VALUE', 'max size' or 'percent', N from 0 to 15"
                .into()
        }
        Some(near) => format!("did you mean '{near}'?"),
        None => "compare with what `filermark workload export METADATA` prints".to_owned(),
    };
    (
        format!("'{}' is not a line of a workload", quoted(&whole)),
        hint,
    )
}
