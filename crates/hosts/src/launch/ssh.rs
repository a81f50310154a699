//! Agents over the user's own OpenSSH client.
//!
//! The agent uses the connection's standard streams: no port other than sshd's has to be open,
//! and keys, agents, jump hosts and host aliases are those of the user's configuration. There
//! are no prompts (BatchMode), no unknown host key is accepted, and every word for a shell on
//! the host is quoted.

use super::explain::{SshTarget, explain, no_client};
use super::process::{ChildProcess, ExplainExit};
use super::tag::RunTag;
use super::windows::WindowsProgram;
use crate::admin::system;
use crate::programs::{HostSystems, SystemName, build_dir, has_windows_path};
use filermark_link::build::{MARK, own_build};
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_link::tool;
use filermark_model::launch::{HostPlan, LaunchPlan};
use filermark_model::plan::IpChoice;
use std::io;
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

/// Options passed to ssh. The user's own options precede them, and ssh uses the first value of
/// each option.
const OPTIONS: &[&str] = &[
    // These connections are not interactive: no terminal, no prompts.
    "BatchMode=yes",
    "ConnectTimeout=10",
    // A host that is down is detected within 15 s.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    // Forwardings of the user's configuration would conflict between connections.
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    // An existing shared connection of the user is used, but this one never becomes the shared
    // connection.
    "ControlMaster=no",
];

/// How long ssh may take to print its configuration.
const CONFIGURATION_MAX: Duration = Duration::from_secs(10);

/// The user's SSH client, as configured in the rc file.
#[derive(Clone, Debug)]
pub struct SshClient {
    args: Vec<String>,
    ip: IpChoice,
}

impl SshClient {
    /// Takes SSH_COMMAND and the address family from the plan.
    pub fn of(plan: &LaunchPlan) -> Self {
        let words = match plan.ssh_command.is_empty() {
            true => vec!["ssh".to_owned()],
            false => plan.ssh_command.clone(),
        };
        Self {
            args: words,
            ip: plan.ip,
        }
    }

    /// The program, and the user's options for it.
    pub fn command_line(&self) -> (&str, &[String]) {
        match self.args.split_first() {
            Some((program, options)) => (program, options),
            None => ("ssh", &[]),
        }
    }

    /// The requested address family.
    pub const fn ip(&self) -> IpChoice {
        self.ip
    }

    /// The address family as an option of ssh.
    pub const fn family(&self) -> Option<&'static str> {
        match self.ip {
            IpChoice::V4 => Some("-4"),
            IpChoice::V6 => Some("-6"),
            IpChoice::Any => None,
        }
    }

    /// ssh's own configuration of a host (`ssh -G`); `None`: it is not available.
    pub(crate) fn configuration(&self, host: &HostPlan) -> Option<String> {
        let (program, options) = self.command_line();
        let mut args: Vec<&str> = options.iter().map(String::as_str).collect();
        args.push("-G");
        args.extend(self.family());
        if let Some(user) = &host.user {
            args.extend(["-l", user]);
        }
        args.extend(["--", bare(&host.client)]);
        let output = tool::run(program, &args, CONFIGURATION_MAX).ok()?;
        output.is_success.then_some(output.stdout)
    }

    /// The command that runs `remote`, a command line for the login shell there.
    pub fn command(&self, host: &HostPlan, remote: &str) -> Command {
        self.request(host, &[], remote)
    }

    /// The command that starts a subsystem of sshd there, such as `sftp`.
    fn subsystem(&self, host: &HostPlan, name: &str) -> Command {
        self.request(host, &["-s"], name)
    }

    fn request(&self, host: &HostPlan, more: &[&str], remote: &str) -> Command {
        let (program, options) = self.command_line();
        let mut command = Command::new(program);
        command.args(options).arg("-T");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(self.family()).args(more);
        if let Some(user) = &host.user {
            command.args(["-l", user]);
        }
        command.args(["--", bare(&host.client), remote]);
        command
    }

    /// The command line that runs `remote` on the host interactively, with a terminal: sudo may
    /// ask for a password.
    pub fn interactive_command(&self, host: &HostPlan, remote: &str) -> String {
        let mut words: Vec<String> = self.args.iter().map(|word| quote(word)).collect();
        words.push("-t".into());
        words.extend(self.family().map(str::to_owned));
        words.push(quote(&destination(host)));
        words.push(quote(remote));
        words.join(" ")
    }

    /// Starts it; `program` is the name of the program in messages.
    ///
    /// # Errors
    /// A message: ssh cannot be started.
    pub fn start(
        &self,
        host: &HostPlan,
        remote: &Remote,
        program: String,
    ) -> Result<(ChildStdin, ChildStdout, ChildProcess), String> {
        let mut command = match remote {
            Remote::Command(line) => self.command(host, line),
            Remote::Subsystem(name) => self.subsystem(host, name),
        };
        let target = SshTarget {
            host: destination(host),
            program,
        };
        let explain: ExplainExit = Box::new(move |output| explain(&target, output));
        ChildProcess::start(&host.client, &mut command, explain)
            .map_err(|e: io::Error| no_client(self.command_line().0, &e))
    }
}

