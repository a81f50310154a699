//! Ends the agents of one run on this host: what `filermark agent --end-run` does.
//!
//! A process is an agent of the run if it belongs to this user, its command line is exactly
//! that of an agent of this run, and its executable is a Filermark program. A pidfd is opened
//! before the final check, so that no other process is signalled if the kernel reuses the
//! number.

use super::stop::{EndReport, EndedAgent, Ending};
use crate::launch::tag::RunTag;
use filermark_link::build::has_mark;
use filermark_link::child;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the kernel may take to end a killed process.
const KILL_MAX: Duration = Duration::from_secs(2);
/// Longest command line that is checked, in bytes.
const CMDLINE_LEN_MAX: usize = 4096;

/// An agent that was found.
struct FoundAgent {
    pid: u32,
    /// A pidfd: it identifies the process even if its number is reused.
    handle: OwnedFd,
}

impl EndReport {
    fn new(tag: &RunTag) -> Self {
        Self {
            run: tag.as_str().to_owned(),
            agents: Vec::new(),
        }
    }

    fn add(&mut self, pids: Vec<u32>, ending: &Ending) {
        self.agents.extend(pids.into_iter().map(|pid| EndedAgent {
            pid,
            ending: ending.clone(),
        }));
    }
}

/// Asks the agents of a run to end, waits up to `clean_up_max` for them to clean up, and kills
/// the remaining ones.
pub(super) fn end_run(tag: &RunTag, clean_up_max: Duration) -> EndReport {
    let mut report = EndReport::new(tag);
    let mut waiting = Vec::new();
    for (pid, opened) in agents_of(tag) {
        match opened.and_then(|found| send(&found, Signal::TERM).map(|()| found)) {
            Ok(found) => waiting.push(found),
            Err(why) => report.agents.push(EndedAgent {
                pid,
                ending: Ending::Refused { reason: why },
            }),
        }
    }
    let (gone, left) = wait(waiting, clean_up_max);
    report.add(gone, &Ending::Asked);
    for found in &left {
        let _ = send(found, Signal::KILL);
    }
    let (gone, left) = wait(left, KILL_MAX);
    report.add(gone, &Ending::Killed);
    let stuck = Ending::Refused {
        reason: "it did not end after SIGKILL: it hangs in the kernel, probably on a file system that does not respond".into(),
    };
    report.add(left.iter().map(|f| f.pid).collect(), &stuck);
    report.agents.sort_by_key(|a| a.pid);
    report
}

/// The processes that are agents of the run, each with its pidfd.
fn agents_of(tag: &RunTag) -> Vec<(u32, Result<FoundAgent, String>)> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    let mine = std::process::id();
    let agents = pids.filter(|pid| *pid != mine && is_agent(*pid, tag));
    agents
        .filter_map(|pid| match open_pidfd(pid) {
            // The number may have been reused before the pidfd was opened.
            Ok(handle) if is_agent(pid, tag) => Some((pid, Ok(FoundAgent { pid, handle }))),
            Ok(_) => None,
            Err(rustix::io::Errno::SRCH) => None,
            Err(e) => Some((pid, Err(format!("pidfd_open failed: {e}")))),
        })
        .collect()
}

fn open_pidfd(pid: u32) -> rustix::io::Result<OwnedFd> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pidfd_open(raw.ok_or(rustix::io::Errno::SRCH)?, PidfdFlags::empty())
}

fn is_agent(pid: u32, tag: &RunTag) -> bool {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let is_ours = fs::metadata(&dir).is_ok_and(|m| m.uid() == rustix::process::geteuid().as_raw());
    is_ours
        && command_line(&dir).is_some_and(|line| is_agent_command_line(&line, tag))
        && File::open(dir.join("exe")).is_ok_and(|exe| has_mark(exe).unwrap_or(false))
}

fn command_line(dir: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut line = Vec::new();
    let file = File::open(dir.join("cmdline")).ok()?;
    file.take(CMDLINE_LEN_MAX as u64)
        .read_to_end(&mut line)
        .ok()?;
    Some(line)
}

/// Whether a command line, as /proc has it, is that of an agent of the run.
fn is_agent_command_line(line: &[u8], tag: &RunTag) -> bool {
    let Some(line) = line.strip_suffix(&[0]) else {
        return false;
    };
    let mut words = line.split(|b| *b == 0).skip(1);
    let expected = tag.agent_args();
    expected
        .iter()
        .all(|word| words.next() == Some(word.as_bytes()))
        && words.next().is_none()
}

fn send(found: &FoundAgent, signal: Signal) -> Result<(), String> {
    match pidfd_send_signal(&found.handle, signal) {
        // It has ended in the meantime.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(e) => Err(format!("it cannot be signalled: {e}")),
    }
}

/// Waits up to `limit` for them to end; returns the numbers of those that did, and the others.
fn wait(mut waiting: Vec<FoundAgent>, limit: Duration) -> (Vec<u32>, Vec<FoundAgent>) {
    let deadline = Instant::now() + limit;
    let mut gone = Vec::new();
    loop {
        waiting.retain(|found| {
            let ended = has_ended(found);
            if ended {
                gone.push(found.pid);
            }
            !ended
        });
        if waiting.is_empty() || Instant::now() >= deadline {
            return (gone, waiting);
        }
        std::thread::sleep(child::POLL);
    }
}

/// The pidfd of an ended process is readable, even before its parent has waited for it.
fn has_ended(found: &FoundAgent) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(&found.handle, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&now)), Ok(n) if n > 0)
}

#[cfg(test)]
mod tests;
