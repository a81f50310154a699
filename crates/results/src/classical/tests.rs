use super::*;
use crate::testing;
use filermark_model::{Finding, Severity};
use proptest::prelude::*;

fn samples(points: &[(f64, f64)]) -> Vec<Sample> {
    (1u32..)
        .zip(points)
        .map(|(number, (achieved, mean_ms))| Sample {
            number,
            requested: f64::from(number) * 100.0,
            achieved: *achieved,
            mean_ms: *mean_ms,
            takes_part: true,
            counts: true,
            overloaded: false,
            generator_busy: false,
        })
        .collect()
}

fn result(points: &[(f64, f64)], limit_ms: f64) -> Option<ClassicalResult> {
    classical(&samples(points), limit_ms)
}

/// The rules of guide V, case by case.
#[test]
fn classical_results_follow_guide_v() {
    // "the throughput figure at 50 ms is reported"
    let rising = [(100.0, 10.0), (200.0, 20.0), (260.0, 80.0)];
    let at_limit = result(&rising, 50.0).unwrap();
    assert_eq!((at_limit.ops_per_sec, at_limit.response_ms), (230.0, 50.0));
    assert_eq!(
        at_limit.basis,
        Basis::Interpolated {
            below_point: 2,
            above_point: 3
        }
    );
    // Trapezoids by hand: 500 + 1500 + 30 * 35.
    assert!((at_limit.ort_ms - (500.0 + 1500.0 + 1050.0) / 230.0).abs() < 1e-9);
    assert_eq!(
        at_limit.line(),
        "230 op/s at 50 ms, overall response time 13.26 ms (interpolated between load points 2 and 3)"
    );
    // "throughput will start to fall off at a response time below the 50 ms limit"
    for end in [(180.0, 60.0), (180.0, 30.0), (200.0, 30.0)] {
        let falling = [(100.0, 10.0), (200.0, 20.0), end];
        let peak = result(&falling, 50.0).unwrap();
        assert_eq!((peak.ops_per_sec, peak.response_ms), (200.0, 20.0));
        assert_eq!(peak.basis, Basis::Peak { point: 2 });
        assert_eq!(peak.ort_ms, 10.0);
    }
    // Neither: the sweep ended too early.
    let early = result(&rising[..2], 50.0).unwrap();
    assert_eq!((early.ops_per_sec, early.response_ms), (200.0, 20.0));
    assert!(early.is_lower_bound());
    assert!(
        early.line().starts_with(
            "at least 200 op/s at 20 ms, overall response time 10.00 ms (load point 2, "
        )
    );
    assert!(early.line().contains("a lower bound"), "{}", early.line());
}

/// No published curve of the older generations is available; one of 2008, whose limit is
/// 20 ms (sources.md 2.5), keeps its ORT to the digit, since its last point is its peak.
#[test]
fn the_ort_is_the_published_one_where_nothing_is_cut() {
    let xserve = [
        (798., 0.8),
        (1597., 0.8),
        (2403., 0.9),
        (3203., 1.0),
        (4006., 1.0),
        (4810., 1.2),
        (5609., 1.3),
        (6417., 1.9),
        (7219., 2.4),
        (8053., 4.7),
    ];
    let whole = result(&xserve, 20.0).unwrap();
    assert_eq!(whole.ops_per_sec, 8053.0);
    assert_eq!(format!("{:.2}", whole.ort_ms), "1.37");
    // With a limit of 3 ms it is interpolated, and the area stops there.
    let cut = result(&xserve, 3.0).unwrap();
    assert!((cut.ops_per_sec - (7219.0 + 834.0 * 0.6 / 2.3)).abs() < 1e-9);
    assert!(cut.ort_ms < whole.ort_ms && cut.ort_ms > 1.0);
}

