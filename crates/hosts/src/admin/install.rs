//! Installs this program on the client hosts (netmist's `-D`, manual N).
//!
//! One connection inspects a host: its system, and, if that is not Windows, the SHA-256 of the
//! file at the program's path. A second one is made only to hosts that lack this version: the program is written to a
//! temporary file in the same directory, its checksum is compared there, it is run once, and
//! then renamed. A file that is not Filermark is never replaced and never run.

use super::answer::{HostAnswer, output_excerpt};
use super::remote::{self, CommandOutput, Input, RemoteCommand, RemoteError};
use super::scripts::{INSPECT, RECEIVE, command_line, script_input};
use super::system::{self, Asked};
use super::verdict::{InstallAction, judge, not_taken};
use super::windows::WindowsHost;
use super::{
    HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, in_parallel, megabytes,
};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, RemoteProgram, SshClient, destination};
use crate::launch::windows::WindowsProgram;
use crate::programs::{HostSystems, Programs, build_dir, has_windows_path};
use filermark_link::build::{Program, own_program};
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use filermark_system::Platform;
use std::sync::Arc;
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
    let programs = Programs::new(own_program()?.clone(), plan.agents_dir.as_deref());
    Ok(install_programs(plan, &programs, limits, false, observe).0)
}

/// Installs it before a run: one connection per host if all have it. Returns what was done, for
/// progress output, and the systems of the hosts. If a host cannot have it, none is changed.
///
/// # Errors
/// A message: the first host that lacks the program, and how many others do.
pub fn ensure_installed(
    plan: &LaunchPlan,
    limits: &HostLimits,
    observe: HostObserver<'_>,
) -> Result<(Vec<HostOutcome>, HostSystems), String> {
    if plan.hosts.iter().all(|h| h.launcher != LauncherKind::Ssh) {
        return Ok(Default::default());
    }
    let programs = Programs::new(own_program()?.clone(), plan.agents_dir.as_deref());
    let (outcomes, systems) = install_programs(plan, &programs, limits, true, observe);
    Ok((only_done(outcomes)?, systems))
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

/// Inspects the hosts, chooses the program of each, and installs it where it is missing. With
/// `all_or_none`, nothing is sent if it is refused for one of them.
pub(super) fn install_programs(
    plan: &LaunchPlan,
    programs: &Programs,
    limits: &HostLimits,
    all_or_none: bool,
    observe: HostObserver<'_>,
) -> (Vec<HostOutcome>, HostSystems) {
    let client = SshClient::of(plan);
    let hosts = each_once(plan);
    let inspect = |host: &HostPlan, observe_step: &dyn Fn(HostStep)| match host.launcher {
        LauncherKind::Ssh => {
            let one = HostInstaller {
                client: &client,
                host,
                limits,
                began: Instant::now(),
            };
            one.inspect(programs, observe_step)
        }
        other => Err(other_launcher(host, other)),
    };
    let found = in_parallel(&hosts, inspect, observe);
    let mut systems = HostSystems::default();
    for (host, inspected) in hosts.iter().zip(&found) {
        if let Ok(inspected) = inspected {
            systems.add(host, inspected.system.clone());
        }
    }
    let is_refused = found.iter().any(|f| matches!(f, Err(o) if o.is_failure()));
    let work = |host: &HostPlan, observe_step: &dyn Fn(HostStep)| {
        let at = hosts.iter().position(|h| h == host).unwrap_or_default();
        let outcome = match &found[at] {
            Err(outcome) => outcome.clone(),
            Ok(_) if all_or_none && is_refused => {
                let why = "nothing was sent, because another host cannot have the program";
                HostOutcome::new(host, HostState::Nothing, why)
            }
            Ok(inspected) => {
                let one = HostInstaller {
                    client: &client,
                    host,
                    limits,
                    // The wait for other hosts does not count.
                    began: Instant::now(),
                };
                one.finish(inspected, observe_step)
            }
        };
        observe_step(HostStep::Done(outcome.state));
        outcome
    };
    (in_parallel(&hosts, work, observe), systems)
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
#[derive(Clone, Copy)]
struct HostInstaller<'a> {
    client: &'a SshClient,
    host: &'a HostPlan,
    limits: &'a HostLimits,
    began: Instant,
}

/// Where the program is on a host.
enum Place {
    Unix(RemoteProgram),
    Windows(WindowsProgram),
}

impl Place {
    fn shown(&self) -> &str {
        match self {
            Self::Unix(place) => &place.shown,
            Self::Windows(place) => &place.shown,
        }
    }
}

/// A host that may have the program, or has it.
struct InspectedHost {
    system: Platform,
    program: Arc<Program>,
    place: Place,
    has_it: bool,
}

impl<'a> HostInstaller<'a> {
    /// Finds the system of the host, the program for it, and whether the host has that.
    fn inspect(
        self,
        programs: &Programs,
        observe_step: &dyn Fn(HostStep),
    ) -> Result<InspectedHost, HostOutcome> {
        let failed = |why: RemoteError| {
            let detail = match why {
                RemoteError::Failed(why) => why,
                RemoteError::Stopped => "stopped on request".to_owned(),
            };
            HostOutcome::new(self.host, HostState::Failed, detail)
        };
        observe_step(HostStep::Inspecting);
        self.inspect_host(programs).map_err(failed)
    }

    fn inspect_host(self, programs: &Programs) -> Result<InspectedHost, RemoteError> {
        let path = self.host.program.as_deref();
        if path.is_some_and(is_relative) && !has_windows_path(self.host) {
            return Err(RemoteError::Failed(format!(
                "EXEC_PATH={} is not an absolute path; begin it with / or ~/",
                path.unwrap_or_default()
            )));
        }
        let (system, answer) = self.ask(programs.build())?;
        let program = programs.of(&system).map_err(RemoteError::Failed)?;
        let dir = build_dir(program.build(), &system);
        let (place, action) = match &answer {
            Some(answer) => {
                let place = RemoteProgram::of(self.host, &dir);
                let action = judge(answer, &program, &place);
                (Place::Unix(place), action)
            }
            None => {
                let place = WindowsProgram::of(self.host, &dir).map_err(RemoteError::Failed)?;
                let action = self.on_windows(place.clone()).inspect(&program)?;
                (Place::Windows(place), action)
            }
        };
        if let InstallAction::Refuse(why) = action {
            return Err(RemoteError::Failed(why));
        }
        Ok(InspectedHost {
            system,
            program,
            place,
            has_it: action == InstallAction::UpToDate,
        })
    }

    /// The system of the host, and the answer of its shell; a host with Windows has none.
    fn ask(&self, build: &str) -> Result<(Platform, Option<HostAnswer>), RemoteError> {
        if has_windows_path(self.host) {
            return Ok((system::ask(self.client, self.host, self.limits)?, None));
        }
        // The script adds the name of the system to the default path.
        let place = RemoteProgram::of(self.host, build);
        let front = match place.is_default_path {
            true => place.path.trim_end_matches("/filermark"),
            false => &place.path,
        };
        let script = script_input(INSPECT, &[front, owner(&place)]);
        let limit = self.limits.inspect.min(self.limits.total);
        let asked = system::ask_and_run(
            self.client,
            self.host,
            script,
            &place.shown,
            limit,
            self.limits,
        )?;
        let reply = match asked {
            Asked::Windows(system) => return Ok((system, None)),
            Asked::Other(reply) => reply,
        };
        let answer = answer_in(&reply, self.host)?;
        let system = Platform {
            os: answer.get("os").to_owned(),
            processor: answer.get("machine").to_owned(),
        };
        Ok((system, Some(answer)))
    }

    /// Sends the program if the host lacks it.
    fn finish(&self, inspected: &InspectedHost, observe_step: &dyn Fn(HostStep)) -> HostOutcome {
        let (program, shown) = (&inspected.program, inspected.place.shown());
        if inspected.has_it {
            let detail = format!("has build {} at {shown}", program.build());
            return HostOutcome::new(self.host, HostState::Nothing, detail);
        }
        let (state, detail) = match self.send(inspected, observe_step) {
            Ok(removed) => (HostState::Done, self.sent(inspected, removed)),
            Err(RemoteError::Failed(why)) => (HostState::Failed, why),
            Err(RemoteError::Stopped) => (HostState::Failed, "stopped on request".to_owned()),
        };
        HostOutcome::new(self.host, state, detail)
    }

    fn sent(&self, inspected: &InspectedHost, removed: usize) -> String {
        let program = &inspected.program;
        let mut detail = format!(
            "build {} ({}) is at {}",
            program.build(),
            megabytes(program.len),
            inspected.place.shown()
        );
        if let Place::Unix(place) = &inspected.place
            && program.has_capabilities()
        {
            let command = setcap_command(self.client, self.host, &place.path);
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
        detail
    }

    /// Returns the number of old builds that were removed.
    fn send(
        &self,
        inspected: &InspectedHost,
        observe_step: &dyn Fn(HostStep),
    ) -> Result<usize, RemoteError> {
        let limit = self.limits.total.saturating_sub(self.began.elapsed());
        let program = &*inspected.program;
        let total = program.len;
        let last = std::cell::Cell::new(None);
        let progress = |sent| {
            if last.replace(Some(sent)) != Some(sent) {
                observe_step(HostStep::Sending { sent, total });
            }
        };
        let place = match &inspected.place {
            Place::Unix(place) => place,
            Place::Windows(place) => {
                let host = self.on_windows(place.clone());
                return host.send(program, &nonce(), limit, &progress);
            }
        };
        let beside = format!(".filermark.{}", nonce());
        let args = [&place.path, beside.as_str(), &program.sha256, owner(place)];
        let line = command_line(RECEIVE, &args);
        let call = self.call(
            Remote::Command(line),
            &place.shown,
            Input::File(&program.path),
            limit,
        );
        let answer = answer_in(&remote::run(&call, &progress)?, self.host)?;
        match answer.get("taken") {
            "yes" => Ok(answer.all("removed").count()),
            _ => Err(RemoteError::Failed(not_taken(
                answer.get("failed"),
                answer.get("why"),
                &place.shown,
            ))),
        }
    }

    fn on_windows(&self, place: WindowsProgram) -> WindowsHost<'a> {
        WindowsHost {
            client: self.client,
            host: self.host,
            place,
            limits: self.limits,
        }
    }

    fn call<'b>(
        &self,
        remote: Remote,
        shown: &str,
        input: Input<'b>,
        limit: std::time::Duration,
    ) -> RemoteCommand<'b>
    where
        'a: 'b,
    {
        RemoteCommand {
            client: self.client,
            host: self.host,
            remote,
            program: shown.to_owned(),
            input,
            limit,
            limits: self.limits,
        }
    }
}

/// Whether the path is the default one, as an argument of the scripts.
const fn owner(place: &RemoteProgram) -> &'static str {
    match place.is_default_path {
        true => "own",
        false => "users",
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

#[cfg(all(test, unix))]
mod tests;
