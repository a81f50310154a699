//! The prime: carries out a plan on its agents, judges what they measured and writes the
//! run record.
//!
//! The prime ([`run()`]) does not plan or measure. A launcher starts the agents; the prime
//! sends them the plan and then one order after the other, and collects what they measured.

mod clock_verdict;
#[cfg(any(test, feature = "testing"))]
pub mod fake_agent;
mod heartbeats;
mod intervals;
pub mod leftovers;
mod live_writer;
mod report_bounds;
mod run;
mod run_length;
pub mod scripts;
mod space_used;
mod stop_if;
pub mod validate;
mod warmup;

#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

pub use run::{Progress, RunError, RunOptions, RunOutcome, run};
