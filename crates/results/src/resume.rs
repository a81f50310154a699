//! Whether a run that was cut can continue: the record is that of the same plan and files, and
//! not complete.

use crate::reader::{ReadError, read_record};
use crate::record::{Outcome, RunRecord, fingerprint};
use filermark_model::RunPlan;
use filermark_model::input::InputFile;
use std::path::Path;

/// How far a recorded run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It was interrupted before a load point was measured.
    Cut,
    /// It failed: all load points are measured again.
    Failed,
    /// It was interrupted after some load points: it continues with the next one.
    GoesOn {
        /// Load points of the sweep that are measured.
        measured: usize,
        /// Load points of the plan; 0: a search has not found them yet.
        of: usize,
        /// Load points of the search that are measured.
        searched: usize,
    },
    /// All load points are measured.
    Done,
}

/// Why a run cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The record cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// It is a run of another plan.
    #[error("this is a run of another plan than the rc file has now")]
    OtherPlan {
        /// The members that differ, by the names that people know; not all of them.
        differ: Vec<String>,
    },
    /// Its files or its version have changed.
    #[error("{}", .0.join(", "))]
    Changed(Vec<String>),
}

impl ResumeError {
    /// What differs, in words; empty: it is not known.
    pub fn differences(&self) -> String {
        match self {
            Self::OtherPlan { differ } if !differ.is_empty() => {
                format!(" (different: {})", differ.join(", "))
            }
            _ => String::new(),
        }
    }
}

/// How far the run in the record at `path` is; `inputs` are the files that `plan` was read
/// from, `version` that of this program.
///
/// # Errors
/// The record cannot be read, or the run cannot continue with this plan.
pub fn run_state(
    path: &Path,
    plan: &RunPlan,
    inputs: &[&InputFile],
    version: &str,
) -> Result<(RunState, RunRecord), ResumeError> {
    let record = read_record(path)?;
    // Without load points, it does not matter whether the plan changed.
    if record.points.is_empty() && record.search.is_empty() {
        return Ok((RunState::Cut, record));
    }
    if record.run.fingerprint != fingerprint(plan) {
        let differ = differences(&record.run.plan, plan);
        return Err(ResumeError::OtherPlan { differ });
    }
    match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Complete) => return Ok((RunState::Done, record)),
        // The reason stays in its record; all load points are measured again.
        Some(Outcome::Failed { .. }) => return Ok((RunState::Failed, record)),
        Some(Outcome::Interrupted) | None => {}
    }
    // It was killed after the load point that failed.
    if record.failed_points().next().is_some() {
        return Ok((RunState::Failed, record));
    }
    let measured = record.points.iter().filter(|p| p.measured().is_some());
    let measured = measured.count();
    let searched = record.search.len();
    if measured + searched == 0 {
        return Ok((RunState::Cut, record));
    }
    let changes = changes_since(&record, inputs, version);
    match changes.is_empty() {
        true => {
            let of = record.run.plan.points.len();
            let state = RunState::GoesOn {
                measured,
                of,
                searched,
            };
            Ok((state, record))
        }
        false => Err(ResumeError::Changed(changes)),
    }
}

/// Labels of the members of the plan that differ, at most five. Members without a label have
/// their names.
fn differences(was: &RunPlan, now: &RunPlan) -> Vec<String> {
    const SHOWN: usize = 5;
    let value = |plan: &RunPlan| {
        let mut plan = plan.clone();
        if plan.search.is_some() {
            plan.points.clear();
        }
        plan.parameters.clear();
        plan.findings.clear();
        plan.stop_if.clear();
        serde_json::to_value(plan).unwrap_or_default()
    };
    let (mut found, null) = (Vec::new(), serde_json::Value::Null);
    let (was, now_value) = (value(was), value(now));
    let mut compare = |path: String, was: &serde_json::Value, is: &serde_json::Value| {
        if was != is {
            let label = now
                .label(&path)
                .map_or_else(|| path.clone(), ToOwned::to_owned);
            let label = match path.as_str() {
                "points" => "load points (LOAD, INCR_LOAD, NUM_RUNS)".to_owned(),
                "clients" => "mount points and clients".to_owned(),
                _ => label,
            };
            found.push(label);
        }
    };
    for name in members(&was, &now_value) {
        let (was, is) = (was.get(&name), now_value.get(&name));
        let (was, is) = (was.unwrap_or(&null), is.unwrap_or(&null));
        let nested = ["phases", "pacing", "fileset", "limits"].contains(&name.as_str());
        if !nested {
            compare(name, was, is);
            continue;
        }
        for field in members(was, is) {
            let (was, is) = (was.get(&field), is.get(&field));
            let path = format!("{name}.{field}");
            compare(path, was.unwrap_or(&null), is.unwrap_or(&null));
        }
    }
    found.truncate(SHOWN);
    found
}

/// The names of the members of both.
fn members(a: &serde_json::Value, b: &serde_json::Value) -> Vec<String> {
    let names = |value: &serde_json::Value| -> Vec<String> {
        let object = value.as_object();
        object.map_or_else(Vec::new, |object| object.keys().cloned().collect())
    };
    let mut all = names(a);
    all.extend(names(b));
    all.sort();
    all.dedup();
    all
}

/// What has changed since an interrupted run began. Hosts are compared when they connect.
fn changes_since(record: &RunRecord, now: &[&InputFile], version: &str) -> Vec<String> {
    let mut changes = Vec::new();
    if record.run.version != version {
        changes.push(format!(
            "it was started by version {} of Filermark, and this is {version}",
            record.run.version
        ));
    }
    let was: Vec<&InputFile> = record.run.inputs.iter().flatten().collect();
    for file in now {
        let same = |was: &&&InputFile| was.option == file.option && was.name == file.name;
        if !was.iter().any(|was| same(&was)) {
            changes.push(format!(
                "it was begun without {} {}",
                file.option, file.name
            ));
        } else if !was.contains(file) {
            changes.push(format!("{} ({}) has changed", file.name, file.option));
        }
    }
    for file in &was {
        let same = |now: &&&InputFile| now.option == file.option && now.name == file.name;
        if !now.iter().any(|now| same(&now)) {
            changes.push(format!("it was begun with {} {}", file.option, file.name));
        }
    }
    changes
}
