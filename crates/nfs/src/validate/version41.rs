//! The checks of NFSv4.1, by what they are about. Each is a function of a bench and does not depend
//! on another one. Every check has a client of its own, whose state ends with the check.

mod client;
mod compound;
mod ops;
mod raw;
mod session;

use ops::Check;
pub(super) use ops::V41;

/// Every check, in the order in which they run.
pub(super) const TABLES: &[&[Check]] = &[compound::CHECKS, session::CHECKS];
