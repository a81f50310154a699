//! The rules of the programme, runs at one time, the best number of drives, and steps.

use super::lab::{Lines, at, lab, metered, of_rule, run, swbuild};
use crate::log::{EventKind, Log, LogEvent, LogLine, LogWriter, Role, SourceKind};
use crate::reading::Quantity;
use crate::reduce::steps::{Piece, Steps};
use crate::reduce::{EnergyRule, ReduceOptions, WorkloadReduction, best_foot, reduce_logs};
use filermark_model::Severity;
use std::path::Path;
use proptest::prelude::*;

#[test]
fn rules_of_the_programme_speak() {
    let reduced = metered(&[(1, Role::Server, &|s| Some(500.0 + s))], 10);
    let found = &reduced.points[0].findings;
    let message = |rule| of_rule(found, rule)[0].message.clone();
    assert!(message(EnergyRule::SampleInterval).contains("10.0 s apart"));
    assert!(message(EnergyRule::Stability).contains("+42"), "{found:?}");

    let mut lines = Lines::new(lab(&[]), run(1));
    lines.source(1, SourceKind::Meter, Role::Server);
    lines.source(2, SourceKind::Sensor, Role::Server);
    for second in 0..400 {
        let seconds = f64::from(second);
        lines.reading(1, seconds, Quantity::Power, 500.0);
        lines.reading(1, seconds + 0.1, Quantity::Voltage, 200.0);
        lines.reading(1, seconds + 0.2, Quantity::Frequency, 50.4);
        lines.reading(2, seconds, Quantity::Temperature, 31.5);
        lines.reading(2, seconds + 0.1, Quantity::Humidity, 12.0);
    }
    lines.push(LogLine::Event(LogEvent {
        at: at(200.0),
        source: Some(1),
        what: EventKind::Restart,
        message: "counted from zero again".into(),
    }));
    let reduced = lines.reduce();
    let found = &reduced.points[0].findings;
    let messages = |rule| of_rule(found, rule).len();
    assert_eq!(messages(EnergyRule::Environment), 2, "{found:?}");
    assert_eq!(messages(EnergyRule::Supply), 1, "{found:?}");
    let supply = &of_rule(found, EnergyRule::Supply)[0].message;
    assert!(supply.contains("13.0 % off 230 V"), "{supply}");
    assert_eq!(messages(EnergyRule::Data), 1, "{found:?}");
}

#[test]
fn runs_at_one_time_do_not_count_and_logs_without_runs_are_refused() {
    let two = vec![swbuild(&["24"]).log(), swbuild(&["24"]).log()];
    // Logs of one path are one log's runs; give the second another.
    let [first, second] = <[_; 2]>::try_from(two).unwrap_or_else(|_| unreachable!());
    let text = |mut log: Log<std::io::Cursor<Vec<u8>>>| {
        let mut lines = Vec::new();
        while let Some(line) = log.next_line().expect("a line") {
            lines.push(line);
        }
        lines
    };
    let mut writer = LogWriter::new(Vec::new(), Path::new("other"));
    for line in text(second) {
        if !matches!(line, LogLine::End(_)) {
            writer.line(&line).expect("memory");
        }
    }
    let other = writer.end(at(0.0)).expect("memory");
    let other = Log::new(std::io::Cursor::new(other), Path::new("other"));
    let reduced = reduce_logs(vec![first, other], &ReduceOptions::default()).expect("reduced");
    for workload in &reduced.workloads {
        let overlap = of_rule(&workload.findings, EnergyRule::Overlap);
        assert_eq!(overlap[0].severity, Severity::Invalid);
    }
    let missing = of_rule(&reduced.findings, EnergyRule::Coverage);
    assert!(missing[0].message.ends_with("missing: VDA, VDI, DATABASE"));
}

fn with_drives(drives: u32, mib_per_s_per_w: f64) -> WorkloadReduction {
    let mut workload = metered(&[(1, Role::Server, &|_| Some(500.0))], 5);
    workload.drives = Some(drives);
    workload.points[0].mib_per_s_per_w = Some(mib_per_s_per_w);
    workload.name = format!("with {drives}");
    workload
}