#[test]
fn irregular_curves_have_defined_results() {
    assert_eq!(result(&[], 50.0), None);
    // One point.
    let one = result(&[(100.0, 50.0)], 50.0).unwrap();
    assert_eq!((one.ops_per_sec, one.ort_ms), (100.0, 25.0));
    assert!(one.is_lower_bound());
    // Nothing within the limit: no point to interpolate from.
    assert_eq!(result(&[(100.0, 51.0), (200.0, 90.0)], 50.0), None);
    // Zero response times.
    let zero = result(&[(100.0, 0.0), (200.0, 0.0)], 50.0).unwrap();
    assert_eq!((zero.response_ms, zero.ort_ms), (0.0, 0.0));
    // At the limit is within it.
    let at = result(&[(100.0, 10.0), (200.0, 50.0), (300.0, 60.0)], 50.0).unwrap();
    assert_eq!((at.ops_per_sec, at.response_ms), (200.0, 50.0));
    assert!(matches!(at.basis, Basis::Interpolated { .. }));
    // A point within the limit after one above it does not count.
    let back = [(100.0, 10.0), (120.0, 90.0), (500.0, 10.0)];
    let back = result(&back, 50.0).unwrap();
    assert_eq!((back.ops_per_sec, back.response_ms), (110.0, 50.0));
    // Throughput falls, then rises through the limit: the higher of the two.
    let dent = [(100.0, 10.0), (80.0, 12.0), (180.0, 88.0)];
    assert_eq!(result(&dent, 50.0).unwrap().ops_per_sec, 130.0);
    let dent = [(140.0, 10.0), (80.0, 12.0), (180.0, 88.0)];
    assert_eq!(result(&dent, 50.0).unwrap().basis, Basis::Peak { point: 1 });
    // Invalid figures are left out.
    let odd = [
        (f64::NAN, 1.0),
        (100.0, 2.0),
        (-5.0, 1.0),
        (200.0, f64::INFINITY),
    ];
    assert_eq!(result(&odd, 50.0).unwrap().ops_per_sec, 100.0);
}

#[test]
fn equal_loads_and_overload() {
    let mut twice = samples(&[(100.0, 10.0), (99.0, 10.0)]);
    twice[1].requested = 100.0;
    assert_eq!(
        classical(&twice, 50.0).unwrap().basis,
        Basis::Peak { point: 1 }
    );
    // A point that missed its rate: the peak is below it.
    let mut behind = samples(&[(100.0, 10.0), (99.0, 900.0)]);
    (behind[1].overloaded, behind[1].counts) = (true, false);
    let found = classical(&behind, 50.0).unwrap();
    assert_eq!(
        (found.ops_per_sec, found.basis, found.overloaded),
        (100.0, Basis::Peak { point: 1 }, false)
    );
    // One with a higher rate is used for the interpolation, with a remark.
    behind[1].achieved = 130.0;
    behind[1].mean_ms = 90.0;
    let found = classical(&behind, 50.0).unwrap();
    assert_eq!((found.ops_per_sec, found.overloaded), (115.0, true));
    assert!(found.line().contains("missed its requested rate"));
    // It is not slower: load was not the cause.
    behind[1].mean_ms = 9.0;
    assert!(classical(&behind, 50.0).unwrap().is_lower_bound());
    assert_eq!(classical(&behind[1..], 50.0), None);
    behind[1].takes_part = false;
    behind[1].achieved = 10.0;
    let found = classical(&behind, 50.0).unwrap();
    assert!(found.is_lower_bound() && found.line().contains("still rises"));
    behind[1].mean_ms = 90.0;
    behind[0].generator_busy = true;
    let found = classical(&behind, 50.0).unwrap();
    assert!(found.is_lower_bound() && found.line().contains("invalid for other reasons"));
    assert!(found.line().contains("the client was busy there"));
}

/// A point that counts contributes its throughput, also where it is no slower than those below.
#[test]
fn what_counts_takes_part_although_it_missed_its_rate() {
    let mut curve = samples(&[(100.0, 10.0), (190.0, 9.9)]);
    curve[1].overloaded = true;
    let found = classical(&curve, 50.0).unwrap();
    assert_eq!((found.ops_per_sec, found.overloaded), (190.0, true));
    curve[1].counts = false;
    assert_eq!(classical(&curve, 50.0).unwrap().ops_per_sec, 100.0);
}

#[test]
fn points_invalid_only_by_limit_or_rate_take_part() {
    let record = testing::record();
    let (plan, mut point) = (&record.run.plan, record.points[0].clone());
    let with = |rules: &[Rule]| {
        let finding = |r: &Rule| Finding::new(*r, Severity::Invalid, "x");
        rules.iter().map(finding).collect::<Vec<_>>()
    };
    for (rules, expected, overloaded) in [
        (&[][..], true, false),
        (&[Rule::ResponseLimit], true, false),
        (&[Rule::ResponseLimit, Rule::AchievedRate], true, true),
        (&[Rule::Saturated], true, true),
        (&[Rule::ResponseLimit, Rule::Errors], false, false),
        (&[Rule::DataVerify], false, false),
    ] {
        point.findings = with(rules);
        let sample = sample(plan, &point).expect("measured");
        assert_eq!(
            (sample.takes_part, sample.overloaded),
            (expected, overloaded),
            "{rules:?}"
        );
    }
    // Of a benchmark in which it counts, it is a warning.
    point.findings = vec![Finding::new(Rule::AchievedRate, Severity::Warning, "x")];
    let counted = sample(plan, &point).expect("measured");
    assert!(counted.takes_part && counted.counts && counted.overloaded);
    // Where the server was gone, load is not the cause of the shortfall.
    point.findings = with(&[Rule::AchievedRate]);
    let counters = &mut point.stats.as_mut().expect("measured").counters;
    counters.insert("port_unreachable".into(), 1);
    assert!(!takes_part(plan, &point));
    point.findings = vec![Finding::new(Rule::Errors, Severity::Warning, "x")];
    assert!(takes_part(plan, &point));
    // The same holds where the server paused, or the client was at its limit.
    let stats = point.stats.as_mut().expect("measured");
    stats.counters.clear();
    testing::start_late(stats);
    for rule in [Rule::NoReply, Rule::Lateness, Rule::GeneratorBusy] {
        for (severity, expected) in [(Severity::Note, true), (Severity::Warning, false)] {
            point.findings = with(&[Rule::AchievedRate]);
            point.findings.push(Finding::new(rule, severity, "x"));
            assert_eq!(takes_part(plan, &point), expected, "{rule}");
        }
    }
}