/// What is started on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// A command line for the login shell.
    Command(String),
    /// A subsystem of sshd.
    Subsystem(&'static str),
}

/// An IPv6 address without brackets, which ssh does not accept.
pub fn bare(client: &str) -> &str {
    let inner = client.strip_prefix('[').and_then(|c| c.strip_suffix(']'));
    inner.filter(|c| c.contains(':')).unwrap_or(client)
}

/// Host and user as given to ssh.
pub(crate) fn destination(host: &HostPlan) -> String {
    match &host.user {
        Some(user) => format!("{user}@{}", bare(&host.client)),
        None => bare(&host.client).to_owned(),
    }
}

/// The path of a program on a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteProgram {
    /// For a shell on the host: quoted, with `$HOME` unexpanded.
    pub path: String,
    /// For messages.
    pub shown: String,
    /// It is the path where `install` puts the program by default.
    pub is_default_path: bool,
}

impl RemoteProgram {
    /// EXEC_PATH, or `~/.cache/filermark/DIR/filermark`; the directory is that of a build for
    /// a system ([`build_dir`]).
    pub fn of(host: &HostPlan, dir: &str) -> Self {
        let Some(path) = &host.program else {
            let rest = format!(".cache/filermark/{dir}/filermark");
            return Self {
                path: format!("\"$HOME\"/{}", quote(&rest)),
                shown: format!("~/{rest}"),
                is_default_path: true,
            };
        };
        let in_home = path.strip_prefix("~/").or(path.strip_prefix("$HOME/"));
        Self {
            path: match in_home {
                Some(rest) => format!("\"$HOME\"/{}", quote(rest)),
                None => quote(path),
            },
            shown: path.clone(),
            is_default_path: false,
        }
    }
}

/// One word for a POSIX shell, whatever it contains; other shells (csh, fish) read it the same
/// way.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Starts agents over SSH.
#[derive(Clone, Debug)]
pub struct SshLauncher {
    client: SshClient,
    tag: RunTag,
    systems: HostSystems,
    /// Hosts may differ from this one: those that are not known are asked first.
    asks: bool,
}

impl SshLauncher {
    /// For the hosts of a plan.
    pub fn new(plan: &LaunchPlan, tag: RunTag) -> Self {
        Self {
            client: SshClient::of(plan),
            tag,
            systems: HostSystems::default(),
            asks: plan.agents_dir.is_some(),
        }
    }

    /// With what is known about the hosts.
    pub fn with_systems(mut self, systems: HostSystems) -> Self {
        self.systems = systems;
        self
    }

    /// What to start on a host, and its name for messages.
    fn start_on(&self, host: &HostPlan) -> Result<(String, String), String> {
        let is_for_windows = has_windows_path(host);
        let system = match self.systems.of(host) {
            Some(known) => known.clone(),
            None if self.asks || is_for_windows => system::find(&self.client, host)?,
            None => filermark_system::platform(),
        };
        let (dir, name) = (build_dir(own_build(), &system), SystemName::of(&system));
        if name.is_windows() {
            let program = WindowsProgram::of(host, &dir)?;
            return Ok((program.start_line(&self.tag), program.shown));
        }
        if is_for_windows {
            return Err(format!(
                "EXEC_PATH={} is a path of Windows, and the host is {name}; set AGENTS_DIR \
                 instead, or remove the host from CLIENTS",
                host.program.as_deref().unwrap_or_default()
            ));
        }
        let program = RemoteProgram::of(host, &dir);
        Ok((start_line(&program, &self.tag), program.shown))
    }
}

/// A program that the user configures is started only if it is Filermark: the EXEC_PATH of an
/// old rc file may be netmist.
const CHECKED_START: &str = r#"if test -f "$1"; then grep -q "MARK" "$1" 2>/dev/null || { echo "$1: this is not Filermark" >&2; exit 126; }; fi; exec "$@""#;

/// The command line that starts an agent on the host.
fn start_line(program: &RemoteProgram, tag: &RunTag) -> String {
    let mut line = match program.is_default_path {
        true => "exec".to_owned(),
        false => {
            let script = CHECKED_START.replace("MARK", MARK);
            format!("exec /bin/sh -c {} filermark", quote(&script))
        }
    };
    for word in std::iter::once(program.path.clone()).chain(tag.agent_args().map(quote)) {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

impl Launcher for SshLauncher {
    fn launch(&self, _client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let (line, shown) = self.start_on(host)?;
        let remote = Remote::Command(line);
        let (to_agent, from_agent, handle) = self.client.start(host, &remote, shown)?;
        Ok(LaunchedAgent {
            from_agent: Box::new(from_agent),
            to_agent: Box::new(to_agent),
            handle: Box::new(handle),
        })
    }
}

#[cfg(all(test, unix))]
mod tests;
