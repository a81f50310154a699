//! Programs and services next to the load: monitor, scripts, time service.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// PRIME_MON_SCRIPT and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorPlan {
    /// The program.
    pub script: String,
    /// Its own arguments, before those that we add.
    pub args: Vec<String>,
    /// When it runs (PRIME_MON_MODE).
    #[serde(default, skip_serializing_if = "MonitorMode::is_phases")]
    pub mode: MonitorMode,
    /// How long a call of a phase may take (SCRIPT_LIMIT_S); nothing else has a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
}

/// When the program of PRIME_MON_SCRIPT runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MonitorMode {
    /// From the beginning to the end of RUN, with its own arguments only.
    Program,
    /// It is called as each phase begins and ends. Records without a word mean this.
    #[default]
    Phases,
}

impl MonitorMode {
    fn is_phases(&self) -> bool {
        *self == Self::Phases
    }
}

/// Scripts of netmist that the prime calls (manual N, section 21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptsPlan {
    /// Where they are looked for.
    pub dir: String,
    /// How long one may take.
    pub limit: Nanos,
}

/// A time service to hold the clock against (`-H`, `-S`; PIT_SERVER, PIT_PORT).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockServicePlan {
    /// Its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}
