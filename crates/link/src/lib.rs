//! The links between the prime and its agents: messages and their frames, keys and encryption,
//! the threads that carry bytes, and what both sides know about a run's hosts.
//!
//! Typed [`message`]s are sent in [`frame`]s over byte streams, which a launcher
//! ([`start::Launcher`]) provides. [`links`] is the prime's side of all links, [`agents`] its
//! state of the connected agents; [`agent_state`] is the state machine of an agent. How hosts
//! are reached and how orders are carried out is not known here.
//!
//! The log records of prime, agents, hosts and links all have the target
//! `filermark_clients`, which the documentation of DEBUG names.

pub mod agent_state;
pub mod agents;
pub mod build;
pub mod build_mark;
mod byte_budget;
pub mod child;
pub mod client_reads;
pub mod clock_reading;
pub mod clock_service;
pub mod clocks;
pub mod facts;
pub mod frame;
pub mod identity;
pub mod limits;
pub mod links;
pub mod local;
pub mod message;
pub mod own_host;
pub mod plan_password;
pub mod received;
mod sanitize;
pub mod secure;
pub mod space;
pub mod start;
pub mod start_batches;
#[cfg(test)]
mod tests;
pub mod tool;
pub mod watchdog;
pub mod watched_space;

pub use clock_reading::{WallOffset, wall_offset};
