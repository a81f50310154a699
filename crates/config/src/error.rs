//! Errors in the text that people write, each with what they need to
//! fix it: the place, what is wrong, what to try.

pub(crate) use filermark_model::text::{nearest, quoted};
use std::fmt;

/// The place of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceLocation {
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
    /// No place: something is missing from all sources.
    Missing,
}

impl SourceLocation {
    /// A line of a file.
    pub fn line(file: &str, line: usize, column: usize) -> Self {
        Self::At {
            file: file.to_owned(),
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for SourceLocation {
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
    pub location: SourceLocation,
    /// What is wrong, as a plain sentence without a full stop.
    pub message: String,
    /// What to try, in the same form; may be empty.
    pub hint: String,
}

impl ConfigError {
    /// Creates an error.
    pub fn new(place: SourceLocation, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            location: place,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_one_sentence() {
        let e = ConfigError::new(SourceLocation::line("sfs_rc", 3, 7), "X is bad", "try Y");
        assert_eq!(e.to_string(), "sfs_rc:3:7: X is bad; try Y");
    }
}
