//! How agents come to be on their hosts.
//!
//! A launcher starts an agent and gives the prime two byte streams to it. The
//! local one runs the agent on threads of this process, over a socket pair, so
//! that everything but the host is as it will be with other launchers.

use crate::agent;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// An agent that was started.
pub struct Launched {
    /// What it says.
    pub from_agent: Box<dyn Read + Send>,
    /// What it is told.
    pub to_agent: Box<dyn Write + Send>,
    /// Ends when the agent has ended.
    pub ended: Option<JoinHandle<()>>,
}

/// Starts agents.
pub trait Launcher {
    /// Starts the agent for a client, by its name in the plan.
    ///
    /// # Errors
    /// It could not be started.
    fn launch(&self, client: &str) -> io::Result<Launched>;
}

/// Agents on threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalLauncher;

impl Launcher for LocalLauncher {
    fn launch(&self, client: &str) -> io::Result<Launched> {
        let (ours, theirs) = UnixStream::pair()?;
        let reads = theirs.try_clone()?;
        let ended = std::thread::Builder::new()
            .name(format!("agent-{client}"))
            .spawn(move || agent::serve(reads, theirs))?;
        Ok(Launched {
            from_agent: Box::new(ours.try_clone()?),
            to_agent: Box::new(ours),
            ended: Some(ended),
        })
    }
}
