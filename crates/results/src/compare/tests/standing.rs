//! Load points that count on one side only, that stalled once, or that show nothing;
//! and runs that are given twice.

use super::super::*;
use super::{base, compared, group, runs};
use crate::record::PointStatus;
use crate::testing::{self, compare::Simulated};
use filermark_model::{Finding, Nanos, Rule, Severity};

fn both_ways(good: &RunRecord, bad: &RunRecord) -> (Against, Against) {
    let of = |b, a| compared(&[b], &[a], &Options::default());
    (of(good, bad), of(bad, good))
}

fn invalid(record: &RunRecord, points: &[usize], rule: Rule) -> RunRecord {
    let mut record = record.clone();
    for point in points {
        let finding = Finding::new(rule, Severity::Invalid, "off");
        record.points[*point].findings.push(finding);
    }
    record
}

#[test]
fn points_that_fail_make_the_second_side_slower() {
    let good = base()[0].clone();
    let mut bad = good.clone();
    for point in &mut bad.points[1..] {
        point.stats = None;
        point.status = PointStatus::Failed {
            reason: "the server\nwent away".into(),
        };
    }
    let (worse, better) = both_ways(&good, &bad);
    assert_eq!(worse.verdict, Overall::Slower, "{:?}", worse.reasons);
    let reason = "load points 2–5 count before and not after, slower: not measured (the server";
    assert!(worse.reasons[0].starts_with(reason), "{:?}", worse.reasons);
    assert_eq!(better.verdict, Overall::Faster);
    let reason = "load points 2–5 count after and not before, faster";
    assert!(
        better.reasons[0].starts_with(reason),
        "{:?}",
        better.reasons
    );
    // One missing point is enough. Also a record that ends early, and no point at all.
    for left in [4, 1, 0] {
        let mut cut = good.clone();
        cut.points.truncate(left);
        let (worse, better) = both_ways(&good, &cut);
        let verdicts = (worse.verdict, better.verdict);
        assert_eq!(verdicts, (Overall::Slower, Overall::Faster), "{left}");
    }
}

#[test]
fn one_point_at_the_edge_of_a_rule_is_chance_and_two_are_not() {
    let good = base()[0].clone();
    let last = good.points.len() - 1;
    for rule in [Rule::AchievedRate, Rule::MixDeviation] {
        let (worse, better) = both_ways(&good, &invalid(&good, &[last], rule));
        let verdicts = (worse.verdict, better.verdict);
        let silent = Overall::NoDifferenceShown;
        assert_eq!(verdicts, (silent, silent), "{:?}", worse.reasons);
        let two = invalid(&good, &[last - 1, last], rule);
        let (worse, better) = both_ways(&good, &two);
        let verdicts = (worse.verdict, better.verdict);
        assert_eq!(verdicts, (Overall::Slower, Overall::Faster));
        assert!(worse.reasons[0].starts_with("load points 4, 5 count before"));
        // One lost and one won: within chance.
        let other = invalid(&good, &[last - 1], rule);
        let (swapped, _) = both_ways(&other, &invalid(&good, &[last], rule));
        assert_eq!(swapped.verdict, silent);
    }
    // Failed operations are not at the edge of a rule, nor is a rate that is much lower.
    let (worse, _) = both_ways(&good, &invalid(&good, &[last], Rule::Errors));
    assert_eq!(worse.verdict, Overall::Slower);
    let mut slow = invalid(&good, &[last], Rule::MixDeviation);
    slow.points[last].stats.as_mut().unwrap().window_ns *= 2;
    let (worse, better) = both_ways(&good, &slow);
    let verdicts = (worse.verdict, better.verdict);
    assert_eq!(verdicts, (Overall::Slower, Overall::Faster));
}

/// 190 pairs of 20 runs of a server that reaches about 95 % of the highest load, which
/// decides whether a point counts: in half of them that load point counts on one side only.
/// (Near the knee the mean service time of a load point can differ by a third between them:
/// that is not tested here.)
#[test]
fn identical_servers_at_the_edge_do_not_differ_by_what_counts() {
    let edge = Simulated {
        capacity: 237.5,
        missed: Severity::Invalid,
        ..Simulated::default()
    };
    let all = runs(edge, 20, 6_000);
    let (mut flips, mut called, mut silent) = (0, 0, 0);
    for (i, after) in all.iter().enumerate() {
        for before in &all[..i] {
            let against = compared(&[before], &[after], &Options::default());
            let counts = |standing: &PointValidity| *standing == PointValidity::Valid;
            let differs = |p: &&PointDifference| p.standing_verdict != Judgement::NoDifferenceShown;
            let (points, last) = (&against.points, against.points.last().unwrap());
            flips += usize::from(counts(&last.before) != counts(&last.after));
            called += usize::from(points.iter().any(|p| differs(&p)));
            silent += usize::from(against.verdict == Overall::NoDifferenceShown);
        }
    }
    eprintln!("of 190: {flips} flips, {called} called a difference, {silent} silent");
    assert!(flips > 30, "{flips}: not at the edge");
    assert_eq!(called, 0);
}

