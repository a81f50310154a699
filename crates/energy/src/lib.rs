//! Energy during runs. The program uses the whole subtree through this crate: the
//! subcommand `energy` ([`EnergyArgs`], [`energy()`]), and the collection during a run
//! ([`SetupArgs`]).
//!
//! Below it are `data` (decoders, importers, the log, merging, reduction; no sockets),
//! `meters` (power meters, sensors and the receiver of sFlow) and `report` (the renderings).
//! What the subcommand needs of the program comes through [`Program`].

mod args;
mod background;
mod collect;
mod import;
mod live;
mod merge;
mod outputs;
mod reduce;
mod samples_csv;
mod setup;
mod suite;

use args::EnergyCommand;
pub use args::{EnergyArgs, SetupArgs};
use background::BackgroundCollection;
use filermark_cli_kit::companion::Companion;
use filermark_cli_kit::exit::{CommandError, CommandResult};
use filermark_config::Resolved;
use filermark_energy_data::setup::Setup;
pub use filermark_energy_report::TEMPLATES;
use filermark_model::input::InputFile;
pub use outputs::OUTPUTS;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The sources of the plan of a run.
#[derive(Clone, Debug)]
pub struct RunSources {
    /// The rc file.
    pub rc: PathBuf,
    /// SUFFIX.
    pub suffix: String,
    /// WORK_DIR.
    pub dir: Option<PathBuf>,
    /// Parameters, as NAME=VALUE.
    pub options: Vec<String>,
}

/// What `energy suite` needs of the program.
pub trait Program {
    /// Resolves the plan of a run.
    ///
    /// # Errors
    /// The rc file or an option is wrong.
    fn resolve(&self, sources: RunSources) -> Result<Resolved, CommandError>;

    /// Runs a plan and writes its results. The sources of `setup` are collected meanwhile.
    /// With `is_resumed`, the run continues after the last measured load point of its record.
    fn run(&self, plan: Resolved, setup: &SetupArgs, is_resumed: bool) -> CommandResult;
}

/// Runs the subcommand.
///
/// # Errors
/// The command line or a file is wrong, or the command failed.
pub fn energy(args: &EnergyArgs, program: &dyn Program) -> CommandResult {
    match &args.command {
        EnergyCommand::Collect(args) => collect::collect(args),
        EnergyCommand::Import(args) => import::import(args),
        EnergyCommand::Merge(args) => merge::merge(args),
        EnergyCommand::Reduce(args) => reduce::reduce(args),
        EnergyCommand::Suite(args) => suite::suite(args, program),
    }
}

impl SetupArgs {
    /// Starts to collect for the run of this suffix, into `dir`; `None` without `--energy`.
    /// A resumed run gets another log.
    ///
    /// # Errors
    /// The setup is wrong, a source does not answer, or the log exists already.
    pub fn start(
        &self,
        dir: &Path,
        suffix: &str,
        is_resumed: bool,
    ) -> Result<Option<Box<dyn Companion>>, CommandError> {
        let start = |setup: &PathBuf| -> Result<Box<dyn Companion>, CommandError> {
            let collection = BackgroundCollection::start(setup, dir, suffix, is_resumed)?;
            Ok(Box::new(collection))
        };
        self.energy.as_ref().map(start).transpose()
    }

    /// The setup file as an input of a run; `None` without `--energy`.
    ///
    /// # Errors
    /// The setup cannot be read or is wrong.
    pub fn input(&self) -> Result<Option<InputFile>, CommandError> {
        let read = |file: &PathBuf| background::read_setup(file).map(|(_, input)| input);
        self.energy.as_ref().map(read).transpose()
    }

    /// How long the idle server is measured before the first load point.
    ///
    /// # Errors
    /// The setup is wrong.
    pub fn idle(&self) -> Result<Duration, CommandError> {
        match &self.energy {
            Some(file) => {
                let setup = Setup::read(file);
                setup.map_or_else(
                    |e| Err(CommandError::Usage(vec![e.to_string()])),
                    |setup| Ok(setup.idle),
                )
            }
            None => Ok(Duration::ZERO),
        }
    }
}
