//! Efficiency over the number of drives, with the ends of the range.

use super::xy::{Guide, Line, Mark, Sheet, xy_chart};
use crate::figures::efficiency;
use crate::labels;
use filermark_energy_data::reduce::{BestFoot, DriveEfficiency};
use filermark_report::parts::ChartWidth;

/// Efficiency by number of drives; `place` is that of the plan in the reduction. `None`
/// with fewer than two numbers.
pub fn drives_chart(plan: &BestFoot, place: usize, fit: ChartWidth) -> Option<String> {
    if plan.measured.len() < 2 {
        return None;
    }
    let best = plan.best.and_then(|i| plan.measured.get(i));
    let mark = |one: &DriveEfficiency| {
        let is_best = best.is_some_and(|b| b.drives == one.drives);
        Mark {
            x: f64::from(one.drives),
            y: one.mib_per_s_per_w,
            valid: true,
            title: format!(
                "{} drives{}: {} MiB/s per W, run {}",
                one.drives,
                if is_best { ", the best" } else { "" },
                efficiency(Some(one.mib_per_s_per_w)),
                labels::name(&one.run)
            ),
        }
    };
    let measured = plan.measured.iter();
    let line = Line {
        class: "c0",
        label: labels::name(&plan.benchmark).to_uppercase(),
        marks: measured
            .filter(|d| d.mib_per_s_per_w.is_finite())
            .map(mark)
            .collect(),
    };
    let mut guides = Vec::new();
    if let Some(best) = best.filter(|b| b.mib_per_s_per_w.is_finite()) {
        guides.push(Guide::Across(
            best.mib_per_s_per_w * 0.85,
            "15 % below the best".into(),
        ));
        guides.push(Guide::Up(
            f64::from(best.drives),
            format!("the best: {}", best.drives),
        ));
    }
    for (end, share) in [(&plan.low, "-40 %"), (&plan.high, "+15 %")] {
        guides.extend(end.as_ref().map(|end| {
            let drives = end.drives_wanted;
            Guide::Up(f64::from(drives), format!("{share}: {drives}"))
        }));
    }
    let sheet = Sheet {
        id: &format!("drives-{place}"),
        fit,
        title: "Maximum efficiency over the number of drives",
        x_title: "drives",
        y_title: "MiB/s per W",
        guides: &guides,
        whole_x: true,
        from_0: true,
        has_legend: false,
    };
    xy_chart(&sheet, &[line])
}
