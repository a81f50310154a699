//! Whether the server kept up with an open load.

use super::case::{Case, OWN};
use filermark_model::plan::PacingMode;
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};

/// Open pacing: waiting operations at the end of RUN, in seconds of the
/// requested load, from which on the backlog counts as growing.
const BACKLOG_SECONDS_MAX: f64 = 0.5;

pub(super) fn saturated(case: &Case<'_>) -> Option<Finding> {
    if case.plan.pacing.mode != PacingMode::Open {
        return None;
    }
    let stats = case.stats;
    let half_second = case.load.requested.0 * BACKLOG_SECONDS_MAX;
    let procs = f64::from(case.plan.proc_count_at(case.load));
    let (limit, meaning) = match half_second > procs {
        true => (half_second, "half a second of the requested load"),
        false => (procs, "one per proc"),
    };
    let waiting = stats.backlog_end as f64;
    let message = if stats.dropped_count > 0 {
        format!(
            "the server did not keep up: {} dropped because {} were waiting per proc",
            counted(stats.dropped_count, "operation"),
            case.plan.pacing.backlog_max_per_proc
        )
    } else if waiting > limit {
        format!(
            "the server did not keep up: {waiting:.0} operations were waiting or in flight at the end of RUN; more than {limit:.0} ({meaning}) are a growing backlog"
        )
    } else {
        return None;
    };
    let finding = Finding::new(Rule::Saturated, Severity::Invalid, message);
    Some(finding.with_limit(waiting, limit, OWN))
}
