//! The sample sweep of manual M, section 4.4, with judged load points: its last load point has
//! 3011 op/s of 3200 at 11.3 ms, and counts.

use crate::testing::smb::{SWEEP, sweep_record};
use crate::{ClassicalResult, RunRecord, classical, sfslog, sfsres, sfssum};
use filermark_model::plan::PacingMode;
use filermark_model::{Rule, Severity};

fn last_rules(record: &RunRecord) -> Vec<(Rule, Severity)> {
    let last = record.points.last().expect("a load point");
    last.findings.iter().map(|f| (f.rule, f.severity)).collect()
}

#[test]
fn the_last_row_of_the_seeds_sample_counts() {
    let record = sweep_record(|_, _| {});
    assert_eq!(record.verdict().line(), "VALID");
    assert_eq!(record.valid_points().count(), 10);
    assert_eq!(
        last_rules(&record),
        [(Rule::AchievedRate, Severity::Warning)]
    );
    let finding = &record.points[9].findings[0];
    assert_eq!(
        finding.value.map(|v| format!("{v:.1}")),
        Some("94.1".into())
    );
    assert_eq!(finding.limit, Some(95.0));
    // The figure is the achieved rate, not the requested one.
    let peak = record.peak().and_then(|p| p.measured()).expect("a peak");
    assert_eq!(format!("{:.0}", peak.achieved_ops_per_sec()), "3011");
    assert_eq!(
        record.ort_ms().map(|ms| format!("{ms:.2}")),
        Some("3.34".into())
    );
    let result = ClassicalResult::of_record(&record).expect("a result");
    assert_eq!(format!("{:.0}", result.ops_per_sec), "3011");
    assert!(result.overloaded && result.is_lower_bound());
}

#[test]
fn the_classical_files_have_its_row_like_the_others() {
    let record = sweep_record(|_, _| {});
    let sum = sfssum::sfssum(&record);
    for (line, (requested, achieved, mean_ms, ..)) in sum.lines().zip(SWEEP) {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let wanted = [
            format!("{requested:.0}"),
            format!("{achieved:.0}"),
            format!("{mean_ms:.1}"),
        ];
        assert_eq!(columns[..3], wanted, "{line}");
    }
    assert!(
        !sum.contains("INVALID") && sum.contains("\n# verdict: VALID\n"),
        "{sum}"
    );
    let log = sfsres::sfsres(&record);
    assert!(
        log.contains("\npeak 3011 op/s, ") && !log.contains("INVALID"),
        "{log}"
    );
    let additional = "Additional figure, at the response limit: at least 3011 op/s at 11.3 ms";
    let line = classical::line(&record).expect("a line");
    assert!(line.starts_with(additional), "{line}");
    for text in [log, sfslog::sfslog(&record)] {
        assert!(text.contains(&line), "{text}");
    }
}

/// Other rules still invalidate the load point.
#[test]
fn other_rules_hold_for_a_point_below_its_rate() {
    let slow = sweep_record(|plan, _| plan.limits.response_ms = 10.0);
    assert_eq!(slow.valid_points().count(), 9);
    let open = sweep_record(|plan, last| {
        plan.pacing.mode = PacingMode::Open;
        last.backlog_end = 17_700;
    });
    assert!(last_rules(&open).contains(&(Rule::Saturated, Severity::Invalid)));
    let unanswered = sweep_record(|_, last| last.ops[0].open_count = 100_000);
    assert!(last_rules(&unanswered).contains(&(Rule::OpenOperations, Severity::Invalid)));
    let starved = sweep_record(|_, last| last.procs[3].success_count /= 2);
    assert!(last_rules(&starved).contains(&(Rule::ProcRate, Severity::Invalid)));
    let failed = sweep_record(|_, last| last.ops[0].error_count = 20_000);
    assert!(last_rules(&failed).contains(&(Rule::Errors, Severity::Invalid)));
    for record in [slow, open, unanswered, starved, failed] {
        let peak = record.peak().and_then(|p| p.measured()).expect("a peak");
        assert_eq!(format!("{:.0}", peak.achieved_ops_per_sec()), "2894");
    }
}

/// Records older than this value in the definitions keep their verdict.
#[test]
fn earlier_records_keep_their_verdict() {
    let before = sweep_record(|plan, _| {
        let text = serde_json::to_string(&plan.benchmark.standard).expect("JSON");
        assert!(text.contains("\"achieved_severity\":\"warning\""), "{text}");
        let text = text.replace("\"achieved_severity\":\"warning\",", "");
        plan.benchmark.standard = serde_json::from_str(&text).expect("an earlier record");
        let again = serde_json::to_string(&plan.benchmark.standard).expect("JSON");
        assert_eq!(again, text, "its fingerprint stays what it was");
    });
    assert_eq!(
        last_rules(&before),
        [(Rule::AchievedRate, Severity::Invalid)]
    );
    assert!(
        before
            .verdict()
            .line()
            .contains("9 of 10 load points count")
    );
}
