//! `params` and `template`: descriptions of the parameters.

use crate::cli::{ParamsArgs, TemplateArgs};
use crate::stdout;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use std::process::ExitCode;

/// Lists the parameters, or explains one.
pub fn params(args: &ParamsArgs) -> CommandResult {
    let text = match &args.name {
        _ if args.markdown => filermark_config::reference_markdown(),
        Some(name) => {
            filermark_config::help_parameter(name).map_err(|e| CommandError::Usage(vec![e]))?
        }
        None => filermark_config::help_params(),
    };
    match args.markdown {
        true => stdout::print(&text),
        false => stdout::print_folded(&text),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints an rc file to start from.
pub fn template(args: &TemplateArgs) -> CommandResult {
    let text = match &args.benchmark {
        None => filermark_config::template_rc(),
        Some(name) => {
            filermark_config::template_rc_of(name).map_err(|why| CommandError::Usage(vec![why]))?
        }
    };
    stdout::print(&text);
    Ok(ExitCode::SUCCESS)
}
