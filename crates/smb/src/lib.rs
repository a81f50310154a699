//! SMB from the outside: the load driver, the claims on shares, the protocol validator.
//!
//! `filermark-smbwire` encodes and decodes messages; this crate has the sockets, clocks and
//! time limits. It does not depend on other drivers.

pub mod claim;
pub mod client;
pub mod driver;
pub mod kerberos;
pub mod login;
mod spec;
pub mod survey;
pub mod target;
pub mod validate;

pub use spec::DRIVER;
