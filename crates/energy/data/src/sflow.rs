//! sFlow, version 5 (sFlow.org, July 2004): what switches and hosts report of their traffic.
//!
//! Built on the reader of XDR: [`datagram`] and [`counters`] are the structures, borrowed and not
//! trusted; [`ports`] makes rates of counters, and [`Collector`] handles whole datagrams.
//! [`sflowtool`] reads text and [`capture`] packet captures instead. [`Selection`] chooses
//! interfaces. Sampled packets are skipped.
//!
//! It has no sockets, threads or clocks: the caller gives the time of a datagram. Nothing is
//! allocated per datagram, and all state has limits.

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
