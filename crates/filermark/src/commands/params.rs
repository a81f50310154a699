//! `params` and `template`: the parameters, explained.

use crate::cli::{ParamsArgs, TemplateArgs};
use crate::exit::{Ended, Failure};
use crate::product;
use std::process::ExitCode;

/// Lists the parameters, or explains one.
pub fn params(args: &ParamsArgs) -> Ended {
    let text = match &args.name {
        _ if args.markdown => filermark_config::reference_markdown(),
        Some(name) => {
            filermark_config::help_parameter(name).map_err(|e| Failure::Usage(vec![e]))?
        }
        None => filermark_config::help_params(),
    };
    product::print(&text);
    Ok(ExitCode::SUCCESS)
}

/// Prints an rc file to start from.
pub fn template(args: &TemplateArgs) -> Ended {
    let text = match &args.benchmark {
        None => filermark_config::template_rc(),
        Some(name) => {
            filermark_config::template_rc_of(name).map_err(|why| Failure::Usage(vec![why]))?
        }
    };
    product::print(&text);
    Ok(ExitCode::SUCCESS)
}
