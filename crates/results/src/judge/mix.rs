//! The deviation of operations from a mix.

use super::case::{Case, percent_of};
use filermark_model::{Finding, Mix, Op, OpStats, Rule, Severity};

/// Standard errors within which a share's distance from the mix is chance.
const CHANCE_STD_ERRORS: f64 = 4.0;

/// The deviation of these operations from a mix, if it is above the limit. In a small
/// sample chance alone changes shares by more than the limit: then it is only a note.
pub(super) fn mix_distance(
    case: &Case<'_>,
    whose: &str,
    mix: &Mix,
    ops: &[OpStats],
) -> Option<Finding> {
    let limit = case.plan.limits.mix_deviation_pcnt_max;
    let total: f64 = ops.iter().map(|o| o.success_count as f64).sum();
    let count_of = |op| {
        ops.iter()
            .find(|o| o.op == op)
            .map_or(0, |o| o.success_count)
    };
    let wanted = mix.shares().iter().map(|(op, _)| *op);
    let unwanted = ops.iter().map(|o| o.op);
    let (op, actual, target) = wanted
        .chain(unwanted.filter(|op| mix.percent(*op) == 0.0))
        .map(|op| (op, percent_of(count_of(op) as f64, total), mix.percent(op)))
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))?;
    let off = (actual - target).abs();
    if total == 0.0 || off <= limit {
        return None;
    }
    let share = target / 100.0;
    // Operations of a sequence are repeated in a row: there are fewer independent draws.
    let run = run_length(case, op);
    let draws = total / (2.0 * run - 1.0).max(1.0);
    let chance = CHANCE_STD_ERRORS * 100.0 * (share * (1.0 - share) / draws).sqrt();
    let (severity, remark) = if off > chance {
        (Severity::Invalid, String::new())
    } else {
        let remark = format!("; chance alone can cause this with only {total:.0} operations");
        (Severity::Note, remark)
    };
    let name = case.plan.benchmark.protocol.op_name(op);
    let message = format!(
        "{name} made up {actual:.1} % of the operations{whose} instead of {target:.1} %, {off:.2} percentage points off (limit {limit}){remark}"
    );
    let standard = case.plan.benchmark.standard.mix_deviation_pcnt_max;
    let source = case.source("MIX_DEVIATION_MAX", limit, standard);
    Some(Finding::new(Rule::MixDeviation, severity, message).with_limit(off, limit, &source))
}

/// How many operations of a kind occur in a row, on average: 1 where each is drawn by itself.
fn run_length(case: &Case<'_>, op: Op) -> f64 {
    let classic = case.plan.benchmark.classic();
    let Some(sequence) = classic.and_then(|c| c.sequence.as_ref()) else {
        return 1.0;
    };
    let runs = sequence.figures().runs;
    // Operations that do not repeat occur less often because others do.
    let own = runs
        .iter()
        .find(|(of, _)| *of == op)
        .map_or(1.0, |(_, n)| *n);
    let longest = runs.iter().map(|(_, n)| *n).fold(1.0, f64::max);
    own.max(longest / 2.0)
}
