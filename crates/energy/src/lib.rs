//! Energy and traffic beside a run: what switches say of the traffic to the server, what
//! meters say of its power, each with a time of its own.
//!
//! Knows the record of a run and nothing of how load is made. So far it holds the
//! readings and the readers of their sources; no command uses it yet.

pub mod reading;
pub mod sflow;

pub use reading::{Quantity, Reading};