#[test]
fn best_foot_forward_says_what_is_best_and_what_to_measure_next() {
    let of = |figures: &[(u32, f64)]| {
        let runs: Vec<_> = figures.iter().map(|(d, e)| with_drives(*d, *e)).collect();
        best_foot::best_foot(&runs).remove(0)
    };
    let foot = of(&[(24, 10.0), (12, 7.0), (48, 8.0)]);
    assert_eq!(
        foot.measured.iter().map(|m| m.drives).collect::<Vec<_>>(),
        [12, 24, 48]
    );
    assert_eq!((foot.best, foot.enclosed), (Some(1), true));
    let (low, high) = (
        foot.low.clone().expect("low"),
        foot.high.clone().expect("high"),
    );
    // 24 * 0.6 = 14.4, 24 * 1.15 = 27.6.
    assert_eq!((low.drives_wanted, high.drives_wanted), (14, 28));
    // From 10 to 7 over 12 drives: 8.5 is halfway. From 10 to 8 over 24: three quarters.
    assert_eq!(low.drives_15_pcnt_below, Some(18.0));
    assert_eq!(high.drives_15_pcnt_below, Some(42.0));
    assert_eq!(foot.next.len(), 2, "{:?}", foot.next);

    let done = of(&[(14, 9.0), (24, 10.0), (28, 9.5)]);
    assert_eq!(done.low.as_ref().and_then(|p| p.by_drives), Some(0));
    assert!(done.next.is_empty(), "{:?}", done.next);

    let rising = of(&[(12, 7.0), (24, 10.0)]);
    assert!(!rising.enclosed);
    assert!(rising.next[0].starts_with("measure with more than 24"));
    assert!(best_foot::best_foot(&[metered(&[(1, Role::Server, &|_| Some(1.0))], 5)]).is_empty());
}

#[test]
fn steps_hold_no_longer_than_their_interval() {
    let steps = Steps::of_moments(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (10.0, 1.0)], None);
    let stats = steps
        .clone()
        .cut(0.0, 10.0)
        .stats(0.0, 10.0)
        .expect("stats");
    // 0 to 3.25, and 8.75 to 10.
    assert!((stats.coverage - 0.45).abs() < 1e-9, "{stats:?}");
    let buckets = steps.buckets(0.0, 10.0, 10);
    assert_eq!(
        buckets.iter().filter(|b| b.is_none()).count(),
        6,
        "{buckets:?}"
    );
    assert!(Steps::default().stats(0.0, 1.0).is_none());
    assert!(steps.stats(1.0, 1.0).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The mean of a sum is the sum of the means, however the samples lie.
    #[test]
    fn sums_of_steps_add_up(
        a in prop::collection::vec((0.1f64..10.0, 0.0f64..1000.0), 1..40),
        b in prop::collection::vec((0.1f64..10.0, 0.0f64..1000.0), 1..40),
    ) {
        let steps = |parts: &[(f64, f64)]| {
            let mut from = 0.0;
            let pieces = parts.iter().map(|(length, value)| {
                let piece = Piece { from, to: from + length, value: *value };
                from = piece.to;
                piece
            });
            Steps::of_pieces(pieces.collect::<Vec<_>>()).0
        };
        let (a, b) = (steps(&a), steps(&b));
        let end = |s: &Steps| (0..).map(|i| f64::from(i) * 0.1).find(|t| s.clone().cut(*t, 1e9).is_empty());
        let both = end(&a).unwrap_or(0.0).min(end(&b).unwrap_or(0.0)) - 0.2;
        prop_assume!(both > 0.1);
        let mean = |s: Steps| s.cut(0.0, both).stats(0.0, both).map(|s| s.mean).unwrap_or(f64::NAN);
        let sum = Steps::sum(&[a.clone(), b.clone()]);
        let (sum, parts) = (mean(sum), mean(a) + mean(b));
        prop_assert!((sum - parts).abs() < 1e-3 * parts.max(1.0), "{sum} {parts}");
    }

    #[test]
    fn nothing_that_a_log_says_makes_a_figure_that_is_none(
        moments in prop::collection::vec((-1e9f64..1e9, -1e12f64..1e12), 0..50),
        from in -1e9f64..1e9,
        to in -1e9f64..1e9,
    ) {
        let mut moments = moments;
        moments.sort_by(|a, b| a.0.total_cmp(&b.0));
        let steps = Steps::of_moments(&moments, None).cut(from, to);
        if let Some(stats) = steps.stats(from, to) {
            prop_assert!(stats.mean.is_finite() && stats.drift.is_finite());
            prop_assert!((0.0..=1.0).contains(&stats.coverage));
            prop_assert!(stats.min <= stats.p50 && stats.p50 <= stats.max);
        }
        prop_assert!(steps.buckets(from, to, 10).len() <= 10);
    }
}
