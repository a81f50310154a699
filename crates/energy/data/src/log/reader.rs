//! Reads a log line by line. The file is untrusted: every line has a limit, every number of a
//! source or port must have been declared, and nothing else is kept.

use super::{LogLine, Readings, SCHEMA_VERSION, Traffic};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Longest line that is accepted, in bytes.
pub const LINE_LEN_MAX: usize = 16 << 20;
/// Most sources, and most ports, of a log.
const DECLARED_MAX: usize = 100_000;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file system refused.
    #[error("{path}: cannot read the energy log: {source}")]
    Io {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line is not a line of a log.
    #[error("{path}:{line}: not a line of an energy log: {reason}")]
    Line {
        /// The log.
        path: PathBuf,
        /// The line's number, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// It was written to another schema.
    #[error(
        "{path}: this energy log has schema version {found}, and this program reads version {SCHEMA_VERSION}; use the Filermark version that wrote it ({writer})"
    )]
    Schema {
        /// The log.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The version of the program that wrote it.
        writer: String,
    },
    /// Its first line is not that of a log.
    #[error(
        "{0}: not an energy log: its first line is not of type \"energy\"; files of sflowtool and power meters go through \"filermark energy import\" first"
    )]
    NotALog(PathBuf),
}

/// An open log.
#[derive(Debug)]
pub struct Log<R = BufReader<File>> {
    path: PathBuf,
    input: R,
    line: u64,
    text: Vec<u8>,
    sources: BTreeSet<u32>,
    ports: BTreeSet<u32>,
    cut: Option<u64>,
}

/// Parsed first, since a line of another version may have other fields.
#[derive(Deserialize)]
struct FirstLine {
    #[serde(rename = "type")]
    kind: String,
    schema: u32,
    #[serde(default)]
    version: String,
}

impl Log {
    /// Opens the log at `path`.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|source| ReadError::Io {
            path: path.into(),
            source,
        })?;
        Ok(Self::new(BufReader::with_capacity(1 << 20, file), path))
    }
}

impl<R: BufRead> Log<R> {
    /// Reads from any source; `path` is only used in messages.
    pub fn new(input: R, path: &Path) -> Self {
        Self {
            path: path.into(),
            input,
            line: 0,
            text: Vec::new(),
            sources: BTreeSet::new(),
            ports: BTreeSet::new(),
            cut: None,
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of a last line that was cut and is left out.
    pub fn cut(&self) -> Option<u64> {
        self.cut
    }

    /// The next line; `None` at the end. The first is [`LogLine::Energy`], and no other is.
    ///
    /// # Errors
    /// The file cannot be read, is not a log, has another schema version, or a line is too
    /// long, invalid, or refers to a source or port that was not declared.
    pub fn next_line(&mut self) -> Result<Option<LogLine>, ReadError> {
        if !self.fill()? {
            return match self.line {
                0 => Err(ReadError::NotALog(self.path.clone())),
                _ => Ok(None),
            };
        }
        self.line += 1;
        if self.line == 1 {
            self.check_first()?;
        }
        let line = match parse(&self.text) {
            Ok(line) => line,
            Err(_) if self.text.last() != Some(&b'\n') && self.line > 1 => {
                self.cut = Some(self.line);
                return Ok(None);
            }
            Err(error) => return Err(self.bad(error.to_string())),
        };
        match self.check(&line) {
            Ok(()) => Ok(Some(line)),
            Err(reason) => Err(self.bad(reason)),
        }
    }

    fn fill(&mut self) -> Result<bool, ReadError> {
        self.text.clear();
        let mut limited = (&mut self.input).take(LINE_LEN_MAX as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| ReadError::Io {
            path: self.path.clone(),
            source,
        })?;
        if self.text.len() > LINE_LEN_MAX {
            self.line += 1;
            return Err(self.bad(format!("longer than {LINE_LEN_MAX} bytes")));
        }
        Ok(read > 0)
    }

    fn check_first(&self) -> Result<(), ReadError> {
        let first: FirstLine = serde_json::from_slice(&self.text)
            .map_err(|_| ReadError::NotALog(self.path.clone()))?;
        match (first.kind.as_str(), first.schema) {
            ("energy", SCHEMA_VERSION) => Ok(()),
            ("energy", found) => Err(ReadError::Schema {
                path: self.path.clone(),
                found,
                writer: first.version,
            }),
            _ => Err(ReadError::NotALog(self.path.clone())),
        }
    }

    fn check(&mut self, line: &LogLine) -> Result<(), String> {
        let declare = |set: &mut BTreeSet<u32>, what: &str, id: u32| match set.insert(id) {
            false => Err(format!("{what} {id} is declared twice")),
            true if set.len() > DECLARED_MAX => Err(format!("more than {DECLARED_MAX} {what}s")),
            true => Ok(()),
        };
        let known = |set: &BTreeSet<u32>, what: &str, id: u32| match set.contains(&id) {
            true => Ok(()),
            false => Err(format!("{what} {id} was not declared by a line before")),
        };
        match line {
            LogLine::Energy(_) if self.line > 1 => Err("a second first line".into()),
            LogLine::Source(source) => declare(&mut self.sources, "source", source.id),
            LogLine::Port(port) => known(&self.sources, "source", port.source)
                .and_then(|()| declare(&mut self.ports, "port", port.port)),
            LogLine::Readings(readings) => known(&self.sources, "source", readings.source),
            LogLine::Traffic(traffic) => {
                let port = |sample: &super::PortSample| known(&self.ports, "port", sample.port);
                known(&self.sources, "source", traffic.source)
                    .and_then(|()| traffic.samples.iter().try_for_each(port))
            }
            LogLine::Energy(_) | LogLine::Run(_) | LogLine::Event(_) | LogLine::End(_) => Ok(()),
        }
    }

    fn bad(&self, reason: String) -> ReadError {
        ReadError::Line {
            path: self.path.clone(),
            line: self.line,
            reason: filermark_results::text::one_line(&reason),
        }
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = Result<LogLine, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_line().transpose()
    }
}

/// Most lines are samples. They are recognized by their beginning, which is faster than
/// buffering a line until its type is known.
fn parse(text: &[u8]) -> Result<LogLine, serde_json::Error> {
    const TRAFFIC: &[u8] = br#"{"type":"traffic""#;
    const READINGS: &[u8] = br#"{"type":"readings""#;
    if text.starts_with(TRAFFIC) {
        return serde_json::from_slice::<Traffic>(text).map(LogLine::Traffic);
    }
    if text.starts_with(READINGS) {
        return serde_json::from_slice::<Readings>(text).map(LogLine::Readings);
    }
    serde_json::from_slice(text)
}
