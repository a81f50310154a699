//! How load is paced and how long the phases last.

use super::Labels;
use crate::benchmark::Standard;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How load is paced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// Closed or open.
    pub mode: PacingMode,
    /// How the intended starts lie around their mean gap.
    pub arrivals: Arrivals,
    /// Open pacing: most operations waiting or in flight per proc.
    pub backlog_max_per_proc: u32,
}

impl Pacing {
    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[("mode", "PACING"), ("arrivals", "ARRIVALS")];
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            mode: PacingMode::Closed,
            arrivals: Arrivals::Uniform,
            backlog_max_per_proc: 256,
        }
    }
}

/// Whether the server's slowness holds back the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PacingMode {
    /// One operation in flight per proc: the classical behaviour.
    Closed,
    /// The arrival rate is kept whatever the server does.
    Open,
}

/// How intended starts are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// One per slot of the mean gap, anywhere in it: the rate is exact.
    Uniform,
    /// A Poisson process.
    Poisson,
}

/// Durations of the phases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhasePlan {
    /// WARMUP (WARMUP_TIME); the longest one where it lasts until the server is steady
    /// (WARMUP_TIME_MAX).
    pub warmup: Nanos,
    /// WARMUP lasts until rate and mean response time are steady (WARMUP_TIME=auto).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup_until_steady: bool,
    /// RUN (RUNTIME).
    pub runtime: Nanos,
    /// RUN goes on until the data set has been read and written once, for so long at most
    /// (netmist's without a rate). None: it takes `runtime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_max: Option<Nanos>,
    /// Longest INIT of one load point (INIT_TIMEOUT).
    pub init_timeout: Nanos,
}

/// Longest INIT of one load point where nothing else is set (INIT_TIMEOUT), in seconds.
const INIT_TIMEOUT_S: u64 = 8_000;

impl PhasePlan {
    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[
        ("warmup", "WARMUP_TIME"),
        ("warmup_until_steady", "WARMUP_TIME=auto"),
        ("runtime", "RUNTIME"),
        ("runtime_max", "longest RUN, until the data set is touched"),
        ("init_timeout", "INIT_TIMEOUT"),
    ];

    /// The phases of a standard run.
    pub fn of(standard: &Standard) -> Self {
        Self {
            warmup: Nanos::from_secs_f64(standard.warmup_s),
            warmup_until_steady: false,
            runtime: Nanos::from_secs_f64(standard.runtime_s),
            runtime_max: None,
            init_timeout: Nanos::from_secs(INIT_TIMEOUT_S),
        }
    }

    /// The longest that RUN may take.
    pub fn longest_run(&self) -> Nanos {
        self.runtime_max.unwrap_or(self.runtime).max(self.runtime)
    }
}
