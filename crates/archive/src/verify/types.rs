//! What the checks share: what they tell, what they may use, and a record as they take it.

use crate::bundle::Member;
use filermark_model::text::one_line;
use filermark_results::RunRecord;
use filermark_results::output::Output;
use filermark_results::reader::read_from;
use filermark_results::record::Line;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Most lines that one check gives where much is wrong.
const FAULTS_TOLD: usize = 10;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// In order.
    Ok,
    /// Something is wrong.
    #[serde(rename = "FAIL")]
    Fail,
    /// Could not be checked; the text says why.
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
    /// What came of it.
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

/// What a record makes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// The name of the record.
    pub record: String,
    /// The suffix.
    pub suffix: String,
    /// The fingerprint of its plan, computed anew.
    pub fingerprint: String,
    /// In its word ([`filermark_results::verdict::WORDS`]).
    pub verdict: String,
    /// What the peak is counted in.
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
    /// Whether nothing is wrong.
    pub ok: bool,
    /// The runs.
    pub runs: Vec<RunFigures>,
    /// The checks.
    pub checks: Vec<Check>,
}

impl Verification {
    /// How many checks came out so.
    pub fn count(&self, state: CheckStatus) -> usize {
        self.checks.iter().filter(|c| c.state == state).count()
    }

    /// Adds a check.
    pub fn push(&mut self, state: CheckStatus, about: impl Into<String>, text: impl Into<String>) {
        let (about, text) = (about.into(), text.into());
        // What is quoted of a file stays on its line, and is no command to a terminal.
        self.ok &= state != CheckStatus::Fail;
        self.checks.push(Check {
            state,
            about: one_line(&about),
            text: one_line(&text),
        });
    }

    /// One check that went through a list: the faults one a line, or that all is well.
    pub(super) fn conclude(&mut self, about: &str, good: impl Into<String>, faults: Vec<String>) {
        if faults.is_empty() {
            return self.push(CheckStatus::Ok, about, good);
        }
        let more = faults.len().saturating_sub(FAULTS_TOLD);
        for fault in faults.into_iter().take(FAULTS_TOLD) {
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

/// What is known about an archive beside its files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// It has to have a manifest: it is a zip file.
    pub needs_manifest: bool,
    /// Further rows of the table of outputs: reports, which this crate cannot make.
    pub reports: &'static [Output],
}

/// A record of the archive under its name.
pub(super) struct Run<'a> {
    pub name: &'a str,
    pub record: RunRecord,
    /// Of a record without an end: what it was when a load point had ended, the last one
    /// first. The files beside it are as they were then: nobody has made them since.
    pub earlier: Vec<RunRecord>,
}

/// Load points whose end the files beside a record without an end may be of: the last one,
/// or, where the run was killed before its files were made, the one before.
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

    /// What is told of a file that is as the record made it when this load point ended.
    pub(super) fn made_it(&self, then: &RunRecord) -> String {
        let number = then.points.len();
        format!(
            "as {} made it when load point {number} had ended; the record has no end, so \
             nothing made it again",
            self.name
        )
    }
}

/// What a record was at the ends of its last load points.
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
