//! Ends the agents of one run on this host, on Windows: what `filermark agent --end-run` does.
//!
//! An agent of a run announces itself by an event that only its user may open; so no command
//! lines are read, and no other process is ended.

use super::stop::{EndReport, EndedAgent, Ending};
use crate::launch::tag::RunTag;
use filermark_system::ending::{Announced, process_numbers};
use std::time::{Duration, Instant};

/// How long the system may take to end a process.
const KILL_MAX: Duration = Duration::from_secs(2);

/// Asks the agents of a run to end, waits up to `clean_up_max` for them to clean up, and kills
/// the remaining ones.
///
/// # Errors
/// A message: the processes cannot be listed.
pub(super) fn end_run(tag: &RunTag, clean_up_max: Duration) -> Result<EndReport, String> {
    let pids = process_numbers().map_err(|e| format!("the processes cannot be listed: {e}"))?;
    let purpose = tag.agent_purpose();
    // An event that cannot be opened is that of another user.
    let opened = pids.into_iter().map(|pid| Announced::open(pid, &purpose));
    let found: Vec<Announced> = opened.filter_map(|agent| agent.ok().flatten()).collect();
    let asked: Vec<bool> = found.iter().map(|agent| agent.ask().is_ok()).collect();
    let until = Instant::now() + clean_up_max;
    let mut agents = Vec::new();
    for (agent, was_asked) in found.iter().zip(asked) {
        let left = until.saturating_duration_since(Instant::now());
        let ending = if was_asked && agent.has_ended(left) {
            Ending::Asked
        } else {
            agent.kill();
            match agent.has_ended(KILL_MAX) {
                true => Ending::Killed,
                false => Ending::Refused {
                    reason: "it did not end after it was killed; end it in the task manager".into(),
                },
            }
        };
        agents.push(EndedAgent {
            pid: agent.pid,
            ending,
        });
    }
    agents.sort_by_key(|agent| agent.pid);
    Ok(EndReport {
        run: tag.as_str().to_owned(),
        agents,
    })
}
