//! `plan`: prints what would run; contacts no server.

use crate::cli::{OutputArgs, PlanArgs};
use crate::commands::plan_repeats::plan_repeats;
use crate::{resolve_args, stdout};
use filermark_cli_kit::exit::CommandResult;
use filermark_config::Resolved;
use filermark_results::search::search_time;
use std::process::ExitCode;

/// Prints the resolved plan.
pub fn plan(args: &PlanArgs) -> CommandResult {
    if let Some(change_pcnt) = args.power.power {
        return plan_repeats(change_pcnt, &args.power, args.output.json);
    }
    print(&resolve_args::resolved(&args.source)?, &args.output)
}

/// Prints a plan, as text or JSON.
pub fn print(resolved: &Resolved, output: &OutputArgs) -> CommandResult {
    if output.json {
        let mut value = serde_json::json!({
            "fingerprint": filermark_results::fingerprint(&resolved.plan),
            "suffix": resolved.suffix,
            "work_dir": resolved.work_dir,
            "plan": resolved.plan,
            "launch": resolved.launch,
        });
        if let Some(time) = search_time(&resolved.plan) {
            value["search_time"] = serde_json::json!(time);
        }
        stdout::print_json(&value);
    } else {
        let time = search_time(&resolved.plan);
        let text = filermark_config::explain(resolved, time.as_ref());
        stdout::print_folded(&text);
        stdout::print(&format!(
            "fingerprint  {}\n",
            filermark_results::fingerprint(&resolved.plan)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
