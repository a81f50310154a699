//! Reads a run record back. The file may come from anywhere: every line is checked,
//! and nothing in it can make the reader panic or take unbounded memory.

use crate::record::{Line, Outcome, RunHeader, RunRecord, SCHEMA_VERSION};
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Longest line that is accepted, in bytes.
pub const LINE_LEN_MAX: usize = 128 << 20;
/// Most lines that are accepted.
pub const LINE_COUNT_MAX: usize = 1_000_000;

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{path}: cannot read the run record: {source}")]
    Io {
        /// The record.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line before the last one is not a line of a record.
    #[error("{path}:{line}: not a line of a run record: {reason}")]
    Line {
        /// The record.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// It has another schema.
    #[error(
        "{path}: this run record has schema version {found}, and this program reads version {SCHEMA_VERSION}; render it with the Filermark version that wrote it ({writer})"
    )]
    Schema {
        /// The record.
        path: PathBuf,
        /// Its schema version.
        found: String,
        /// The version of the program that wrote it.
        writer: String,
    },
    /// There is no whole first line.
    #[error("{0}: not a run record: it has no complete first line of type \"run\"")]
    NoRun(PathBuf),
}

/// Reads the record at `path`. A truncated last line is left out and stated
/// in [`RunRecord::cut`].
///
/// # Errors
/// The file cannot be read, is no record, has another schema version, or
/// holds a line that is too long or is not valid.
pub fn read_record(path: &Path) -> Result<RunRecord, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::Io {
        path: path.into(),
        source,
    })?;
    read_from(BufReader::new(file), path)
}

/// Reads a record from any source; `path` is only used in error messages.
///
/// # Errors
/// As [`read_record`].
pub fn read_from(mut source: impl BufRead, path: &Path) -> Result<RunRecord, ReadError> {
    let mut record: Option<RunRecord> = None;
    let mut order = Order::default();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let mut limited = (&mut source).take(LINE_LEN_MAX as u64 + 1);
        limited
            .read_until(b'\n', &mut text)
            .map_err(|source| ReadError::Io {
                path: path.into(),
                source,
            })?;
        let bad = |reason: String| ReadError::Line {
            path: path.into(),
            line: number,
            reason,
        };
        if text.is_empty() {
            break;
        }
        if text.len() > LINE_LEN_MAX {
            return Err(bad(format!("longer than {LINE_LEN_MAX} bytes")));
        }
        if number > LINE_COUNT_MAX {
            return Err(bad(format!("more than {LINE_COUNT_MAX} lines")));
        }
        let Some(record) = &mut record else {
            record = Some(RunRecord::new(first_line(&text, path)?));
            continue;
        };
        let whole = text.last() == Some(&b'\n');
        let read = serde_json::from_slice::<Line>(&text);
        if let Ok(line) = &read {
            order.follow(line).map_err(bad)?;
        }
        match read {
            Ok(Line::Run(run)) if run.fingerprint != record.run.fingerprint => {
                return Err(bad("a second run with another plan".into()));
            }
            // A resumed run repeats its header; the first start counts.
            Ok(Line::Run(run)) => record.go_on(&run),
            Ok(line) => record.push(line),
            Err(e) if !whole => {
                record.cut = Some(format!("line {number} was cut and is left out ({e})"));
            }
            Err(e) => return Err(bad(filermark_model::text::one_line(&e.to_string()))),
        }
    }
    record.ok_or_else(|| ReadError::NoRun(path.into()))
}

/// The order of lines: one line per load point and start of the run, in the order of their
/// numbers, and no line after the end; after an early end the run may continue.
#[derive(Debug, Default)]
struct Order {
    /// The previous load point.
    point: u32,
    /// The last load point that was measured; it is not measured again.
    measured: u32,
    ended: bool,
    /// The end came before all load points were tried.
    early: bool,
}

impl Order {
    fn follow(&mut self, line: &Line) -> Result<(), String> {
        let goes_on = self.early && matches!(line, Line::Run(_));
        if self.ended && !goes_on {
            return Err("a line after the end of the run: the record was changed".into());
        }
        match line {
            // A resumed run measures the unfinished load points again, and no others.
            Line::Run(_) => {
                self.point = self.measured;
                (self.ended, self.early) = (false, false);
            }
            Line::Point(point) => {
                let number = point.load.number;
                if number <= self.point {
                    return Err(format!(
                        "load point {number} follows load point {}: each must occur once, in order",
                        self.point
                    ));
                }
                self.point = number;
                if point.measured().is_some() {
                    self.measured = number;
                }
            }
            Line::End(end) => {
                self.ended = true;
                self.early = end.outcome != Outcome::Complete;
            }
            _ => {}
        }
        Ok(())
    }
}

/// What shows whether the first line is one of our schema.
#[derive(Deserialize)]
struct FirstLine {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    version: Value,
}

/// The first line must be a run of our schema. This is checked before the line is parsed,
/// because a line of another version may lack or add any field.
fn first_line(text: &[u8], path: &Path) -> Result<RunHeader, ReadError> {
    let no_run = || ReadError::NoRun(path.into());
    let first: FirstLine = serde_json::from_slice(text).map_err(|_| no_run())?;
    if first.kind != "run" {
        return Err(no_run());
    }
    if first.schema != SCHEMA_VERSION {
        return Err(ReadError::Schema {
            path: path.into(),
            found: first.schema.to_string(),
            writer: first.version.as_str().unwrap_or("unknown").into(),
        });
    }
    // A run line of our version that cannot be parsed is reported with the reason.
    serde_json::from_slice::<RunHeader>(text).map_err(|e| ReadError::Line {
        path: path.into(),
        line: 1,
        reason: filermark_model::text::one_line(&e.to_string()),
    })
}
