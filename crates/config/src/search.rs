//! LOAD=search: how the highest load is searched for.

use crate::given::Values;
use crate::loads::unused;
use crate::params::{self, LOAD_MAX};
use crate::reading::Reading;
use filermark_model::goal::Goal;
use filermark_model::plan::{PhasePlan, SearchPlan};
use filermark_model::{Nanos, Rule, Severity};

/// The word in LOAD.
const SEARCH: &str = "search";
/// Operations per second of a proc in the first probe, unless SEARCH_FIRST is set.
const FIRST_PER_PROC: u64 = 10;
/// The longest WARMUP of a probe.
const PROBE_WARMUP_MAX: Nanos = Nanos::from_secs(5);
/// The result is at most this far below a load that does not hold, in percent.
const TOLERANCE_PCNT: f64 = 3.0;
/// A load holds if this share of its rate is achieved, in percent, unless ACHIEVED_PCNT_MIN is
/// set. The limit of the rules would add its tolerance to the result.
const ACHIEVED_PCNT_MIN: f64 = 98.0;

/// Whether LOAD asks for a search.
pub(crate) fn is_wanted(values: &Values) -> bool {
    let words = values.get(&params::LOAD);
    matches!(&words[..], [word] if word.eq_ignore_ascii_case(SEARCH))
}

/// Notes on parameters of a search in a run without one.
pub(crate) fn unused_without(r: &mut Reading<'_>) {
    let values = r.values;
    let given = [
        values.given(&params::GOAL),
        values.given(&params::SEARCH_FIRST),
    ];
    for given in given.into_iter().flatten() {
        let text = format!("{} is not used: LOAD is not 'search'", given.shown());
        r.reports.note(Rule::LoadPoints, Severity::Note, text);
    }
}

/// The search of a run with so many procs.
pub(crate) fn plan(r: &mut Reading<'_>, procs: u64, phases: &PhasePlan) -> SearchPlan {
    unused(r, false);
    let values = r.values;
    let step = procs.clamp(1, LOAD_MAX);
    let first = values.get(&params::SEARCH_FIRST);
    let first = first.unwrap_or(step.saturating_mul(FIRST_PER_PROC));
    if first < step {
        r.refuse(
            &params::SEARCH_FIRST,
            format!("SEARCH_FIRST={first} on {step} procs is less than 1 op/s per proc"),
            format!("raise it to {step} or more, or lower PROCS"),
        );
    }
    let probe = Nanos::from_secs_f64(values.get(&params::SEARCH_RUNTIME));
    SearchPlan {
        first: first.min(LOAD_MAX),
        step,
        max: LOAD_MAX,
        tolerance_pcnt: TOLERANCE_PCNT,
        achieved_pcnt_min: values
            .get(&params::ACHIEVED_PCNT_MIN)
            .unwrap_or(ACHIEVED_PCNT_MIN),
        probe_warmup: phases.warmup.min(PROBE_WARMUP_MAX),
        probe_runtime: phases.runtime.min(probe),
        sweep: values.get(&params::SEARCH_SWEEP),
        goal: goal(r),
    }
}

/// GOAL, in one form.
fn goal(r: &mut Reading<'_>) -> Option<String> {
    let text = r.values.get(&params::GOAL)?;
    match text.parse::<Goal>() {
        Ok(goal) => Some(goal.to_string()),
        Err(why) => {
            r.refuse(
                &params::GOAL,
                format!("GOAL: {why}"),
                "give limits of mean, max or a percentile with us, ms or s, e.g. GOAL='p99<5ms, mean<2ms'",
            );
            None
        }
    }
}
