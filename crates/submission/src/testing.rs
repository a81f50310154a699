//! Submissions of synthetic records, for the tests of this crate and of others.

use crate::document::Document;
use crate::fill::{ResultFile, RunFiles, fill};
use crate::form::Value;
use filermark_results::{Curve, RunRecord};

/// A document with the values of this record.
pub fn of_record(record: &RunRecord) -> Document {
    let mut document = Document::new();
    let curve = Curve::of_record(record);
    let file = |name: &str| ResultFile {
        name: name.into(),
        sha256: "0123456789abcdef".repeat(4),
    };
    let files = ["sfssum.mine", "sfs_rc", "mine.run.jsonl"].map(file);
    let run = RunFiles {
        plan: &record.run.plan,
        curve: &curve,
        verdict: "VALID",
        record: Some(record),
        summary_file: &files[0],
        rc_file: &files[1],
        record_file: Some(&files[2]),
    };
    fill(&mut document, &[run]);
    document
}

/// Fills in all fields with faults: `free` into free-form fields, `line` into lines, examples
/// into the others.
pub fn complete(document: &mut Document, free: &str, line: &str) {
    for fault in document.faults() {
        let field = document.element(&fault.place);
        let Some(field) = field.and_then(|e| e.node().field()) else {
            continue;
        };
        let text = match field.value {
            Value::Line => line,
            Value::FreeForm => free,
            Value::Count => "12",
            Value::Number => "1536.5",
            Value::Month => "Nov 2026",
            Value::Day => "2026-11-22",
            Value::Instant => "2026-11-22T10:15:00Z",
            Value::Choice(words) => words.first().copied().unwrap_or_default(),
            Value::Image => "rack.png",
            Value::Mail => "someone@example.org",
        };
        // It fails only for fields that come from the run's files.
        let _ = document.set(&fault.place, text);
    }
}

/// A complete document of a record, with a diagram `rack.png`.
pub fn example(record: &RunRecord, free: &str, line: &str) -> Document {
    let mut document = of_record(record);
    complete(&mut document, free, line);
    for (path, text) in [
        ("productInfo.configDiagrams.diagram.name", "The rack"),
        ("productInfo.configDiagrams.diagram.file", "rack.png"),
    ] {
        if let Some(place) = document.find(path) {
            let _ = document.set(&place, text);
        }
    }
    document
}
