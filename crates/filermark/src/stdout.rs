//! The products of a run: the page beside the record, the words on stdout.

use crate::cli::OutputArgs;
use clap::Parser;
use filermark_cli_kit::exit::{CommandError, NOTHING_COUNTS};
use filermark_cli_kit::files::write_whole;
use filermark_cli_kit::interrupt;
use filermark_cli_kit::output::{colour_wanted, remember};
pub use filermark_cli_kit::output::{ended, print, print_bytes, print_json, width};
use filermark_cli_kit::view;
use filermark_report::{Edition, Templates};
use filermark_results::{Historical, Outcome, RunRecord};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes the HTML report of a record into `dir`; gives its path.
pub fn write_html(record: &RunRecord, dir: &Path) -> Result<PathBuf, CommandError> {
    write_html_by(record, dir, &Templates::builtin(), Edition::Public, None)
}

/// [`write_html`] by other templates, in an edition, with historical systems beside.
pub fn write_html_by(
    record: &RunRecord,
    dir: &Path,
    templates: &Templates,
    edition: Edition,
    beside: Option<&Historical>,
) -> Result<PathBuf, CommandError> {
    let path = dir.join(format!("{}.html", record.run.suffix));
    let page = filermark_report::html_beside(record, templates, edition, beside);
    let page = page.map_err(CommandError::of)?;
    // Whole or not at all: half a page looks like a page.
    write_whole(&path, page.as_bytes()).map_err(CommandError::Failed)?;
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
pub fn print_summary_to_stderr(record: &RunRecord, output: &OutputArgs) {
    let terminal = std::io::stderr().is_terminal();
    view::print_stderr(&summary(record, output, terminal));
}

fn summary(record: &RunRecord, output: &OutputArgs, terminal: bool) -> String {
    let colour = terminal && !output.no_color && colour_wanted();
    filermark_report::summary(record, colour, width())
}

/// Parses the command line; prints help and version, which are products, too.
///
/// # Errors
/// The exit code, where there is nothing more to do.
pub fn parse<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|e| {
        // Usage errors go to stderr; a failure to write there cannot be reported.
        if e.use_stderr() {
            let words: Vec<String> = std::env::args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            // An old program's name is no mistake to explain; a wrong option is.
            let hint = crate::command_aliases::hint(&words);
            if hint.is_none() || e.kind() != clap::error::ErrorKind::InvalidSubcommand {
                let _ = e.print();
            }
            if let Some(hint) = hint {
                view::print_stderr_line(format!("filermark: {hint}"));
            }
            return ExitCode::from(2);
        }
        remember(e.print().and_then(|()| std::io::stdout().flush()));
        ended(Ok(ExitCode::SUCCESS)).unwrap_or_else(|failure| failure.print())
    })
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

/// Why a run failed; the last line on stderr.
pub fn failure_of(record: &RunRecord) -> Option<String> {
    match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Failed { reason }) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
