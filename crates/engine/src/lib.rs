//! The load engine: procs, pacing, file set, shards and phases.
//!
//! The engine decides *what* is done *when* and measures it; it knows no
//! protocol. How an operation is carried out is a [`driver::Driver`]'s business.
//! Below it is only `filermark-model`.

pub mod clock;
pub mod data;
pub mod driver;
pub mod name;
pub mod net;
