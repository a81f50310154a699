//! Whether a load point counts on each side, and the conclusion when it counts on one
//! side only.
//!
//! A point that failed has no figures, so no test includes it: without a rule of its own a
//! failing server would count as one without any difference. The rule is not a test: it
//! uses the findings only, not how figures are compared.

use super::difference::{Judgement, mean};
use super::points::{Pair, PointDifference};
use crate::judge::rate::{ShortfallCause, is_missed, other_cause};
use crate::record::PointRecord;
use crate::text::load_points;
use filermark_model::plan::RunPlan;
use filermark_model::text::one_line;
use filermark_model::{Finding, Rule};
use serde::Serialize;

/// From this number of points at the edge of a rule on, their invalidity is not chance.
const NO_CHANCE: usize = 2;
/// Reasons why points do not count that a sentence names.
const WHYS_NAMED: usize = 3;

/// Rules about the clients, not the server.
const OF_CLIENTS: [Rule; 3] = [Rule::GeneratorStalled, Rule::ClientStart, Rule::ClientLost];

/// Whether a load point counts on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PointValidity {
    /// It counts.
    Valid,
    /// It does not count because the server was too slow for it: its figures are still compared.
    TooSlow {
        /// The rules that are violated.
        why: String,
    },
    /// It does not count for another reason.
    Invalid {
        /// The rules that are violated.
        why: String,
    },
    /// It was not measured.
    Missing {
        /// Why, where it is known.
        why: String,
    },
}

impl PointValidity {
    /// For people.
    pub fn text(&self) -> String {
        match self {
            Self::Valid => "valid".into(),
            Self::TooSlow { why } | Self::Invalid { why } => format!("INVALID ({why})"),
            Self::Missing { why } if why.is_empty() => "not measured".into(),
            Self::Missing { why } => format!("not measured ({why})"),
        }
    }

    /// Whether its figures are the server's.
    pub const fn has_figures(&self) -> bool {
        matches!(self, Self::Valid | Self::TooSlow { .. })
    }
}

pub(super) fn standing(plan: &RunPlan, point: Option<&PointRecord>) -> PointValidity {
    let Some(point) = point else {
        return PointValidity::Missing { why: String::new() };
    };
    if let Some(why) = point.failure() {
        return PointValidity::Missing { why: one_line(why) };
    }
    if point.is_valid() {
        return PointValidity::Valid;
    }
    let slow = [
        Rule::ResponseLimit,
        Rule::AchievedRate,
        Rule::ProcRate,
        Rule::Saturated,
    ];
    let mut rules: Vec<Rule> = point
        .findings
        .iter()
        .filter(|f| f.invalidates())
        .map(|f| f.rule)
        .collect();
    rules.dedup();
    let names: Vec<&str> = rules.iter().map(|r| r.name()).collect();
    let why = names.join(", ");
    let is_slow = other_cause(plan, point).is_none() && rules.iter().all(|r| slow.contains(r));
    match is_slow {
        true => PointValidity::TooSlow { why },
        false => PointValidity::Invalid { why },
    }
}

/// What the records of one side show of a load point in addition to its validity.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointNote {
    /// It failed, was not measured, or operations failed: not a question of a small margin.
    firm: bool,
    /// It does not count by a rule about the clients.
    of_clients: bool,
    /// It does not count by another rule, or it was not measured.
    of_others: bool,
    /// Its achieved rate in op/s, whether it counts or not, unless something else than the
    /// server's speed explains it; mean over the records.
    rate: Option<f64>,
}

impl PointNote {
    pub(super) fn of(plan: &RunPlan, point: Option<&PointRecord>) -> Self {
        let missing = matches!(standing(plan, point), PointValidity::Missing { .. });
        let wrong = [
            Rule::Errors,
            Rule::DataVerify,
            Rule::DataLost,
            Rule::Uncommitted,
        ];
        let findings = point.map_or(&[][..], |p| &p.findings);
        let cause = point.and_then(|point| other_cause(plan, point));
        let is_client = cause.is_some_and(ShortfallCause::is_of_clients);
        let is_of_clients = |f: &Finding| OF_CLIENTS.contains(&f.rule) || is_client && is_missed(f);
        let mut invalid = findings.iter().filter(|f| f.invalidates());
        let of_clients = invalid.clone().any(is_of_clients);
        let of_others = missing || invalid.clone().any(|f| !is_of_clients(f));
        let stats = point
            .filter(|_| cause.is_none())
            .and_then(PointRecord::measured);
        let rate = stats.map(|s| s.achieved_ops_per_sec());
        Self {
            firm: missing || invalid.any(|f| wrong.contains(&f.rule)),
            of_clients,
            of_others,
            rate: rate.filter(|rate| rate.is_finite()),
        }
    }
}

impl PointNote {
    /// It does not count because of the clients only: that shows nothing about the server.
    pub const fn is_of_clients(self) -> bool {
        self.of_clients && !self.of_others
    }
}

