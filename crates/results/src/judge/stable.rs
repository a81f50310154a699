//! Whether writes answered UNSTABLE became stable, and whether RUN includes the cost.

use super::case::{Case, OWN, percent_of};
use filermark_model::benchmark::CommitPolicy;
use filermark_model::counter::{
    COMMITS, END_COMMITS, READ_COMMITS, UNCOMMITTED_WRITES, UNSTABLE_WRITES,
};
use filermark_model::units::counted;
use filermark_model::{Finding, Op, Rule, Severity};

/// Share of the logical writes of RUN that may be without a COMMIT, in percent: above it
/// the time of WRITE is that of another operation than the benchmark's.
const UNCOMMITTED_PCNT_MAX: f64 = 0.5;

/// Whether writes succeed before their COMMIT.
fn is_deferred(case: &Case<'_>) -> bool {
    let commit = case.plan.driver.facts().commit;
    matches!(commit, Some(CommitPolicy::Deferred(limits)) if limits.writes > 1)
}

fn write_count(case: &Case<'_>) -> u64 {
    case.stats.op(Op::Write).map_or(0, |op| op.success_count)
}

/// Writes that the server may still lose. If each write commits its own data, an unconfirmed
/// write has failed and is among the errors.
pub(super) fn uncommitted(case: &Case<'_>) -> Option<Finding> {
    let (open, writes) = (case.count(UNCOMMITTED_WRITES), write_count(case));
    if open == 0 {
        return None;
    }
    let pcnt = percent_of(open as f64, writes as f64);
    let is_above = writes == 0 || pcnt > UNCOMMITTED_PCNT_MAX;
    let severity = match is_deferred(case) && is_above {
        true => Severity::Invalid,
        false => Severity::Warning,
    };
    let message = format!(
        "{} that the server answered UNSTABLE {} not confirmed by a COMMIT, {pcnt:.2} % of the {writes} of RUN (limit {UNCOMMITTED_PCNT_MAX} %): the COMMIT was refused or not answered in time",
        counted(open, "write"),
        if open == 1 { "was" } else { "were" },
    );
    Some(
        Finding::new(Rule::Uncommitted, severity, message).with_limit(
            pcnt,
            UNCOMMITTED_PCNT_MAX,
            OWN,
        ),
    )
}

/// There was no COMMIT in RUN: its times do not include the cost of stable storage.
pub(super) fn no_commit_in_run(case: &Case<'_>) -> Option<Finding> {
    let after = case.count(END_COMMITS);
    let had_unstable = [END_COMMITS, UNCOMMITTED_WRITES, UNSTABLE_WRITES]
        .into_iter()
        .any(|name| case.count(name) > 0);
    // COMMITs that only get the verifier are not a cost of writes.
    let in_run = case
        .count(COMMITS)
        .saturating_sub(after + case.count(READ_COMMITS));
    let is_missing = is_deferred(case) && write_count(case) > 0 && had_unstable && in_run == 0;
    is_missing.then(|| {
        let message = "the server answered writes UNSTABLE, and RUN had no COMMIT: the time of WRITE does not include the cost of stable storage; raise RUNTIME or LOAD";
        Finding::new(Rule::Uncommitted, Severity::Warning, message).with_limit(0.0, 1.0, OWN)
    })
}
