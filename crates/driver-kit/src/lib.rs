//! The code that drivers share: the loop of socket drivers, claiming a run's directory, the
//! texts that mark it, the results of protocol checks, counters.
//!
//! It contains no protocol. Drivers and agents use it.

pub mod checks;
pub mod claim;
pub mod driver;
pub mod marker;
pub mod nonces;
pub mod null;
pub mod process;
pub mod run_dirs;
pub mod sockets;
pub mod spec;
pub mod survey;
pub mod tally;
pub mod validation;