impl FromIterator<Self> for PointNote {
    fn from_iter<I: IntoIterator<Item = Self>>(marks: I) -> Self {
        let marks: Vec<Self> = marks.into_iter().collect();
        let rates: Vec<f64> = marks.iter().filter_map(|m| m.rate).collect();
        Self {
            firm: marks.iter().any(|m| m.firm),
            of_clients: marks.iter().any(|m| m.of_clients),
            of_others: marks.iter().any(|m| m.of_others),
            rate: (!rates.is_empty()).then(|| mean(&rates)),
        }
    }
}

/// Standard deviations of the difference of two runs that chance seldom passes.
const CHANCE_DEVIATIONS: f64 = 2.0;

/// The ratio of two achieved rates above which a difference is not at the edge: it matters,
/// and is larger than the spread between runs. `spread` is the standard deviation of a logarithm between runs.
pub fn far(threshold_pcnt: f64, spread: f64) -> f64 {
    let chance = CHANCE_DEVIATIONS * (2.0 * spread * spread).sqrt();
    (1.0 + threshold_pcnt / 100.0) * chance.exp()
}

/// Sets the verdict on each point that counts on one side only; figures were judged
/// before. At the edge of a rule (94.9 % of the rate where 95 % are required) it is chance
/// whether a point counts, so one such point alone makes no difference.
pub fn judge(points: &mut [PointDifference], pairs: &[Pair<'_>], far: f64) {
    let firm: Vec<bool> = points
        .iter()
        .zip(pairs)
        .map(|(point, pair)| is_firm(point, pair, far))
        .collect();
    let changes: Vec<Judgement> = points
        .iter()
        .zip(pairs)
        .map(|(point, pair)| match pair.is_of_clients() {
            true => Judgement::NoDifferenceShown,
            false => change(point),
        })
        .collect();
    let all = |judgement| changes.iter().filter(|c| **c == judgement).count();
    let (lost, gained) = (all(Judgement::Slower), all(Judgement::Faster));
    for ((point, firm), change) in points.iter_mut().zip(firm).zip(changes) {
        let more = match change {
            Judgement::Slower => lost.saturating_sub(gained),
            Judgement::Faster => gained.saturating_sub(lost),
            Judgement::NoDifferenceShown => 0,
        };
        if firm || more >= NO_CHANCE {
            point.standing_verdict = change;
        }
    }
}

/// The direction in which a point changes by its validity alone.
fn change(point: &PointDifference) -> Judgement {
    if point.is_too_short {
        return Judgement::NoDifferenceShown;
    }
    match (&point.before, &point.after) {
        (PointValidity::Valid, PointValidity::Valid) => Judgement::NoDifferenceShown,
        (PointValidity::Valid, _) => Judgement::Slower,
        (_, PointValidity::Valid) => Judgement::Faster,
        _ => Judgement::NoDifferenceShown,
    }
}

/// Whether it is more than the edge of a rule: operations failed, or a figure differs in the same direction.
fn is_firm(point: &PointDifference, pair: &Pair<'_>, far: f64) -> bool {
    let (b, a) = &pair.marks;
    let (good, bad) = match change(point) {
        Judgement::Slower => (b, a),
        Judgement::Faster => (a, b),
        Judgement::NoDifferenceShown => return false,
    };
    let far = |(good, bad): (f64, f64)| good >= bad * far;
    let figures = point.figures.iter();
    bad.firm
        || good.rate.zip(bad.rate).is_some_and(far)
        || figures.into_iter().any(|d| d.verdict == change(point))
}

/// The points that count on one side only and affect the verdict, in sentences.
pub fn reasons(points: &[PointDifference]) -> Vec<String> {
    let of = |judgement: Judgement| {
        let which = points.iter().filter(|p| p.standing_verdict == judgement);
        let which: Vec<&PointDifference> = which.collect();
        let (good, bad) = match judgement {
            Judgement::Slower => ("before", "after"),
            _ => ("after", "before"),
        };
        let worse = |p: &&PointDifference| match judgement {
            Judgement::Slower => p.after.text(),
            _ => p.before.text(),
        };
        let mut whys: Vec<String> = which.iter().map(worse).collect();
        whys.dedup();
        let more = if whys.len() > WHYS_NAMED { " ..." } else { "" };
        whys.truncate(WHYS_NAMED);
        let verb = if which.len() == 1 { "counts" } else { "count" };
        let numbers: Vec<u32> = which.iter().map(|p| p.number).collect();
        (!numbers.is_empty()).then(|| {
            format!(
                "{} {verb} {good} and not {bad}, {}: {}{more}",
                load_points(&numbers, None),
                judgement.label(),
                whys.join("; ")
            )
        })
    };
    [Judgement::Slower, Judgement::Faster]
        .into_iter()
        .filter_map(of)
        .collect()
}
