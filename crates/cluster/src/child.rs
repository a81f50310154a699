//! Programs of the user's that run beside a benchmark: started in a process group
//! of their own, so that what they start in turn ends with them.

use filermark_model::secret::PASSWORD_VARIABLE;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// How long a program may take to end by itself after it was asked to.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
/// How often is looked whether a program has ended.
pub(crate) const LOOK: Duration = Duration::from_millis(10);
/// What a program's children have, after it, to end by themselves.
const GRACE: Duration = Duration::from_millis(100);

/// Asks programs and all of their children to end, and after `patience` ends those
/// that are still there. Waits no longer than that again: what hangs in the kernel
/// (on a dead mount) must not take us along. Says whether all have ended.
pub(crate) fn end_all(children: &mut [Child], patience: Duration) -> bool {
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

/// Whether all have ended before so much time has passed.
fn wait_all(
    children: &mut [Child],
    limit: Duration,
    has_ended: impl Fn(&mut Child) -> bool,
) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if children.iter_mut().all(&has_ended) {
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
pub(crate) fn in_own_group(command: &mut Command) -> &mut Command {
    // srun would even send it to all nodes.
    group::lead(command.env_remove(PASSWORD_VARIABLE))
}

#[cfg(unix)]
mod group {
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group as kill, waitid};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    pub fn lead(command: &mut Command) -> &mut Command {
        command.process_group(0)
    }

    pub fn ask_to_end(child: &mut Child) {
        signal(child, Signal::TERM);
    }

    pub fn end_now(child: &mut Child) {
        signal(child, Signal::KILL);
    }

    /// Without waiting for it in the sense of the system.
    pub fn has_ended(child: &mut Child) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Pid::from_raw(child.id() as i32)
            .is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    fn signal(child: &Child, signal: Signal) {
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill(pid, signal);
        }
    }
}

/// Without process groups a program stands alone, and is ended when it is asked to.
#[cfg(not(unix))]
mod group {
    use std::process::{Child, Command};

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
