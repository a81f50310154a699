//! What the rules share: the load point that they judge, and shares in percent.

use filermark_model::plan::{LoadPoint, RunPlan};
use filermark_model::stats::PointStats;

/// Operations that a proc may lack whatever its share: those in flight at the edges of
/// the window.
pub(super) const PROC_EDGE_OPS: f64 = 2.0;
/// The source of Filermark's own limits.
pub(super) const OWN: &str = "Filermark, docs/src/reference/rules.md";

/// The input of a rule.
pub(super) struct Case<'a> {
    pub stats: &'a PointStats,
    pub load: LoadPoint,
    pub plan: &'a RunPlan,
    pub core_count: u32,
}

impl Case<'_> {
    pub(super) fn window_seconds(&self) -> f64 {
        self.stats.window_ns as f64 / 1e9
    }

    /// A counter of the driver.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.stats.counters.get(name).copied().unwrap_or_default()
    }

    /// The limit's source: the run's own parameter, or the benchmark's standard.
    pub(super) fn source(&self, parameter: &str, limit: f64, standard: f64) -> String {
        let benchmark = &self.plan.benchmark;
        if limit == standard {
            format!("benchmark {} version {}", benchmark.name, benchmark.version)
        } else {
            format!("{parameter} of this run")
        }
    }
}

pub(super) fn percent_of(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        100.0 * part / whole
    } else {
        0.0
    }
}
