//! The NFS driver, for versions 2 and 3, sessions of version 4.1, and the protocol validator.
//!
//! [`driver`] makes load and never blocks; [`client`], [`target`] and [`claim`]
//! are the blocking side around it: look-up, mounting, the run's directory.
//! `survey` looks at servers before a run, [`validate`] asks whether a server
//! speaks the protocol correctly. Sessions of version 4.1 without sockets are in [`version4`];
//! driver and client share them. Version 2 is turned into the types of version 3 in one
//! place, `version2`; nothing above it differs. The bytes
//! are `filermark-onc`'s; pacing and choosing are the engine's.

pub mod claim;
pub mod client;
pub mod driver;
pub mod security;
mod spec;
mod starttls;
mod survey;
pub mod target;
pub mod validate;
mod version2;
pub mod version4;

pub use driver::NfsDriver;
pub use spec::DRIVER;
