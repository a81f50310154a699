//! Programs of the user that run during a benchmark, each in its own process group, so that
//! their children end with them. On Windows the group is a job.

use filermark_model::secret::PASSWORD_VARIABLE;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long a program may take to exit after SIGTERM.
pub const TERM_GRACE: Duration = Duration::from_secs(3);
/// Interval of the checks whether a program has ended.
pub const POLL: Duration = Duration::from_millis(10);
/// How long a program's children may take to exit after it.
const GRACE: Duration = Duration::from_millis(100);

/// Sends SIGTERM to programs and all of their children, and SIGKILL after `grace` to those that
/// remain. Waits no longer than `grace` again, since a process may hang in the kernel (on a
/// dead mount). Returns whether all have ended.
pub fn end_all(children: &mut [Child], grace: Duration) -> bool {
    end_each(&mut children.iter_mut().collect::<Vec<_>>(), grace)
}

/// [`end_all`] for programs that are not in one slice.
pub fn end_each(children: &mut [&mut Child], grace: Duration) -> bool {
    if children.is_empty() {
        return true;
    }
    for child in children.iter_mut() {
        group::terminate(child);
    }
    // They are checked without `wait`: as long as a program has not been waited for, no other
    // process group can get its number.
    wait_all(children, grace, group::has_ended);
    std::thread::sleep(GRACE);
    for child in children.iter_mut() {
        group::end_now(child);
    }
    wait_all(children, grace, |child| !is_running(child))
}

/// Whether it has not ended yet.
pub(crate) fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signal(i32),
}

/// The signal that asks a program to end.
pub const SIGTERM: i32 = 15;
/// The signal that kills it.
pub const SIGKILL: i32 = 9;

/// How it has ended; `None`: it is running. It remains the leader of its group: as long as it
/// has not been waited for, no other group can get its number.
pub fn end_of(child: &mut Child) -> std::io::Result<Option<ExitKind>> {
    group::end_of(child)
}

/// Whether a process of the group that this child leads is running, including the child. If the
/// system does not show it, one counts as running.
pub fn has_running_group(leader: &Child) -> bool {
    group::has_running(leader.id())
}

/// The result of `wait` for a program.
pub fn end_by(status: ExitStatus) -> ExitKind {
    match status.code() {
        Some(code) if group::was_killed(code) => ExitKind::Signal(SIGKILL),
        Some(code) => ExitKind::Exited(code),
        None => ExitKind::Signal(group::signal_of(status)),
    }
}

/// Kills the groups of these leaders, which have not been waited for, with a minimal delay.
pub fn end_groups(leaders: &[u32]) {
    if !leaders.is_empty() {
        group::end_numbers(leaders, GRACE);
    }
}

/// Whether all have ended within `limit`.
fn wait_all(
    children: &mut [&mut Child],
    limit: Duration,
    has_ended: impl Fn(&mut Child) -> bool,
) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if children.iter_mut().all(|child| has_ended(child)) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

/// Starts the program as leader of its own process group, and without the password in its
/// environment. On Windows it is ended, with its children, when this process ends in any way.
///
/// # Errors
/// It cannot be started.
pub fn spawn_in_own_group(command: &mut Command) -> std::io::Result<Child> {
    spawn_group(command, true)
}

/// [`spawn_in_own_group`] for a program that ends by itself at the end of its input, which our
/// end is, too: an agent still removes its files then. No system ends it with this process.
///
/// # Errors
/// It cannot be started.
pub fn spawn_until_end_of_input(command: &mut Command) -> std::io::Result<Child> {
    spawn_group(command, false)
}

fn spawn_group(command: &mut Command, ends_with_us: bool) -> std::io::Result<Child> {
    // srun would even pass it to all nodes.
    group::spawn(command.env_remove(PASSWORD_VARIABLE), ends_with_us)
}

#[cfg(windows)]
#[path = "child/jobs.rs"]
mod group;

#[cfg(unix)]
mod group {
    use super::ExitKind;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group as kill, waitid};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};
    use std::time::Duration;

    /// No group ends with this process here.
    pub fn spawn(command: &mut Command, _ends_with_us: bool) -> std::io::Result<Child> {
        command.process_group(0).spawn()
    }

    pub fn terminate(child: &mut Child) {
        signal(child.id(), Signal::TERM);
    }

    pub fn end_now(child: &mut Child) {
        signal(child.id(), Signal::KILL);
    }

    /// Without reaping it.
    pub fn has_ended(child: &mut Child) -> bool {
        !matches!(end_of(child), Ok(None))
    }

    pub fn end_of(child: &Child) -> std::io::Result<Option<ExitKind>> {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_raw(child.id() as i32).ok_or(std::io::ErrorKind::NotFound)?;
        let status = waitid(WaitId::Pid(pid), look)?;
        Ok(status.map(|status| match status.exit_status() {
            Some(code) => ExitKind::Exited(code),
            None => ExitKind::Signal(status.terminating_signal().unwrap_or(0)),
        }))
    }

    pub fn signal_of(status: ExitStatus) -> i32 {
        status.signal().unwrap_or(0)
    }

    /// A program that was killed has no exit code.
    pub const fn was_killed(_: i32) -> bool {
        false
    }

    /// `/proc/PID/stat` has the state and the group as the first and the third field after the
    /// name (proc_pid_stat(5)). A process that has ended and was not waited for is in state Z.
    #[cfg(target_os = "linux")]
    pub fn has_running(leader: u32) -> bool {
        let Ok(entries) = std::fs::read_dir("/proc") else {
            return true;
        };
        entries.flatten().any(|entry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let Some((_, behind_name)) = stat.rsplit_once(')') else {
                return false;
            };
            let mut words = behind_name.split_whitespace();
            let runs = !matches!(words.next(), None | Some("Z" | "X"));
            runs && words.nth(1).and_then(|word| word.parse().ok()) == Some(leader)
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn has_running(_: u32) -> bool {
        true
    }

    pub fn end_numbers(leaders: &[u32], grace: Duration) {
        for wish in [Signal::TERM, Signal::KILL] {
            for leader in leaders {
                signal(*leader, wish);
            }
            if wish == Signal::TERM {
                std::thread::sleep(grace);
            }
        }
    }

    fn signal(leader: u32, signal: Signal) {
        if let Some(pid) = Pid::from_raw(leader as i32) {
            let _ = kill(pid, signal);
        }
    }
}
