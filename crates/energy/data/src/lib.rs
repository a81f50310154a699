//! Energy and traffic beside a run: what switches say of the traffic to the server, what
//! meters say of its power, each with a time of its own; and what both say of efficiency.
//!
//! The way: sources ([`sflow`], files, meters) -> the energy log ([`log`]) -> merged with
//! runs -> [`reduce`]d to efficiency. Knows the record of a run and nothing of how load is
//! made. It has no socket and no thread: what is read as it happens is the room `meters`.

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

/// Bytes of a MiB, as rates count them.
pub const MIB: f64 = 1_048_576.0;
