//! Prime and agents: who runs a plan, on which hosts, and what they tell each other.
//!
//! The prime ([`run`]) plans nothing and measures nothing: it starts [`agent`]s through
//! a [`launch`]er, sends them the plan and then one order after the other,
//! gathers what they measured, has it judged and writes the run record. Agents
//! own the engine. Between them are typed [`message`]s in [`frame`]s; the
//! [`switchboard`] is the prime's side of all links.

pub mod agent;
mod agents;
mod beats;
pub mod build;
mod child;
mod client_reads;
mod clock_reading;
pub mod clock_service;
mod clock_verdict;
mod clocks;
pub mod facts;
pub mod frame;
mod handover;
pub mod hosts;
pub mod identity;
pub mod launch;
pub mod leftovers;
pub mod limits;
mod live_writer;
pub mod message;
mod own_host;
mod parallel;
mod plausible;
pub mod preflight;
#[cfg(any(test, feature = "testing"))]
pub mod pretend;
mod room;
mod run;
mod run_length;
pub mod scripts;
mod seconds;
pub mod secure;
mod space;
mod space_used;
pub mod start;
mod stop_if;
pub mod switchboard;
mod tame;
mod tool;
pub mod validate;
mod warmup;
mod watchdog;
mod watched_space;
mod waves;

#[cfg(test)]
mod beats_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod handover_tests;
#[cfg(test)]
mod message_tests;
#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod space_tests;

pub use clock_reading::{WallOffset, wall_offset};
pub use run::{Progress, RunError, RunOptions, RunOutcome, run};
