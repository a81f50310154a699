//! `preflight`: checks whether a run can work, before it is made.

use crate::cli::PreflightArgs;
use crate::{resolve_args, stdout};
use filermark_cli_kit::exit::CommandResult;
use filermark_cli_kit::interrupt;
use filermark_engine::driver::StopFlag;
use filermark_hosts::launch::MixedLauncher;
use filermark_hosts::launch::ssh::quote;
use filermark_hosts::launch::tag::RunTag;
use filermark_hosts::preflight::check::{CheckStatus, Findings};
use filermark_hosts::preflight::{PreflightOptions, preflight as look, text};
use filermark_link::links::{AgentLinks, ThreadLinks};
use filermark_model::launch::LaunchPlan;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

/// The version of the JSON form; any change of its fields' meaning makes a new one.
const JSON_VERSION: u32 = 1;

/// Checks everything that a run needs, and prints a line for each check.
pub fn preflight(args: &PreflightArgs) -> CommandResult {
    let resolved = resolve_args::resolved(&args.source)?;
    resolve_args::init_tracing(&resolved.debug, args.verbose.verbose);
    let stop = StopFlag::new();
    interrupt::on_interrupt(stop.clone(), "stopping; the completed checks follow");
    let terminal = std::io::stderr().is_terminal();
    let suffix = resolved.suffix.clone();
    let rc = args.source.rc.as_ref();
    let findings = look(PreflightOptions {
        plan: resolved.plan,
        launch: resolved.launch,
        suffix: resolved.suffix,
        dir: resolved.work_dir,
        rc: rc.map(|rc| quote(&rc.display().to_string())),
        stop,
        board: &mut |plan| board(plan, &suffix),
        observe: &mut |what| {
            if terminal {
                filermark_cli_kit::stderr_line!("{what} ...");
            }
        },
    });
    if args.output.json {
        stdout::print_json(&json(&findings));
    } else {
        let terminal = std::io::stdout().is_terminal();
        let colour =
            terminal && !args.output.no_color && filermark_cli_kit::output::colour_wanted();
        stdout::print_folded(&text(&findings, colour));
    }
    Ok(
        match (findings.stopped, findings.count(CheckStatus::Failure)) {
            (true, _) => ExitCode::from(interrupt::code()),
            (false, 0) => ExitCode::SUCCESS,
            (false, _) => ExitCode::from(1),
        },
    )
}

/// Begins to start the agents, as a run does; the program is not copied anywhere.
pub(super) fn board(plan: &LaunchPlan, suffix: &str) -> Result<Box<dyn AgentLinks>, String> {
    let launcher = MixedLauncher::new(plan, &RunTag::new(suffix)?, None)?;
    for line in launcher.to_do_by_hand(plan) {
        filermark_cli_kit::stderr_line!("{line}");
    }
    Ok(Box::new(ThreadLinks::launch(plan, Arc::new(launcher))))
}

fn json(findings: &Findings) -> serde_json::Value {
    serde_json::json!({
        "preflight": JSON_VERSION,
        "client_count": findings.host_count,
        "stopped": findings.stopped,
        "ok": findings.count(CheckStatus::Ok),
        "warnings": findings.count(CheckStatus::Warning),
        "failures": findings.count(CheckStatus::Failure),
        "checks": findings.checks,
    })
}
