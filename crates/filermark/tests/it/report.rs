//! `report` in all its forms, and its errors.

use crate::{filermark, stderr_text};
use filermark_results::testing;
use filermark_results::{Line, RunRecord};
use std::path::Path;

/// Writes a record's lines as a run does.
pub fn write_record(record: &RunRecord, path: &Path) {
    let mut lines = vec![Line::Run(Box::new(record.run.clone()))];
    lines.extend(record.environments.iter().cloned().map(Line::Environment));
    lines.extend(record.phases.iter().cloned().map(Line::Phase));
    lines.extend(record.events.iter().cloned().map(Line::Event));
    lines.extend(record.scripts.iter().cloned().map(Line::Script));
    let points = record.points.iter().cloned().map(Box::new);
    lines.extend(points.map(Line::Point));
    lines.extend(record.end.iter().cloned().map(Line::End));
    let text: String = lines
        .iter()
        .map(|line| serde_json::to_string(line).expect("it is JSON") + "\n")
        .collect();
    std::fs::write(path, text).expect("it is written");
}

fn with_record() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    write_record(&testing::record(), &dir.path().join("mine.run.jsonl"));
    dir
}

/// stdout of a call that must succeed.
fn product(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = filermark(dir, args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        stderr_text(&output)
    );
    output.stdout
}

#[test]
fn every_form_states_the_same() {
    let dir = with_record();
    let of = |format: &str| product(dir.path(), &["report", "-f", format, "mine.run.jsonl"]);
    let text_of = |format: &str| String::from_utf8(of(format)).expect("it is text");
    let json: serde_json::Value = serde_json::from_str(&text_of("json")).expect("it is JSON");
    let peak = json["peak_ops_per_sec"].as_f64().expect("a peak");
    let ort = json["ort_ms"].as_f64().expect("an ORT");
    let summary = text_of("summary");
    for line in [
        format!("ort_ms: {ort}"),
        "peak_point: 10".into(),
        "verdict: INVALID".into(),
    ] {
        assert!(summary.lines().any(|l| l == line), "{line}\n{summary}");
    }
    assert!(
        summary.contains(&format!("peak_ops_per_sec: {peak:?}\n")),
        "{summary}"
    );
    for (format, peak) in [
        ("text", "1,000 op/s"),
        ("html", "<span class=\"value\">1,000</span>"),
    ] {
        let text = text_of(format);
        for output_text in [peak, &format!("{ort:.2}"), "INVALID", "not a SPEC result"] {
            assert!(text.contains(output_text), "{format}: {output_text}");
        }
    }
    assert!(text_of("svg").starts_with("<svg xmlns="));
    assert!(of("png").starts_with(b"\x89PNG\r\n"));
}

#[test]
fn a_page_has_its_chart_in_the_same_directory() {
    let dir = with_record();
    let output = filermark(dir.path(), &["report", "-o", "a.html", "mine.run.jsonl"]);
    assert_eq!(stderr_text(&output), "Creating a.html\nCreating a.png\n");
    assert!(output.status.success() && output.stdout.is_empty());
    let png = std::fs::read(dir.path().join("a.png")).expect("the chart");
    assert!(png.starts_with(b"\x89PNG\r\n"));
    // The file name determines the form, and other forms have no chart file.
    let output = filermark(dir.path(), &["report", "-o", "b.txt", "mine.run.jsonl"]);
    assert_eq!(stderr_text(&output), "Creating b.txt\n");
    assert!(!dir.path().join("b.png").exists());
    // Without both, all files are made.
    product(dir.path(), &["report", "mine.run.jsonl"]);
    for name in ["mine.html", "sfssum.mine", "mine.csv"] {
        assert!(dir.path().join(name).is_file(), "{name}");
    }
}

#[test]
fn reviewers_get_all_findings_one_by_one() {
    let dir = with_record();
    let of = |args: &[&str]| {
        let all: Vec<&str> = [&["report", "mine.run.jsonl"], args].concat();
        String::from_utf8(product(dir.path(), &all)).expect("it is text")
    };
    let record = testing::record();
    let count = record.run_findings().count()
        + record
            .points
            .iter()
            .map(|p| p.findings.len())
            .sum::<usize>();
    let page = of(&["-f", "html", "-r"]);
    let table = page
        .split("class=\"all-findings\"")
        .nth(1)
        .expect("a table");
    let table = table.split("</table>").next().unwrap_or_default();
    assert_eq!(table.matches("<tr>").count(), count + 1);
    assert!(!page.contains("<details>"), "all details are open");
    assert!(!of(&["-f", "html"]).contains("class=\"all-findings\""));
    assert!(of(&["-f", "text", "-r"]).contains("ALL FINDINGS"));
}

#[test]
fn templates_are_exported_changed_and_used() {
    let dir = with_record();
    product(dir.path(), &["report", "--export-templates", "mine"]);
    let file = dir.path().join("mine/report.html");
    let shipped = std::fs::read_to_string(&file).expect("the template");
    std::fs::write(&file, shipped.replace("Filermark report", "Our lab")).expect("written");
    let with = [
        "report",
        "-f",
        "html",
        "--templates",
        "mine",
        "mine.run.jsonl",
    ];
    let page = String::from_utf8(product(dir.path(), &with)).expect("text");
    assert!(page.contains("<p class=\"brand\">Our lab</p>"));
    std::fs::write(&file, "one\ntwo {{ nothing_of_this_name }}").expect("written");
    let output = filermark(dir.path(), &with);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr_text(&output).contains("mine/report.html:2: "),
        "{}",
        stderr_text(&output)
    );
    // Edited files are never overwritten.
    let output = filermark(dir.path(), &["report", "--export-templates", "mine"]);
    assert!(
        stderr_text(&output).contains("it exists already"),
        "{}",
        stderr_text(&output)
    );
}

#[test]
fn what_is_no_record_is_reported_in_plain_words() {
    let dir = with_record();
    let output_text = |name: &str, content: &[u8]| {
        std::fs::write(dir.path().join(name), content).expect("written");
        let output = filermark(dir.path(), &["report", "-f", "html", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        stderr_text(&output)
    };
    assert!(
        output_text("a", b"<?xml version='1.0'?><x/>").contains("a:1: the root element is <x>")
    );
    assert!(output_text("b", b"hello\n").contains("b:1: not a row of a summary file"));
    assert!(output_text("c", b"\xff\xfe\x00").contains("c: this is a binary file; give"));
    assert!(
        output_text("d", b"{\"type\":\"nothing\"}\n").contains("a JSON file, and not a run record")
    );
    let output = filermark(dir.path(), &["report", "-f", "html", "none"]);
    assert!(
        stderr_text(&output).contains("none: there is no such file; give"),
        "{}",
        stderr_text(&output)
    );
    let mut empty = testing::record();
    empty.points.clear();
    write_record(&empty, &dir.path().join("empty.run.jsonl"));
    let output = filermark(dir.path(), &["report", "-f", "png", "empty.run.jsonl"]);
    assert!(
        stderr_text(&output).contains("nothing to draw"),
        "{}",
        stderr_text(&output)
    );
}