#[test]
fn pacing_holds_no_point_without_measurements() {
    let good = base()[0].clone();
    let mut odd = good.clone();
    odd.points[2].stats.as_mut().unwrap().window_ns = 0;
    for (b, a) in [(&odd, &odd), (&good, &odd)] {
        let against = compared(&[b], &[a], &Options::default());
        let held: Vec<bool> = against.points.iter().map(|p| p.held_by_pacing).collect();
        assert_eq!(held, [true, true, false, true, true]);
    }
}

#[test]
fn a_run_given_twice_is_not_a_repeat() {
    let (one, two) = (&base()[0], &base()[1]);
    let groups = [group("twice", &[one, two, one]), group("b", &[two])];
    let refused = compare(&groups, &Options::default()).unwrap_err();
    let message = refused.to_string();
    assert!(
        matches!(refused, CompareError::Duplicate { .. }),
        "{message}"
    );
    assert!(
        message.starts_with("twice has the record of suffix s, started 20"),
        "{message}"
    );
    let against = compared(&[one], &[one], &Options::default());
    let remarks = against.remarks.join("\n");
    assert!(remarks.contains("suffix s is on both sides"), "{remarks}");
    let against = compared(&[one], &[two], &Options::default());
    assert!(!against.remarks.join("\n").contains("both sides"));
}

/// A case from practice: one stall near the end of a load point delays all operations.
#[test]
fn one_stall_at_one_point_does_not_affect_the_verdict_without_repeats() {
    let good = base()[0].clone();
    let stalled = |record: &RunRecord| {
        let mut record = record.clone();
        let stats = record.points[4].stats.as_mut().unwrap();
        for op in &mut stats.ops {
            for _ in 0..op.success_count {
                op.response.record(Nanos(50_000_000));
            }
        }
        record
    };
    let (slow, fast) = both_ways(&good, &stalled(&good));
    for against in [&slow, &fast] {
        assert_eq!(against.verdict, Overall::NoDifferenceShown);
        let reasons = against.reasons.join("\n");
        assert!(reasons.contains("mean response time"), "{reasons}");
        assert!(
            reasons.contains("it does not affect the verdict"),
            "{reasons}"
        );
    }
    // In every one of several runs it is not chance.
    let before: Vec<&RunRecord> = base()[..3].iter().collect();
    let after: Vec<RunRecord> = base()[3..6].iter().map(stalled).collect();
    let after: Vec<&RunRecord> = after.iter().collect();
    let against = compared(&before, &after, &Options::default());
    assert_eq!(against.verdict, Overall::Slower, "{:?}", against.reasons);
}

/// Short runs on a busy client: no load point counts, on either side. Their differences
/// show nothing, and there is no verdict on the server.
#[test]
fn runs_without_valid_points_give_no_verdict() {
    let all = [0, 1, 2, 3, 4];
    let good = base()[0].clone();
    let mut half = good.clone();
    for point in &mut half.points {
        point.stats.as_mut().unwrap().window_ns *= 2;
    }
    let before = invalid(&good, &all, Rule::AchievedRate);
    let after = invalid(&half, &all, Rule::AchievedRate);
    let (there, back) = both_ways(&before, &after);
    for against in [&there, &back] {
        assert_eq!(
            against.verdict,
            Overall::NothingToCompare,
            "{:?}",
            against.reasons
        );
        assert!(against.sweep.is_empty() && against.ops.is_empty());
        assert!(against.points.iter().all(|p| p.figures.is_empty()));
        let reasons = against.reasons.join("\n");
        assert!(
            reasons.contains("no load point can be compared"),
            "{reasons}"
        );
        assert!(reasons.contains("load point 5 (250 op/s) is INVALID (achieved-rate) before"));
        let remarks = against.remarks.join("\n");
        let remark = "before (suffix s) is INVALID: load point 1 does not count (achieved-rate);";
        assert!(remarks.contains(remark), "{remarks}");
        assert!(remarks.contains("after (suffix s) is INVALID"), "{remarks}");
    }
    // A sweep that ends above what the server can carry is VALID, and its highest rate is one.
    let before = invalid(&good, &[4], Rule::AchievedRate);
    let after = invalid(&half, &[4], Rule::AchievedRate);
    let (worse, _) = both_ways(&before, &after);
    assert_eq!(worse.verdict, Overall::Slower, "{:?}", worse.reasons);
    assert!(!worse.points[4].figures.is_empty());
    assert!(!worse.remarks.join("\n").contains("is INVALID"));
}

