//! Holds an archive against its run records: everything that can be computed again is
//! computed again and compared.
//!
//! A record is not signed. Who changes a record so that all of its own sums still agree,
//! and everything else with it, is not found out: keep the sum of the archive elsewhere.

mod figures;
mod findings;
mod inputs;
mod outcome;
pub(crate) mod pages;
mod renderings;
mod submission;
mod sums;

use crate::bundle::{Bundle, Member, read_record};
use crate::role::Role;
use filermark_results::RunRecord;
use filermark_results::reader::read_from;
use filermark_results::record::Line;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// The JSON Schema of [`Verification`] as JSON.
pub const SCHEMA: &str = include_str!("../schema/verification-v1.json");
/// Most lines that one check gives where much is wrong.
const FAULTS_TOLD: usize = 10;

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// In order.
    Ok,
    /// Something is wrong.
    #[serde(rename = "FAIL")]
    Fail,
    /// Could not be checked; the text says why.
    Skip,
}

impl fmt::Display for State {
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
    pub state: State,
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
    pub fn count(&self, state: State) -> usize {
        self.checks.iter().filter(|c| c.state == state).count()
    }

    /// Adds a check.
    pub fn push(&mut self, state: State, about: impl Into<String>, text: impl Into<String>) {
        let (about, text) = (about.into(), text.into());
        // What is quoted of a file stays on its line, and is no command to a terminal.
        let clean = |text: String| text.replace(char::is_control, "\u{fffd}");
        self.ok &= state != State::Fail;
        self.checks.push(Check {
            state,
            about: clean(about),
            text: clean(text),
        });
    }

    /// One check that went through a list: the faults one a line, or that all is well.
    fn conclude(&mut self, about: &str, good: impl Into<String>, faults: Vec<String>) {
        if faults.is_empty() {
            return self.push(State::Ok, about, good);
        }
        let more = faults.len().saturating_sub(FAULTS_TOLD);
        for fault in faults.into_iter().take(FAULTS_TOLD) {
            self.push(State::Fail, about, fault);
        }
        if more > 0 {
            self.push(State::Fail, about, format!("and {more} more of this kind"));
        }
    }
}

/// Makes the HTML report of a record again, in every edition.
pub type MakeReport<'a> = &'a dyn Fn(&RunRecord) -> Vec<String>;

/// What is known about an archive beside its files.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// It has to have a manifest: it is a zip file.
    pub needs_manifest: bool,
    /// Makes reports again.
    pub html: Option<MakeReport<'a>>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Options");
        fields.field("needs_manifest", &self.needs_manifest);
        fields.field("html", &self.html.is_some()).finish()
    }
}

/// A record of the archive under its name.
struct Run<'a> {
    name: &'a str,
    record: RunRecord,
    /// Of a record without an end: what it was when a load point had ended, the last one
    /// first. The files beside it are as they were then: nobody has made them since.
    earlier: Vec<RunRecord>,
}

/// Load points whose end the files beside a record without an end may be of: the last one,
/// or, where the run was killed before its files were made, the one before.
const EARLIER_MAX: usize = 2;

impl<'a> Run<'a> {
    fn of(name: &'a str, record: RunRecord, member: &Member) -> Self {
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
    fn made_it(&self, then: &RunRecord) -> String {
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

/// Checks an archive.
pub fn verify(bundle: &Bundle, options: &Options<'_>) -> Verification {
    let mut told = Verification {
        schema: 1,
        ok: true,
        ..Verification::default()
    };
    sums::check(bundle, options.needs_manifest, &mut told);
    let mut runs = Vec::new();
    for (name, member) in bundle.members().filter(|(_, m)| m.role == Role::Record) {
        match read_record(name, member) {
            Ok(record) => runs.push(Run::of(name, record, member)),
            Err(why) => {
                let why = why
                    .strip_prefix(name)
                    .unwrap_or(&why)
                    .trim_start_matches(": ");
                told.push(State::Fail, name, format!("cannot be checked: {why}"));
            }
        }
    }
    for run in &runs {
        figures::check(run, &mut told);
        findings::check(run, &mut told);
        let figures = outcome::check(run, &mut told);
        told.runs.push(figures);
    }
    let mut checked = BTreeSet::from_iter(renderings::check(bundle, &runs, &mut told));
    checked.extend(pages::check(bundle, &runs, options, &mut told));
    checked.extend(submission::check(bundle, &runs, &mut told));
    checked.extend(inputs::check(bundle, &runs, &mut told));
    if runs.is_empty() {
        let text = "no run record in it: nothing could be computed again";
        told.push(State::Fail, "run record", text);
    }
    for (name, member) in bundle.members() {
        let is_known = member.role == Role::Record || checked.contains(name);
        if !is_known && is_made(name, member.role) {
            stray(name, member, &runs, &mut told);
        } else if !is_known {
            let why = match member.role {
                Role::Rc => {
                    "the run record is of version 0.1 and does not say which rc file the run read; its sum is checked"
                }
                _ => "nothing in it can be computed from a record; its sum is checked",
            };
            let why = match bundle.manifest_sums() {
                Some(_) => why,
                None => why.split(';').next().unwrap_or(why),
            };
            told.push(State::Skip, name, why);
        }
    }
    told
}

/// Whether a file is one that only a record can make; `validate` writes sfsval.
fn is_made(name: &str, role: Role) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name);
    match role {
        Role::Log => !base.starts_with("sfsval."),
        role => matches!(role, Role::Summary | Role::ClientLog | Role::Table),
    }
}

/// A file with figures that has none of the names which the records give: the copy of
/// one that has, or invented.
fn stray(name: &str, member: &Member, runs: &[Run<'_>], told: &mut Verification) {
    let makes = |run: &&Run<'_>| {
        let made = filermark_results::files::renderings(&run.record).unwrap_or_default();
        made.iter().any(|(_, text)| text.as_bytes() == member.bytes)
    };
    match runs.iter().find(makes) {
        Some(run) => told.push(State::Ok, name, format!("as {} makes it", run.name)),
        None => {
            let text = format!("a {} that no run record in it makes", member.role);
            told.push(State::Fail, name, text);
        }
    }
}

/// Whether a zip file is, byte for byte, what this program packs.
pub fn check_zip(bundle: &Bundle, bytes: &[u8], told: &mut Verification) {
    let count = bundle.members().count();
    told.push(
        State::Ok,
        "zip",
        format!("sound: {count} files and the manifest"),
    );
    let same = bundle.packed_again().is_ok_and(|again| again == bytes);
    match same {
        true => told.push(State::Ok, "zip", "byte for byte as this program packs these files"),
        false => told.push(
            State::Skip,
            "zip",
            "packed by another program or version, or changed between its files; the files themselves are checked",
        ),
    }
}
