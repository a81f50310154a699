//! Reads all sources at once and writes their log.
//!
//! There is a thread for each meter and sensor (`source`), one for the socket of sFlow
//! (`socket`, `state`), one that detects steps of the clock, and one that writes
//! (`writer`). `live_state` has the state for the live view. Every queue, table and count has
//! a limit; what does not fit is counted and reported.

mod clock;
mod collecting;
mod live_state;
mod ports;
mod socket;
mod source;
mod state;
mod stop;
#[cfg(test)]
mod tests;
mod throttle;
mod writer;

pub use collecting::Collection;

/// The present state, for a live view. Cheap to take.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// W of the server, all its meters added up; `None` while one of them is silent.
    pub power_w: Option<f64>,
    /// W of the clients.
    pub client_power_w: Option<f64>,
    /// MiB/s through the chosen interfaces; `None` before the first rate.
    pub traffic_mib_per_s: Option<f64>,
    /// Every meter and sensor.
    pub sources: Vec<SourceNow>,
    /// The chosen interfaces first, then the busiest, [`TOP_PORTS`] at most.
    pub ports: Vec<PortNow>,
    /// Datagrams received, and lost on the way.
    pub datagrams: (u64, u64),
    /// The address on which sFlow is received; `None`: it is not.
    pub listens: Option<std::net::SocketAddr>,
    /// The last problem.
    pub last_problem: Option<String>,
}

/// Most interfaces of a snapshot.
pub const TOP_PORTS: usize = 10;

/// The present state of a meter or sensor.
#[derive(Clone, Debug)]
pub struct SourceNow {
    /// Its name.
    pub name: String,
    /// Its last figure of its first quantity, with the unit: `535.2 W`; `None`: silent.
    pub value: Option<String>,
    /// Made up.
    pub simulated: bool,
}

/// The present state of an interface.
#[derive(Clone, Debug)]
pub struct PortNow {
    /// `10.0.0.248 filer-e0a`.
    pub label: String,
    /// Whether it is chosen.
    pub chosen: bool,
    /// MiB/s that the agent received.
    pub in_mib_per_s: f64,
    /// MiB/s that the agent sent.
    pub out_mib_per_s: f64,
    /// Share of the speed, of the busier direction.
    pub utilisation: Option<f64>,
}

/// How a collection ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Lines of readings.
    pub readings: u64,
    /// Samples of traffic.
    pub samples: u64,
    /// Problems that limit the use of the log.
    pub problems: Vec<String>,
}

/// Why nothing is collected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CollectError(pub String);
