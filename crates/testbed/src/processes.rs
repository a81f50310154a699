//! The processes of one process namespace (a host, a node of a cluster), with their pids
//! in the machine's namespace.

use crate::tools::BUSY_LIMIT;
use crate::{Error, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The state of a stopped or continued process changes immediately, on a host under
/// load a little later.
const SIGNAL_LIMIT: Duration = BUSY_LIMIT;

/// The numbers of epoll_pwait2, epoll_pwait and, where it exists, epoll_wait.
const EPOLL_CALLS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["441", "281", "232"]
} else {
    &["441", "22"]
};

/// A process of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its pid in the machine's namespace, which the test uses.
    pub pid: u32,
    /// The last part of the path that it was started by.
    pub name: String,
    /// The command line, with spaces between the arguments.
    pub command: String,
    /// The letter of proc(5): R, S, D, T (stopped) ...
    pub state: char,
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({})", self.pid, self.command, self.state)
    }
}

/// Which process namespace a process is in.
pub(crate) fn namespace_of(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/ns/pid");
    let namespace = std::fs::metadata(&path).map_err(Error::path("look at", &path))?;
    Ok(namespace.ino())
}

/// Every process of a namespace but zombies. Processes that end during the call may be
/// left out.
pub(crate) fn in_namespace(namespace: u64) -> Result<Vec<Process>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir("/proc").map_err(Error::io("list /proc"))?;
    for entry in entries.flatten() {
        let pid = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        let here = std::fs::metadata(entry.path().join("ns/pid"));
        if !here.is_ok_and(|here| here.ino() == namespace) {
            continue;
        }
        if let Some(process) = pid.and_then(|pid| describe(pid, &entry.path())) {
            found.push(process);
        }
    }
    Ok(found)
}

/// `None` for a process that has ended.
fn describe(pid: u32, dir: &Path) -> Option<Process> {
    let stat = std::fs::read_to_string(dir.join("stat")).ok()?;
    // The name in parentheses may contain any character.
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    if matches!(state, 'Z' | 'X') {
        return None;
    }
    let line = std::fs::read(dir.join("cmdline")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let line = line.trim_end_matches('\0');
    let program = line.split(['\0', ' ']).next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    Some(Process {
        pid,
        name: name.trim_end_matches(':').to_owned(),
        command: line.replace('\0', " "),
        state,
    })
}

/// Waits until `left` returns an empty list.
pub(crate) fn wait_for_none(
    what: &str,
    limit: Duration,
    mut left: impl FnMut() -> Result<Vec<String>>,
) -> Result<()> {
    let start = Instant::now();
    loop {
        let found = left()?;
        if found.is_empty() {
            return Ok(());
        }
        if start.elapsed() > limit {
            return Err(Error::TimedOut {
                what: what.to_owned(),
                limit,
                log: found.join("\n"),
            });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to processes; those that have ended are skipped.
pub(crate) fn signal(processes: &[Process], signal: Signal) {
    for process in processes {
        let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, signal));
    }
}

/// Stops a process (SIGSTOP) while it waits in a call of the epoll family, and returns when it is
/// stopped.
pub(crate) fn stop_while_idle(process: &Process) -> Result<()> {
    let file = |name: &str| {
        let path = format!("/proc/{}/{name}", process.pid);
        std::fs::read_to_string(&path).map_err(Error::io(path))
    };
    let start = Instant::now();
    while start.elapsed() < SIGNAL_LIMIT {
        signal(std::slice::from_ref(process), Signal::STOP);
        if file("stat")?.contains(") T ") {
            // A stopped process has not returned from its system call.
            let call = file("syscall")?;
            let number = call.split(' ').next().unwrap_or_default();
            if EPOLL_CALLS.contains(&number) {
                return Ok(());
            }
            signal(std::slice::from_ref(process), Signal::CONT);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Err(Error::TimedOut {
        what: format!("a moment in which {process} waits"),
        limit: SIGNAL_LIMIT,
        log: file("stack").unwrap_or_default(),
    })
}

/// Stops (or continues) all processes of a namespace, also those that are started
/// during the call, and returns when all of them are.
pub(crate) fn stop_or_continue(namespace: u64, stop: bool) -> Result<()> {
    let sent = if stop { Signal::STOP } else { Signal::CONT };
    let start = Instant::now();
    loop {
        let mut other = in_namespace(namespace)?;
        other.retain(|process| (process.state == 'T') != stop);
        if other.is_empty() {
            return Ok(());
        }
        if start.elapsed() > SIGNAL_LIMIT {
            return Err(Error::TimedOut {
                what: format!("{} of {} processes", sent_name(stop), other.len()),
                limit: SIGNAL_LIMIT,
                log: format!("{other:?}"),
            });
        }
        signal(&other, sent);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn sent_name(stop: bool) -> &'static str {
    if stop { "SIGSTOP" } else { "SIGCONT" }
}
