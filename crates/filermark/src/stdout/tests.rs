//! Verdict, peak and overall response time of unusual sweeps are the same in every output.

use crate::events::{Events, RunEnd, Target};
use crate::live::Facts;
use filermark_model::Finding;
use filermark_model::{Rule, Severity};
use filermark_report::{ReportOptions, Templates, html, json_summary, summary, text};
use filermark_results::sfssum_xml::sfssum_xml;
use filermark_results::testing::composite::composite_record;
use filermark_results::testing::record;
use filermark_results::testing::smb::sweep_record;
use filermark_results::{Outcome, PointStatus, RunRecord, parse_sfssum};
use filermark_results::{csv, sfsres, sfssum, sfssum_txt};
use serde_json::Value;
use std::path::Path;

/// A record with only its first `count` points, planned and measured.
fn first(mut record: RunRecord, count: usize) -> RunRecord {
    record.points.truncate(count);
    record.run.plan.points.truncate(count);
    record
}

fn invalid(record: &mut RunRecord, at: usize, rule: Rule) {
    let finding = Finding::new(rule, Severity::Invalid, format!("{rule} speaks"));
    record.points[at].findings.push(finding);
}

/// No rate is requested, and the first point is the fastest: a peak without a curve.
fn falling() -> RunRecord {
    let mut record = first(composite_record(), 2);
    for point in &mut record.points {
        point.load.requested.0 = 0.0;
        point.findings.clear();
    }
    let stats = record.points[0].stats.clone();
    record.points[0].stats = record.points[1].stats.take();
    record.points[1].stats = stats;
    record
}

/// Sweeps by name, with the word that each must have.
fn sweeps() -> Vec<(&'static str, &'static str, RunRecord)> {
    let standard = |mut record: RunRecord| {
        record.run.plan.findings.clear();
        record
    };
    let ten = || first(record(), 10);
    let mut nothing_counts = first(record(), 3);
    let mut below = ten();
    let mut overloaded = ten();
    (0..3).for_each(|at| invalid(&mut nothing_counts, at, Rule::ResponseLimit));
    (7..10).for_each(|at| invalid(&mut overloaded, at, Rule::AchievedRate));
    invalid(&mut below, 3, Rule::AchievedRate);
    let mut unsorted = ten();
    unsorted.points.swap(2, 8);
    unsorted.points[2].load.number = 3;
    unsorted.points[8].load.number = 9;
    let mut interrupted = ten();
    if let Some(end) = &mut interrupted.end {
        end.outcome = Outcome::Interrupted;
    }
    let mut failed = ten();
    failed.points[9].status = PointStatus::Failed {
        reason: "no space".into(),
    };
    let mut empty = record();
    empty.points.clear();
    vec![
        ("all count", "VALID", standard(ten())),
        ("parameters changed", "VALID, NOT STANDARD", ten()),
        ("one point", "VALID", standard(first(record(), 1))),
        ("nothing counts", "INVALID", standard(nothing_counts)),
        ("the first is the fastest", "VALID", standard(falling())),
        (
            "one point without a rate",
            "VALID",
            first(standard(falling()), 1),
        ),
        ("overload at the top", "VALID", standard(overloaded)),
        ("overload below", "INVALID", standard(below)),
        ("loads in no order", "VALID", standard(unsorted)),
        ("interrupted", "INVALID", interrupted),
        ("the last one failed", "INVALID", failed),
        ("no points", "INVALID", empty),
        ("the seed's sample", "VALID", sweep_record(|_, _| {})),
    ]
}

/// The last event of a run with this record.
fn run_ended(record: &RunRecord) -> Value {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("events");
    let facts = Facts::of(&record.run.plan, "mine");
    let events = Events::open(Some(&Target::File(file.clone())), None, facts).expect("it opens");
    let end = RunEnd {
        record: Some(record),
        reason: None,
        exit_code: super::exit_code(record),
        record_path: Some(Path::new("mine.run.jsonl")),
        report_path: None,
    };
    assert_eq!(events.end(end), Ok(None));
    let text = std::fs::read_to_string(&file).expect("it was written");
    serde_json::from_str(text.lines().last().expect("a line")).expect("it is JSON")
}

fn near(a: Option<f64>, b: Option<f64>, within: f64) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= within,
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[test]
fn unusual_sweeps_are_the_same_in_every_output() {
    for (name, word, record) in sweeps() {
        let verdict = record.verdict();
        assert_eq!(verdict.label(), word, "{name}: {verdict:?}");
        let peak = record.peak().and_then(|p| p.measured());
        let peak = peak.map(|s| s.achieved_ops_per_sec());
        let ort = record.ort_ms();
        let nothing = super::exit_code(&record) == filermark_cli_kit::exit::NOTHING_COUNTS;
        let complete = !matches!(name, "interrupted");
        assert_eq!(nothing, complete && peak.is_none(), "{name}");
        for_people(name, &record, word, peak.is_some(), ort);
        for_programs(name, &record, word, peak, ort);
        summary_files(name, &record, word, peak, ort);
    }
}

