//! Installs this program on the client hosts (netmist's `-D`, manual N).
//!
//! One connection inspects a host: its system, and the SHA-256 of the file at the program's
//! path. A second one is made only to hosts that lack this version: the program is written to a
//! temporary file in the same directory, its checksum is compared there, it is run once, and
//! then renamed. A file that is not Filermark is never replaced and never run.

use super::answer::{HostAnswer, output_excerpt};
use super::remote::{self, CommandOutput, RemoteCommand, RemoteError};
use super::scripts::{INSPECT, RECEIVE, command_line};
use super::verdict::{InstallAction, judge, not_taken};
use super::{
    HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, in_parallel, megabytes,
};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{RemoteProgram, SshClient, destination};
use filermark_link::build::{Program, own_program};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_system::Platform;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Installs the program on every host of the plan that lacks it. Returns the outcomes in the
/// order of the hosts, each of them once.
///
/// # Errors
/// A message: this program's own file cannot be read.
pub fn install(
    plan: &LaunchPlan,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Result<Vec<HostOutcome>, String> {
    Ok(install_program(plan, own_program()?, limits, observe))
}

/// Installs it before a run: one connection per host if all have it. Returns what was done, for
/// progress output.
///
/// # Errors
/// A message: the first host that lacks the program, and how many others do.
pub fn ensure_installed(
    plan: &LaunchPlan,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Result<Vec<HostOutcome>, String> {
    if plan.hosts.iter().all(|h| h.launcher != LauncherKind::Ssh) {
        return Ok(Vec::new());
    }
    only_done(install(plan, limits, observe)?)
}

fn only_done(mut outcomes: Vec<HostOutcome>) -> Result<Vec<HostOutcome>, String> {
    let failed = outcomes.iter().filter(|o| o.is_failure());
    if let Some(first) = failed.clone().next() {
        let more = match failed.count() - 1 {
            0 => String::new(),
            n => format!(
                " (and {n} more: `filermark install -r RC`, or `filermark netmist -D -g FILE`, lists all)"
            ),
        };
        return Err(format!("{}: {}{more}", first.host, first.detail));
    }
    outcomes.retain(|o| o.state == HostState::Done);
    Ok(outcomes)
}

/// Installs a program file on hosts.
pub(super) fn install_program(
    plan: &LaunchPlan,
    program: &Program,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Vec<HostOutcome> {
    let (client, machine) = (SshClient::of(plan), filermark_system::platform());
    let work = |host: &HostPlan, observe_step: &dyn Fn(HostStep)| {
        let outcome = match host.launcher {
            LauncherKind::Ssh => {
                let place = RemoteProgram::of(host, program.build());
                let one = HostInstaller {
                    client: &client,
                    host,
                    program,
                    place,
                    limits,
                    began: Instant::now(),
                };
                one.install(&machine, observe_step)
            }
            other => other_launcher(host, other),
        };
        observe_step(HostStep::Done(outcome.state));
        outcome
    };
    in_parallel(&each_once(plan), work, observe)
}

fn other_launcher(host: &HostPlan, launcher: LauncherKind) -> HostOutcome {
    let (state, detail) = match launcher {
        LauncherKind::Local | LauncherKind::Ssh => {
            (HostState::Nothing, "this host runs this program")
        }
        LauncherKind::Slurm => (
            HostState::ByHand,
            "Slurm starts the program that EXEC_PATH names on its nodes: keep it on a file system that they share, or copy it there (sbcast)",
        ),
        LauncherKind::Connect(_) | LauncherKind::Accept => (
            HostState::ByHand,
            "its agent is started by hand: copy this program there yourself (scp)",
        ),
    };
    HostOutcome::new(host, state, detail)
}

/// The work on one host.
struct HostInstaller<'a> {
    client: &'a SshClient,
    host: &'a HostPlan,
    program: &'a Program,
    place: RemoteProgram,
    limits: &'a HostLimits,
    began: Instant,
}

impl HostInstaller<'_> {
    fn install(&self, machine: &Platform, observe_step: &dyn Fn(HostStep)) -> HostOutcome {
        let (state, detail) = match self.inspect_and_send(machine, observe_step) {
            Ok(done) => done,
            Err(RemoteError::Failed(why)) => (HostState::Failed, why),
            Err(RemoteError::Stopped) => (HostState::Failed, "stopped on request".to_owned()),
        };
        HostOutcome::new(self.host, state, detail)
    }

    fn inspect_and_send(
        &self,
        machine: &Platform,
        observe_step: &dyn Fn(HostStep),
    ) -> Result<(HostState, String), RemoteError> {
        if self.host.program.as_deref().is_some_and(is_relative) {
            return Err(RemoteError::Failed(format!(
                "EXEC_PATH={} is not an absolute path; begin it with / or ~/",
                self.place.shown
            )));
        }
        observe_step(HostStep::Inspecting);
        let found = self.inspect()?;
        let verdict = judge(&found, self.program, &self.place, machine);
        if let InstallAction::Refuse(why) = verdict {
            return Err(RemoteError::Failed(why));
        }
        if verdict == InstallAction::UpToDate {
            let detail = format!("has build {} at {}", self.program.build(), self.place.shown);
            return Ok((HostState::Nothing, detail));
        }
        let removed = self.send(observe_step)?;
        let mut detail = format!(
            "build {} ({}) is at {}",
            self.program.build(),
            megabytes(self.program.len),
            self.place.shown
        );
        if self.program.has_capabilities() {
            let command = setcap_command(self.client, self.host, &self.place.path);
            detail.push_str(&format!(
                "; this program has capabilities on this host (setcap), the copy has none: for \
                 RESVPORT=on as another user than root run `{command}`"
            ));
        }
        match removed {
            0 => {}
            1 => detail.push_str("; 1 old build was removed"),
            n => detail.push_str(&format!("; {n} old builds were removed")),
        }
        Ok((HostState::Done, detail))
    }

    /// Whether the path is the default one, as an argument of the scripts.
    const fn owner(&self) -> &'static str {
        match self.place.is_default_path {
            true => "own",
            false => "users",
        }
    }

    fn inspect(&self) -> Result<HostAnswer, RemoteError> {
        let remote = command_line(INSPECT, &[&self.place.path, self.owner()]);
        let limit = self.limits.inspect.min(self.limits.total);
        let reply = remote::run(&self.call(remote, None, limit), &|_| {})?;
        answer_in(&reply, self.host)
    }

    /// Returns the number of old builds that were removed.
    fn send(&self, observe_step: &dyn Fn(HostStep)) -> Result<usize, RemoteError> {
        let beside = format!(".filermark.{}", nonce());
        let args = [
            &self.place.path,
            beside.as_str(),
            &self.program.sha256,
            self.owner(),
        ];
        let remote = command_line(RECEIVE, &args);
        let limit = self.limits.total.saturating_sub(self.began.elapsed());
        let total = self.program.len;
        let last = std::cell::Cell::new(None);
        let inspect = |sent| {
            if last.replace(Some(sent)) != Some(sent) {
                observe_step(HostStep::Sending { sent, total });
            }
        };
        let reply = remote::run(
            &self.call(remote, Some(&self.program.path), limit),
            &inspect,
        )?;
        let answer = answer_in(&reply, self.host)?;
        match answer.get("taken") {
            "yes" => Ok(answer.all("removed").count()),
            _ => Err(RemoteError::Failed(not_taken(
                answer.get("failed"),
                answer.get("why"),
                &self.place.shown,
            ))),
        }
    }

    fn call<'a>(
        &'a self,
        remote: String,
        input: Option<&'a Path>,
        limit: std::time::Duration,
    ) -> RemoteCommand<'a> {
        RemoteCommand {
            client: self.client,
            host: self.host,
            remote,
            program: self.place.shown.clone(),
            input,
            limit,
            limits: self.limits,
        }
    }
}

