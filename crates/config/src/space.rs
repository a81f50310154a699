//! The server's space and memory, from the parameters.

use crate::given::Values;
use crate::params;
use filermark_model::plan::SpacePlan;
use filermark_model::{Bytes, Finding, LoadPoint, Rule, RunPlan, Severity};

/// SPACE_CHECK, SPACE_RESERVE and SERVER_MEMORY.
pub(crate) fn plan(values: &Values) -> SpacePlan {
    SpacePlan {
        check: values.get(&params::SPACE_CHECK),
        reserve_pcnt: values.get(&params::SPACE_RESERVE),
        server_memory_bytes: values.get(&params::SERVER_MEMORY),
    }
}

/// The note at which load points the working set fits into the server's memory, where that
/// is declared.
pub(crate) fn memory_note(plan: &RunPlan) -> Option<Finding> {
    let memory = plan.space.server_memory_bytes?;
    let sets = plan.points.iter().map(|p| (p, working_set_bytes(plan, *p)));
    let fits: Vec<(&LoadPoint, u64)> = sets.filter(|(_, bytes)| *bytes <= memory).collect();
    let largest = fits.iter().map(|(_, bytes)| *bytes).max()?;
    let message = format!(
        "the working set of {} of {} load points fits into the server's memory (at most {} of SERVER_MEMORY={}): the server may answer from its memory there, independent of its disks",
        fits.len(),
        plan.points.len(),
        Bytes(largest),
        Bytes(memory),
    );
    let finding = Finding::new(Rule::ServerMemory, Severity::Note, message);
    Some(finding.with_limit(largest as f64, memory as f64, "SERVER_MEMORY of this run"))
}

/// The part of the file set that RUN accesses, in bytes; of a composite all of it.
fn working_set_bytes(plan: &RunPlan, point: LoadPoint) -> u64 {
    match plan.benchmark.classic() {
        Some(_) => plan.io_sums(point.requested).accessed_bytes,
        None => plan.data_set(point).start_bytes,
    }
}
