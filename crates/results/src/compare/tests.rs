//! Comparisons of simulated and synthetic records: how often a difference is reported
//! where there is none, and how often a real one is detected.

mod no_verdict;
mod standing;

use super::*;
use crate::testing::{self, compare::Simulated};
use filermark_model::{Finding, Nanos, Rule, Severity};
use std::sync::OnceLock;

pub(super) fn group<'a>(name: &str, records: &[&'a RunRecord]) -> Group<'a> {
    Group {
        name: name.into(),
        records: records.to_vec(),
    }
}

pub(super) fn compared(before: &[&RunRecord], after: &[&RunRecord], options: &Options) -> Against {
    let groups = [group("before", before), group("after", after)];
    compare(&groups, options).unwrap().against.remove(0)
}

fn verdict(before: &RunRecord, after: &RunRecord) -> Overall {
    compared(&[before], &[after], &Options::default()).verdict
}

/// Runs of a simulated server, each made once.
pub(super) fn runs(server: Simulated, count: u64, seed: u64) -> Vec<RunRecord> {
    (0..count).map(|i| server.run("s", seed + i)).collect()
}

pub(super) fn base() -> &'static [RunRecord] {
    static BASE: OnceLock<Vec<RunRecord>> = OnceLock::new();
    BASE.get_or_init(|| runs(Simulated::default(), 30, 1_000))
}

fn share(count: usize, of: usize) -> f64 {
    100.0 * count as f64 / of as f64
}

/// How many pairs (each of the one with each of the other) end with this verdict.
fn count(before: &[RunRecord], after: &[RunRecord], wanted: Overall) -> usize {
    let pairs = before
        .iter()
        .flat_map(|b| after.iter().map(move |a| (b, a)));
    pairs.filter(|(b, a)| verdict(b, a) == wanted).count()
}

#[test]
fn identical_servers_show_no_difference() {
    // 435 pairs of 30 runs of one server, whose runs differ by 1.5 % and its points by 1 %.
    let all = base();
    let pairs: Vec<_> = (0..all.len())
        .flat_map(|i| (0..i).map(move |j| (j, i)))
        .collect();
    let silent = pairs
        .iter()
        .filter(|(b, a)| verdict(&all[*b], &all[*a]) == Overall::NoDifferenceShown)
        .count();
    let percent = share(silent, pairs.len());
    eprintln!("{silent} of {} pairs: {percent:.1} %", pairs.len());
    assert!(percent >= 97.0, "{silent} of {}", pairs.len());
}

#[test]
fn a_slower_server_is_seen() {
    let slower = |percent: f64| Simulated {
        service_us: 400.0 * (1.0 + percent / 100.0),
        ..Simulated::default()
    };
    for (percent, least) in [(10.0, 30.0), (15.0, 75.0), (20.0, 97.0)] {
        let after = runs(slower(percent), 5, 2_000);
        let seen = count(&base()[..10], &after, Overall::Slower);
        eprintln!("{percent} % slower: seen in {seen} of 50");
        assert!(share(seen, 50) >= least, "{percent} %: {seen} of 50");
        let seen = count(&after, &base()[..10], Overall::Faster);
        assert!(
            share(seen, 50) >= least,
            "the other way round: {seen} of 50"
        );
    }
}

/// Whether the load point that missed its rate counts (a classical benchmark) or not.
#[test]
fn a_lower_peak_is_seen() {
    for missed in [Severity::Warning, Severity::Invalid] {
        lower_peak(missed);
    }
}

