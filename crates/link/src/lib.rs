//! The links between the prime and its agents: messages and their frames, the sides' keys
//! and encryption, the threads that carry bytes, and what both sides know of a run's hosts.
//!
//! Typed [`message`]s go in [`frame`]s over byte streams, which a launcher
//! ([`start::Launcher`]) gives. The [`links`] is the prime's side of all links,
//! [`agents`] what it knows of those who are there; [`duty`] is the state machine of an
//! agent. How hosts are reached and how orders are carried out is not known here.
//!
//! The log records of prime, agents, hosts and links all have the target
//! `filermark_cluster`, which the documentation of DEBUG names.

pub mod agents;
pub mod build;
mod byte_budget;
pub mod child;
pub mod client_reads;
pub mod clock_reading;
pub mod clock_service;
pub mod clocks;
pub mod duty;
pub mod facts;
pub mod frame;
pub mod identity;
pub mod limits;
pub mod links;
pub mod message;
#[cfg(test)]
mod message_tests;
pub mod own_host;
mod sanitize;
pub mod secure;
pub mod space;
#[cfg(test)]
mod space_tests;
pub mod start;
pub mod start_batches;
pub mod thread_link;
pub mod tool;
pub mod watchdog;
pub mod watched_space;

pub use clock_reading::{WallOffset, wall_offset};
