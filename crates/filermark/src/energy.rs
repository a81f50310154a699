//! The interface of the command line to the energy subcommands, with and without the feature
//! `energy`: without it, runs have no option `--energy` and collect no energy data.

#[cfg(not(feature = "energy"))]
pub use disabled::*;
#[cfg(feature = "energy")]
pub use enabled::*;

#[cfg(feature = "energy")]
mod enabled {
    pub use filermark_energy::{EnergyArgs, OUTPUTS, SetupArgs as CompanionArgs, TEMPLATES};

    /// The example of `filermark --help`.
    pub const EXAMPLE: &str = "
  filermark run -r sfs_rc --energy energy.toml
      with power meters and a switch's sFlow: MiB/s per W";
    /// The example of `filermark run --help`.
    pub const RUN_EXAMPLE: &str = "
  filermark run -r sfs_rc -s watts --energy energy.toml    MiB/s per W, too";
}

#[cfg(not(feature = "energy"))]
mod disabled {
    use clap::Args;
    use filermark_cli_kit::companion::Companion;
    use filermark_cli_kit::exit::CommandError;
    use filermark_report::Shipped;
    use filermark_results::output::Output;
    use std::path::Path;
    use std::time::Duration;

    /// No example.
    pub const EXAMPLE: &str = "";
    /// No example.
    pub const RUN_EXAMPLE: &str = "";
    /// No further files.
    pub const OUTPUTS: &[Output] = &[];
    /// No templates.
    pub const TEMPLATES: Shipped = &[];

    /// The energy data of a run: none.
    #[derive(Clone, Debug, Default, Args)]
    pub struct CompanionArgs {}

    impl CompanionArgs {
        /// Nothing is started.
        ///
        /// # Errors
        /// None.
        pub fn start(
            &self,
            _dir: &Path,
            _suffix: &str,
            _is_resumed: bool,
        ) -> Result<Option<Box<dyn Companion>>, CommandError> {
            Ok(None)
        }

        /// No file.
        ///
        /// # Errors
        /// None.
        pub fn input(&self) -> Result<Option<filermark_model::input::InputFile>, CommandError> {
            Ok(None)
        }

        /// No time before the first load point.
        ///
        /// # Errors
        /// None.
        pub fn idle(&self) -> Result<Duration, CommandError> {
            Ok(Duration::ZERO)
        }
    }
}
