//! The deviation between runs that repeats show.

use super::difference::{Kind, Spread};
use super::repeats::{over_the_sweep, used};
use super::{CompareError, FieldChange, Group, SPREAD_PCNT, Work, points, repeats_differ, work};
use crate::record::{RunHeader, RunRecord};
use filermark_model::plan::RunPlan;

/// Fewest repeats that show their deviation.
pub const REPEATS_MIN: usize = 3;

/// The standard deviation in percent of the figure that varies most over the sweep: the achieved
/// rate or the mean service time. Disturbed repeats are left out. `None`: fewer than
/// [`REPEATS_MIN`] repeats, or no load point that all of them measured.
///
/// # Errors
/// The repeats did different work, or one is given twice.
pub fn deviation_pcnt(group: &Group<'_>) -> Result<Option<f64>, CompareError> {
    repeats_differ(group)?;
    let Some(first) = group.records.first() else {
        return Ok(None);
    };
    for record in &group.records {
        if let Some(fields) = other_work(first, &record.run.plan) {
            return Err(CompareError::OtherWork {
                before: format!("the run of suffix {}", first.run.suffix),
                after: format!("the run of suffix {}", record.run.suffix),
                fields,
            });
        }
    }
    let spread = (SPREAD_PCNT / 100.0).ln_1p();
    let all = &group.records;
    if all.len() < REPEATS_MIN {
        return Ok(None);
    }
    let used = used(all, all, spread, false, points::pairs);
    let of = |kind| {
        let logs = over_the_sweep(&used.pairs, used.before.len(), kind)?;
        Some(Spread::of_groups(&[&logs])?.variance.sqrt())
    };
    let logs = [Kind::AchievedRate, Kind::ServiceMean].map(of);
    let most = logs.into_iter().flatten().reduce(f64::max);
    Ok(most.map(|log| 100.0 * log.exp_m1()))
}

/// What differs between the work of a run and that of a plan; `None`: nothing but places. The load
/// points of a search are those that it finds: they are not compared.
pub fn other_work(baseline: &RunRecord, plan: &RunPlan) -> Option<Vec<FieldChange>> {
    let mut plan = plan.clone();
    if plan.search.is_some() && plan.points.is_empty() {
        plan.points.clone_from(&baseline.run.plan.points);
    }
    let header = RunHeader::new(&baseline.run.version, &baseline.run.suffix, plan);
    let (verdict, _, fields) = work::work(&baseline.run, &header);
    (verdict == Work::Different).then_some(fields)
}
