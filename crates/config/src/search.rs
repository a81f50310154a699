//! LOAD=search: how the highest load is searched for.

use crate::given::Values;
use crate::loads::unused;
use crate::params::{self, LOAD_MAX, PROCS_MAX};
use crate::reading::Reading;
use filermark_model::composite::CompositeWork;
use filermark_model::goal::Goal;
use filermark_model::plan::{PhasePlan, SearchLoad, SearchPlan};
use filermark_model::units::counted;
use filermark_model::{Nanos, Rule, Severity};

/// The word in LOAD.
const SEARCH: &str = "search";
/// Operations per second of a proc in the first probe, unless SEARCH_FIRST is set.
const FIRST_PER_PROC: u64 = 10;
/// Procs of a composite on each client in the highest load that is tried, unless SEARCH_MAX is
/// set: each is a thread.
const PROCS_PER_CLIENT: u64 = 250;
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
    matches!(&words[..], [word] if is_word(Some(word)))
}

/// Whether a load is the word `search`.
pub(crate) fn is_word(word: Option<&str>) -> bool {
    word.is_some_and(|word| word.eq_ignore_ascii_case(SEARCH))
}

/// Notes on parameters of a search in a run without one; `load` is what would ask for it.
pub(crate) fn unused_without(r: &mut Reading<'_>, load: &str) {
    let values = r.values;
    let given = [
        values.given(&params::GOAL),
        values.given(&params::SEARCH_FIRST),
        values.given(&params::SEARCH_MAX),
    ];
    for given in given.into_iter().flatten() {
        let text = format!("{} is not used: {load} is not 'search'", given.shown());
        r.reports.note(Rule::LoadPoints, Severity::Note, text);
    }
}

/// The search of a run whose procs share the rate: all loads are multiples of one op/s for each
/// proc.
pub(crate) fn plan(
    r: &mut Reading<'_>,
    procs: u64,
    phases: &PhasePlan,
    load: SearchLoad,
) -> SearchPlan {
    let values = r.values;
    let step = procs.clamp(1, LOAD_MAX);
    let first = values.get(&params::SEARCH_FIRST);
    let first = first.unwrap_or(step.saturating_mul(FIRST_PER_PROC));
    for (parameter, load) in [
        (&params::SEARCH_FIRST, Some(first)),
        (&params::SEARCH_MAX, values.get(&params::SEARCH_MAX)),
    ] {
        let name = parameter.name;
        if let Some(load) = load.filter(|load| *load < step) {
            r.refuse(
                parameter,
                format!("{name}={load} on {step} procs is less than 1 op/s per proc"),
                format!("raise it to {step} or more, or lower PROCS"),
            );
        }
    }
    let max = values.get(&params::SEARCH_MAX).unwrap_or(LOAD_MAX);
    if first > max && values.given(&params::SEARCH_FIRST).is_some() {
        r.refuse(
            &params::SEARCH_FIRST,
            format!("SEARCH_FIRST={first} is above the highest load that is tried, {max} op/s"),
            "lower it, or raise SEARCH_MAX",
        );
    }
    let loads = Loads {
        load,
        first: first.min(max),
        step,
        max,
    };
    whole(r, loads, phases)
}

/// The most units that the search of a composite tries on so many clients.
pub(crate) fn units_max(r: &mut Reading<'_>, work: &CompositeWork, clients: usize) -> u64 {
    let per_unit = u64::from(work.procs_per_unit()).max(1);
    let most = (PROCS_MAX / per_unit).max(1);
    let usual = PROCS_PER_CLIENT.saturating_mul(clients as u64) / per_unit;
    match r.values.get(&params::SEARCH_MAX) {
        Some(max) if max > most => {
            r.refuse(
                &params::SEARCH_MAX,
                format!(
                    "SEARCH_MAX={max} would take {} procs, {per_unit} each",
                    max.saturating_mul(per_unit)
                ),
                format!("{PROCS_MAX} procs are the most: give {most} at most"),
            );
            most
        }
        Some(max) => max,
        None => usual.clamp(1, most),
    }
}

/// The search of a composite up to so many units.
pub(crate) fn units(
    r: &mut Reading<'_>,
    work: &CompositeWork,
    unit: &str,
    max: u64,
    phases: &PhasePlan,
) -> SearchPlan {
    let first = r.values.get(&params::SEARCH_FIRST).unwrap_or(1);
    if first > max {
        r.refuse(
            &params::SEARCH_FIRST,
            format!(
                "SEARCH_FIRST={first} is above the highest load that is tried, {}",
                counted(max, unit)
            ),
            "lower it, or raise SEARCH_MAX",
        );
    }
    let load = SearchLoad::Units {
        name: unit.to_owned(),
        ops_per_unit: work.ops_per_unit().unwrap_or(0.0),
        procs_per_unit: work.procs_per_unit(),
    };
    let loads = Loads {
        load,
        first,
        step: 1,
        max,
    };
    let plan = whole(r, loads, phases);
    if work.ops_per_unit().is_none() {
        refuse_unrated(r, plan.goal.is_some());
    }
    plan
}

/// Without a rate every load holds by the rules; and file sizes that depend on the number of
/// procs would differ between loads.
fn refuse_unrated(r: &mut Reading<'_>, has_goal: bool) {
    let values = r.values;
    let name = values.get(&params::BENCHMARK);
    if !has_goal && !values.is_bad(&params::GOAL) && values.given(&params::GOAL).is_none() {
        r.refuse(
            &params::LOAD,
            format!("LOAD=search: {name} requests no rate, so every load holds by the rules"),
            "set GOAL, e.g. GOAL='p99<5ms', or give the load points",
        );
    }
    let given = [
        values.given(&params::CLIENT_MEM),
        values.given(&params::AGGR_CAP),
    ];
    if values.given(&params::FILE_SIZE).is_none()
        && let Some(given) = given.into_iter().flatten().next()
    {
        let text = format!(
            "LOAD=search: with {} the size of files depends on the number of procs, which a search changes",
            given.shown()
        );
        let hint = "leave it out, or set FILE_SIZE";
        r.reports.refuse(given.location.clone(), text, hint);
    }
}

/// The loads of a search.
struct Loads {
    load: SearchLoad,
    first: u64,
    step: u64,
    max: u64,
}

fn whole(r: &mut Reading<'_>, loads: Loads, phases: &PhasePlan) -> SearchPlan {
    unused(r, false);
    let values = r.values;
    let probe = Nanos::from_secs_f64(values.get(&params::SEARCH_RUNTIME));
    SearchPlan {
        load: loads.load,
        first: loads.first.min(LOAD_MAX),
        step: loads.step,
        max: loads.max.min(LOAD_MAX),
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