fn lower_peak(missed: Severity) {
    let base = match missed {
        Severity::Warning => base().to_vec(),
        missed => runs(
            Simulated {
                missed,
                ..Simulated::default()
            },
            1,
            1,
        ),
    };
    let after = runs(
        Simulated {
            capacity: 200.0,
            missed,
            ..Simulated::default()
        },
        3,
        3_000,
    );
    for after in &after {
        let against = compared(&[&base[0]], &[after], &Options::default());
        assert_eq!(against.verdict, Overall::Slower);
        let last = against.points.last().unwrap();
        match missed {
            Severity::Warning => assert_eq!(last.after, PointValidity::Valid),
            _ => assert!(
                matches!(last.after, PointValidity::TooSlow { .. }),
                "{:?}",
                last.after
            ),
        }
        assert_eq!(last.figures[0].kind, Kind::AchievedRate);
        assert_eq!(last.figures[0].verdict, Judgement::Slower);
        let highest = against
            .sweep
            .iter()
            .find(|d| d.kind == Kind::HighestRate)
            .unwrap();
        assert!((-24.0..-16.0).contains(&highest.change_pcnt), "{highest:?}");
        let reasons = against.reasons.join("\n");
        let is_stated = reasons.contains("is not equivalent to a valid one");
        assert_eq!(is_stated, missed == Severity::Invalid, "{reasons}");
    }
}

/// A slower server loses more the higher the load is: that must not count as noise.
#[test]
fn a_trend_over_the_load_is_not_noise() {
    let after = Simulated {
        capacity: 270.0,
        ..Simulated::default()
    };
    for after in runs(after, 3, 3_500) {
        let against = compared(&[&base()[1]], &[&after], &Options::default());
        assert_eq!(against.verdict, Overall::Slower, "{:#?}", against.sweep);
    }
}

#[test]
fn repeats_show_differences_that_one_run_cannot() {
    let after = Simulated {
        service_us: 428.0,
        ..Simulated::default()
    };
    let after = runs(after, 5, 4_000);
    let of = |records: &[RunRecord]| -> Vec<RunRecord> { records.to_vec() };
    let (b, a) = (of(&base()[..5]), of(&after));
    let (b, a): (Vec<_>, Vec<_>) = (b.iter().collect(), a.iter().collect());
    let many = compared(&b, &a, &Options::default());
    assert_eq!(many.verdict, Overall::Slower, "{:?}", many.reasons);
    let one = compared(&b[..1], &a[..1], &Options::default());
    let width = |against: &Against| {
        let mean = against
            .sweep
            .iter()
            .find(|d| d.kind == Kind::ServiceMean)
            .unwrap();
        mean.high_pcnt - mean.low_pcnt
    };
    assert!(width(&many) < 0.7 * width(&one));
    // Repeats of one server, five against five.
    let (b, a): (Vec<_>, Vec<_>) = (
        base()[5..10].iter().collect(),
        base()[10..15].iter().collect(),
    );
    let same = compared(&b, &a, &Options::default());
    assert_eq!(
        same.verdict,
        Overall::NoDifferenceShown,
        "{:?}",
        same.reasons
    );
}

/// A repeat at half the rate is not used, and is named; two repeats do not show which is disturbed.
#[test]
fn a_disturbed_repeat_is_set_aside() {
    let server = Simulated::default();
    let half = Simulated {
        capacity: 100.0,
        ..server
    };
    let disturbed = half.run("half", 77);
    let slower = Simulated {
        service_us: 480.0,
        ..server
    };
    let slower = runs(slower, 3, 4_500);
    let before: Vec<&RunRecord> = vec![&base()[0], &disturbed, &base()[2]];
    let after: Vec<&RunRecord> = slower.iter().collect();
    let against = compared(&before, &after, &Options::default());
    assert_eq!(against.verdict, Overall::Slower, "{:?}", against.reasons);
    assert_eq!(against.set_aside.len(), 1);
    let aside = &against.set_aside[0];
    assert_eq!(
        (aside.suffix.as_str(), aside.side.as_str()),
        ("half", "before")
    );
    assert!(against.remarks[0].contains("suffix half of before is not used"));
    let sensitivity = against.sensitivity.expect("figures");
    assert_eq!(
        (sensitivity.repeats_before, sensitivity.repeats_after),
        (2, 3)
    );
    let all = Options {
        keep_all: true,
        ..Options::default()
    };
    assert!(compared(&before, &after, &all).set_aside.is_empty());
    let two = compared(&before[1..], &after, &Options::default());
    assert!(two.set_aside.is_empty());
    assert!(
        two.remarks
            .iter()
            .any(|r| r.starts_with("too few repeats: 2"))
    );
    // The same server, with one disturbed repeat: nothing is shown.
    let same: Vec<&RunRecord> = base()[5..8].iter().collect();
    let against = compared(&same, &before, &Options::default());
    assert_eq!(
        against.verdict,
        Overall::NoDifferenceShown,
        "{:?}",
        against.reasons
    );
}

