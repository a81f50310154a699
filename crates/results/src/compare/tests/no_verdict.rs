//! What has no verdict: load points with too few seconds, and the overall response time of runs
//! at full speed.

use super::super::*;
use super::{compared, runs};
use crate::testing;
use crate::testing::compare::Simulated;
use filermark_model::{Finding, OpsPerSec, Rule, Severity};

fn of_seconds(seconds: u32, service_us: f64) -> Vec<RunRecord> {
    let server = Simulated {
        seconds,
        service_us,
        ..Simulated::default()
    };
    runs(server, 3, 7_000)
}

#[test]
fn a_run_of_a_second_has_no_verdict_and_one_of_two_has() {
    for (seconds, wanted) in [(1, Overall::NothingToCompare), (2, Overall::Slower)] {
        let (before, after) = (of_seconds(seconds, 400.0), of_seconds(seconds, 2_000.0));
        let against = compared(&[&before[0]], &[&after[0]], &Options::default());
        assert_eq!(against.verdict, wanted, "{:?}", against.reasons);
        let is_short = seconds == 1;
        let reasons = against.reasons.join("\n");
        let sentence = "load points 1–5: RUN has fewer than two whole seconds";
        assert_eq!(reasons.contains(sentence), is_short, "{reasons}");
        assert_eq!(
            reasons.contains("requested rate at"),
            !is_short,
            "{reasons}"
        );
        assert_eq!(against.sweep.is_empty() && against.ops.is_empty(), is_short);
        assert_eq!(against.sensitivity.is_none(), is_short);
        for point in &against.points {
            assert_eq!(point.is_too_short, is_short);
            assert_eq!(point.figures.is_empty() && point.ops.is_empty(), is_short);
        }
    }
}

/// Nor does it matter whether such a load point counts on one side only.
#[test]
fn a_load_point_that_is_too_short_decides_nothing() {
    let (before, mut after) = (of_seconds(1, 400.0), of_seconds(1, 2_000.0));
    let finding = Finding::new(Rule::AchievedRate, Severity::Invalid, "far below its rate");
    for point in &mut after[0].points {
        point.stats.as_mut().expect("measured").window_ns *= 10;
        point.findings.push(finding.clone());
    }
    let against = compared(&[&before[0]], &[&after[0]], &Options::default());
    assert_eq!(
        against.verdict,
        Overall::NothingToCompare,
        "{:?}",
        against.reasons
    );
    let reasons = against.reasons.join("\n");
    assert!(
        reasons.contains("RUN is too short: not compared"),
        "{reasons}"
    );
}

/// One side is enough, also among repeats; the other load points are compared.
#[test]
fn only_the_load_points_that_are_too_short_are_left_out() {
    let (mut before, mut after) = (of_seconds(24, 400.0), of_seconds(24, 2_000.0));
    let stats = after[1].points[3].stats.as_mut().expect("measured");
    stats.intervals.retain(|interval| interval.second == 5);
    let compared = |before: &[RunRecord], after: &[RunRecord]| {
        let (before, after): (Vec<_>, Vec<_>) = (before.iter().collect(), after.iter().collect());
        compared(&before, &after, &Options::default())
    };
    let against = compared(&before, &after);
    assert_eq!(against.verdict, Overall::Slower, "{:?}", against.reasons);
    let short: Vec<bool> = against.points.iter().map(|p| p.is_too_short).collect();
    assert_eq!(short, [false, false, false, true, false]);
    let reasons = against.reasons.join("\n");
    assert!(
        reasons.contains("load point 4: RUN has fewer than two whole seconds"),
        "{reasons}"
    );
    // The figures over the sweep are those of the others.
    for record in before.iter_mut().chain(&mut after) {
        record.points.remove(3);
        record.run.plan.points.remove(3);
    }
    let without = compared(&before, &after);
    assert_eq!(without.set_aside, against.set_aside);
    assert_eq!(without.sweep, against.sweep);
}

fn kinds(records: &[RunRecord]) -> Vec<Kind> {
    let against = compared(&[&records[0]], &[&records[1]], &Options::default());
    against.sweep.iter().map(|d| d.kind).collect()
}

/// At LOAD=max, and of a composite without a rate; nor has one load point with a rate.
#[test]
fn a_run_at_full_speed_has_no_overall_response_time() {
    let classical = of_seconds(24, 400.0);
    let composite = vec![testing::composite::composite_record(); 2];
    for mut records in [classical, composite] {
        assert!(kinds(&records).contains(&Kind::Ort));
        for record in &mut records {
            record.points.truncate(1);
            record.run.plan.points.truncate(1);
        }
        assert!(!kinds(&records).contains(&Kind::Ort));
        for record in &mut records {
            for proc in &mut record.run.plan.procs {
                proc.ops_per_sec = None;
            }
            let planned = record.run.plan.points.iter_mut();
            let measured = record.points.iter_mut().map(|point| &mut point.load);
            for load in planned.chain(measured) {
                (load.entered, load.requested) = (OpsPerSec(0.0), OpsPerSec(0.0));
            }
            record.points[0].findings.clear();
            assert_eq!(record.ort_ms(), None);
        }
        let wanted = [
            Kind::AchievedRate,
            Kind::ServiceMean,
            Kind::ServiceP99,
            Kind::ResponseMean,
            Kind::HighestRate,
        ];
        assert_eq!(kinds(&records), wanted);
    }
}