/// Terminal, text and page.
fn for_people(name: &str, record: &RunRecord, word: &str, has_peak: bool, ort: Option<f64>) {
    let ort = ort.map_or("-".to_owned(), |ort| format!("{ort:.2} ms"));
    let actual = summary(record, false, 100);
    let line = |l: &&str| l.starts_with("peak ") || l.starts_with("no load point counts");
    let line = actual.lines().find(line).expect(name);
    assert!(line.ends_with(&format!("   {word}")), "{name}: {line}");
    assert_eq!(line.starts_with("peak "), has_peak, "{name}: {line}");
    // One load point is no curve: nothing is stated about it.
    let has_ort = has_peak && record.is_curve();
    let stated = line.contains(&format!("response time {ort} "));
    assert_eq!(stated, has_ort, "{name}: {line}");
    assert_eq!(line.contains("response time"), has_ort, "{name}: {line}");

    let templates = Templates::builtin();
    let options = ReportOptions::new(&templates);
    let printed = text(record, &options).expect(name);
    let mark = format!("\n{word}\n");
    assert!(printed.contains(&mark), "{name}: {printed}");
    let is_there = printed.contains("\nPeak ");
    assert_eq!(is_there, has_peak, "{name}: {printed}");
    let ort_line = format!("\nOverall response time: {ort} (");
    assert_eq!(printed.contains(&ort_line), has_ort, "{name}: {printed}");
    let other = printed.contains("\nOverall response time: ");
    assert_eq!(other, has_ort, "{name}: {printed}");

    let page = html(record, &options).expect(name);
    assert!(
        page.contains(&format!("<p class=\"word\">{word}</p>")),
        "{name}"
    );
    let tile = |label: &str| page.contains(&format!("<dt>{label}</dt><dd><span class=\"value\">"));
    let has_tile = tile("Peak throughput") || tile("Peak load");
    assert_eq!(has_tile, has_peak, "{name}");
    assert_eq!(tile("Overall response time"), has_ort, "{name}");
    let value = ort.trim_end_matches(" ms");
    let tile = format!("<dt>Overall response time</dt><dd><span class=\"value\">{value}</span>");
    assert_eq!(page.contains(&tile), has_ort, "{name}");
}

/// JSON, events, a submission, the CSV.
fn for_programs(name: &str, record: &RunRecord, word: &str, peak: Option<f64>, ort: Option<f64>) {
    for value in [json_summary(record), run_ended(record)] {
        assert_eq!(value["verdict"], word, "{name}");
        let figures = (value["peak_ops_per_sec"].as_f64(), value["ort_ms"].as_f64());
        assert_eq!(figures, (peak, ort), "{name}");
    }
    let document = filermark_submission::testing::of_record(record);
    let (result, curve) = &document.results()[0];
    assert_eq!(result.value("verdict"), word, "{name}");
    let made = curve.peak().map(|p| p.achieved);
    assert!(near(made, peak, 1e-3), "{name}: {made:?}");
    assert!(
        near(curve.ort_ms(), ort, 1e-3),
        "{name}: {:?}",
        curve.ort_ms()
    );
    let ort_given = result.value("ortMs").parse::<f64>().expect("a figure");
    assert!(
        near(Some(ort_given), Some(ort.unwrap_or(0.0)), 1e-3),
        "{name}"
    );

    let ending = match word.contains(',') {
        true => format!(",\"{word}\""),
        false => format!(",{word}"),
    };
    for line in csv::csv(record).lines().skip(1) {
        assert!(line.ends_with(&ending), "{name}: {line}");
    }
}

/// The classical files, and the values that are read back from them.
fn summary_files(name: &str, record: &RunRecord, word: &str, peak: Option<f64>, ort: Option<f64>) {
    let line = format!("verdict: {}\n", record.verdict().line());
    let log = sfsres::sfsres(record);
    assert!(log.contains(&line), "{name}: {log}");
    assert_eq!(log.contains("\npeak "), peak.is_some(), "{name}: {log}");
    let xml = sfssum_xml(record);
    assert!(
        xml.contains(&format!("<verdict>{word}</verdict>")),
        "{name}: {xml}"
    );
    let file = match record.run.plan.benchmark.composite() {
        Some(_) => sfssum_txt::sfssum_txt(record),
        None => sfssum::sfssum(record),
    };
    assert!(
        file.contains(&format!("\n# {line}")) || file.starts_with("# verdict"),
        "{file}"
    );
    let Ok(read) = parse_sfssum(&file) else {
        assert!(record.points.is_empty(), "{name}: {file}");
        return;
    };
    assert_eq!(read.verdict_label(), word, "{name}");
    // Rows have whole op/s and tenths of a millisecond.
    let made = read.curve.peak().map(|p| p.achieved);
    assert!(near(made, peak, 0.51), "{name}: {made:?}, {peak:?}");
    assert!(near(read.curve.ort_ms(), ort, 0.051), "{name}: {ort:?}");
}
