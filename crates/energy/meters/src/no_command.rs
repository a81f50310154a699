//! Shell commands as sources, on systems without process groups: refused.

use crate::meter::{ReadFailure, Sample, Source};
use filermark_energy_data::Quantity;
use std::time::Duration;

/// A command that is not run.
#[derive(Debug)]
pub(crate) struct Command;

impl Command {
    /// The command is refused at the first reading.
    pub(crate) const fn new(_: &str, _: Quantity, _: Duration) -> Self {
        Self
    }
}

impl Source for Command {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let reason = "commands are run on Unix systems only; read the meter from another host";
        Err(ReadFailure::new("run the command", reason))
    }
}
