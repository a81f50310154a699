//! Prime and agents: who runs a plan, on which hosts, and what they tell each other.
//!
//! The [`prime`] plans nothing and measures nothing: it starts [`agent`]s through
//! a [`launch`]er, sends them the plan and then one order after the other,
//! gathers what they measured, has it judged and writes the run record. Agents
//! own the engine. Between them are typed [`message`]s over a [`link`], also
//! when both are in one process.

pub mod agent;
mod beats;
mod child;
mod clock_check;
pub mod clock_service;
pub mod frame;
pub mod hosts;
pub mod launch;
pub mod link;
mod measure;
pub mod message;
pub mod monitor;
pub mod prime;
pub mod scripts;
mod space;
mod sweep;

#[cfg(test)]
mod beats_tests;
#[cfg(test)]
mod clock_tests;
#[cfg(test)]
mod space_tests;

pub use prime::{Progress, RunOptions, RunOutcome, run};
