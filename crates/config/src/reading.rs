//! The input and the reports of one resolution.

use crate::error::{ConfigError, SourceLocation};
use crate::given::Values;
use crate::params::{self, Parameter};
use crate::sources::Sources;
use filermark_model::{Finding, Rule, Severity};

/// The parameters and files of a resolution, and its findings so far.
pub(crate) struct Reading<'a> {
    pub values: &'a Values,
    pub sources: &'a Sources,
    pub reports: Reports,
}

/// Mistakes, which end a resolution, and findings, which go into its plan.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub errors: Vec<ConfigError>,
    pub findings: Vec<Finding>,
}

impl Reports {
    /// A mistake: what is wrong and what to try.
    pub fn refuse(
        &mut self,
        place: SourceLocation,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.errors.push(ConfigError::new(place, message, hint));
    }

    /// A finding without a limit.
    pub fn note(&mut self, rule: Rule, severity: Severity, text: impl Into<String>) {
        self.findings.push(Finding::new(rule, severity, text));
    }

    /// The mistakes in the order of the text, each once.
    pub fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors.sort_by(|a, b| a.location.cmp(&b.location));
        self.errors.dedup();
        self.errors
    }
}

impl Reading<'_> {
    /// A mistake in a parameter: what is wrong and what to try.
    pub fn refuse(
        &mut self,
        parameter: &Parameter,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let place = self.values.place(parameter);
        self.reports.refuse(place, message, hint);
    }

    /// Takes a step whose findings come before the existing ones.
    pub fn first(&mut self, step: impl FnOnce(&mut Self)) {
        let later = std::mem::take(&mut self.reports.findings);
        step(self);
        self.reports.findings.extend(later);
    }
}

/// Whether files stay from one load point to the next: UNLINK_FILES where it is
/// given, else REUSE.
pub(crate) fn reuse(values: &Values) -> bool {
    match values.given(&params::UNLINK_FILES) {
        Some(_) => !values.get(&params::UNLINK_FILES),
        None => values.get(&params::REUSE),
    }
}
