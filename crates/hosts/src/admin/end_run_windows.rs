//! Ends the agents of one run on this host, on Windows: what `filermark agent --end-run` does.
//!
//! An agent of a run announces itself by an event that belongs to its user. A process is an
//! agent of the run if it has such an event, and its executable is a Filermark program. The
//! process is opened before that is checked, so that no other one is ended if the system reuses
//! the number.

use super::stop::{EndReport, EndedAgent, Ending};
use crate::launch::tag::RunTag;
use filermark_engine::driver::StopFlag;
use filermark_link::build::has_mark;
use filermark_system::ending::{Announced, EndRequests, process_numbers};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the system may take to end a process.
const KILL_MAX: Duration = Duration::from_secs(2);

/// Interval at which the thread of an agent looks whether the agent ends by itself.
const LOOK: Duration = Duration::from_secs(1);

/// This process as an agent of a run. It is known as one until this is dropped: also while it
/// ends, so that another `stop` waits for it, too.
#[derive(Debug)]
pub struct AnnouncedAgent {
    _requests: Arc<EndRequests>,
    _thread: JoinHandle<()>,
}

/// Makes this process known as an agent of the run, and raises `quit` when it is asked to end.
///
/// # Errors
/// Another process holds the name of the event, or the system's.
pub fn announce(tag: &RunTag, quit: &StopFlag) -> io::Result<AnnouncedAgent> {
    let requests = Arc::new(EndRequests::announce(&tag.agent_purpose())?);
    let (waiting, quit) = (requests.clone(), quit.clone());
    let wait = move || {
        while !quit.is_raised() {
            if waiting.wait(LOOK) {
                quit.raise();
            }
        }
    };
    let named = std::thread::Builder::new().name("end-requests".into());
    Ok(AnnouncedAgent {
        _requests: requests,
        _thread: named.spawn(wait)?,
    })
}

/// Whether an executable is a Filermark program.
fn is_filermark(executable: &Path) -> bool {
    File::open(executable).is_ok_and(|file| has_mark(file).unwrap_or(false))
}

/// Asks the agents of a run to end, waits up to `clean_up_max` for them to clean up, and kills
/// the remaining ones.
///
/// # Errors
/// A message: the processes cannot be listed.
pub(super) fn end_run(tag: &RunTag, clean_up_max: Duration) -> Result<EndReport, String> {
    let pids = process_numbers().map_err(|e| format!("the processes cannot be listed: {e}"))?;
    let purpose = tag.agent_purpose();
    // What cannot be opened is that of another user.
    let open = |pid| Announced::open(pid, &purpose, is_filermark);
    let opened = pids.into_iter().map(open);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    /// The run of the agent that is started as another process.
    const RUN_VARIABLE: &str = "FILERMARK_TEST_AGENT_OF_RUN";
    /// What it prints when it can be found.
    const READY: &str = "the agent is announced";
    /// When it ends by itself, if no process asks it.
    const AGENT_MAX: Duration = Duration::from_secs(120);

    fn tag(name: &str) -> RunTag {
        RunTag::new(&format!("test-{}-{name}", std::process::id())).unwrap()
    }

    fn is_found(tag: &RunTag) -> bool {
        let found = Announced::open(std::process::id(), &tag.agent_purpose(), is_filermark);
        found.unwrap().is_some()
    }

    #[test]
    fn an_agent_that_is_ending_is_found_again() {
        let (tag, quit) = (tag("again"), StopFlag::new());
        let announced = announce(&tag, &quit).unwrap();
        assert!(is_found(&tag));
        quit.raise();
        let AnnouncedAgent { _requests, _thread } = announced;
        _thread.join().unwrap();
        // The thread has ended, the agent is cleaning up.
        assert!(is_found(&tag));
        drop(_requests);
        assert!(!is_found(&tag));
    }

    #[test]
    fn only_filermark_is_an_agent() {
        assert!(is_filermark(&std::env::current_exe().unwrap()));
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other.exe");
        std::fs::write(&other, "another program").unwrap();
        assert!(!is_filermark(&other));
        assert!(!is_filermark(&dir.path().join("none.exe")));
    }

    #[test]
    #[ignore = "is started by the_agents_of_the_run_are_asked_to_end as another process"]
    fn agent() {
        let Ok(run) = std::env::var(RUN_VARIABLE) else {
            return;
        };
        let quit = StopFlag::new();
        let _announced = announce(&RunTag::new(&run).unwrap(), &quit).unwrap();
        println!("{READY}");
        let since = Instant::now();
        while !quit.is_raised() && since.elapsed() < AGENT_MAX {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn the_agents_of_the_run_are_asked_to_end() {
        let tag = tag("asked");
        let mut agent = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--nocapture", "--exact"])
            .arg("admin::end_run_windows::tests::agent")
            .env(RUN_VARIABLE, tag.as_str())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
        let is_ready = lines.any(|line| line.is_ok_and(|line| line.contains(READY)));
        let others = end_run(&RunTag::new("test-other").unwrap(), Duration::ZERO).unwrap();
        let report = end_run(&tag, AGENT_MAX).unwrap();
        let _ = agent.kill();
        agent.wait().unwrap();
        assert!(is_ready);
        assert_eq!(others.agents, []);
        let ended = EndedAgent {
            pid: agent.id(),
            ending: Ending::Asked,
        };
        assert_eq!(report.agents, [ended]);
    }
}
