//! Failed calls, combined into one finding for each error.

use filermark_model::text::sanitize;
use filermark_model::{Finding, Rule, Severity};
use filermark_results::text::load_points;

/// The most of what a program wrote to stderr that a finding quotes, in characters.
const QUOTE_LEN_MAX: usize = 120;

/// The errors of the scripts of a run.
#[derive(Default)]
pub(super) struct ScriptErrors(Vec<ScriptError>);

/// A script that could not be called or failed, and at which load points.
struct ScriptError {
    script: String,
    /// Empty: all of its calls.
    argument: String,
    reason: String,
    /// The beginning of the stderr of the first such call.
    message: String,
    points: Vec<u32>,
}

impl ScriptErrors {
    /// Adds an error.
    pub fn add(&mut self, script: &str, argument: &str, reason: &str, errors: &str, point: u32) {
        let known = self
            .0
            .iter_mut()
            .find(|t| t.script == script && t.argument == argument && t.reason == reason);
        match known {
            Some(known) if known.points.contains(&point) => {}
            Some(known) => known.points.push(point),
            None => self.0.push(ScriptError {
                script: script.into(),
                argument: argument.into(),
                reason: reason.into(),
                message: first_line(errors),
                points: vec![point],
            }),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A finding for each.
    pub fn findings(&self) -> impl Iterator<Item = Finding> {
        let errors = self.0.iter();
        errors.map(|t| Finding::new(Rule::Script, Severity::Warning, t.to_string()))
    }
}

/// The first line that is not empty, cut if it is long.
fn first_line(errors: &str) -> String {
    let line = errors.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    sanitize(line, QUOTE_LEN_MAX)
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.script)?;
        if !self.argument.is_empty() {
            write!(f, " {}", self.argument)?;
        }
        write!(f, ": {}", self.reason)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        let numbers = self.points.iter().copied().filter(|n| *n > 0);
        let numbers: Vec<u32> = numbers.collect();
        match numbers.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", load_points(&numbers, None)),
        }
    }
}
