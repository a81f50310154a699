//! How agents come to be on their hosts.
//!
//! A launcher starts the agent of one client and gives the prime two byte streams to
//! it, and a leash. What is said over the streams is not its affair. It may take its
//! time (several clients are started side by side), but never longer than
//! [`LaunchPlan::start_timeout`](filermark_model::launch::LaunchPlan::start_timeout).

mod accept;
mod connect;
mod every;
pub mod explain;
#[cfg(test)]
mod hand_tests;
pub(crate) mod own_addresses;
pub mod process;
mod remote;
mod seats;
pub(crate) mod slurm;
#[cfg(test)]
mod slurm_tests;
mod srun;
pub mod ssh;
pub mod tag;

pub use accept::AcceptLauncher;
pub use connect::ConnectLauncher;
pub use every::EveryLauncher;
pub use remote::AGENT_PORT;
pub use slurm::SlurmLauncher;

use crate::agent;
use filermark_model::launch::HostPlan;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An agent that was started.
pub struct Launched {
    /// What it says.
    pub from_agent: Box<dyn Read + Send>,
    /// What it is told.
    pub to_agent: Box<dyn Write + Send>,
    /// What holds it.
    pub leash: Box<dyn Leash>,
}

/// What holds an agent: the process or thread by which it was started.
pub trait Leash: Send {
    /// What was said beside the protocol (ssh's "Permission denied", the agent's
    /// stderr, an exit status), in one line; `None`: nothing. Explains why a link
    /// ended; may wait a fraction of a second for the last words.
    fn last_words(&mut self) -> Option<String>;

    /// Waits till it has ended, at most so long, then ends it. The agent itself
    /// notices that its link is gone and cleans up.
    fn let_go(&mut self, limit: Duration);
}

/// Starts agents.
pub trait Launcher: Send + Sync {
    /// Starts the agent of a client; `client` is its number in the plan, from 0.
    ///
    /// # Errors
    /// One sentence: the step, the reason, the next thing to try.
    fn launch(&self, client: usize, host: &HostPlan) -> Result<Launched, String>;

    /// Nobody is wanted any more, and all agents were let go: ends what was started and
    /// waited for in vain, within so long.
    fn give_up(&self, _limit: Duration) {}
}

/// Agents on threads of this process: for tests, and for programs that embed a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadLauncher;

impl Launcher for ThreadLauncher {
    fn launch(&self, _client: usize, host: &HostPlan) -> Result<Launched, String> {
        let start = || {
            let (ours, theirs) = UnixStream::pair()?;
            let reads = theirs.try_clone()?;
            let ended = std::thread::Builder::new()
                .name(format!("agent-{}", host.client))
                .spawn(move || agent::serve(reads, theirs))?;
            Ok(Launched {
                from_agent: Box::new(ours.try_clone()?),
                to_agent: Box::new(ours),
                leash: Box::new(ThreadLeash(Some(ended))),
            })
        };
        start().map_err(|e: std::io::Error| format!("cannot be started: {e}"))
    }
}

/// Holds an agent on threads of this process.
struct ThreadLeash(Option<JoinHandle<()>>);

impl Leash for ThreadLeash {
    fn last_words(&mut self) -> Option<String> {
        None
    }

    fn let_go(&mut self, limit: Duration) {
        let since = Instant::now();
        let Some(thread) = self.0.take() else { return };
        while !thread.is_finished() && since.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}