#[test]
fn a_client_with_delays_does_not_make_the_server_slower() {
    let delayed = Simulated {
        service_us: 600.0,
        late_us: 400.0,
        ..Simulated::default()
    };
    for after in runs(delayed, 3, 5_000) {
        let against = compared(&[&base()[0]], &[&after], &Options::default());
        assert_eq!(against.verdict, Overall::NoDifferenceShown);
        assert!(
            against.remarks[0].starts_with("the wake-up delays of the clients differ"),
            "{:?}",
            against.remarks
        );
    }
}

#[test]
fn a_run_is_equal_to_itself() {
    for record in [testing::record(), testing::composite::composite_record()] {
        let against = compared(&[&record], &[&record], &Options::default());
        assert_eq!(against.work, Work::Same);
        assert_eq!(against.verdict, Overall::NoDifferenceShown);
        let every = against
            .sweep
            .iter()
            .chain(against.ops.iter().map(|o| &o.service));
        for difference in every {
            assert!(difference.change_pcnt.abs() < 1e-9, "{difference:?}");
        }
        assert!(against.ops.len() > 3 && against.sweep.len() == 6);
    }
}

#[test]
fn points_that_do_not_count_are_not_equal_to_valid_ones() {
    let before = base()[0].clone();
    let mut after = before.clone();
    let lost = Finding::new(Rule::Errors, Severity::Invalid, "many");
    after.points[1].findings.push(lost);
    after.points.remove(3);
    let against = compared(&[&before], &[&after], &Options::default());
    assert!(against.points[1].figures.is_empty() && against.points[3].figures.is_empty());
    let reasons = against.reasons.join("\n");
    for text in [
        "is valid before and INVALID (errors) after: it is not compared",
        "not measured after",
    ] {
        assert!(reasons.contains(text), "{reasons}");
    }
    after.points.clear();
    let nothing = compared(&[&after], &[&after], &Options::default());
    assert_eq!(nothing.verdict, Overall::NothingToCompare);
}

#[test]
fn other_work_is_refused_and_can_be_forced() {
    let before = base()[0].clone();
    let mut other = Simulated {
        point_count: 3,
        ..Simulated::default()
    }
    .run("o", 7);
    other.run.plan.phases.warmup = Nanos::from_secs(1);
    other.run.version = "9.9.9".into();
    other.end = None;
    let groups = [group("a", &[&before]), group("b", &[&other])];
    let Err(CompareError::OtherWork { fields, after, .. }) = compare(&groups, &Options::default())
    else {
        panic!("refused");
    };
    let names: Vec<_> = fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(after, "b");
    assert!(
        names.contains(&"WARMUP_TIME") && names.contains(&"load points (LOAD)"),
        "{names:?}"
    );
    let options = Options {
        force: true,
        ..Options::default()
    };
    let forced = compare(&groups, &options).unwrap();
    assert!(forced.forced);
    let against = &forced.against[0];
    assert_eq!((against.points.len(), against.work), (3, Work::Different));
    let remarks = against.remarks.join("\n");
    for text in ["3 of 5 load points", "9.9.9", "has no end"] {
        assert!(remarks.contains(text), "{remarks}");
    }
    assert!(matches!(
        compare(&groups[..1], &options),
        Err(CompareError::TooFew)
    ));
}

#[test]
fn the_json_matches_its_schema() {
    let slow = Simulated {
        capacity: 200.0,
        service_us: 900.0,
        ..Simulated::default()
    };
    let slow = slow.run("slow", 5);
    let groups = [group("a", &[&base()[0], &base()[1]]), group("b", &[&slow])];
    let comparison = compare(&groups, &Options::default()).unwrap();
    let value = serde_json::to_value(&comparison).unwrap();
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(SCHEMA).unwrap();
    compiler
        .add_resource("urn:filermark:comparison:1", schema)
        .unwrap();
    let index = compiler
        .compile("urn:filermark:comparison:1", &mut schemas)
        .unwrap();
    schemas
        .validate(&value, index)
        .map_err(|e| format!("{e:#}"))
        .unwrap();
    let mut wrong = value;
    wrong["against"][0]["sweep"][0]["mood"] = "good".into();
    assert!(schemas.validate(&wrong, index).is_err());
}

