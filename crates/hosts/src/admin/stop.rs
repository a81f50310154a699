//! Ends the remaining agents of a run on its clients (netmist's `-k`, manual N), and no other
//! processes.
//!
//! On this host it is done here; on other hosts the program there does it (`agent --end-run`),
//! which prints one line about what it ended. Files that dead agents have left are not handled
//! here.

#[cfg(windows)]
pub use super::end_run_windows::{AnnouncedAgent, announce};

use super::answer::HostAnswer;
use super::install::answer_in;
use super::remote::{self, CommandOutput, Input, RemoteCommand, RemoteError};
use super::scripts::{END_RUN, script_input};
use super::slurm_jobs;
use super::system::{self, Asked};
use super::{HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, in_parallel};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, RemoteProgram, SshClient, destination, quote};
use crate::launch::tag::RunTag;
use crate::launch::windows::WindowsProgram;
use crate::programs::{build_dir, has_windows_path};
use filermark_link::build::own_build;
use filermark_link::limits::CLEAN_UP_MAX;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_model::text::sanitize;
use filermark_system::Platform;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long connecting to a host may take beyond that.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// The agents that were ended on one host; one line of JSON between programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndReport {
    /// Which run.
    pub run: String,
    /// The agents that were found, in the order of their numbers.
    pub agents: Vec<EndedAgent>,
}

/// An agent that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAgent {
    /// Its process id.
    pub pid: u32,
    /// Its outcome.
    #[serde(flatten)]
    pub ending: Ending,
}

/// The outcome of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum Ending {
    /// It was asked to end, and did.
    Asked,
    /// It did not end in time and was killed.
    Killed,
    /// It is still running.
    Refused {
        /// Why.
        reason: String,
    },
}

impl EndReport {
    /// State and message of a host.
    fn verdict(&self) -> (HostState, String) {
        let run = &self.run;
        if self.agents.is_empty() {
            return (HostState::Nothing, format!("no agent of run '{run}' there"));
        }
        let of = |wanted: fn(&Ending) -> bool| -> Vec<String> {
            let found = self.agents.iter().filter(|a| wanted(&a.ending));
            found.map(|a| a.pid.to_string()).collect()
        };
        let mut parts = Vec::new();
        let asked = of(|e| *e == Ending::Asked);
        if !asked.is_empty() {
            parts.push(format!("ended {}", processes(&asked)));
        }
        let killed = of(|e| *e == Ending::Killed);
        if !killed.is_empty() {
            parts.push(format!(
                "killed {}; files that it created may remain",
                processes(&killed)
            ));
        }
        let mut state = HostState::Done;
        for agent in &self.agents {
            if let Ending::Refused { reason } = &agent.ending {
                state = HostState::Failed;
                parts.push(format!("process {} is still running: {reason}", agent.pid));
            }
        }
        (state, parts.join("; "))
    }
}

fn processes(pids: &[String]) -> String {
    match pids {
        [one] => format!("process {one}"),
        more => format!("processes {}", more.join(", ")),
    }
}

/// Ends the agents of a run on this host; waits up to `clean_up_max` for them to clean up.
///
/// # Errors
/// A message: agents cannot be found on this system.
pub fn end_run(tag: &RunTag, clean_up_max: Duration) -> Result<EndReport, String> {
    #[cfg(target_os = "linux")]
    {
        Ok(super::end_run::end_run(tag, clean_up_max))
    }
    #[cfg(windows)]
    {
        super::end_run_windows::end_run(tag, clean_up_max)
    }
    #[cfg(not(any(windows, target_os = "linux")))]
    {
        let _ = clean_up_max;
        Err(format!(
            "agents can only be found on Linux and Windows; end what has 'agent --stdio --run {tag}' on its command line by hand"
        ))
    }
}

