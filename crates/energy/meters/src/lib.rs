//! Reads power meters, sensors and sFlow live, and writes an energy log.
//!
//! Every source is behind one trait, [`Meter`]; [`open()`] makes one of a
//! [`SourceSpec`](filermark_energy_data::setup::SourceSpec). [`collect`] reads them all, each in
//! a thread of its own, and has one thread that writes. This crate handles sockets and
//! clocks. It does not depend on runs, and interprets no figure beyond its unit.

pub mod collect;
#[cfg(unix)]
mod command;
#[cfg(not(unix))]
#[path = "no_command.rs"]
mod command;
mod figure;
mod hwmon;
mod meter;
mod open;
mod rapl;
mod redfish;
mod scpi;
mod secret;
mod simulated;
mod snmp;
mod waiting;

pub use meter::{Meter, MeterError, Sample};
pub use open::open;
