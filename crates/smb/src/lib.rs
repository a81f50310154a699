//! SMB from the outside: the load driver, the claims on shares, the protocol validator.
//!
//! Bytes are made and read by `filermark-smbwire`; this room owns the sockets, the
//! clocks and the patience. It knows no other driver.

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
