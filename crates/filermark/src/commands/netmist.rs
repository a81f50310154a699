//! `netmist`: its command line, with one load point.

use super::{install, run, stop};
use crate::cli::{NetmistArgs, ProgressArgs};
use crate::gates::Gates;
use crate::{resolve_args, stdout};
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_config::netmist::{self, netmist_registry, resolve_netmist, unexpected_args};
use filermark_config::{Resolved, Sources, netmist_text};
use filermark_results::console;
use std::path::Path;
use std::process::ExitCode;

/// Runs, or prints what the flags ask for.
pub fn netmist(args: &NetmistArgs) -> CommandResult {
    let strays = unexpected_args(&args.strays);
    if !strays.is_empty() {
        return Err(strays.into());
    }
    let given = given(args)?;
    if given.has('v') {
        stdout::print(&format!("filermark {}\n", env!("CARGO_PKG_VERSION")));
        return Ok(ExitCode::SUCCESS);
    }
    if given.has('E') {
        let registry = netmist_registry(&given)?;
        stdout::print(&netmist_text::export(registry.workloads()));
        return Ok(ExitCode::SUCCESS);
    }
    let resolved = resolve_netmist(&given)?;
    if given.has('k') {
        return stop::stop_run(&resolved, args.force, &args.output);
    }
    if args.force {
        let sentence = "--force belongs to -k, which removes what an earlier run has left";
        return Err(CommandError::Usage(vec![sentence.into()]));
    }
    if given.has('D') {
        return install::install_on(&resolved.launch, &args.output);
    }
    if given.has('i') {
        return info(&resolved, args);
    }
    resolve_args::init_tracing(&resolved.debug, args.verbose);
    let mode = ProgressArgs {
        lines: args.lines,
        quiet: args.quiet,
    };
    if !args.quiet {
        run::print_findings(&resolved.plan, args.verbose > 0);
    }
    let token_file = given.value('g').map(Path::new);
    let gates = Gates::open(&args.gates, &token_file.into_iter().collect::<Vec<_>>())?;
    gates.refuse_other_work(&resolved.plan)?;
    run::carry_out(
        resolved,
        &args.output,
        &args.events,
        run::RunMode {
            gates: Some(&gates),
            progress: mode.mode(),
            console: !args.lines && !args.quiet,
            ..run::RunMode::default()
        },
    )
}

/// The flags and the options for the crate `config`.
fn given(args: &NetmistArgs) -> Result<netmist::NetmistArgs, CommandError> {
    let mut sources = Sources::from_rc(None)?;
    for option in &args.options {
        sources.set_option(option)?;
    }
    if let Some(suffix) = &args.suffix {
        sources.set("--suffix", "SUFFIX", suffix);
    }
    if let Some(dir) = &args.dir {
        sources.set("--dir", "WORK_DIR", &dir.display().to_string());
    }
    if let Some(line) = &args.workload {
        sources.set("--workload", "WORKLOAD", line);
    }
    if let Some(file) = &args.benchmarks {
        sources.set(
            "--benchmarks",
            "BENCHMARK_FILE",
            &file.display().to_string(),
        );
    }
    args.lost.set(&mut sources);
    Ok(netmist::NetmistArgs {
        given: args.flags.given.clone(),
        exact_time: args.exact_time,
        sources,
    })
}

/// `-i`: the block that a run begins with, and the other output of `plan`.
fn info(resolved: &Resolved, args: &NetmistArgs) -> CommandResult {
    if args.output.json {
        return super::plan::print(resolved, &args.output);
    }
    let plan = &resolved.plan;
    stdout::print(&console::banner(env!("CARGO_PKG_VERSION"), &plan.benchmark));
    if let Some(point) = plan.points.first() {
        let dir = resolved.work_dir.display().to_string();
        stdout::print(&console::plan_block(plan, *point, &[], Some(&dir)));
    }
    stdout::print(&filermark_config::explain_launch(&resolved.launch));
    for finding in &plan.findings {
        stdout::print(&format!("    {}\n", finding.message));
    }
    Ok(ExitCode::SUCCESS)
}
