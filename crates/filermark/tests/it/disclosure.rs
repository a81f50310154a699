//! Reports of submissions and of summary files: scenario 4 of manual M, 5.1.4.4, the
//! published tables, and damaged input.

use crate::filermark;
use filermark_results::testing as records;
use filermark_submission::{testing as submissions, write_xml};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The smallest PNG there is: one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\xfc\xcf\xc0P\x0f\0\x04\x85\x01\x80\x84\xa9\x8c!\0\0\0\0IEND\xaeB`\x82";

/// A complete submission, with a diagram in its directory.
fn example(dir: &Path) {
    let free = "All of <b>it</b>.<ul><li>one<li>two</ul>";
    let document = submissions::example(&records::record(), free, "Acme");
    assert_eq!(document.faults(), Vec::new());
    fs::write(dir.join("example.xml"), write_xml(&document)).expect("example.xml");
    fs::write(dir.join("rack.png"), PNG).expect("the diagram");
}

/// stdout, stderr, exit code.
fn run(dir: &Path, args: &[&str]) -> (String, String, i32) {
    let output = filermark(dir, args);
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code().unwrap_or(-1),
    )
}

/// Scenario 4, examples 1 and 2: "Creating example.html", and example.png in the same directory.
#[test]
fn scenario_4_a_submission_becomes_a_page_and_a_text() {
    let dir = TempDir::new().expect("a directory");
    example(dir.path());
    let (out, err, code) = run(
        dir.path(),
        &["report", "-f", "html", "-o", "example.html", "example.xml"],
    );
    assert_eq!((out.as_str(), code), ("", 0), "{err}");
    assert_eq!(err.lines().next(), Some("Creating example.html"));
    let page = fs::read_to_string(dir.path().join("example.html")).expect("the page");
    assert!(page.contains("All of <b>it</b>.<ul><li>one</li><li>two</li></ul>"));
    assert!(page.contains("src=\"data:image/png;base64,"));
    let chart = fs::read(dir.path().join("example.png")).expect("the chart");
    assert!(chart.starts_with(b"\x89PNG"));

    let (_, err, code) = run(
        dir.path(),
        &["report", "-f", "text", "-o", "example.txt", "example.xml"],
    );
    assert_eq!((err.as_str(), code), ("Creating example.txt\n", 0));
    let text = fs::read_to_string(dir.path().join("example.txt")).expect("the text");
    assert!(text.contains("All of it.\n  * one\n  * two\n"), "{text}");
    assert!(!text.contains("someone@example.org"));

    let (out, _, code) = run(dir.path(), &["report", "-f", "text", "-r", "example.xml"]);
    assert!(code == 0 && out.contains("someone@example.org"), "{out}");
    let (out, _, _) = run(dir.path(), &["report", "-f", "summary", "example.xml"]);
    assert!(
        out.contains("kind: submission\n") && out.contains("results.1.ort_ms: 0.77\n"),
        "{out}"
    );
    let (out, _, _) = run(dir.path(), &["report", "-f", "json", "example.xml"]);
    let value: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(value["fault_count"].is_null(), value["faults"].is_array());
}

/// The guide's own table (manual M, 4.4), and EDA by 17 columns (sources.md 3.9).
#[test]
fn summary_files_of_others_give_points_peak_and_ort() {
    let dir = TempDir::new().expect("a directory");
    let guide = "\
320      321      1.5      96187    299 CIFS T 4    37764720    4 10  2  2 2008
640      640      1.8      192114    300 CIFS T 4    75529440    4 10  2  2 2008
960      962      2.1      288236    299 CIFS T 4    117478440   4 10  2  2 2008
1280     1283     2.3      384644    299 CIFS T 4    155221920   4 10  2  2 2008
1600     1605     2.5      480411    299 CIFS T 4    192986640   4 10  2  2 2008
1920     1924     3.1      576595    299 CIFS T 4    234935648   4 10  2  2 2008
2240     2241     4.0      672385    300 CIFS T 4    272679104   4 10  2  2 2008
2560     2571     5.8      768874    299 CIFS T 4    314628128   4 10  2  2 2008
2880     2894     8.9      865936    299 CIFS T 4    352392832   4 10  2  2 2008
3200     3011     11.3     901761    299 CIFS T 4    390136320   4 10  2  2 2008
";
    fs::write(dir.path().join("sfssum.other"), guide).expect("the file");
    let (out, err, code) = run(
        dir.path(),
        &["report", "-f", "summary", "-o", "-", "sfssum.other"],
    );
    assert_eq!(code, 0, "{err}");
    for line in [
        "peak_ops_per_sec: 3011.0",
        "ort_ms: 3.34",
        "point_count: 10",
        "verdict: UNKNOWN",
        "protocol: CIFS",
    ] {
        assert!(out.lines().any(|l| l == line), "{line}: {out}");
    }
    let eda = " 50 22500.00 22501.134  1.335 402467.001 209132.436 193334.565 300 4 62 3424 138144 552578 552578 602812 EDA
 60 27000.00 23613.540  8.129 454129.790 230594.346 223535.444 300 4 75 3424 165773 663093 663093 723375 EDA INVALID_RUN\n";
    fs::write(dir.path().join("sfssum_eda.txt"), eda).expect("the file");
    let (out, _, _) = run(dir.path(), &["report", "sfssum_eda.txt"]);
    for line in [
        "peak_units: 50.0",
        "verdict: UNKNOWN",
        "invalid_point_count: 1",
        "notice: These are the figures of a file that Filermark did not write; they have not been judged.",
        "points.2.valid: false",
    ] {
        assert!(out.lines().any(|l| l == line), "{line}: {out}");
    }
    let (_, err, code) = run(dir.path(), &["report", "sfssum.other", "-o", "curve.svg"]);
    assert_eq!((err.as_str(), code), ("Creating curve.svg\n", 0));
    let (_, err, code) = run(dir.path(), &["report", "-f", "html", "sfssum.other"]);
    assert!(code == 2 && err.contains("filermark subedit"), "{err}");
}

/// A message for every input that cannot be used, with file and line, and no file written.
#[test]
fn what_cannot_be_read_is_reported_with_its_line() {
    let dir = TempDir::new().expect("a directory");
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>\n<filermarkSubmission version=\"1\"/>\n";
    let outside = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><filermarkSubmission version=\"1\"><otherReportNotes>&x;</otherReportNotes></filermarkSubmission>";
    for (name, text, what) in [
        ("bomb.xml", bomb, "bomb.xml:2: a document type declaration"),
        (
            "outside.xml",
            outside,
            "outside.xml:1: a document type declaration",
        ),
        (
            "foreign.xml",
            "<specSFS4_0Info/>",
            "foreign.xml:1: the root element is <specSFS4_0Info>",
        ),
        (
            "newer.xml",
            "<filermarkSubmission version=\"9\"/>",
            "newer.xml:1: this submission has version \"9\"",
        ),
        (
            "cut.xml",
            "<filermarkSubmission version=\"1\"><results>",
            "cut.xml:1: ",
        ),
        ("noise", "hello\n", "noise:1: not a row of a summary file"),
        ("empty", "", "empty: the file is empty; give a run record"),
        (
            "bad.jsonl",
            "{\"type\":\"run\",\"schema\":99,\"version\":\"7.0\"}\n",
            "schema version 99",
        ),
    ] {
        fs::write(dir.path().join(name), text).expect(name);
        let (out, err, code) = run(
            dir.path(),
            &["report", "-f", "summary", "-o", "out.txt", name],
        );
        assert!(out.is_empty() && [1, 2].contains(&code), "{name}: {code}");
        assert!(err.contains(what), "{name}: {err}");
        assert!(!dir.path().join("out.txt").exists(), "{name}");
    }
    // A missing diagram is reported; the report is still made, and states it.
    example(dir.path());
    fs::remove_file(dir.path().join("rack.png")).expect("the diagram");
    let (_, err, code) = run(dir.path(), &["report", "-o", "example.html", "example.xml"]);
    assert!(
        code == 0 && err.contains("rack.png: cannot be read"),
        "{err}"
    );
    let page = fs::read_to_string(dir.path().join("example.html")).expect("the page");
    assert!(page.contains("rack.png did not exist"));
}