/// The command that allows the program on a host to use source ports below 1024. `program` is a
/// word for a shell there.
pub(crate) fn setcap_command(client: &SshClient, host: &HostPlan, program: &str) -> String {
    let command = format!("sudo setcap cap_net_bind_service=+ep {program}");
    match host.launcher {
        LauncherKind::Ssh => client.interactive_command(host, &command),
        _ => command,
    }
}

/// The answer of a script, or the reason why there is none.
pub(super) fn answer_in(reply: &CommandOutput, host: &HostPlan) -> Result<HostAnswer, RemoteError> {
    if let Some(answer) = HostAnswer::find(&reply.output) {
        return Ok(answer);
    }
    // A login shell that exits prints the reason on either stream.
    let words = [reply.meaning.clone(), output_excerpt(&reply.output)];
    let words: Vec<_> = words.into_iter().flatten().collect();
    let why = match (reply.exit, words.is_empty()) {
        (ProcessExit::Code(126 | 127 | 255) | ProcessExit::Signal(_), false) => words[0].clone(),
        (_, false) => format!(
            "no answer from a shell on the host, but this output: {}; try `ssh {} uname`",
            words.join("; "),
            destination(host)
        ),
        (_, true) => format!(
            "no answer from a shell on the host; try `ssh {} uname`",
            destination(host)
        ),
    };
    Err(RemoteError::Failed(why))
}

fn is_relative(path: &str) -> bool {
    !["/", "~/", "$HOME/"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Unique per attempt, so that two attempts never write the same file.
fn nonce() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let nanos = since.map_or(0, |s| s.as_nanos() as u64);
    format!("{:x}.{:x}.{number}", std::process::id(), nanos)
}

#[cfg(test)]
mod tests;
