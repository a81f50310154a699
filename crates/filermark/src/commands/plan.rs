//! `plan`: what would run; nothing is touched.

use crate::cli::PlanArgs;
use crate::exit::Ended;
use crate::{plain, product};
use std::process::ExitCode;

/// Prints the resolved plan.
pub fn plan(args: &PlanArgs) -> Ended {
    let resolved = plain::resolved(&args.source)?;
    if args.output.json {
        let value = serde_json::json!({
            "fingerprint": filermark_results::fingerprint(&resolved.plan),
            "suffix": resolved.suffix,
            "work_dir": resolved.work_dir,
            "plan": resolved.plan,
        });
        product::print_json(&value);
    } else {
        product::print(&filermark_config::explain(&resolved.plan));
        product::print(&format!(
            "fingerprint  {}\n",
            filermark_results::fingerprint(&resolved.plan)
        ));
    }
    Ok(ExitCode::SUCCESS)
}
