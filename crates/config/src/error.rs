//! What can be wrong with the text that people write, told so that they can
//! repair it: where it stands, what is wrong, what to try.

use std::fmt;

/// Where a text stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a file, at a line and column (both from 1).
    At {
        /// The file as the user named it.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
    },
    /// A file as a whole.
    File(String),
    /// On the command line, e.g. `-o RUNTIME`.
    Option(String),
    /// Nowhere: something is missing from all sources.
    Missing,
}

impl Place {
    /// A line of a file.
    pub fn line(file: &str, line: usize, column: usize) -> Self {
        Self::At {
            file: file.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::File(file) => f.write_str(file),
            Self::Option(option) => f.write_str(option),
            Self::Missing => f.write_str("parameters"),
        }
    }
}

/// One thing that is wrong: shown as `place: message; hint`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// Where.
    pub place: Place,
    /// What is wrong, as a plain sentence without a full stop.
    pub message: String,
    /// What to try, in the same form; may be empty.
    pub hint: String,
}

impl ConfigError {
    /// Puts one together.
    pub fn new(place: Place, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

/// The longest piece of the user's text that a message quotes, in characters.
const QUOTED_CHARS_MAX: usize = 60;

/// The user's text as a message may quote it: one line, not too long, no
/// control characters (a terminal would obey them).
pub(crate) fn quoted(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(QUOTED_CHARS_MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        out.push_str("...");
    }
    out
}

/// The nearest of `known` to `name`, when it is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_uppercase();
    if name.chars().count() > 64 {
        return None;
    }
    known
        .map(|k| (edit_distance(&name, &k.to_ascii_uppercase()), k))
        .filter(|(d, k)| *d <= k.len().min(name.len()).div_ceil(3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Levenshtein's distance, with a swap of neighbours counted as one step.
fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_far_ones_are_not() {
        let known = ["RUNTIME", "LOAD", "INCR_LOAD", "PROCS"];
        assert_eq!(nearest("RUNTIEM", known.into_iter()), Some("RUNTIME"));
        assert_eq!(nearest("load", known.into_iter()), Some("LOAD"));
        assert_eq!(nearest("PROC", known.into_iter()), Some("PROCS"));
        assert_eq!(nearest("HELLO_WORLD", known.into_iter()), None);
        assert_eq!(nearest("", known.into_iter()), None);
    }

    #[test]
    fn quoting_is_short_and_tame() {
        assert_eq!(quoted("a\u{1b}[2Jb\nc"), "a [2Jb c");
        assert_eq!(quoted(&"x".repeat(100)).len(), 63);
    }

    #[test]
    fn an_error_reads_as_one_sentence() {
        let e = ConfigError::new(Place::line("sfs_rc", 3, 7), "X is bad", "try Y");
        assert_eq!(e.to_string(), "sfs_rc:3:7: X is bad; try Y");
    }
}
