//! The load points of a search in the record, and what was found.

use super::machine::{Search, SearchEnd, SearchStep, TRIES_MAX, Tried};
use crate::record::PointRecord;
use filermark_model::plan::{LoadPoint, SearchLoad, SearchPlan};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{Finding, Rule, Severity};
use serde::{Deserialize, Serialize};

/// What a load point of a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    /// A short one, which finds the neighbourhood.
    Probe,
    /// One of full length at the load that is to be the result.
    Confirm,
}

impl SearchKind {
    /// Its name in the record and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Confirm => "confirm",
        }
    }
}

/// A load point of a search. It is none of the sweep: it counts for no figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchPoint {
    /// What it is.
    pub kind: SearchKind,
    /// Whether the load held.
    pub held: bool,
    /// Whether it shows nothing about the server: a client stalled, began late, or was the
    /// reason for a missed rate. The load is tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
    /// Why it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Which terms of the goal were not judged, and why; `None`: all were, or it did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
    /// What was measured.
    pub point: PointRecord,
}

impl SearchPoint {
    /// Its load, in the unit of the search.
    pub fn load(&self, plan: &SearchPlan) -> u64 {
        plan.load_of(self.point.load)
    }

    /// For the state machine.
    fn tried(&self, plan: &SearchPlan) -> Tried {
        Tried {
            load: self.load(plan),
            full: self.kind == SearchKind::Confirm,
            held: self.held,
            achieved: plan.load_of_rate(self.achieved()),
            of_clients: self.undecided,
        }
    }

    /// The finding about a client that was lost: no later load point can count.
    pub fn lost_client(&self) -> Option<&Finding> {
        let mut findings = self.point.findings.iter();
        findings.find(|f| f.invalidates() && f.rule == Rule::ClientLost)
    }

    /// The achieved rate in op/s; 0: it was not measured.
    pub fn achieved(&self) -> f64 {
        let stats = self.point.measured();
        stats.map_or(0.0, |stats| stats.achieved_ops_per_sec())
    }
}

/// So many undecided load points of a load in a row count as one that did not hold.
pub const UNDECIDED_MAX: usize = 3;

/// What the load points of a search show about the server, for the state machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decided {
    /// Those that held or did not hold.
    pub tried: Vec<Tried>,
    /// Loads that count as not held because of [`UNDECIDED_MAX`].
    pub given_up: Vec<u64>,
    /// The other undecided load points.
    pub left_out_count: usize,
    /// A client was lost, and the search has ended: the message about it.
    pub lost: Option<String>,
}

impl Decided {
    /// Of load points in their order, up to the first one in which a client was lost.
    pub fn of(plan: &SearchPlan, points: &[SearchPoint]) -> Self {
        let mut decided = Self::default();
        let mut undecided = 0;
        for point in points {
            if let Some(finding) = point.lost_client() {
                decided.lost = Some(one_line(&finding.message));
                break;
            }
            undecided = if point.undecided { undecided + 1 } else { 0 };
            if point.undecided && undecided < UNDECIDED_MAX {
                decided.left_out_count += 1;
                continue;
            }
            let tried = point.tried(plan);
            if point.undecided {
                decided.given_up.push(tried.load);
                undecided = 0;
            }
            decided.tried.push(tried);
        }
        decided
    }

    /// What comes next.
    pub fn next_step(&self, plan: &SearchPlan) -> SearchStep {
        match self.lost {
            Some(_) => SearchStep::End(SearchEnd::default()),
            None => self.search(plan).next_step(),
        }
    }

    fn search(&self, plan: &SearchPlan) -> Search {
        let mut search = Search::after(plan, self.tried.iter().copied());
        search.spend(self.left_out_count);
        search
    }