/// A record may come from anywhere: invalid figures must not panic or break JSON.
#[test]
fn invalid_figures_do_not_panic() {
    let good = base()[0].clone();
    let changes: [fn(&mut crate::record::PointRecord); 5] = [
        |p| p.load.requested.0 = f64::NAN,
        |p| p.load.units = 1e300,
        |p| p.stats.as_mut().unwrap().window_ns = 0,
        |p| p.stats.as_mut().unwrap().window_ns = 1,
        |p| {
            let stats = p.stats.as_mut().unwrap();
            stats
                .intervals
                .iter_mut()
                .for_each(|i| i.service_sum_ns = u64::MAX);
            stats.ops.truncate(1);
        },
    ];
    for change in changes {
        let mut odd = good.clone();
        odd.points.iter_mut().for_each(change);
        for (b, a) in [(&good, &odd), (&odd, &good), (&odd, &odd)] {
            let groups = [group("b", &[b]), group("a", &[a])];
            let Ok(comparison) = compare(
                &groups,
                &Options {
                    force: true,
                    ..Options::default()
                },
            ) else {
                continue;
            };
            let text = serde_json::to_string(&comparison).unwrap();
            assert!(
                !text.contains("null,\"low") && !text.contains("\"change_pcnt\":null"),
                "{text}"
            );
        }
    }
}

#[test]
fn different_lengths_of_open_runs_are_remarked() {
    let mut before = testing::record();
    before.run.plan.phases.runtime_max = Some(Nanos::from_secs(14_400));
    let mut after = before.clone();
    let length_remark = |after: &RunRecord| {
        let remarks = compared(&[&before], &[after], &Options::default()).remarks;
        remarks
            .into_iter()
            .find(|r| r.contains("RUN took different times"))
    };
    assert_eq!(length_remark(&after), None);
    let stats = after.points[2].stats.as_mut().expect("measured");
    stats.window_ns *= 3;
    let remark = length_remark(&after).expect("a remark");
    assert!(
        remark.contains("at load point 3 30 s before and 90 s after"),
        "{remark}"
    );
}

#[test]
fn repeats_show_their_deviation() {
    let records: Vec<&RunRecord> = base()[..10].iter().collect();
    let of = |records: &[&RunRecord]| deviation::deviation_pcnt(&group("g", records));
    let pcnt = of(&records).unwrap().expect("ten repeats");
    // 1.5 % between runs, 1 % between load points.
    assert!((0.8..2.6).contains(&pcnt), "{pcnt}");
    assert_eq!(of(&records[..2]).unwrap(), None);
    assert!(of(&[records[0], records[0], records[1]]).is_err());
    let other = Simulated {
        point_count: 3,
        ..Simulated::default()
    };
    let other = other.run("o", 7);
    assert!(of(&[records[0], records[1], &other]).is_err());
}

#[test]
fn the_plan_of_repeats_matches_its_schema() {
    let plan = sensitivity::RepeatPlan::new(5.0, 2.0, 5.0).expect("a plan");
    assert_eq!((plan.repeats, plan.threshold_pcnt), (7, 2.5));
    assert_eq!(
        sensitivity::RepeatPlan::new(10.0, 2.0, 5.0).map(|p| p.repeats),
        Some(3)
    );
    assert_eq!(sensitivity::RepeatPlan::new(0.1, 10.0, 5.0), None);
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema = serde_json::from_str(sensitivity::REPEAT_PLAN_SCHEMA).unwrap();
    compiler
        .add_resource("urn:filermark:repeat-plan:1", schema)
        .unwrap();
    let index = compiler
        .compile("urn:filermark:repeat-plan:1", &mut schemas)
        .unwrap();
    let value = serde_json::to_value(plan).unwrap();
    schemas
        .validate(&value, index)
        .map_err(|e| format!("{e:#}"))
        .unwrap();
}
