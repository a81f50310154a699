//! What the drivers share: claiming a run's directory, the texts that mark it, the results
//! of protocol checks, counters beside the operations.
//!
//! The engine calls none of it. It knows no protocol either: drivers and agents use it.

pub mod checks;
pub mod claim;
pub mod driver;
pub mod marker;
pub mod nonces;
pub mod null;
pub mod process;
pub mod run_dirs;
pub mod spec;
pub mod survey;
pub mod tally;
pub mod validation;
