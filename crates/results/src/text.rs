//! Small helpers of the text renderers.

use filermark_model::{Finding, Severity};

// Used by the energy crates.
pub use filermark_model::text::one_line;

/// A finding on one line: its sentence, and its rule.
pub fn finding_line(finding: &Finding) -> String {
    format!("{} [{}]", one_line(&finding.message), finding.rule)
}

/// The severity of a finding, in one word.
pub const fn severity_label(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Invalid => "invalid",
    }
}