/// Faults of the clients are no difference of the server.
#[test]
fn points_that_do_not_count_because_of_the_clients_make_no_difference() {
    let good = base()[0].clone();
    let rules = [Rule::GeneratorStalled, Rule::ClientStart, Rule::ClientLost];
    for rule in rules {
        let bad = invalid(&good, &[1, 2], rule);
        let (worse, better) = both_ways(&good, &bad);
        let silent = Overall::NoDifferenceShown;
        assert_eq!((worse.verdict, better.verdict), (silent, silent), "{rule}");
        let all = invalid(&good, &[0, 1, 2, 3, 4], rule);
        let (worse, _) = both_ways(&good, &all);
        assert_eq!(worse.verdict, Overall::NothingToCompare, "{rule}");
        // Two points at which the server failed are reported as well.
        let both = invalid(&bad, &[3, 4], Rule::Errors);
        let (worse, _) = both_ways(&good, &both);
        assert_eq!(worse.verdict, Overall::Slower, "{rule}");
        assert!(worse.reasons[0].starts_with("load points 4, 5 count before"));
    }
}

/// Faults of the clients hide no failure of the server at the same load point, in the same
/// record or in a repeat.
#[test]
fn a_failure_of_the_server_has_precedence_over_what_the_clients_did() {
    let good = base()[0].clone();
    let stalled = invalid(&good, &[1], Rule::GeneratorStalled);
    for rule in [Rule::Errors, Rule::DataLost, Rule::DataVerify] {
        let (worse, better) = both_ways(&good, &invalid(&stalled, &[1], rule));
        let verdicts = (worse.verdict, better.verdict);
        assert_eq!(verdicts, (Overall::Slower, Overall::Faster), "{rule}");
        assert!(worse.reasons[0].starts_with("load point 2 counts before"));
        let failed = invalid(&good, &[1], rule);
        // In a repeat.
        let other = invalid(&base()[1], &[1], Rule::GeneratorStalled);
        let before: Vec<&RunRecord> = base()[2..4].iter().collect();
        let repeats = compared(&before, &[&failed, &other], &Options::default());
        assert_eq!(repeats.verdict, Overall::Slower, "{rule}");
    }
    let mut lost = stalled;
    lost.points[1].stats = None;
    lost.points[1].status = PointStatus::Failed {
        reason: "the server went away".into(),
    };
    let (worse, _) = both_ways(&good, &lost);
    assert_eq!(worse.verdict, Overall::Slower, "{:?}", worse.reasons);
}

/// A server that has become slow does not touch all its data in time: `data-touched` is not
/// a rule about the clients, alone or with one.
#[test]
fn data_that_a_slow_server_did_not_touch_is_a_difference() {
    let good = base()[0].clone();
    for rules in [
        &[Rule::DataTouched][..],
        &[Rule::GeneratorStalled, Rule::DataTouched],
        &[Rule::ClientLost, Rule::AchievedRate],
    ] {
        let with = |record, rule: &Rule| invalid(&record, &[1, 2], *rule);
        let bad = rules.iter().fold(good.clone(), with);
        let (worse, better) = both_ways(&good, &bad);
        let verdicts = (worse.verdict, better.verdict);
        assert_eq!(verdicts, (Overall::Slower, Overall::Faster), "{rules:?}");
        assert!(worse.reasons[0].starts_with("load points 2, 3 count before"));
    }
}

/// The rate achieved there is no figure, on either side, and one such point makes no
/// difference. A pause of the server at several points does; faults of the clients never do.
#[test]
fn a_rate_that_another_cause_explains_is_no_figure() {
    let good = base()[0].clone();
    let halved = |points: &[usize], cause: Option<Rule>| {
        let mut record = invalid(&good, points, Rule::AchievedRate);
        for point in points {
            let point = &mut record.points[*point];
            let stats = point.stats.as_mut().unwrap();
            stats.window_ns *= 2;
            if cause == Some(Rule::Lateness) {
                testing::start_late(stats);
            }
            let cause = cause.map(|rule| Finding::new(rule, Severity::Warning, "x"));
            point.findings.extend(cause);
        }
        record
    };
    let (worse, better) = both_ways(&good, &halved(&[4], None));
    let verdicts = (worse.verdict, better.verdict);
    assert_eq!(verdicts, (Overall::Slower, Overall::Faster));
    assert!(!worse.points[4].figures.is_empty());
    let silent = Overall::NoDifferenceShown;
    for rule in [Rule::NoReply, Rule::Lateness, Rule::GeneratorBusy] {
        let (worse, better) = both_ways(&good, &halved(&[4], Some(rule)));
        assert_eq!((worse.verdict, better.verdict), (silent, silent), "{rule}");
        for against in [&worse, &better] {
            let point = &against.points[4];
            assert!(point.figures.is_empty() && point.ops.is_empty(), "{rule}");
        }
        assert!(matches!(
            worse.points[4].after,
            PointValidity::Invalid { .. }
        ));
        let (worse, _) = both_ways(&good, &halved(&[3, 4], Some(rule)));
        let expected = match rule {
            Rule::NoReply => Overall::Slower,
            _ => silent,
        };
        assert_eq!(worse.verdict, expected, "{rule}");
    }
}
