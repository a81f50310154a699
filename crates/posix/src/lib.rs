//! The driver of mounted file systems: netmist's operations by system calls.
//!
//! Knows the engine's driver contract and the platform; knows nothing of mixes,
//! load points or results.

mod driver;

pub use driver::PosixDriver;
