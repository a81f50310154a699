//! The search for the highest load (LOAD=search): its load points in the record, whether they
//! hold, and what was found.

mod machine;
#[cfg(test)]
mod tests;
pub(crate) mod types;

pub use machine::{Search, SearchEnd, SearchStep, TRIES_MAX, Tried};
pub use types::{Decided, SearchKind, SearchPoint, SearchResult, UNDECIDED_MAX};

use crate::assertion::percentile_ms;
use crate::judge::rate::is_missed;
use crate::record::PointRecord;
use filermark_model::goal::{Goal, GoalFigure, GoalTerm};
use filermark_model::plan::SearchPlan;
use filermark_model::stats::PointStats;
use filermark_model::text::one_line;
use filermark_model::{Finding, Rule};

impl SearchPoint {
    /// Judges a load point of a search. A load holds if its load point is valid by the rules,
    /// no rule reports a missed rate, the share of its rate is achieved that the search
    /// wants, and the goal is kept.
    pub fn judged(kind: SearchKind, point: PointRecord, plan: &SearchPlan) -> Self {
        let reason = reason(kind, &point, plan);
        let undecided = reason.is_some() && shows_clients_only(&point);
        let unjudged = match (&reason, goal_of(plan), point.measured()) {
            (None, Some(goal), Some(stats)) => unjudged(&goal, stats),
            _ => None,
        };
        Self {
            kind,
            held: reason.is_none(),
            undecided,
            reason,
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

/// Whether a load point is invalid by rules about the clients, and its operations are in order:
/// then it shows nothing about the server. Rates that it missed may be missed because of that.
fn shows_clients_only(point: &PointRecord) -> bool {
    // A client that is lost stays lost: another try would show no more.
    const AGAIN: [Rule; 2] = [Rule::GeneratorStalled, Rule::ClientStart];
    const WRONG: [Rule; 5] = [
        Rule::ClientLost,
        Rule::Errors,
        Rule::DataVerify,
        Rule::DataLost,
        Rule::Uncommitted,
    ];
    let invalid = || point.findings.iter().filter(|f| f.invalidates());
    point.measured().is_some()
        && invalid().any(|f| AGAIN.contains(&f.rule))
        && !invalid().any(|f| WRONG.contains(&f.rule))
}

/// Why a load does not hold; `None`: it does.
fn reason(kind: SearchKind, point: &PointRecord, plan: &SearchPlan) -> Option<String> {
    let Some(stats) = point.measured() else {
        return point.failure().map(one_line);
    };
    // The mix of a short load point deviates by chance.
    let is_chance = |f: &Finding| kind == SearchKind::Probe && f.rule == Rule::MixDeviation;
    let is_rate = |f: &&Finding| f.rule == Rule::AchievedRate;
    let fails = |f: &&Finding| (f.invalidates() || is_missed(f)) && !is_chance(f);
    let mut others = point.findings.iter().filter(fails).filter(|f| !is_rate(f));
    if let Some(finding) = others.find(|f| f.invalidates()) {
        return Some(one_line(&finding.message));
    }
    let (achieved, requested) = (stats.achieved_ops_per_sec(), point.load.requested.0);
    let pcnt = match requested > 0.0 {
        true => 100.0 * achieved / requested,
        false => 100.0,
    };
    if pcnt < plan.achieved_pcnt_min {
        return Some(format!(
            "{pcnt:.1} % of the rate was achieved, below {} %",
            plan.achieved_pcnt_min
        ));
    }
    // A rate that a rule of the run reports, whatever the share.
    if let Some(finding) = point.findings.iter().find(fails) {
        return Some(one_line(&finding.message));
    }
    missed_goal(&goal_of(plan)?, stats)
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
