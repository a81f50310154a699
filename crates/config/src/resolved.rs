//! The result of a resolution.

use filermark_model::RunPlan;
use filermark_model::input::InputFile;
use filermark_model::launch::LaunchPlan;
use std::path::PathBuf;

/// A run plan, and what concerns only the host that the user sits at.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// The plan; goes to agents and into the record.
    pub plan: RunPlan,
    /// How the agents come to be on the clients; no part of what is measured.
    pub launch: LaunchPlan,
    /// End of the names of the result files.
    pub suffix: String,
    /// Directory of the result files; may not exist yet.
    pub work_dir: PathBuf,
    /// DEBUG flags, see [`crate::debug_filter`].
    pub debug: Vec<u8>,
    /// The command that removes what the run leaves behind.
    pub stop_command: String,
    /// The files that all this was read from, for the record.
    pub inputs: Vec<InputFile>,
    /// Where netmist's own outputs go, when the user says so.
    pub netmist: Option<NetmistOutput>,
}

/// Outputs of netmist that have no place in the plan, since they change nothing
/// that is measured.
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
