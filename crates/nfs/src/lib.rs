//! The NFSv3 driver and the protocol validator.

pub mod claim;
pub mod client;
pub mod driver;
pub mod target;

pub use driver::Nfs3Driver;
