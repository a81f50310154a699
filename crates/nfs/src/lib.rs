//! The NFSv3 driver and the protocol validator.
//!
//! [`driver`] makes load and never blocks; [`client`], [`target`] and [`claim`]
//! are the blocking side around it: look-up, mounting, the run's directory.
//! [`survey`] looks at servers before a run, [`validate`] asks whether a server
//! speaks the protocol correctly. The bytes
//! are `filermark-onc`'s; pacing and choosing are the engine's.

pub mod claim;
pub mod client;
pub mod driver;
pub mod survey;
pub mod target;
pub mod validate;

pub use driver::NfsDriver;
