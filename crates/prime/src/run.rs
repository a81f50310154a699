//! The course of a run: the prime sends the orders, collects and judges the figures.
//!
//! It never relies on an agent's clock, and every wait has a limit.

mod ending;
mod figures;
mod journal;
mod measure;
mod phase;
mod prepare;
mod search;
mod state;
mod sweep;
mod tasks;
mod types;
mod watch;

pub use types::{Progress, RunError, RunOptions, RunOutcome};

use filermark_link::links::AgentLinks;
use state::Run;

/// Runs a plan from INIT of the first load point to the last CLEANUP. The `board`
/// has the links to the agents, which are being started.
///
/// # Errors
/// The record cannot be created. All other errors are in the record.
pub fn run(options: RunOptions<'_>, board: Box<dyn AgentLinks>) -> Result<RunOutcome, RunError> {
    Run::begin(options)?.carry_out(board)
}
