//! Writes a synthetic disclosure into the current directory, as page and as text:
//! for changes of its layout.

use filermark_report::{Edition, Extras, Templates, submission_html, submission_text};
use filermark_results::testing;
use filermark_submission::testing::example;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let free = "Two <b>fast</b> things:<ul><li>one with a longer description that has to be wrapped<li>two</ul>";
    let document = example(&testing::record(), free, "Acme Filer 3000");
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
