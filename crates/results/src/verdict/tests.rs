//! The four verdicts and their causes.

use super::*;
use crate::testing;

fn finding(rule: Rule, severity: Severity) -> Finding {
    Finding::new(rule, severity, format!("{rule} speaks"))
}

/// The synthetic record with its first ten points, which all count, and nothing changed.
fn clean() -> RunRecord {
    let mut record = testing::record();
    record.points.truncate(10);
    record.run.plan.points.truncate(10);
    record.run.plan.findings.clear();
    record
}

#[test]
fn each_word_has_its_cause() {
    let record = clean();
    let verdict = record.verdict();
    assert_eq!(
        (verdict.label(), verdict.line().as_str()),
        ("VALID", "VALID")
    );
    assert!(verdict.is_valid() && !verdict.is_qualified() && verdict.reasons().is_empty());

    let mut changed = clean();
    changed.run.plan.findings = testing::record().run.plan.findings;
    assert_eq!(
        changed.verdict().line(),
        "VALID, NOT STANDARD: RUNTIME=30, WARMUP_TIME=5"
    );
    assert_eq!(
        changed.verdict().reasons(),
        ["not standard: RUNTIME=30, WARMUP_TIME=5"]
    );

    for (run, word) in [
        (&mut clean(), "VALID, CACHED"),
        (&mut changed, "VALID, NOT STANDARD, CACHED"),
    ] {
        for (point, pcnt) in [(2, 34.0), (3, 12.0)] {
            let cached = finding(Rule::ClientCache, Severity::Warning);
            let cached = cached.with_limit(pcnt, 10.0, "here");
            run.points[point].findings.push(cached);
        }
        let verdict = run.verdict();
        assert_eq!((verdict.label(), verdict.cached_pcnt()), (word, Some(34.0)));
        assert!(verdict.line().contains("34 % of the bytes read"));
        assert_eq!(run.points[2].word(), "VALID, CACHED");
        assert!(WORDS.contains(&word) && verdict.is_qualified());
    }

    let mut invalid = clean();
    let end = invalid.end.as_mut().unwrap();
    end.findings = vec![finding(Rule::EmergencyStop, Severity::Invalid)];
    assert_eq!(
        invalid.verdict().line(),
        "INVALID: emergency-stop speaks; 10 of 10 load points count"
    );
}

/// A parameter is named with its value, without the standard value; a note changes nothing.
#[test]
fn changed_parameters_are_named_with_their_values() {
    let mut record = clean();
    let finding = |severity, text: &str| Finding::new(Rule::NotStandard, severity, text);
    record.run.plan.findings = vec![
        finding(Severity::Warning, "not standard: RUNTIME=4 (standard: 300)"),
        finding(
            Severity::Warning,
            "not standard: MIXFILE=mix (standard: none)",
        ),
        finding(
            Severity::Note,
            "not classical: all 2 procs use one mount point",
        ),
        finding(Severity::Warning, "file size 4 KiB\nfrom CLIENT_MEM"),
    ];
    let verdict = record.verdict();
    let named = [
        "RUNTIME=4",
        "MIXFILE=mix",
        "file size 4 KiB from CLIENT_MEM",
    ];
    assert_eq!(verdict.not_standard(), named);
}

#[test]
fn a_sweep_that_ends_in_overload_is_valid() {
    for rule in [
        Rule::ResponseLimit,
        Rule::AchievedRate,
        Rule::ProcRate,
        Rule::Saturated,
        Rule::MixDeviation,
        Rule::ComponentVariance,
    ] {
        let mut record = clean();
        for point in &mut record.points[7..] {
            point.findings.push(finding(rule, Severity::Invalid));
        }
        let verdict = record.verdict();
        assert_eq!(verdict.label(), "VALID", "{rule}");
        assert_eq!(verdict.counts(), (7, 10));
        assert!(verdict.line().contains("7 of 10 load points count"));
    }
}

#[test]
fn any_other_point_that_does_not_count_makes_the_run_invalid() {
    type Change = fn(&mut RunRecord);
    let cases: [(&str, Change); 8] = [
        ("load point 10 does not count (data-verify)", |r| {
            r.points[9]
                .findings
                .push(finding(Rule::DataVerify, Severity::Invalid));
        }),
        (
            "load point 10 does not count (response-limit, errors)",
            |r| {
                let rules = [Rule::ResponseLimit, Rule::Errors];
                let both = rules.map(|rule| finding(rule, Severity::Invalid));
                r.points[9].findings.extend(both);
            },
        ),
        (
            "load point 3 does not count (achieved-rate), although",
            |r| {
                r.points[2]
                    .findings
                    .push(finding(Rule::AchievedRate, Severity::Invalid));
            },
        ),
        ("load point 10 does not count (achieved-rate)", |r| {
            // Nothing at all was done there: this is not overload.
            let point = &mut r.points[9];
            point
                .findings
                .push(finding(Rule::AchievedRate, Severity::Invalid));
            for op in &mut point.stats.as_mut().unwrap().ops {
                op.success_count = 0;
            }
        }),
        ("load point 1 failed: no space", |r| {
            r.points[0].status = crate::record::PointStatus::Failed {
                reason: "no space".into(),
            };
        }),
        ("1 load point was not measured", |r| {
            r.points.pop();
        }),
        ("the run was interrupted", |r| {
            r.end.as_mut().unwrap().outcome = Outcome::Interrupted;
        }),
        ("the record has no end", |r| r.end = None),
    ];
    for (reason, change) in cases {
        let mut record = clean();
        change(&mut record);
        let verdict = record.verdict();
        assert_eq!(verdict.label(), "INVALID", "{reason}");
        assert!(verdict.reasons()[0].starts_with(reason), "{verdict:?}");
    }
}

#[test]
fn nothing_that_counts_is_invalid() {
    let mut record = clean();
    for point in &mut record.points {
        point
            .findings
            .push(finding(Rule::ResponseLimit, Severity::Invalid));
    }
    assert_eq!(record.verdict().label(), "INVALID");
    assert_eq!(record.verdict().counts(), (0, 10));
    record.points.clear();
    record.run.plan.points.clear();
    assert_eq!(record.verdict().line(), "INVALID: no load point counts");
    assert_eq!((record.ort_ms(), record.peak().is_none()), (None, true));
}

/// Without rates the number of the point decides which load is higher; LOAD may
/// list rates in any order.
#[test]
fn the_uppermost_point_has_the_highest_load() {
    let mut record = clean();
    record.points[0]
        .findings
        .push(finding(Rule::AchievedRate, Severity::Invalid));
    record.points[0].load.requested.0 = 5_000.0;
    assert_eq!(record.verdict().label(), "VALID");
    for point in &mut record.points {
        point.load.requested.0 = 0.0;
        point.load.units = f64::from(point.load.number);
    }
    assert_eq!(record.verdict().label(), "INVALID");
    record.points[0].load.units = f64::NAN;
    let _ = record.verdict();
}

#[test]
fn the_last_line_carries_the_verdict_and_old_ones_have_none() {
    let record = testing::record();
    let end = record.end.as_ref().unwrap();
    let verdict = record.verdict();
    assert_eq!(end.verdict.as_deref(), Some(verdict.label()));
    assert_eq!(end.reasons, verdict.reasons());
    let mut old = serde_json::to_value(end).unwrap();
    for newer in ["verdict", "reasons"] {
        assert!(old.as_object_mut().unwrap().remove(newer).is_some());
    }
    let old: End = serde_json::from_value(old).unwrap();
    assert_eq!((old.verdict, old.reasons.len()), (None, 0));
}
