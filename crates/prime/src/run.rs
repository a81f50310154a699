//! The prime: starts the agents, gives the orders of a run, gathers and judges.
//!
//! It never trusts an agent's clock, and every wait has a limit.

mod ending;
mod figures;
mod journal;
mod measure;
mod phase;
mod prepare;
mod state;
mod sweep;
mod tasks;
mod types;
mod watch;

pub use types::{Progress, RunError, RunOptions, RunOutcome};

use filermark_link::links::AgentLinks;
use state::Run;

/// Runs a plan from INIT of the first load point to the last CLEANUP. The `board`
/// has the links to the agents, who are being started.
///
/// # Errors
/// Only when no record can be begun; everything else is in the record.
pub fn run(options: RunOptions<'_>, board: Box<dyn AgentLinks>) -> Result<RunOutcome, RunError> {
    Run::begin(options)?.carry_out(board)
}
