//! sFlow, version 5 (sFlow.org, July 2004, and its Host Structures of July 2010): what
//! switches and hosts tell of their traffic.
//!
//! From the bytes up: XDR has the words; [`datagram`], [`flow`] and [`counters`] are the
//! structures, borrowed and unbelieved; [`ports`] makes rates of counters and [`flows`]
//! estimates of picked packets; [`Collector`] does both. [`sflowtool`] reads text
//! and [`capture`] packet captures instead. [`Selection`] says which interfaces matter.
//!
//! Knows no sockets, threads or clocks: who calls says when a datagram came. Nothing is
//! allocated per datagram, and what is remembered has limits.

pub mod capture;
pub mod collector;
pub mod counters;
pub mod datagram;
mod error;
mod json;
mod local_time;
mod packet;
pub mod ports;
pub mod selection;
mod sequence;
pub mod sflowtool;
mod traffic;

pub use collector::{Collector, DatagramProblems};
pub use datagram::{Datagram, Sample};
pub use error::WireError;
pub(crate) use local_time::LocalTimes;
pub use local_time::{UnknownZone, Zone};
pub use ports::{Admission, AgentKey, PortCounts, PortOptions, Ports, TimeBasis};
pub use selection::{Names, PortPattern, Selection};
pub use traffic::{Rates, TrafficSample};

/// UDP port of collectors.
pub const PORT: u16 = 6343;
