//! Calls that waited for a slot of their session, or for the window of their context of Kerberos.

use super::case::{Case, OWN, percent_of};
use filermark_model::counter::{COMPOUNDS, SLOT_WAIT_US, SLOT_WAITS, WINDOW_WAIT_US, WINDOW_WAITS};
use filermark_model::{Finding, Rule, Severity};

/// The share in percent, of the calls or of the response time, up to which these waits are not noted.
/// Above it they are in the 99th percentile of the calls, or make the mean response time longer by so
/// much; below it no figure that is compared depends on them.
const SHARE_MAX: f64 = 1.0;

/// A note where many calls waited, or calls waited for long: their service times do not have it.
pub(super) fn waits(case: &Case<'_>) -> Option<Finding> {
    let waits = case.count(SLOT_WAITS);
    let of_calls = percent_of(waits as f64, case.count(COMPOUNDS) as f64);
    let of_time = of_response_time(case, SLOT_WAIT_US);
    let share = of_calls.max(of_time);
    (waits > 0 && share > SHARE_MAX).then(|| {
        let message = format!(
            "{SLOT_WAITS} = {waits}: {of_calls:.1} % of the calls waited for a slot of their session, \
             {of_time:.1} % of the response time; these waits are not in the service time of NFSv4.1, so \
             compare response times, or use more connections"
        );
        Finding::new(Rule::ServerEvent, Severity::Note, message).with_limit(share, SHARE_MAX, OWN)
    })
}

/// The same for the window: of versions without COMPOUNDs there is no number of all calls.
pub(super) fn window_waits(case: &Case<'_>) -> Option<Finding> {
    let waits = case.count(WINDOW_WAITS);
    let share = of_response_time(case, WINDOW_WAIT_US);
    (waits > 0 && share > SHARE_MAX).then(|| {
        let message = format!(
            "{WINDOW_WAITS} = {waits}: calls waited for the window of their context of Kerberos, {share:.1} % of \
             the response time; these waits are not in the service time, so compare response times, or use \
             more connections"
        );
        Finding::new(Rule::ServerEvent, Severity::Note, message).with_limit(share, SHARE_MAX, OWN)
    })
}

/// A counter of microseconds as a share of the response time, in percent.
fn of_response_time(case: &Case<'_>, counter: &str) -> f64 {
    let response_us = case.stats.response().sum_ns() as f64 / 1e3;
    percent_of(case.count(counter) as f64, response_us)
}
