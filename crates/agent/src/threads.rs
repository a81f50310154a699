//! Agents on threads of this process.

use super::serve;
use filermark_link::local::local_pair;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::HostPlan;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Agents on threads of this process: for tests, and for programs that embed a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadLauncher;

impl Launcher for ThreadLauncher {
    fn launch(&self, _client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let start = || {
            let (ours, theirs) = local_pair()?;
            let reads = theirs.try_clone()?;
            let ended = std::thread::Builder::new()
                .name(format!("agent-{}", host.client))
                .spawn(move || serve(reads, theirs))?;
            Ok(LaunchedAgent {
                from_agent: Box::new(ours.try_clone()?),
                to_agent: Box::new(ours),
                handle: Box::new(ThreadAgentHandle(Some(ended))),
            })
        };
        start().map_err(|e: std::io::Error| format!("cannot be started: {e}"))
    }
}

/// An agent on threads of this process.
struct ThreadAgentHandle(Option<JoinHandle<()>>);

impl AgentHandle for ThreadAgentHandle {
    fn final_output(&mut self) -> Option<String> {
        None
    }

    fn release(&mut self, limit: Duration) {
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
