//! `completions` and `man`.

use crate::cli::{self, CompletionsArgs, ManArgs};
use crate::stdout;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use std::process::ExitCode;

/// Prints the completion script of a shell.
pub fn completions(args: CompletionsArgs) -> CommandResult {
    stdout::print(&String::from_utf8_lossy(&cli::completions(args.shell)));
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes all pages.
pub fn man(args: &ManArgs) -> CommandResult {
    match &args.dir {
        Some(dir) => cli::man_pages(dir).map_err(|e| {
            CommandError::of(format!("{}: cannot write the manual: {e}", dir.display()))
        })?,
        None => {
            let page = cli::man_page().map_err(CommandError::of)?;
            stdout::print(&String::from_utf8_lossy(&page));
        }
    }
    Ok(ExitCode::SUCCESS)
}
