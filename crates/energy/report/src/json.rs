//! The reduction for programs, as schema/energy-report-v1.json describes it.

use super::figures::{efficiency, sound};
use super::labels;
use super::rows::best;
use filermark_energy_data::reduce::{Reduction, WorkloadReduction};
use filermark_model::NOT_A_SPEC_RESULT;
use serde_json::{Value, json};

/// The version of this form; a change that breaks readers raises it.
pub const FORMAT: u32 = 1;

/// The reduction with the program, the notices, and the maximum efficiency of every run as
/// in the tables; all other figures have all their digits.
pub fn json(reduction: &Reduction) -> Value {
    let maximum = reduction.workloads.iter().map(|run| {
        let point = best(run);
        let value = point.and_then(|p| sound(p.mib_per_s_per_w));
        json!({
            "run": run.name,
            "benchmark": run.benchmark,
            "point": point.map(|p| p.number),
            "mib_per_s_per_w": value,
            "mib_per_s_per_w_cut": value.map(|v| efficiency(Some(v))),
            "simulated": run.simulated,
        })
    });
    json!({
        "format": FORMAT,
        "program": "filermark",
        "version": env!("CARGO_PKG_VERSION"),
        "notice": NOT_A_SPEC_RESULT,
        "programme_notice": labels::NO_PROGRAMME_RESULT,
        "simulated": reduction.simulated,
        "maximum": maximum.collect::<Vec<_>>(),
        "workloads": reduction.workloads.iter().map(workload).collect::<Vec<_>>(),
        "best_foot": reduction.best_foot,
        "findings": reduction.findings,
    })
}

/// A run with all of the reduction, and the energy verdict of each point.
fn workload(run: &WorkloadReduction) -> Value {
    let mut all = json!(run);
    let points = all["points"].as_array_mut().into_iter().flatten();
    for (value, point) in points.zip(&run.points) {
        value["energy"] = labels::energy_verdict(run, point).into();
    }
    all
}
