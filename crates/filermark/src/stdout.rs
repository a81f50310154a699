//! Results of a run: the reports in the directory of the record, the summary on stdout.

use crate::cli::OutputArgs;
use clap::Parser;
use filermark_cli_kit::exit::{CommandError, NOTHING_COUNTS};
use filermark_cli_kit::files::write_whole;
use filermark_cli_kit::interrupt;
use filermark_cli_kit::output::{colour_wanted, remember};
pub use filermark_cli_kit::output::{ended, print, print_bytes, print_folded, print_json, width};
use filermark_cli_kit::view;
use filermark_report::{FORMS, ReportOptions, Templates};
use filermark_results::{Outcome, RunRecord};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Writes the reports of a run into `dir`; returns their paths, the page first.
pub fn write_reports(
    record: &RunRecord,
    dir: &Path,
    options: &ReportOptions<'_>,
) -> Result<Vec<PathBuf>, CommandError> {
    let mut written = Vec::new();
    for form in FORMS.iter().filter(|form| form.output.is_of(record)) {
        let path = dir.join(form.output.name(&record.run.suffix));
        let bytes = (form.record)(record, options).map_err(CommandError::of)?;
        // Completely or not at all: an incomplete page could be taken for a complete one.
        write_whole(&path, &bytes).map_err(CommandError::Failed)?;
        written.push(path);
    }
    Ok(written)
}

/// [`write_reports`] in the public edition, with the built-in templates.
pub fn write_shipped_reports(record: &RunRecord, dir: &Path) -> Result<Vec<PathBuf>, CommandError> {
    write_reports(record, dir, &ReportOptions::new(&Templates::builtin()))
}

/// Prints the summary of a record on stdout, as text or JSON.
pub fn print_summary(record: &RunRecord, output: &OutputArgs) {
    if output.json {
        print_json(&filermark_report::json_summary(record));
        return;
    }
    print(&summary(record, output, std::io::stdout().is_terminal()));
}

/// Prints the summary on stderr, since stdout has another product.
pub fn print_summary_to_stderr(record: &RunRecord, output: &OutputArgs) {
    let terminal = std::io::stderr().is_terminal();
    view::print_stderr(&summary(record, output, terminal));
}

fn summary(record: &RunRecord, output: &OutputArgs, terminal: bool) -> String {
    let colour = terminal && !output.no_color && colour_wanted();
    filermark_report::summary(record, colour, width())
}

/// Parses the command line; prints help and version, which are products, to stdout.
///
/// # Errors
/// The exit code, if there is nothing more to do.
pub fn parse<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|e| {
        // Usage errors go to stderr; a failure to write there cannot be reported.
        if e.use_stderr() {
            let words: Vec<String> = std::env::args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            // A command of an older tool gets its own answer; a wrong option is explained.
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

/// The exit code for a record: a complete run has 0 if a load point counts, whatever the
/// verdict, which is in the record and the report.
pub fn exit_code(record: &RunRecord) -> u8 {
    match record.end.as_ref().map(|end| &end.outcome) {
        // All points were measured, but the user has shortened CLEANUP.
        Some(Outcome::Complete) if interrupt::wished() => interrupt::code(),
        Some(Outcome::Complete) if record.valid_points().next().is_none() => NOTHING_COUNTS,
        Some(Outcome::Complete) => 0,
        Some(Outcome::Interrupted) => interrupt::code(),
        Some(Outcome::Failed { .. }) | None => 1,
    }
}

/// Why a run failed.
pub fn failure_of(record: &RunRecord) -> Option<String> {
    match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Failed { reason }) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
