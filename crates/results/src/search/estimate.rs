//! How long a search takes, about: it is carried out against servers whose highest loads lie a
//! tenth apart and whose speed does not vary. One between two of them may take a load point more or
//! less.

use super::machine::{Search, SearchStep, TRIES_MAX, Tried};
use filermark_model::plan::{SearchPlan, SearchTime};
use filermark_model::{Nanos, RunPlan};

/// The ratio of the highest loads of two such servers.
const NEXT_SERVER: f64 = 1.1;

/// The load points of a search and of its sweep.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PointCounts {
    pub probes: u64,
    pub full: u64,
    pub sweep: u64,
}

impl PointCounts {
    fn all(self) -> u64 {
        self.probes + self.full + self.sweep
    }

    /// WARMUP and RUN of these load points.
    fn time(self, probe: Nanos, full: Nanos) -> Nanos {
        let of = |length: Nanos, count: u64| length.0.saturating_mul(count);
        Nanos(of(probe, self.probes).saturating_add(of(full, self.full + self.sweep)))
    }
}

/// The time that the search of a run takes, and its sweep; `None` without a search.
pub fn search_time(run: &RunPlan) -> Option<SearchTime> {
    let plan = run.search.as_ref()?;
    let counts = counts(plan);
    let phases = &run.phases;
    let probe = plan.probe_warmup + plan.probe_runtime;
    let warmup = match phases.warmup_until_steady {
        true => Nanos(0),
        false => phases.warmup,
    };
    let shortest = warmup + phases.runtime;
    let longest = phases.warmup + phases.runtime_max.unwrap_or(phases.runtime);
    let least = counts.iter().map(|c| c.time(probe, shortest)).min();
    let most = counts.iter().map(|c| c.time(probe, longest)).max();
    let points = || counts.iter().map(|c| c.all());
    Some(SearchTime {
        least: least.unwrap_or_default(),
        most: most.unwrap_or_default(),
        points_least: points().min().unwrap_or(0),
        points_most: points().max().unwrap_or(0),
        tries_max: TRIES_MAX as u64,
    })
}

/// For servers that hold one op/s for each proc, or one unit, up to those that hold every load.
fn counts(plan: &SearchPlan) -> Vec<PointCounts> {
    let (lowest, highest) = (plan.step.max(1) as f64, plan.max as f64);
    let next = |knee: &f64| (*knee < highest).then_some((knee * NEXT_SERVER).min(highest));
    std::iter::successors(Some(lowest), next)
        .flat_map(|knee| [true, false].map(|is_rate| steady(plan, knee, is_rate)))
        .collect()
}

/// With a server of this highest load: the rate is limited, or only the latency.
pub(super) fn steady(plan: &SearchPlan, knee: f64, is_rate: bool) -> PointCounts {
    let (mut search, mut counts) = (Search::new(plan), PointCounts::default());
    loop {
        let (load, full) = match search.next_step() {
            SearchStep::Probe(load) => (load, false),
            SearchStep::Confirm(load) => (load, true),
            SearchStep::End(end) => {
                let sweep = end.load.filter(|_| plan.sweep);
                counts.sweep = sweep.map_or(0, |load| plan.sweep_points(load).len() as u64);
                return counts;
            }
        };
        match full {
            true => counts.full += 1,
            false => counts.probes += 1,
        }
        search.take(Tried {
            load,
            full,
            held: load as f64 <= knee,
            achieved: match is_rate {
                true => knee.min(load as f64),
                false => load as f64,
            },
            of_clients: false,
        });
    }
}
