//! `energy`: power and traffic beside runs, and what they say of efficiency.

mod background;
mod collect;
mod import;
mod merge;
mod reduce;
mod samples_csv;
mod setup;
mod suite;

pub use background::{BackgroundCollection, CollectedLog};

use crate::cli::energy::{EnergyArgs, EnergyCommand};
use filermark_cli_kit::exit::CommandResult;

/// Does what the subcommand says.
pub fn energy(args: &EnergyArgs) -> CommandResult {
    match &args.command {
        EnergyCommand::Collect(args) => collect::collect(args),
        EnergyCommand::Import(args) => import::import(args),
        EnergyCommand::Merge(args) => merge::merge(args),
        EnergyCommand::Reduce(args) => reduce::reduce(args),
        EnergyCommand::Suite(args) => suite::suite(args),
    }
}
