//! Brings this very program to the client hosts (netmist's `-D`, manual N).
//!
//! One connection looks at a host: its system, and the SHA-256 of what lies at the
//! program's place. A second one goes only to hosts that lack this version: the program
//! is written to a file beside, its checksum compared there, it is tried, and takes the
//! name at last. What is not Filermark is never replaced, and never run.

use super::answer::{HostAnswer, noise};
use super::remote::{self, CommandOutput, RemoteCommand, RemoteError};
use super::scripts::{LOOK, TAKE, command_line};
use super::verdict::{HostPlatform, InstallAction, judge, not_taken};
use super::{
    HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, megabytes, side_by_side,
};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{RemoteProgram, SshClient, destination};
use filermark_link::build::{Program, own_program};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Brings the program to every host of the plan that lacks it. What came of it stands
/// in the order of the hosts, each of them once.
///
/// # Errors
/// One sentence: this program's own file cannot be read.
pub fn install(
    plan: &LaunchPlan,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Result<Vec<HostOutcome>, String> {
    Ok(install_program(plan, own_program()?, limits, observe))
}

/// The same for a run that is about to begin: one connection per host where all is
/// there. Gives what was done, for the talk.
///
/// # Errors
/// One sentence: the first host that lacks the program, and how many more do.
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

/// Brings a program file to hosts.
pub(super) fn install_program(
    plan: &LaunchPlan,
    program: &Program,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Vec<HostOutcome> {
    let (client, machine) = (SshClient::of(plan), HostPlatform::own());
    let work = |host: &HostPlan, tell: &dyn Fn(HostStep)| {
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
                one.install(&machine, tell)
            }
            other => not_over_ssh(host, other),
        };
        tell(HostStep::Done(outcome.state));
        outcome
    };
    side_by_side(&each_once(plan), work, observe)
}

fn not_over_ssh(host: &HostPlan, launcher: LauncherKind) -> HostOutcome {
    let (state, detail) = match launcher {
        LauncherKind::Local | LauncherKind::Ssh => {
            (HostState::Nothing, "this host runs this very program")
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
    fn install(&self, machine: &HostPlatform, tell: &dyn Fn(HostStep)) -> HostOutcome {
        let (state, detail) = match self.look_and_send(machine, tell) {
            Ok(done) => done,
            Err(RemoteError::Failed(why)) => (HostState::Failed, why),
            Err(RemoteError::Stopped) => (HostState::Failed, "stopped on request".to_owned()),
        };
        HostOutcome::new(self.host, state, detail)
    }

    fn look_and_send(
        &self,
        machine: &HostPlatform,
        tell: &dyn Fn(HostStep),
    ) -> Result<(HostState, String), RemoteError> {
        if self.host.program.as_deref().is_some_and(is_relative) {
            return Err(RemoteError::Failed(format!(
                "EXEC_PATH={} is no absolute path; begin it with / or ~/",
                self.place.shown
            )));
        }
        tell(HostStep::Inspecting);
        let found = self.look()?;
        let verdict = judge(&found, self.program, &self.place, machine);
        if let InstallAction::Refuse(why) = verdict {
            return Err(RemoteError::Failed(why));
        }
        if verdict == InstallAction::UpToDate {
            let detail = format!("has build {} at {}", self.program.build(), self.place.shown);
            return Ok((HostState::Nothing, detail));
        }
        let removed = self.send(tell)?;
        let mut detail = format!(
            "build {} ({}) is at {}",
            self.program.build(),
            megabytes(self.program.len),
            self.place.shown
        );
        if self.program.has_capabilities() {
            let command = setcap_command(self.client, self.host, &self.place.path);
            detail.push_str(&format!(
                "; this program has capabilities here (setcap), the copy has none: for \
                 RESVPORT=on as another user than root type `{command}`"
            ));
        }
        match removed {
            0 => {}
            1 => detail.push_str("; 1 old build was removed"),
            n => detail.push_str(&format!("; {n} old builds were removed")),
        }
        Ok((HostState::Done, detail))
    }

    /// Whose place it is, in the scripts' words.
    const fn owner(&self) -> &'static str {
        match self.place.is_default_path {
            true => "own",
            false => "users",
        }
    }

    fn look(&self) -> Result<HostAnswer, RemoteError> {
        let remote = command_line(LOOK, &[&self.place.path, self.owner()]);
        let limit = self.limits.inspect.min(self.limits.total);
        let reply = remote::run(&self.call(remote, None, limit), &|_| {})?;
        answer_in(&reply, self.host)
    }

    /// Gives the number of old builds that were removed.
    fn send(&self, tell: &dyn Fn(HostStep)) -> Result<usize, RemoteError> {
        let beside = format!(".filermark.{}", nonce());
        let args = [
            &self.place.path,
            beside.as_str(),
            &self.program.sha256,
            self.owner(),
        ];
        let remote = command_line(TAKE, &args);
        let limit = self.limits.total.saturating_sub(self.began.elapsed());
        let total = self.program.len;
        let last = std::cell::Cell::new(None);
        let look = |sent| {
            if last.replace(Some(sent)) != Some(sent) {
                tell(HostStep::Sending { sent, total });
            }
        };
        let reply = remote::run(&self.call(remote, Some(&self.program.path), limit), &look)?;
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

/// The line that lets the program of a host call from source ports below 1024. `program`
/// is a word for a shell there.
pub(crate) fn setcap_command(client: &SshClient, host: &HostPlan, program: &str) -> String {
    let command = format!("sudo setcap cap_net_bind_service=+ep {program}");
    match host.launcher {
        LauncherKind::Ssh => client.typed(host, &command),
        _ => command,
    }
}

/// The answer of a script, or why there is none.
pub(super) fn answer_in(reply: &CommandOutput, host: &HostPlan) -> Result<HostAnswer, RemoteError> {
    if let Some(answer) = HostAnswer::find(&reply.output) {
        return Ok(answer);
    }
    // A login shell that ends by itself says why on either stream.
    let words = [reply.meaning.clone(), noise(&reply.output)];
    let words: Vec<_> = words.into_iter().flatten().collect();
    let why = match (reply.exit, words.is_empty()) {
        (ProcessExit::Code(126 | 127 | 255) | ProcessExit::Signal(_), false) => words[0].clone(),
        (_, false) => format!(
            "no shell answered there, but: {}; try `ssh {} uname`",
            words.join("; "),
            destination(host)
        ),
        (_, true) => format!(
            "no shell answered there; try `ssh {} uname`",
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

/// Differs from one attempt to the next, so that two of them never write one file.
fn nonce() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let nanos = since.map_or(0, |s| s.as_nanos() as u64);
    format!("{:x}.{:x}.{number}", std::process::id(), nanos)
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