#[test]
fn runs_have_a_classical_result_if_their_benchmark_has_a_limit() {
    let record = testing::record();
    let found = ClassicalResult::of_record(&record).unwrap();
    assert_eq!(found.limit_ms, 20.0);
    assert!(found.response_ms <= 20.0);
    let mut unlimited = record.clone();
    unlimited.run.plan.limits.response_ms = 0.0;
    assert_eq!(ClassicalResult::of_record(&unlimited), None);
    let builds = testing::composite::composite_record();
    assert_eq!(ClassicalResult::of_record(&builds), None);
    let json = serde_json::to_value(found).unwrap();
    assert!(
        json["basis"].is_string() && json["ort_ms"].is_f64(),
        "{json}"
    );
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let figure = |top: f64| prop_oneof![Just(0.0), Just(top / 2.0), 0.0..top];
    let kind =
        prop_oneof![4 => Just((true, false)), 1 => Just((true, true)), 1 => Just((false, false))];
    (1u32..20, figure(1e4), figure(100.0), kind, 0u32..6).prop_map(
        |(number, achieved, mean_ms, (takes_part, overloaded), load)| Sample {
            number,
            requested: if load == 5 {
                f64::INFINITY
            } else {
                f64::from(load) * 100.0
            },
            achieved,
            mean_ms,
            takes_part,
            counts: takes_part && !overloaded,
            overloaded,
            generator_busy: false,
        },
    )
}

proptest! {
    /// For any curve: the result lies within the limit, within what took part, and
    /// at or above every point before the limit was passed; its ORT within the limit.
    #[test]
    fn results_keep_within_the_curve(
        mut all in prop::collection::vec(any_sample(), 0..12),
        limit in prop_oneof![Just(50.0), 0.1..120.0f64],
        turn in 0usize..12,
    ) {
        for (number, sample) in (1u32..).zip(&mut all) {
            sample.number = number;
        }
        let found = classical(&all, limit);
        // The order in which points come does not matter.
        let mut turned = all.clone();
        turned.reverse();
        turned.rotate_left(if all.is_empty() { 0 } else { turn % all.len() });
        prop_assert_eq!(classical(&turned, limit), found);
        let kept = taking_part(&all);
        prop_assert!(kept.iter().all(|s| s.takes_part && s.achieved > 0.0));
        let full = || kept.iter();
        let Some(found) = found else {
            let first = full().min_by(|a, b| {
                (a.requested, a.number).partial_cmp(&(b.requested, b.number)).unwrap()
            });
            prop_assert!(first.is_none_or(|s| s.mean_ms > limit));
            return Ok(());
        };
        prop_assert!(found.response_ms <= limit && found.response_ms >= 0.0);
        prop_assert!(found.ort_ms >= 0.0 && found.ort_ms <= limit * (1.0 + 1e-9), "{:?}", found);
        let top = full().map(|s| s.achieved).fold(0.0, f64::max);
        prop_assert!(found.ops_per_sec <= top * (1.0 + 1e-9));
        let of = |number: u32| all.iter().find(|s| s.number == number).copied().unwrap();
        match found.basis {
            Basis::Interpolated { below_point, above_point } => {
                prop_assert!(of(below_point).mean_ms <= limit && of(above_point).mean_ms > limit);
                prop_assert!(found.response_ms == limit);
            }
            Basis::Peak { point } | Basis::LastPoint { point } => {
                let point = of(point);
                prop_assert_eq!((point.achieved, point.mean_ms), (found.ops_per_sec, found.response_ms));
            }
        }
    }
}
