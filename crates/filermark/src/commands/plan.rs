//! `plan`: what would run; nothing is touched.

use crate::cli::{OutputArgs, PlanArgs};
use crate::exit::Ended;
use crate::{plain, product};
use filermark_config::Resolved;
use std::process::ExitCode;

/// Prints the resolved plan.
pub fn plan(args: &PlanArgs) -> Ended {
    print(&plain::resolved(&args.source)?, &args.output)
}

/// Prints a plan, as text or JSON.
pub fn print(resolved: &Resolved, output: &OutputArgs) -> Ended {
    if output.json {
        let value = serde_json::json!({
            "fingerprint": filermark_results::fingerprint(&resolved.plan),
            "suffix": resolved.suffix,
            "work_dir": resolved.work_dir,
            "plan": resolved.plan,
            "launch": resolved.launch,
        });
        product::print_json(&value);
    } else {
        product::print(&filermark_config::explain(resolved));
        product::print(&format!(
            "fingerprint  {}\n",
            filermark_results::fingerprint(&resolved.plan)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
