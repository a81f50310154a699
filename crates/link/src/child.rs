//! Programs of the user's that run beside a benchmark: started in a process group
//! of their own, so that what they start in turn ends with them.

use filermark_model::secret::PASSWORD_VARIABLE;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long a program may take to end by itself after it was asked to.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// How often is looked whether a program has ended.
pub const LOOK: Duration = Duration::from_millis(10);
/// What a program's children have, after it, to end by themselves.
const GRACE: Duration = Duration::from_millis(100);

/// Asks programs and all of their children to end, and after `patience` ends those
/// that are still there. Waits no longer than that again: what hangs in the kernel
/// (on a dead mount) must not take us along. Says whether all have ended.
pub fn end_all(children: &mut [Child], patience: Duration) -> bool {
    end_each(&mut children.iter_mut().collect::<Vec<_>>(), patience)
}

/// The same for those that stand at different places.
pub fn end_each(children: &mut [&mut Child], patience: Duration) -> bool {
    if children.is_empty() {
        return true;
    }
    for child in children.iter_mut() {
        group::ask_to_end(child);
    }
    // They are looked at and not waited for: as long as a program has not been
    // waited for, no other process group can have its number.
    wait_all(children, patience, group::has_ended);
    std::thread::sleep(GRACE);
    for child in children.iter_mut() {
        group::end_now(child);
    }
    wait_all(children, patience, |child| !is_running(child))
}

/// Whether it has not ended yet.
pub(crate) fn is_running(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signal(i32),
}

/// The signal that asks a program to end.
pub const SIGTERM: i32 = 15;
/// The signal that ends it.
pub const SIGKILL: i32 = 9;

/// How it has ended; `None`: it has not. It stays the leader of its group: as long as
/// nobody has waited for it, no other group can have its number.
pub fn end_of(child: &mut Child) -> std::io::Result<Option<ExitKind>> {
    group::end_of(child)
}

/// Whether a process of the group that this child leads still runs, the child among them.
/// Where the system does not tell, one does.
pub fn has_running_group(leader: &Child) -> bool {
    group::has_running(leader.id())
}

/// What the system says of a program that was waited for.
pub fn end_by(status: ExitStatus) -> ExitKind {
    match status.code() {
        Some(code) => ExitKind::Exited(code),
        None => ExitKind::Signal(group::signal_of(status)),
    }
}

/// Ends the groups of these leaders, of which none was waited for, with hardly a delay.
pub fn end_groups(leaders: &[u32]) {
    if !leaders.is_empty() {
        group::end_numbers(leaders, GRACE);
    }
}

/// Whether all have ended before so much time has passed.
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
        std::thread::sleep(LOOK);
    }
}

/// The program shall lead a process group of its own, where there are such, and is not
/// told our password.
pub fn in_own_group(command: &mut Command) -> &mut Command {
    // srun would even send it to all nodes.
    group::in_new_group(command.env_remove(PASSWORD_VARIABLE))
}

#[cfg(unix)]
mod group {
    use super::ExitKind;
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group as kill, waitid};
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command, ExitStatus};
    use std::time::Duration;

    pub fn in_new_group(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    pub fn ask_to_end(child: &mut Child) {
        signal(child.id(), Signal::TERM);
    }

    pub fn end_now(child: &mut Child) {
        signal(child.id(), Signal::KILL);
    }

    /// Without waiting for it in the sense of the system.
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

    /// `/proc/PID/stat` has the state and the group as the first and the third word behind
    /// the name (proc_pid_stat(5)). A process that has ended and was not waited for is in
    /// state Z.
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

/// Without process groups a program stands alone, and is ended when it is asked to.
#[cfg(not(unix))]
mod group {
    use super::ExitKind;
    use std::process::{Child, Command, ExitStatus};

    pub fn end_of(child: &mut Child) -> std::io::Result<Option<ExitKind>> {
        Ok(child.try_wait()?.map(super::end_by))
    }

    pub fn signal_of(_: ExitStatus) -> i32 {
        super::SIGKILL
    }

    pub fn has_running(_: u32) -> bool {
        true
    }

    /// Without groups there are no numbers to end them by.
    pub fn end_numbers(_: &[u32], _: std::time::Duration) {}

    pub fn lead(command: &mut Command) -> &mut Command {
        command
    }

    pub fn ask_to_end(child: &mut Child) {
        let _ = child.kill();
    }

    pub fn end_now(child: &mut Child) {
        let _ = child.kill();
    }

    pub fn has_ended(child: &mut Child) -> bool {
        !super::is_running(child)
    }
}
