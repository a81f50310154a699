//! Whether the data read is the data written, and how much of it was compared.

use super::case::{Case, OWN, percent_of};
use filermark_model::counter::{EARLY_EOFS, VERIFY_ERRORS};
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// Share of the bytes to be compared that may be undecided, in percent.
const UNDECIDED_PCNT_MAX: f64 = 50.0;
/// The same limit with VERIFY=on, which promises that all bytes are compared.
///
/// Ends of reads and writes at any byte leave a piece of less than 15 bytes in one sector of
/// 36, 7.5 bytes in the mean: below 0.1 % of reads of 1 KiB and more.
const VERIFY_UNDECIDED_PCNT_MAX: f64 = 10.0;

/// Reads that returned other data than was written.
pub(super) fn verify(case: &Case<'_>) -> Option<Finding> {
    let bad = case.count(VERIFY_ERRORS);
    (bad > 0).then(|| {
        let message = format!(
            "{} returned other data than was written ({} compared)",
            counted(bad, "read"),
            counted(case.stats.checked_bytes(), "byte")
        );
        Finding::new(Rule::DataVerify, Severity::Invalid, message).with_limit(bad as f64, 0.0, OWN)
    })
}

/// Reads that reached the end of the file before data that was written.
pub(super) fn lost(case: &Case<'_>) -> Option<Finding> {
    let lost = case.count(EARLY_EOFS);
    (lost > 0).then(|| {
        let message = format!(
            "{} reached the end of the file before data that was written: the server lost this data",
            counted(lost, "read")
        );
        Finding::new(Rule::DataLost, Severity::Invalid, message).with_limit(lost as f64, 0.0, OWN)
    })
}

/// A part of the bytes to be compared cannot be verified: the reads, or the pieces between
/// the places where writes began and ended, are too short.
pub(super) fn unchecked(case: &Case<'_>) -> Option<Finding> {
    let (checked, undecided) = (case.stats.checked_bytes(), case.stats.undecided_bytes());
    let due = checked.saturating_add(undecided);
    // A saturated sum cannot be the base of a share.
    let pcnt = percent_of(undecided as f64, checked as f64 + undecided as f64);
    let is_on = case.plan.fileset.verify;
    let (limit, wanted) = match is_on {
        true => (
            VERIFY_UNDECIDED_PCNT_MAX,
            "; VERIFY=on requires all of them",
        ),
        false => (UNDECIDED_PCNT_MAX, ""),
    };
    let severity = match is_on && pcnt > limit {
        true => Severity::Invalid,
        false => Severity::Note,
    };
    // With VERIFY=on there is always a finding.
    let is_reported = pcnt > limit || is_on && undecided > 0;
    let digits = if pcnt < 10.0 { 2 } else { 0 };
    is_reported.then(|| {
        let message = format!(
            "{pcnt:.digits$} % of the {} to be compared with the data written could not be checked: reads, or pieces between writes, of less than 15 bytes cannot be verified{wanted}",
            counted(due, "byte")
        );
        Finding::new(Rule::DataUnchecked, severity, message).with_limit(pcnt, limit, OWN)
    })
}
