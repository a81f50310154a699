//! Rules for operations whose end was not observed.

use super::case::{Case, OWN, percent_of};
use super::saturated::saturated;
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// Share of the operations of RUN that may be open when the wait for replies ends,
/// in percent: up to it only figures above the 99.9th percentile are lower bounds.
const OPEN_PCNT_MAX: f64 = 0.1;

/// Operations of RUN: those with a response time and those that failed.
fn operations(case: &Case<'_>) -> f64 {
    let timed: f64 = case
        .stats
        .ops
        .iter()
        .map(|o| o.response.count() as f64)
        .sum();
    let given_up: f64 = case.stats.ops.iter().map(|o| o.given_up_count as f64).sum();
    timed - given_up + case.stats.error_count() as f64
}

pub(super) fn open_operations(case: &Case<'_>) -> Option<Finding> {
    let open = case.stats.open_count();
    if open == 0 {
        return None;
    }
    let pcnt = percent_of(open as f64, operations(case));
    // Operations left by an overloaded server are judged by `saturated`, and the points
    // below it still count.
    let severity = match pcnt > OPEN_PCNT_MAX && saturated(case).is_none() {
        true => Severity::Invalid,
        false => Severity::Warning,
    };
    let message = format!(
        "{} of RUN, {pcnt:.3} %, had not ended when the wait for replies ended (limit {OPEN_PCNT_MAX} %). Response times include their waiting time as lower bounds (>=)",
        counted(open, "operation")
    );
    let finding = Finding::new(Rule::OpenOperations, severity, message);
    Some(finding.with_limit(pcnt, OPEN_PCNT_MAX, OWN))
}

pub(super) fn missed_load(case: &Case<'_>) -> Option<Finding> {
    let missed = case.stats.missed_count();
    if missed == 0 {
        return None;
    }
    let pcnt = percent_of(missed as f64, operations(case));
    let message = format!(
        "{} due in RUN and not made, {pcnt:.3} %: their procs still waited for replies. Response times include their waiting time as lower bounds (>=)",
        match missed {
            1 => "1 start was".to_owned(),
            n => format!("{n} starts were"),
        }
    );
    let finding = Finding::new(Rule::MissedLoad, Severity::Warning, message);
    Some(finding.with_limit(pcnt, 0.0, OWN))
}
