//! Starting agents: what a launcher returns to the prime for each.

use filermark_model::launch::HostPlan;
use std::io::{Read, Write};
use std::time::Duration;

/// An agent that was started.
pub struct LaunchedAgent {
    /// Its reports.
    pub from_agent: Box<dyn Read + Send>,
    /// For orders.
    pub to_agent: Box<dyn Write + Send>,
    /// Its handle.
    pub handle: Box<dyn AgentHandle>,
}

/// The handle of an agent: the process, thread or connection by which it was started.
pub trait AgentHandle: Send {
    /// Its output besides the protocol (ssh's "Permission denied", the agent's stderr, an exit
    /// status), in one line; `None`: there is none. Explains why a link ended; may wait a
    /// fraction of a second for the last output.
    fn final_output(&mut self) -> Option<String>;

    /// Waits up to `limit` until it has ended, then ends it. The agent detects the end of its
    /// link and cleans up.
    fn release(&mut self, limit: Duration);
}

/// Starts agents.
pub trait Launcher: Send + Sync {
    /// Starts the agent of a client; `client` is its number in the plan, from 0.
    ///
    /// # Errors
    /// A message: the step, the reason, what to try.
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String>;

    /// All agents have been released: ends what was started for agents that never connected,
    /// within `limit`.
    fn give_up(&self, _limit: Duration) {}
}
