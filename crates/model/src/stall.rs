//! How long a process of a run stood still, and what the system says about it.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A wake-up of the watchdog that is later than this is a gap: the process did not run.
pub const GAP_MIN: Nanos = Nanos::from_millis(50);

/// What the watchdog of one process saw, from the beginning of RUN until its figures
/// were complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalls {
    /// Gaps: wake-ups that were later than [`GAP_MIN`].
    pub gap_count: u64,
    /// Sum of the gaps, as far as they lie in the time watched, in nanoseconds.
    pub gap_sum_ns: u64,
    /// The longest of them, in nanoseconds.
    pub gap_max_ns: u64,
    /// The part of the gaps in which the whole host was suspended, in nanoseconds.
    pub suspended_ns: u64,
    /// Time that the hypervisor took from the host's processors, summed over them, in
    /// nanoseconds; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// Time that the process's cgroup was throttled, in nanoseconds; `None`: not known,
    /// or no limit is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// How often it was throttled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_count: Option<u64>,
    /// Page faults of the process that waited for a disk; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_fault_count: Option<u64>,
}

/// What a process of a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessRole {
    /// Starts the phases, and gathers the figures.
    Prime,
    /// Makes the load of one client.
    Agent,
}

/// The stalls of one process of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStalls {
    /// What it is.
    pub role: ProcessRole,
    /// The client's name as the rc file gives it; the prime's host.
    pub host: String,
    /// What its watchdog saw.
    pub stalls: Stalls,
}
