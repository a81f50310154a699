//! The products of a run: the page beside the record, the words on stdout.

use crate::cli::OutputArgs;
use crate::exit::{Failure, NOTHING_COUNTS};
use crate::interrupt;
use filermark_report::{Edition, Templates};
use filermark_results::{Historical, Outcome, RunRecord};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Writes the HTML report of a record into `dir`; gives its path.
pub fn write_html(record: &RunRecord, dir: &Path) -> Result<PathBuf, Failure> {
    write_html_by(record, dir, &Templates::builtin(), Edition::Public, None)
}

/// The same, laid out by other templates, in an edition, with systems of old beside.
pub fn write_html_by(
    record: &RunRecord,
    dir: &Path,
    templates: &Templates,
    edition: Edition,
    beside: Option<&Historical>,
) -> Result<PathBuf, Failure> {
    let path = dir.join(format!("{}.html", record.run.suffix));
    let page = filermark_report::html_beside(record, templates, edition, beside);
    let page = page.map_err(Failure::of)?;
    std::fs::write(&path, page)
        .map_err(|e| Failure::of(format!("{}: cannot write the report: {e}", path.display())))?;
    Ok(path)
}

/// Prints the summary of a record on stdout, as text or JSON.
pub fn print_summary(record: &RunRecord, output: &OutputArgs) {
    if output.json {
        print_json(&filermark_report::json_summary(record));
        return;
    }
    print(&summary(record, output, std::io::stdout().is_terminal()));
}

/// Prints the summary on stderr: stdout has another product.
pub fn tell_summary(record: &RunRecord, output: &OutputArgs) {
    let terminal = std::io::stderr().is_terminal();
    crate::live::say(&summary(record, output, terminal));
}

fn summary(record: &RunRecord, output: &OutputArgs, terminal: bool) -> String {
    let colour = terminal && !output.no_color && crate::talk::colour_wanted();
    filermark_report::summary(record, colour, width())
}

/// Columns that tables may take: those that the environment tells, or a hundred.
pub fn width() -> usize {
    std::env::var("COLUMNS")
        .ok()
        .and_then(|c| c.parse().ok())
        .unwrap_or(100)
}

/// Prints a value as JSON on stdout.
pub fn print_json(value: &serde_json::Value) {
    print(&format!("{value:#}\n"));
}

/// Prints on stdout; a reader that has gone is no error.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The exit code that a record stands for: a run that came to its end is 0 where a
/// load point counts, whatever its verdict; the record and the report say that.
pub fn exit_code(record: &RunRecord) -> u8 {
    match record.end.as_ref().map(|end| &end.outcome) {
        // All was measured, but the user has shortened CLEANUP.
        Some(Outcome::Complete) if interrupt::wished() => interrupt::code(),
        Some(Outcome::Complete) if record.valid_points().next().is_none() => NOTHING_COUNTS,
        Some(Outcome::Complete) => 0,
        Some(Outcome::Interrupted) => interrupt::code(),
        Some(Outcome::Failed { .. }) | None => 1,
    }
}

/// Why a run failed, to be said last on stderr.
pub fn failure_of(record: &RunRecord) -> Option<String> {
    match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Failed { reason }) => Some(reason.clone()),
        _ => None,
    }
}
