//! The search for the highest load (LOAD=search): its load points in the record, whether they
//! hold, and what was found.

mod estimate;
mod machine;
#[cfg(test)]
mod tests;
pub(crate) mod types;

pub use estimate::search_time;
pub use machine::{Search, SearchEnd, SearchStep, TRIES_MAX, Tried};
pub use types::{Decided, SearchKind, SearchPoint, SearchResult, UNDECIDED_MAX};

use crate::assertion::percentile_ms;
use crate::judge::rate::{is_missed, shortfall_cause};
use crate::record::PointRecord;
use filermark_model::goal::{Goal, GoalFigure, GoalTerm};
use filermark_model::plan::{RunPlan, SearchPlan};
use filermark_model::stats::PointStats;
use filermark_model::text::one_line;
use filermark_model::{Finding, Rule};

impl SearchPoint {
    /// Judges a load point of a search. A load holds if its load point is valid by the rules,
    /// no rule reports a missed rate, the share of its rate is achieved that the search
    /// wants, and the goal is kept. `run` is the plan of the run that searches.
    pub fn judged(
        kind: SearchKind,
        point: PointRecord,
        run: &RunPlan,
        search: &SearchPlan,
    ) -> Self {
        let refusal = refusal(kind, &point, run, search);
        let unjudged = match (&refusal, goal_of(search), point.measured()) {
            (None, Some(goal), Some(stats)) => unjudged(&goal, stats),
            _ => None,
        };
        Self {
            kind,
            held: refusal.is_none(),
            undecided: refusal.as_ref().is_some_and(|r| r.of_clients),
            reason: refusal.map(|r| r.reason),
            unjudged,
            point,
        }
    }

    /// A load whose file set does not fit the file system; nothing was measured.
    pub fn too_large(kind: SearchKind, point: PointRecord) -> Self {
        let reason = point.failure().map(one_line);
        Self {
            kind,
            held: false,
            undecided: false,
            reason,
            unjudged: None,
            point,
        }
    }
}

/// Why a load does not hold.
struct Refusal {
    reason: String,
    /// The clients are the reason: it shows nothing about the server.
    of_clients: bool,
}

impl Refusal {
    const fn of_server(reason: String) -> Self {
        Self {
            reason,
            of_clients: false,
        }
    }
}

/// Why a load does not hold; `None`: it does.
fn refusal(
    kind: SearchKind,
    point: &PointRecord,
    run: &RunPlan,
    search: &SearchPlan,
) -> Option<Refusal> {
    let Some(stats) = point.measured() else {
        return point.failure().map(one_line).map(Refusal::of_server);
    };
    if let Some(finding) = of_clients_only(point) {
        return Some(Refusal {
            reason: one_line(&finding.message),
            of_clients: true,
        });
    }
    // The mix of a short load point deviates by chance.
    let is_chance = |f: &Finding| kind == SearchKind::Probe && f.rule == Rule::MixDeviation;
    let mut against = point.findings.iter().filter(|f| f.invalidates());
    if let Some(finding) = against.find(|f| !is_missed(f) && !is_chance(f)) {
        return Some(Refusal::of_server(one_line(&finding.message)));
    }
    missed_rate(point, stats, run, search)
        .or_else(|| missed_goal(&goal_of(search)?, stats).map(Refusal::of_server))
}

/// The finding about the clients by which a load point is invalid, if its operations are in
/// order: then it shows nothing about the server. Rates that it missed may be missed because
/// of that.
fn of_clients_only(point: &PointRecord) -> Option<&Finding> {
    // A client that is lost stays lost: another try would show no more.
    const AGAIN: [Rule; 2] = [Rule::GeneratorStalled, Rule::ClientStart];
    const WRONG: [Rule; 5] = [
        Rule::ClientLost,
        Rule::Errors,
        Rule::DataVerify,
        Rule::DataLost,
        Rule::Uncommitted,
    ];
    let mut invalid = point.findings.iter().filter(|f| f.invalidates());
    let is_wrong = invalid.clone().any(|f| WRONG.contains(&f.rule));
    invalid.find(|f| !is_wrong && AGAIN.contains(&f.rule))
}

/// A rate below the share that the search wants, or one that a rule of the run reports,
/// whatever the share. A shortfall that the clients explain shows nothing about the server.
fn missed_rate(
    point: &PointRecord,
    stats: &PointStats,
    run: &RunPlan,
    search: &SearchPlan,
) -> Option<Refusal> {
    let (achieved, requested) = (stats.achieved_ops_per_sec(), point.load.requested.0);
    let pcnt = match requested > 0.0 {
        true => 100.0 * achieved / requested,
        false => 100.0,
    };
    let wanted = search.achieved_pcnt_min;
    let reason = match pcnt < wanted {
        true => format!("{pcnt:.1} % of the rate was achieved, below {wanted} %"),
        false => one_line(&point.findings.iter().find(|f| is_missed(f))?.message),
    };
    let cause = shortfall_cause(run, point).filter(|cause| cause.is_of_clients());
    Some(match cause {
        Some(cause) => Refusal {
            reason: format!("{reason}; the clients are the cause: {cause}"),
            of_clients: true,
        },
        None => Refusal::of_server(reason),
    })
}

fn goal_of(plan: &SearchPlan) -> Option<Goal> {
    plan.goal.as_ref()?.parse().ok()
}

/// The figure of a term, in ms. With few operations a percentile is close to the longest time:
/// if it misses a goal, that is certain; if it keeps it, see [`unjudged`].
fn figure_ms(term: &GoalTerm, stats: &PointStats) -> f64 {
    let service = stats.service();
    match term.figure {
        GoalFigure::Mean => service.mean_ns() / 1e6,
        GoalFigure::Max => service.max_ns() as f64 / 1e6,
        GoalFigure::Percentile(pcnt) => service.percentile_ns(pcnt) as f64 / 1e6,
    }
}

/// The first term of a goal that is not kept, with its figure.
fn missed_goal(goal: &Goal, stats: &PointStats) -> Option<String> {
    let mut terms = goal.0.iter().map(|term| (term, figure_ms(term, stats)));
    let (term, value) = terms.find(|(term, value)| !term.is_kept(*value))?;
    Some(format!(
        "{} is {value:.3} ms; the goal is {term}",
        term.figure
    ))
}

/// Which terms of a goal that was kept have too few operations, as gates judge them.
fn unjudged(goal: &Goal, stats: &PointStats) -> Option<String> {
    let service = stats.service();
    let missing = goal.0.iter().filter(|term| match term.figure {
        GoalFigure::Percentile(pcnt) => percentile_ms(&service, pcnt).is_none(),
        GoalFigure::Mean | GoalFigure::Max => false,
    });
    let terms: Vec<String> = missing.map(GoalTerm::to_string).collect();
    (!terms.is_empty()).then(|| {
        format!(
            "{} was not judged: fewer than ten of {} operations would be above the percentile",
            terms.join(", "),
            stats.service().count()
        )
    })
}