    /// The highest load that held in most of its tries, and the lowest one above it that did
    /// not hold.
    fn bounds(&self) -> (Option<u64>, Option<u64>) {
        let has_held = |load: u64| {
            let held = self.at(load).filter(|tried| tried.held).count();
            2 * held > self.at(load).count()
        };
        let (held, failed): (Vec<u64>, Vec<u64>) = (self.tried.iter())
            .map(|tried| tried.load)
            .partition(|load| has_held(*load));
        let highest = held.into_iter().max();
        let above = failed.into_iter().filter(|load| Some(*load) > highest);
        (highest, above.min())
    }

    fn at(&self, load: u64) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(move |tried| tried.load == load)
    }
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The highest load that holds, confirmed by full load points, in the unit of the search;
    /// `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<u64>,
    /// The mean of the rates that its full load points achieved, in op/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved: Option<f64>,
    /// Full load points at this load that held.
    pub held_count: u32,
    /// All full load points at this load.
    pub full_count: u32,
    /// The lowest load above it that did not hold; `None`: none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<u64>,
    /// How often that load did not hold.
    #[serde(default)]
    pub failed_count: u32,
    /// How often it was tried.
    #[serde(default)]
    pub failed_of: u32,
    /// Probes of the search.
    pub probe_count: u32,
    /// Whether it ended because it had tried the most loads that it may try.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gave_up: bool,
    /// The search ended because a client was lost: the message about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The highest load that had held before that; `None`: none had, or no client was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_before: Option<u64>,
    /// Which terms of the goal were not judged in a full load point at this load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
    /// Load points that show nothing about the server.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undecided_count: u32,
    /// Loads that count as not held, since only such load points were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided_loads: Vec<u64>,
    /// Where the tries contradict each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// The load points of the sweep that follows.
    pub points: Vec<LoadPoint>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl SearchResult {
    /// The result of a search that has ended; `None`: it has not.
    pub fn of(plan: &SearchPlan, points: &[SearchPoint]) -> Option<Self> {
        let decided = Decided::of(plan, points);
        let SearchStep::End(mut end) = decided.next_step(plan) else {
            return None;
        };
        let mut held_before = None;
        if decided.lost.is_some() {
            (held_before, end.failed_at) = decided.bounds();
        }
        let at = |load: u64| points.iter().filter(move |p| p.load(plan) == load);
        let full = |load| at(load).filter(|p| p.kind == SearchKind::Confirm);
        let count = |points: usize| u32::try_from(points).unwrap_or(u32::MAX);
        let held = |load| full(load).filter(|p| p.held);
        let achieved = end.load.map(|load| {
            let sum: f64 = held(load).map(SearchPoint::achieved).sum();
            sum / held(load).count().max(1) as f64
        });
        let failed = end.failed_at;
        Some(Self {
            load: end.load,
            achieved,
            held_count: end.load.map_or(0, |load| count(held(load).count())),
            full_count: end.load.map_or(0, |load| {
                count(decided.at(load).filter(|tried| tried.full).count())
            }),
            failed_at: failed,
            failed_count: failed.map_or(0, |load| {
                count(decided.at(load).filter(|tried| !tried.held).count())
            }),
            failed_of: failed.map_or(0, |load| count(decided.at(load).count())),
            probe_count: count(
                points
                    .iter()
                    .filter(|p| p.kind == SearchKind::Probe)
                    .count(),
            ),
            gave_up: end.gave_up,
            lost: decided.lost.clone(),
            held_before,
            unjudged: end
                .load
                .and_then(|load| held(load).find_map(|p| p.unjudged.clone())),
            undecided_count: count(points.iter().filter(|p| p.undecided).count()),
            undecided_loads: decided.given_up.clone(),
            changes: decided.search(plan).changes().to_vec(),
            points: end
                .load
                .map_or_else(Vec::new, |load| plan.sweep_points(load)),
        })
    }

    /// The result in one sentence.
    pub fn text(&self, plan: &SearchPlan) -> String {
        let goal = match &plan.goal {
            Some(goal) => format!(" with {goal}"),
            None => String::new(),
        };
        let probes = counted(u64::from(self.probe_count), "probe");
        if let Some(lost) = &self.lost {
            return self.text_of_loss(lost, plan);
        }
        let above = match self.failed_at {
            Some(load) => format!(
                "{} did not hold in {} of {}; so the highest load is between {} and {}",
                plan.shown(load),
                self.failed_count,
                counted(u64::from(self.failed_of), "attempt"),
                self.load.unwrap_or(0),
                plan.shown(load),
            ),
            None => format!("no higher load is tried (SEARCH_MAX={})", plan.max),
        };
        match (self.load, self.achieved) {
            (Some(load), Some(achieved)) => format!(
                "the highest load that holds{goal} is {} ({achieved:.1} op/s achieved; held in {} of {}, after {probes}); {above}",
                plan.shown(load),
                self.held_count,
                counted(u64::from(self.full_count), "full load point"),
            ),
            _ if self.gave_up => {
                format!(
                    "the search found no load that holds{goal} in {TRIES_MAX} load points: the server's speed varies too much"
                )
            }
            _ => format!(
                "no load holds{goal}, down to {}{}, in {probes}",
                plan.shown(plan.step),
                match plan.load {
                    SearchLoad::Units { .. } => "",
                    SearchLoad::Ops | SearchLoad::Rates { .. } => " (1 op/s for each proc)",
                }
            ),
        }
    }

    /// The result of a search that ended because a client was lost.
    fn text_of_loss(&self, lost: &str, plan: &SearchPlan) -> String {
        let before = match self.held_before {
            Some(load) => format!("the highest load that held was {}", plan.shown(load)),
            None => "no load had held".to_owned(),
        };
        let failed = self.failed_at.map_or_else(String::new, |load| {
            let (count, of) = (self.failed_count, u64::from(self.failed_of));
            format!(
                ", and {} did not hold in {count} of {}",
                plan.shown(load),
                counted(of, "attempt")
            )
        });
        format!(
            "the search ended without a result, since no load point counts after a client was \
             lost ({lost}); before that {before}{failed}; search again with all clients"
        )
    }

    /// The findings about the run: the result, and each contradiction.
    pub fn findings(&self, plan: &SearchPlan) -> Vec<Finding> {
        let severity = match self.load {
            Some(_) => Severity::Note,
            None => Severity::Invalid,
        };
        let result = Finding::new(Rule::Search, severity, self.text(plan));
        let changes = self.changes.iter().map(|text| {
            let text = format!("during the search the highest load has changed: {text}");
            Finding::new(Rule::Search, Severity::Warning, text)
        });
        let unjudged = self.unjudged.iter().map(|text| {
            let text = format!("at the load that was found {text}; raise RUNTIME");
            Finding::new(Rule::Search, Severity::Warning, text)
        });
        std::iter::once(result)
            .chain(changes)
            .chain(unjudged)
            .chain(self.undecided(plan))
            .collect()
    }

    /// The findings about load points that show nothing about the server.
    fn undecided(&self, plan: &SearchPlan) -> Vec<Finding> {
        if self.undecided_count == 0 {
            return Vec::new();
        }
        let count = counted(u64::from(self.undecided_count), "load point");
        let text = format!(
            "{count} of the search showed nothing about the server, since a client stalled, \
             began late or was the reason for a missed rate; a load is tried {UNDECIDED_MAX} \
             times in a row at most"
        );
        let again = Finding::new(Rule::Search, Severity::Note, text);
        let given_up = self.undecided_loads.iter().map(|load| {
            let text = format!(
                "a load of {} counts as not held after {UNDECIDED_MAX} such load points: the \
                 clients may be the limit, not the server; use more clients, or clients without \
                 other load",
                plan.shown(*load)
            );
            Finding::new(Rule::Search, Severity::Warning, text)
        });
        std::iter::once(again).chain(given_up).collect()
    }
}
