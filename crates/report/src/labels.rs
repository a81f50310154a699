//! The name of a load point: its rate, or its business metric.

use crate::format::{number, rate};
use filermark_model::text::one_line;
use filermark_model::units::counted;
use filermark_model::{LoadPoint, PointStats};
use filermark_results::RunRecord;
use filermark_results::figures::{Planned, Throughput, units};

/// The business metric of the run's loads; `None`: they are rates.
pub fn unit(record: &RunRecord) -> Option<String> {
    let plan = &record.run.plan;
    let has_units = plan.points.iter().any(|p| p.units > 0.0);
    (plan.benchmark.composite().is_some() && has_units)
        .then(|| one_line(&plan.benchmark.unit))
        .filter(|unit| !unit.is_empty())
}

/// A load in its own unit: `2 BUILDs`, `1,000 op/s`, `8 procs`.
pub fn load(record: &RunRecord, point: LoadPoint) -> String {
    match (unit(record), requested(record, point)) {
        (Some(unit), _) => units(point.units, &unit),
        (None, Some(requested)) => format!("{} op/s", rate(requested)),
        (None, None) => counted(u64::from(record.run.plan.proc_count_at(point)), "proc"),
    }
}

/// The requested rate that counts, in op/s; `None`: no limit.
pub fn requested(record: &RunRecord, point: LoadPoint) -> Option<f64> {
    Planned::of(&record.run.plan, point).requested
}

/// The requested rate as a figure of a table.
pub fn requested_text(record: &RunRecord, point: LoadPoint) -> String {
    requested(record, point).map_or("no limit".into(), rate)
}

/// The data read and written, in MiB/s.
pub fn mib_per_sec(stats: &PointStats) -> f64 {
    Throughput::of(stats).total() / 1024.0
}

/// The data rate with its unit.
pub fn mib_text(stats: &PointStats) -> String {
    format!("{} MiB/s", number(mib_per_sec(stats), 1))
}

/// An achieved rate as percent of the requested one.
pub fn share_text(achieved: f64, requested: Option<f64>) -> String {
    requested.map_or("–".into(), |r| number(100.0 * achieved / r.max(1e-9), 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_results::testing;

    #[test]
    fn loads_are_named_by_the_request() {
        let mut record = testing::composite::composite_record();
        let point = record.run.plan.points[1];
        assert_eq!(load(&record, point), "2 BUILDs");
        assert_eq!(requested_text(&record, point), "1,000");
        for point in &mut record.run.plan.points {
            point.units = 0.0;
        }
        let mut point = record.run.plan.points[1];
        assert_eq!(load(&record, point), "1,000 op/s");
        point.requested.0 = 0.0;
        assert_eq!(load(&record, point), "10 procs");
        assert_eq!(requested_text(&record, point), "no limit");
        assert_eq!(
            (share_text(5.0, None), share_text(5.0, Some(4.0))),
            ("–".into(), "125.0".into())
        );
        let classic = testing::record();
        assert_eq!(load(&classic, classic.run.plan.points[0]), "100 op/s");
    }
}
