//! Standard output: the results of a subcommand, as text or JSON.

use crate::exit::{CommandError, CommandResult};
use crate::fold::folded;
use crate::interrupt;
use clap::Args;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

/// The form of a subcommand's output.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputArgs {
    /// Print the results as JSON on stdout
    #[arg(long)]
    pub json: bool,
    /// Print no colours (also: NO_COLOR, or no terminal)
    #[arg(long)]
    pub no_color: bool,
}

/// Whether the environment permits colours: it has no NO_COLOR (no-color.org), and TERM is not
/// `dumb`.
pub fn colour_wanted() -> bool {
    let is_set = |name| std::env::var_os(name).filter(|v| !v.is_empty());
    is_set("NO_COLOR").is_none() && is_set("TERM").is_none_or(|term| term != "dumb")
}

/// Columns that tables may take: COLUMNS of the environment, those of the terminal on stdout or
/// else stderr, or 100.
pub fn width() -> usize {
    let given = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let of = |term: console::Term| term.size_checked().filter(|(_, columns)| *columns > 0);
    let of_terminal = || {
        let size = of(console::Term::stdout()).or_else(|| of(console::Term::stderr()));
        size.map(|(_, columns)| columns.into())
    };
    given.or_else(of_terminal).unwrap_or(WIDTH)
}

/// Columns of tables without a terminal.
const WIDTH: usize = 100;

/// Prints a value as JSON.
pub fn print_json(value: &serde_json::Value) {
    print(&format!("{value:#}\n"));
}

/// Prints a text. A reader that closed the pipe is no error; any other failure is remembered,
/// and the program ends with it ([`ended`]).
pub fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Prints a text whose lines are folded at the width of the terminal; in a pipe or a file they stay
/// whole.
pub fn print_folded(text: &str) {
    match io::stdout().is_terminal() {
        true => print(&folded(text, width())),
        false => print(text),
    }
}

/// Prints bytes, as [`print()`] does text.
pub fn print_bytes(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    remember(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

/// The first failure of standard output.
static FAILURE: OnceLock<String> = OnceLock::new();

/// The errors of Windows for a pipe whose reader is gone: ERROR_BROKEN_PIPE, ERROR_NO_DATA,
/// ERROR_PIPE_NOT_CONNECTED (MS-ERREF 2.2). The standard library maps only some of them.
const CLOSED_PIPE_OF_WINDOWS: [i32; 3] = [109, 232, 233];

/// Whether a write failed because the reader has closed the pipe.
pub fn is_closed_pipe(error: &std::io::Error) -> bool {
    let is_windows = cfg!(windows);
    error.kind() == ErrorKind::BrokenPipe
        || is_windows && error.raw_os_error().is_some_and(is_closed_of_windows)
}

fn is_closed_of_windows(code: i32) -> bool {
    CLOSED_PIPE_OF_WINDOWS.contains(&code)
}

/// Remembers the result of a write to standard output, as [`print()`] does.
pub fn remember(result: std::io::Result<()>) {
    match result {
        Err(e) if !is_closed_pipe(&e) => {
            let _ = FAILURE.set(format!("standard output cannot be written: {e}"));
        }
        _ => {}
    }
}

/// The result of a subcommand, or a failure where standard output could not be written. A
/// program that a signal ended keeps the exit code of the signal.
///
/// # Errors
/// That of the subcommand, or of standard output.
pub fn ended(ended: CommandResult) -> CommandResult {
    match (ended, FAILURE.get()) {
        (Ok(_), Some(why)) if !interrupt::wished() => Err(CommandError::Failed(why.clone())),
        (ended, _) => ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_is_gone_is_recognized() {
        assert!(is_closed_pipe(&ErrorKind::BrokenPipe.into()));
        assert!(!is_closed_pipe(&ErrorKind::StorageFull.into()));
        for code in [109, 232, 233] {
            assert!(is_closed_of_windows(code));
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(is_closed_pipe(&error), cfg!(windows), "{error}");
        }
        // ERROR_DISK_FULL.
        assert!(!is_closed_of_windows(112));
    }
}
