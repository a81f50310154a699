//! `energy`: the functions of the program that the subcommands need.

use super::run::{self, RunMode};
use crate::cli::{EventsArgs, OutputArgs, SourceArgs};
use crate::energy::CompanionArgs;
use crate::resolve_args;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_config::Resolved;
use filermark_energy::{EnergyArgs, Program, RunSources};

/// Runs the subcommand.
pub fn energy(args: &EnergyArgs) -> CommandResult {
    filermark_energy::energy(args, &Runs)
}

/// Runs for `energy suite`.
struct Runs;

impl Program for Runs {
    fn resolve(&self, sources: RunSources) -> Result<Resolved, CommandError> {
        resolve_args::resolved(&SourceArgs {
            rc: Some(sources.rc),
            suffix: Some(sources.suffix),
            dir: sources.dir,
            options: sources.options,
            agents: None,
            benchmarks: None,
            workload: None,
        })
    }

    fn run(&self, plan: Resolved, setup: &CompanionArgs, is_resumed: bool) -> CommandResult {
        resolve_args::init_tracing(&plan.debug, 0);
        let way = RunMode {
            companion: Some(setup),
            goes_on: is_resumed,
            ..RunMode::default()
        };
        let (output, events) = (OutputArgs::default(), EventsArgs::default());
        run::carry_out(plan, &output, &events, way)
    }
}
