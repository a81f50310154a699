//! Limits that judge a load point.

use super::Labels;
use crate::benchmark::Standard;
use serde::{Deserialize, Serialize};

/// Limits that judge a load point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Largest mean service time, in milliseconds (RESPONSE_LIMIT_MS); 0: no limit.
    pub response_ms: f64,
    /// Least achieved share of the requested rate, in percent (ACHIEVED_PCNT_MIN).
    pub achieved_pcnt_min: f64,
    /// Least share of its own rate per proc, in percent (PROC_PCNT_MIN).
    pub proc_pcnt_min: f64,
    /// Largest distance from the mix, in percentage points (MIX_DEVIATION_MAX).
    pub mix_deviation_pcnt_max: f64,
    /// Failed operations from which on a point does not count, in percent (ERROR_PCNT_MAX).
    pub error_pcnt_max: f64,
    /// Composites: most that a component's share may differ from its target, in percent
    /// of the target (COMPONENT_VARIANCE_MAX); 0: no limit.
    #[serde(default)]
    pub component_variance_pcnt_max: f64,
    /// Share of RUN that a process may stand still, in percent (STALL_PCNT_MAX). Not
    /// written where it is the standard one: the plan is the same as before.
    #[serde(
        default = "stall_pcnt_standard",
        skip_serializing_if = "is_stall_pcnt_standard"
    )]
    pub stall_pcnt_max: f64,
}

impl Limits {
    /// Its fields in the words of the parameters.
    pub const LABELS: Labels = &[
        ("response_ms", "RESPONSE_LIMIT_MS"),
        ("achieved_pcnt_min", "ACHIEVED_PCNT_MIN"),
        ("proc_pcnt_min", "PROC_PCNT_MIN"),
        ("mix_deviation_pcnt_max", "MIX_DEVIATION_MAX"),
        ("error_pcnt_max", "ERROR_PCNT_MAX"),
        ("stall_pcnt_max", "STALL_PCNT_MAX"),
    ];

    /// Those of a standard run.
    pub const fn of(standard: &Standard) -> Self {
        Self {
            response_ms: standard.response_limit_ms,
            achieved_pcnt_min: standard.achieved_pcnt_min,
            proc_pcnt_min: standard.proc_pcnt_min,
            mix_deviation_pcnt_max: standard.mix_deviation_pcnt_max,
            error_pcnt_max: standard.error_pcnt_invalid,
            component_variance_pcnt_max: standard.component_variance_pcnt_max,
            stall_pcnt_max: STALL_PCNT_STANDARD,
        }
    }
}

/// The standard of [`Limits::stall_pcnt_max`].
pub const STALL_PCNT_STANDARD: f64 = 0.5;

fn stall_pcnt_standard() -> f64 {
    STALL_PCNT_STANDARD
}

fn is_stall_pcnt_standard(limit: &f64) -> bool {
    *limit == STALL_PCNT_STANDARD
}
