//! Whether what was read is what had been written, and how much of it was compared.

use super::case::{Case, OWN, percent_of};
use filermark_model::counter::{EARLY_EOFS, VERIFY_ERRORS};
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// Share of the bytes that were to be compared of which nothing can be said, in percent.
const UNDECIDED_PCNT_MAX: f64 = 50.0;
/// The same with VERIFY=on, which promises that all of them are compared.
///
/// Ends of reads and writes at any byte leave a piece of less than 15 bytes in one sector of
/// 36, 7.5 bytes in the mean: below 0.1 % of reads of 1 KiB and more.
const VERIFY_UNDECIDED_PCNT_MAX: f64 = 10.0;

/// Reads that returned something else than what had been written.
pub(super) fn verify(case: &Case<'_>) -> Option<Finding> {
    let bad = case.count(VERIFY_ERRORS);
    (bad > 0).then(|| {
        let message = format!(
            "{} returned other data than had been written there ({} compared)",
            counted(bad, "read"),
            counted(case.stats.checked_bytes(), "byte")
        );
        Finding::new(Rule::DataVerify, Severity::Invalid, message).with_limit(bad as f64, 0.0, OWN)
    })
}

/// Reads that ended before what had been written.
pub(super) fn lost(case: &Case<'_>) -> Option<Finding> {
    let lost = case.count(EARLY_EOFS);
    (lost > 0).then(|| {
        let message = format!(
            "{} met the end of the file before data that had been written there: the server lost it",
            counted(lost, "read")
        );
        Finding::new(Rule::DataLost, Severity::Invalid, message).with_limit(lost as f64, 0.0, OWN)
    })
}

/// Part of what was to be compared cannot be told right from wrong: the reads, or the
/// pieces between the places where writes began and ended, are too short.
pub(super) fn unchecked(case: &Case<'_>) -> Option<Finding> {
    let (checked, undecided) = (case.stats.checked_bytes(), case.stats.undecided_bytes());
    let due = checked.saturating_add(undecided);
    // A sum that has reached its limit is no base of a share.
    let pcnt = percent_of(undecided as f64, checked as f64 + undecided as f64);
    let is_on = case.plan.fileset.verify;
    let (limit, wanted) = match is_on {
        true => (
            VERIFY_UNDECIDED_PCNT_MAX,
            ", and VERIFY=on asks for all of it",
        ),
        false => (UNDECIDED_PCNT_MAX, ""),
    };
    let severity = match is_on && pcnt > limit {
        true => Severity::Invalid,
        false => Severity::Note,
    };
    // With VERIFY=on it is never silent.
    let is_told = pcnt > limit || is_on && undecided > 0;
    let digits = if pcnt < 10.0 { 2 } else { 0 };
    is_told.then(|| {
        let message = format!(
            "{pcnt:.digits$} % of the {} that were to be compared with what had been written were not: reads, or the pieces that writes leave, of less than 15 bytes do not show whether they are right{wanted}",
            counted(due, "byte")
        );
        Finding::new(Rule::DataUnchecked, severity, message).with_limit(pcnt, limit, OWN)
    })
}
