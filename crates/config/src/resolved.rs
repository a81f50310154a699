//! The result of a resolution.

use filermark_model::RunPlan;
use filermark_model::input::InputFile;
use filermark_model::launch::LaunchPlan;
use std::path::PathBuf;

/// A run plan, and what concerns only the user's own host.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The plan; goes to agents and into the record.
    pub plan: RunPlan,
    /// How agents are started on the clients; not part of the measurement.
    pub launch: LaunchPlan,
    /// End of the names of the result files.
    pub suffix: String,
    /// Directory of the result files; may not exist yet.
    pub work_dir: PathBuf,
    /// DEBUG flags, see [`crate::debug_filter`].
    pub debug: Vec<u8>,
    /// The command that removes what the run leaves behind.
    pub stop_command: String,
    /// The files that were read, for the record.
    pub inputs: Vec<InputFile>,
    /// The files of netmist's own outputs, if the user gives any.
    pub netmist: Option<NetmistOutput>,
}

/// Outputs of netmist that are not in the plan, since they have no effect on
/// the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetmistOutput {
    /// Send a copy of the console to this file (`-l`).
    pub log: Option<PathBuf>,
    /// Put the clients' logs into this directory (`-U`, NETMIST_LOGS).
    pub client_log_dir: Option<PathBuf>,
    /// Log every heartbeat to this file (`-q`).
    pub heartbeat_log: Option<PathBuf>,
    /// Show the latency bands (`-N`).
    pub bands: bool,
}
