//! The best-foot-forward plan as a table and in sentences.

use super::figures::{efficiency, fixed, percent, sound};
use super::labels;
use super::rows::{Row, Table, heads};
use filermark_energy_data::reduce::{
    BestFoot, DriveEfficiency, RangePoint, Reduction, WorkloadReduction,
};

/// Efficiency by number of drives.
pub fn drives_table(plan: &BestFoot) -> Table {
    let row = |(place, one): (usize, &DriveEfficiency)| Row {
        first: one.drives.to_string(),
        cells: vec![
            efficiency(Some(one.mib_per_s_per_w)),
            below_best(plan, one.mib_per_s_per_w),
            labels::name(&one.run),
            standing(plan, place),
        ],
        class: match plan.best == Some(place) {
            true => "peak",
            false => "",
        },
    };
    Table {
        first: "drives",
        heads: heads(&[
            ("MiB/sec/Watt", ""),
            ("of the best", "%"),
            ("run", ""),
            ("is", ""),
        ]),
        rows: plan.measured.iter().enumerate().map(row).collect(),
    }
}

fn below_best(plan: &BestFoot, value: f64) -> String {
    let best = plan.best.and_then(|i| plan.measured.get(i));
    let best = best.map(|b| b.mib_per_s_per_w).filter(|b| *b > 0.0);
    percent(best.map(|b| value / b))
}

fn standing(plan: &BestFoot, place: usize) -> String {
    let is_end = |end: &Option<RangePoint>| end.as_ref().and_then(|e| e.by_drives) == Some(place);
    let mut words = Vec::new();
    if plan.best == Some(place) {
        words.push(match plan.enclosed {
            true => "the best",
            false => "the best so far",
        });
    }
    if is_end(&plan.low) {
        words.push("the low end by drives");
    }
    if is_end(&plan.high) {
        words.push("the high end by drives");
    }
    words.join(", ")
}

/// The sentence for a single number of drives; `None` where there are more.
pub fn single(plan: &BestFoot) -> Option<String> {
    let [one] = plan.measured.as_slice() else {
        return None;
    };
    let wanted = [&plan.low, &plan.high].into_iter().flatten();
    let wanted = wanted.map(|end| end.drives_wanted);
    let others: Vec<String> = wanted
        .filter(|drives| *drives != one.drives)
        .map(|drives| drives.to_string())
        .collect();
    let others = match others.is_empty() {
        true => "fewer and more".to_owned(),
        false => others.join(" and "),
    };
    let benchmark = labels::name(&plan.benchmark).to_uppercase();
    Some(format!(
        "Best foot forward, {benchmark}: one number of drives was measured ({}); measure others: {others} drives.",
        one.drives
    ))
}

/// Whether the best number of drives is known.
pub const fn known(plan: &BestFoot) -> &'static str {
    match (plan.best, plan.enclosed) {
        (None, _) => "Nothing was measured yet.",
        (Some(_), true) => "The best has a worse neighbour on both sides.",
        (Some(_), false) => {
            "The best is not known yet: it has no worse neighbour on one side or both."
        }
    }
}

/// The two ends of the range: by number of drives, and by the 15 % rule.
pub fn range_sentences(plan: &BestFoot) -> Vec<String> {
    let ends = [
        ("low", "-40 %", "fewer", &plan.low),
        ("high", "+15 %", "more", &plan.high),
    ];
    let sentence = |(end, share, word, point): (&str, &str, &str, &Option<RangePoint>)| {
        let point = point.as_ref()?;
        let wanted = point.drives_wanted;
        let by_drives = match point.by_drives.and_then(|i| plan.measured.get(i)) {
            Some(one) => {
                let run = labels::name(&one.run);
                format!("measured with {} drives as run {run}", one.drives)
            }
            None => "not measured yet".to_owned(),
        };
        let by_share = match sound(point.drives_15_pcnt_below) {
            Some(drives) => format!("{} drives, between measured ones", fixed(Some(drives), 1)),
            None => format!("not known, no run with {word} drives is 15 % below the best"),
        };
        Some(format!(
            "The {end} end: {wanted} drives ({share} of the best), {by_drives}; by the 15 % rule: {by_share}."
        ))
    };
    ends.into_iter().filter_map(sentence).collect()
}

/// Whether a run of the plan is made up; runs that were not given are ignored.
pub fn plan_is_simulated(reduction: &Reduction, plan: &BestFoot) -> bool {
    let of_plan = |run: &WorkloadReduction| plan.measured.iter().any(|d| d.run == run.name);
    let runs = reduction.workloads.iter();
    runs.filter(|r| of_plan(r)).any(|r| r.simulated)
}
