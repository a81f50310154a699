//! Types of the checks: their results, their options, and a record with its earlier states.

use crate::bundle::Member;
use filermark_model::text::one_line;
use filermark_results::RunRecord;
use filermark_results::output::Output;
use filermark_results::reader::read_from;
use filermark_results::record::Line;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Maximum number of faults that one check reports.
const FAULTS_REPORTED_MAX: usize = 10;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// No fault.
    Ok,
    /// A fault.
    #[serde(rename = "FAIL")]
    Fail,
    /// Could not be checked; the text has the reason.
    Skip,
}

impl fmt::Display for CheckStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Fail => "FAIL",
            Self::Skip => "skip",
        })
    }
}

/// A check that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its result.
    pub state: CheckStatus,
    /// The file, or the part of it.
    pub about: String,
    /// What was checked, and what was found.
    pub text: String,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:4}  {}: {}", self.state, self.about, self.text)
    }
}

/// The figures of a record, computed again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// The name of the record.
    pub record: String,
    /// The suffix.
    pub suffix: String,
    /// The fingerprint of its plan, computed again.
    pub fingerprint: String,
    /// The verdict, one of [`filermark_results::verdict::WORDS`].
    pub verdict: String,
    /// The unit of the peak.
    pub metric: String,
    /// The peak.
    pub peak: Option<f64>,
    /// The overall response time in milliseconds.
    pub ort_ms: Option<f64>,
}

/// All checks, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verification {
    /// Version of the schema.
    pub schema: u32,
    /// Whether no check failed.
    pub ok: bool,
    /// The runs.
    pub runs: Vec<RunFigures>,
    /// The checks.
    pub checks: Vec<Check>,
}

impl Verification {
    /// The number of checks with this result.
    pub fn count(&self, state: CheckStatus) -> usize {
        self.checks.iter().filter(|c| c.state == state).count()
    }

    /// Adds a check.
    pub fn push(&mut self, state: CheckStatus, about: impl Into<String>, text: impl Into<String>) {
        let (about, text) = (about.into(), text.into());
        // Text quoted from a file stays on one line, without control characters.
        self.ok &= state != CheckStatus::Fail;
        self.checks.push(Check {
            state,
            about: one_line(&about),
            text: one_line(&text),
        });
    }

    /// Adds a check with a list of faults: one line for each fault, or `good` if there are none.
    pub(super) fn conclude(&mut self, about: &str, good: impl Into<String>, faults: Vec<String>) {
        if faults.is_empty() {
            return self.push(CheckStatus::Ok, about, good);
        }
        let more = faults.len().saturating_sub(FAULTS_REPORTED_MAX);
        for fault in faults.into_iter().take(FAULTS_REPORTED_MAX) {
            self.push(CheckStatus::Fail, about, fault);
        }
        if more > 0 {
            self.push(
                CheckStatus::Fail,
                about,
                format!("and {more} more of this kind"),
            );
        }
    }
}

/// Options of [`super::verify`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// It must have a manifest: it is a zip file.
    pub needs_manifest: bool,
    /// Further rows of the table of outputs: the reports, which another crate makes.
    pub reports: &'static [Output],
}

/// A record of the archive and its name.
pub(super) struct Run<'a> {
    pub name: &'a str,
    pub record: RunRecord,
    /// Of a record without an end: its states when a load point had ended, the last one
    /// first. The files of the run are those of one of these states: they were not made
    /// since.
    pub earlier: Vec<RunRecord>,
}

/// The files of a record without an end are those of the end of one of its last load points:
/// the last one, or, if the run was killed before its files were made, the one before.
pub(super) const EARLIER_MAX: usize = 2;

impl<'a> Run<'a> {
    pub(super) fn of(name: &'a str, record: RunRecord, member: &Member) -> Self {
        let earlier = match record.end {
            Some(_) => Vec::new(),
            None => earlier(name, &member.bytes),
        };
        Self {
            name,
            record,
            earlier,
        }
    }

    /// The text for a file that is as the record made it when this load point had ended.
    pub(super) fn describe_earlier(&self, then: &RunRecord) -> String {
        let number = then.points.len();
        format!(
            "as {} made it when load point {number} had ended; the record has no end, so \
             it was not made again",
            self.name
        )
    }
}

/// The states of a record at the ends of its last load points.
fn earlier(name: &str, bytes: &[u8]) -> Vec<RunRecord> {
    let ends = bytes.iter().enumerate().rev();
    let ends = ends
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    let is_point = |end: &usize| {
        let line = bytes[..*end - 1].rsplit(|byte| *byte == b'\n').next();
        let line = line.map(serde_json::from_slice::<Line>);
        matches!(line, Some(Ok(Line::Point(_))))
    };
    let states = ends.filter(is_point).take(EARLIER_MAX);
    let read = |end: usize| read_from(&bytes[..end], Path::new(name)).ok();
    states.filter_map(read).collect()
}
