//! Writes a synthetic disclosure into the current directory, as page and as text:
//! for whoever changes its looks.

use filermark_report::{Edition, Extras, Templates, submission_html, submission_text};
use filermark_results::{Curve, testing};
use filermark_submission::{Document, ResultFile, RunFiles, Value, fill};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let record = testing::record();
    let curve = Curve::of_record(&record);
    let file = |name: &str| ResultFile {
        name: name.into(),
        sha256: "0123456789abcdef".repeat(4),
    };
    let files = ["sfssum.mine", "sfs_rc", "mine.run.jsonl"].map(file);
    let run = RunFiles {
        plan: &record.run.plan,
        curve: &curve,
        is_ours: true,
        record: Some(&record),
        summary_file: &files[0],
        rc_file: &files[1],
        record_file: Some(&files[2]),
    };
    let mut document = Document::new();
    fill(&mut document, &[run]);
    for fault in document.faults() {
        let field = document
            .element(&fault.place)
            .and_then(|e| e.node().field());
        let text = match field.map(|f| f.value) {
            Some(Value::FreeForm) => {
                "Two <b>fast</b> things:<ul><li>one with a longer description that has to be wrapped<li>two</ul>"
            }
            Some(Value::Count) => "12",
            Some(Value::Number) => "1536.5",
            Some(Value::Month) => "Nov 2026",
            Some(Value::Day) => "2026-11-22",
            Some(Value::Mail) => "someone@example.org",
            Some(Value::Choice(words)) => words[0],
            _ => "Acme Filer 3000",
        };
        document.set(&fault.place, text)?;
    }
    let extras = Extras {
        edition: Edition::Reviewer,
        generated: "2026-11-22".into(),
        ..Extras::default()
    };
    let templates = Templates::builtin();
    std::fs::write(
        "disclosure.html",
        submission_html(&document, &extras, &templates)?,
    )?;
    std::fs::write(
        "disclosure.txt",
        submission_text(&document, &extras, &templates)?,
    )?;
    Ok(())
}
