//! Energy and traffic during a run: the traffic to the server as switches count it, its power
//! as meters measure it, each with its own times, and the efficiency computed from both.
//!
//! Data flow: sources ([`sflow`], files, meters) -> the energy log ([`log`]) -> merged with
//! runs -> [`reduce`]d to efficiency. It reads the record of a run, and does not depend on the
//! load generator. It has no socket and no thread: live reading is the crate `meters`.

pub mod digits;
pub mod import;
pub mod log;
pub mod merge;
pub mod other_kits;
pub mod reading;
pub mod reduce;
pub mod setup;
pub mod sflow;

pub use reading::Quantity;

/// Bytes of a MiB.
pub const MIB: f64 = 1_048_576.0;
