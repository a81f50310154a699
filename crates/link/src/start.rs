//! Starting agents: what a launcher gives the prime for each.

use filermark_model::launch::HostPlan;
use std::io::{Read, Write};
use std::time::Duration;

/// An agent that was started.
pub struct LaunchedAgent {
    /// What it says.
    pub from_agent: Box<dyn Read + Send>,
    /// What it is told.
    pub to_agent: Box<dyn Write + Send>,
    /// What holds it.
    pub handle: Box<dyn AgentHandle>,
}

/// What holds an agent: the process or thread by which it was started.
pub trait AgentHandle: Send {
    /// What was said beside the protocol (ssh's "Permission denied", the agent's
    /// stderr, an exit status), in one line; `None`: nothing. Explains why a link
    /// ended; may wait a fraction of a second for the last words.
    fn final_output(&mut self) -> Option<String>;

    /// Waits till it has ended, at most so long, then ends it. The agent itself
    /// notices that its link is gone and cleans up.
    fn release(&mut self, limit: Duration);
}

/// Starts agents.
pub trait Launcher: Send + Sync {
    /// Starts the agent of a client; `client` is its number in the plan, from 0.
    ///
    /// # Errors
    /// One sentence: the step, the reason, the next thing to try.
    fn launch(&self, client: usize, host: &HostPlan) -> Result<LaunchedAgent, String>;

    /// Nobody is wanted any more, and all agents were let go: ends what was started and
    /// waited for in vain, within so long.
    fn give_up(&self, _limit: Duration) {}
}