/// Ends the agents of a run on every client of the plan, each host once.
pub fn stop(
    plan: &LaunchPlan,
    tag: &RunTag,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Vec<HostOutcome> {
    let client = SshClient::of(plan);
    let work = |host: &HostPlan, observe_step: &dyn Fn(HostStep)| {
        observe_step(HostStep::Ending);
        let ended = match host.launcher {
            LauncherKind::Local => end_run(tag, CLEAN_UP_MAX).map(|r| r.verdict()),
            LauncherKind::Ssh => over_ssh(&client, host, tag, limits),
            LauncherKind::Slurm => slurm_jobs::end_jobs(plan, tag),
            LauncherKind::Connect(_) | LauncherKind::Accept => Ok((
                HostState::ByHand,
                "its agent was started by hand: end it there with Ctrl-C".into(),
            )),
        };
        let (state, detail) = ended.unwrap_or_else(|why| (HostState::Failed, why));
        observe_step(HostStep::Done(state));
        HostOutcome::new(host, state, detail)
    };
    in_parallel(&one_per_host(plan), work, observe)
}

/// The hosts, with this host only once even if its clients have several names, and one host of
/// Slurm for all of them, since they have one job.
fn one_per_host(plan: &LaunchPlan) -> Vec<HostPlan> {
    let (mut local, mut slurm) = (false, false);
    let mut hosts = each_once(plan);
    hosts.retain(|h| match h.launcher {
        LauncherKind::Local => !std::mem::replace(&mut local, true),
        LauncherKind::Slurm => !std::mem::replace(&mut slurm, true),
        _ => true,
    });
    hosts
}

fn over_ssh(
    client: &SshClient,
    host: &HostPlan,
    tag: &RunTag,
    limits: &HostLimits,
) -> Result<(HostState, String), String> {
    let place = RemoteProgram::of(host, own_build());
    let (front, owner) = match place.is_default_path {
        true => (place.path.trim_end_matches("/filermark"), "own"),
        false => (place.path.as_str(), "users"),
    };
    let limit = (CLEAN_UP_MAX + CONNECT_MAX).min(limits.total);
    let failed = |why| match why {
        RemoteError::Failed(why) => why,
        RemoteError::Stopped => "stopped on request".into(),
    };
    let on_windows = |system: &Platform| {
        let there = WindowsProgram::of(host, &build_dir(own_build(), system))?;
        let line = there.command_line(["agent", "--end-run", tag.as_str()]);
        let call = RemoteCommand {
            client,
            host,
            remote: Remote::Command(line),
            program: there.shown.clone(),
            input: Input::Nothing,
            limit,
            limits,
        };
        let reply = remote::run(&call, &|_| {}).map_err(failed)?;
        match report_in(&reply.output, tag) {
            Some(report) => Ok(report.verdict()),
            None => Err(reply
                .meaning
                .unwrap_or_else(|| format!("{} did not state which agents it ended", there.shown))),
        }
    };
    if has_windows_path(host) {
        return on_windows(&system::find(client, host)?);
    }
    let script = script_input(END_RUN, &[front, &quote(tag.as_str()), owner]);
    let asked = system::ask_and_run(client, host, script, &place.shown, limit, limits);
    let reply = match asked.map_err(failed)? {
        Asked::Windows(system) => return on_windows(&system),
        Asked::Other(reply) => reply,
    };
    if let Some(report) = report_in(&reply.output, tag) {
        return Ok(report.verdict());
    }
    if reply.exit == ProcessExit::Code(2) {
        return Err(format!(
            "{} is of another version and cannot end agents; `filermark install -r RC`, then run stop again",
            place.shown
        ));
    }
    answer_in(&reply, host)
        .map(|answer| searched_by_shell(&answer, host, tag))
        .map_err(|e| no_answer(e, &reply))
}

fn no_answer(why: RemoteError, reply: &CommandOutput) -> String {
    match why {
        RemoteError::Failed(why) => why,
        RemoteError::Stopped => format!("no answer ({:?})", reply.exit),
    }
}

/// The report in the output.
fn report_in(output: &[u8], tag: &RunTag) -> Option<EndReport> {
    let text = String::from_utf8_lossy(output);
    let mut reports = text
        .lines()
        .filter(|l| l.starts_with('{'))
        .filter_map(|l| serde_json::from_str::<EndReport>(l).ok());
    reports.find(|r| r.run == tag.as_str()).map(sanitized)
}

/// With reasons that are safe for a terminal.
fn sanitized(mut report: EndReport) -> EndReport {
    for agent in &mut report.agents {
        if let Ending::Refused { reason } = &mut agent.ending {
            *reason = sanitize(reason, 200);
        }
    }
    report
}

/// Without a program on the host, a shell has searched for agents and ended none.
fn searched_by_shell(answer: &HostAnswer, host: &HostPlan, tag: &RunTag) -> (HostState, String) {
    let pids: Vec<_> = answer
        .all("pid")
        .filter(|p| p.bytes().all(|b| b.is_ascii_digit()))
        .map(String::from)
        .collect();
    if !pids.is_empty() {
        let detail = format!(
            "{} of run '{tag}' found there, but no program that could end it: run `filermark install -r RC`, then stop again, or `ssh {} kill {}`",
            processes(&pids),
            destination(host),
            pids.join(" ")
        );
        return (HostState::Failed, detail);
    }
    if answer.get("looked") != "yes" {
        let detail = "agents could not be searched for: the host has neither the program nor /proc; run `filermark install -r RC`, then stop again";
        return (HostState::Failed, detail.into());
    }
    let detail = format!("no agent of run '{tag}' there; the program is not installed there");
    (HostState::Nothing, detail)
}

#[cfg(all(test, unix))]
mod tests;
