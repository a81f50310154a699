//! The NFSv3 driver and the protocol validator.

pub mod claim;
pub mod client;
pub mod target;
pub mod validate;
