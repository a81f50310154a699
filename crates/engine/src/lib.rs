//! The load engine: procs, pacing, file set, shards and phases.
//!
//! The engine decides *what* is done *when* and measures it; it is independent of
//! protocols. A [`driver::LoadDriver`] carries out the operations.
//! It depends on `filermark-model` only.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

pub mod action;
mod action_text;
pub mod assign_procs;
pub mod clock;
pub mod data;
pub mod driver;
pub mod engine;
pub mod file_action;
pub mod fileset;
pub mod interrupt_guard;
pub mod live_counts;
pub mod name;
pub mod null;
pub mod open_ops;
pub mod owner;
pub mod parallel;
pub mod pool;
pub mod population;
pub mod proc;
pub mod recorder;
pub mod run_times;
pub mod schedule;
pub mod session_action;
pub mod shard;
pub mod shared_recorder;
pub mod slice;
pub mod sys;
pub mod v4_action;
pub mod watchdog;
