//! Work on client hosts before and after runs: the program is installed, remaining agents are
//! ended, SSH is set up.
//!
//! Hosts are independent, and several are worked on in parallel. All access uses the user's own
//! SSH client. Nothing here knows plans, loads or the protocol between prime and agents.

mod answer;
mod copy_id;
#[cfg(target_os = "linux")]
mod end_run;
#[cfg(windows)]
mod end_run_windows;
#[cfg(all(test, unix))]
pub(crate) mod fake;
pub mod install;
pub mod keys;
pub(crate) mod remote;
mod scripts;
mod sftp;
mod slurm_jobs;
pub mod stop;
pub(crate) mod system;
mod verdict;
mod windows;

use filermark_engine::driver::StopFlag;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use serde::Serialize;
use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Hosts that are worked on at the same time.
const PARALLEL_MAX: usize = 16;

/// The outcome of the work on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOutcome {
    /// Its name as the rc file gives it, with the user where one is named.
    pub host: String,
    /// How its agent is started.
    pub launcher: LauncherKind,
    /// The outcome.
    pub state: HostState,
    /// The outcome as a message, with the reason and what to try if it failed.
    pub detail: String,
}

/// The outcome of the work on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostState {
    /// It was done.
    Done,
    /// There was nothing to do.
    Nothing,
    /// It would be done; only a dry run was requested.
    Planned,
    /// The user has to do it.
    ByHand,
    /// It could not be done.
    Failed,
}

impl fmt::Display for HostState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Done => "done",
            Self::Nothing => "nothing to do",
            Self::Planned => "to do",
            Self::ByHand => "by hand",
            Self::Failed => "FAILED",
        })
    }
}

impl HostOutcome {
    fn new(host: &HostPlan, state: HostState, detail: impl Into<String>) -> Self {
        Self {
            host: shown(host),
            launcher: host.launcher,
            state,
            detail: detail.into(),
        }
    }

    /// Whether it failed.
    pub fn is_failure(&self) -> bool {
        self.state == HostState::Failed
    }
}

/// A step of the work on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostStep {
    /// The host is inspected.
    Inspecting,
    /// The program is being copied.
    Sending {
        /// Bytes that ssh has taken so far.
        sent: u64,
        /// All of them.
        total: u64,
    },
    /// This command is run at the terminal; it may ask for a password.
    Asking(String),
    /// Its agents are asked to end.
    Ending,
    /// The work is finished.
    Done(HostState),
}

/// Called with a host and the step that begins there.
pub type HostObserver<'a> = &'a mut dyn FnMut(&HostPlan, HostStep);

/// Time limits of the work on a host.
#[derive(Clone, Debug)]
pub struct HostLimits {
    /// Inspecting a host.
    pub inspect: Duration,
    /// Time without progress.
    pub silence: Duration,
    /// All of the work on one host.
    pub total: Duration,
    /// Raised when the user stops the command.
    pub stop: StopFlag,
}

impl Default for HostLimits {
    fn default() -> Self {
        Self {
            inspect: Duration::from_secs(30),
            silence: Duration::from_secs(30),
            total: Duration::from_secs(600),
            stop: StopFlag::new(),
        }
    }
}

/// A host as a table shows it.
fn shown(host: &HostPlan) -> String {
    match (&host.user, host.launcher) {
        (Some(user), LauncherKind::Ssh) => format!("{user}@{}", host.client),
        _ => host.client.clone(),
    }
}

/// Every host once, in the order of the plan: several clients may run on one host.
fn each_once(plan: &LaunchPlan) -> Vec<HostPlan> {
    let mut hosts: Vec<HostPlan> = Vec::new();
    for host in &plan.hosts {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    hosts
}

/// Works on hosts in parallel; returns the results in the order of the hosts. `observe` is
/// called on the caller's thread.
fn in_parallel<R: Send>(
    hosts: &[HostPlan],
    work: impl Fn(&HostPlan, &dyn Fn(HostStep)) -> R + Sync,
    observe: HostObserver<'_>,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(hosts.iter().map(|_| None).collect());
    let (sender, steps_made) = channel();
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_MAX.min(hosts.len()) {
            let (sender, work, next, results) = (sender.clone(), &work, &next, &results);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(host) = hosts.get(at) else { return };
                    let result = work(host, &|step| {
                        let _ = sender.send((at, step));
                    });
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results[at] = Some(result);
                }
            });
        }
        drop(sender);
        for (at, step) in steps_made {
            observe(&hosts[at], step);
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().flatten().collect()
}

/// A number of bytes as text.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    fn host(name: &str) -> HostPlan {
        HostPlan::local(name.into())
    }

    #[test]
    fn hosts_are_worked_on_in_parallel_and_reported_in_order() {
        let hosts: Vec<_> = (0..50).map(|n| host(&n.to_string())).collect();
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut steps = 0;
        let results = in_parallel(
            &hosts,
            |h, observe_step| {
                let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(at_once, Ordering::SeqCst);
                observe_step(HostStep::Inspecting);
                std::thread::sleep(Duration::from_millis(5));
                now.fetch_sub(1, Ordering::SeqCst);
                h.client.clone()
            },
            &mut |_, _| steps += 1,
        );
        assert_eq!(steps, 50);
        let names: Vec<_> = hosts.iter().map(|h| h.client.clone()).collect();
        assert_eq!(results, names);
        let most = most.into_inner();
        assert!((2..=PARALLEL_MAX).contains(&most), "{most}");
    }

    #[test]
    fn a_host_with_two_clients_is_one_host() {
        let plan = LaunchPlan::local(["a", "b", "a"].map(String::from));
        let names: Vec<_> = each_once(&plan).into_iter().map(|h| h.client).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
