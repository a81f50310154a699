//! The prime: carries out a plan on its agents, judges what they measured and writes the
//! run record.
//!
//! The prime ([`run()`]) plans nothing and measures nothing: it sends the agents that a
//! launcher starts the plan and then one order after the other, gathers what they measured,
//! has it judged and writes the run record.

mod beats;
mod clock_verdict;
pub mod leftovers;
mod live_writer;
mod plausible;
#[cfg(any(test, feature = "testing"))]
pub mod pretend;
mod run;
mod run_length;
pub mod scripts;
mod seconds;
mod space_used;
mod stop_if;
pub mod validate;
mod warmup;

#[cfg(test)]
mod beats_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod handover_tests;
#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod sim;

pub use run::{Progress, RunError, RunOptions, RunOutcome, run};
