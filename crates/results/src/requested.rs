//! The rates that a plan requests: of load points, and of the components that count.

use filermark_model::plan::{LoadPoint, RunPlan};

/// The requested rate that counts, op/s; `None`: no limit. Background components are in the
/// load's rate, but not in the achieved rate.
pub(crate) fn requested(plan: &RunPlan, point: LoadPoint) -> Option<f64> {
    let procs = plan.procs.iter().take(plan.proc_count_at(point) as usize);
    let background: f64 = procs
        .filter(|p| is_background(plan, p.component))
        .filter_map(|p| p.ops_per_sec)
        .map(|rate| rate.0)
        .sum();
    let counts = point.requested.0 - background;
    (point.requested.0 > 0.0 && counts > 0.0).then_some(counts)
}

/// Whether a component of a composite is left out of the overall result.
pub fn is_background(plan: &RunPlan, component: u32) -> bool {
    let work = plan.benchmark.composite();
    work.is_some_and(|w| w.is_background(component))
}
