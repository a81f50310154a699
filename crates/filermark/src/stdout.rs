//! What a run gives: the reports beside the record, the summary on stdout.

use crate::cli::OutputArgs;
use crate::exit::{CommandError, CommandResult, NOTHING_COUNTS};
use crate::files::write_whole;
use crate::interrupt;
use clap::Parser;
use filermark_report::{FORMS, ReportOptions, Templates};
use filermark_results::{Outcome, RunRecord};
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Writes the reports that a run leaves into `dir`; gives their paths, the page first.
pub fn write_reports(
    record: &RunRecord,
    dir: &Path,
    options: &ReportOptions<'_>,
) -> Result<Vec<PathBuf>, CommandError> {
    let mut written = Vec::new();
    for form in FORMS.iter().filter(|form| form.output.is_of(record)) {
        let path = dir.join(form.output.name(&record.run.suffix));
        let bytes = (form.record)(record, options).map_err(CommandError::of)?;
        // Whole or not at all: half a page looks like a page.
        write_whole(&path, &bytes).map_err(CommandError::Failed)?;
        written.push(path);
    }
    Ok(written)
}

/// As [`write_reports`], for everybody and by the shipped templates.
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

/// Prints the summary on stderr: stdout has another product.
pub fn print_summary_to_stderr(record: &RunRecord, output: &OutputArgs) {
    let terminal = std::io::stderr().is_terminal();
    crate::live::print_stderr(&summary(record, output, terminal));
}

fn summary(record: &RunRecord, output: &OutputArgs, terminal: bool) -> String {
    let colour = terminal && !output.no_color && crate::progress::colour_wanted();
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

/// Prints on stdout. A reader that has gone is no error; any other failure is
/// remembered, and the program ends with it ([`ended`]).
pub fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// The same for what need not be text.
pub fn print_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    remember(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

/// The first failure of standard output.
static FAILURE: OnceLock<String> = OnceLock::new();

fn remember(result: std::io::Result<()>) {
    match result {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            let _ = FAILURE.set(format!("standard output cannot be written: {e}"));
        }
        _ => {}
    }
}

/// How the program ends: as its subcommand did, but never well where its output could
/// not be written. What a signal ended keeps the signal's code.
pub fn ended(ended: CommandResult) -> CommandResult {
    match (ended, FAILURE.get()) {
        (Ok(_), Some(why)) if !interrupt::wished() => Err(CommandError::Failed(why.clone())),
        (ended, _) => ended,
    }
}

/// Parses the command line; prints help and version, which are products, too.
///
/// # Errors
/// The exit code, where there is nothing more to do.
pub fn parse<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|e| {
        // What is wrong goes to stderr: there is nowhere to say that it cannot be told.
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
                crate::live::print_stderr_line(format!("filermark: {hint}"));
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

/// Why a run failed, to be said last on stderr.
pub fn failure_of(record: &RunRecord) -> Option<String> {
    match record.end.as_ref().map(|end| &end.outcome) {
        Some(Outcome::Failed { reason }) => Some(reason.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
