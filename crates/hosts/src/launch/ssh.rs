//! Agents over the user's own OpenSSH client.
//!
//! The agent speaks over the connection's standard streams: no port has to be open
//! but sshd's, and keys, agents, jump hosts and host aliases are those of the user's
//! own configuration. Nothing is asked (BatchMode), no host key is taken unseen, and
//! every word that a shell there reads is quoted.

use super::explain::{SshTarget, explain, no_client};
use super::process::{ChildProcess, ExplainExit};
use super::tag::RunTag;
use filermark_link::build::{MARK, own_build};
use filermark_link::start::{LaunchedAgent, Launcher};
use filermark_link::tool;
use filermark_model::launch::{HostPlan, LaunchPlan};
use filermark_model::plan::IpChoice;
use std::io;
use std::process::{ChildStdin, ChildStdout, Command};
use std::time::Duration;

/// What we ask of ssh. The user's own options stand before these, and ssh takes the
/// first that it sees.
const OPTIONS: &[&str] = &[
    // Nobody sits at these connections: no terminal, no question.
    "BatchMode=yes",
    "ConnectTimeout=10",
    // A host that is gone is noticed within 15 s.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    // Forwardings of the user's configuration would clash between connections.
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    // A connection that the user keeps open is used, but ours never becomes the one
    // that others hang on.
    "ControlMaster=no",
];

/// How long ssh may take to tell its configuration.
const CONFIGURATION_MAX: Duration = Duration::from_secs(10);

/// The user's SSH client, as the rc file says it is to be called.
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

    /// The program, and the user's own options for it.
    pub fn command_line(&self) -> (&str, &[String]) {
        match self.args.split_first() {
            Some((program, options)) => (program, options),
            None => ("ssh", &[]),
        }
    }

    /// The address family that is asked for.
    pub const fn ip(&self) -> IpChoice {
        self.ip
    }

    /// The same as an option of ssh.
    pub const fn family(&self) -> Option<&'static str> {
        match self.ip {
            IpChoice::V4 => Some("-4"),
            IpChoice::V6 => Some("-6"),
            IpChoice::Any => None,
        }
    }

    /// What ssh's own configuration says of a host (`ssh -G`); `None`: it does not tell.
    pub(crate) fn configuration(&self, host: &HostPlan) -> Option<String> {
        let (program, options) = self.command_line();
        let mut args: Vec<&str> = options.iter().map(String::as_str).collect();
        args.push("-G");
        args.extend(self.family());
        if let Some(user) = &host.user {
            args.extend(["-l", user]);
        }
        args.extend(["--", bare(&host.client)]);
        let said = tool::run(program, &args, CONFIGURATION_MAX).ok()?;
        said.is_success.then_some(said.stdout)
    }

    /// The command that runs `remote`, a command line for the login shell there.
    pub fn command(&self, host: &HostPlan, remote: &str) -> Command {
        let (program, options) = self.command_line();
        let mut command = Command::new(program);
        command.args(options).arg("-T");
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(self.family());
        if let Some(user) = &host.user {
            command.args(["-l", user]);
        }
        command.args(["--", bare(&host.client), remote]);
        command
    }

    /// The line that a user types to run `remote` there by the same way, with a terminal:
    /// sudo may ask for a password.
    pub fn typed(&self, host: &HostPlan, remote: &str) -> String {
        let mut words: Vec<String> = self.args.iter().map(|word| quote(word)).collect();
        words.push("-t".into());
        words.extend(self.family().map(str::to_owned));
        words.push(quote(&destination(host)));
        words.push(quote(remote));
        words.join(" ")
    }

    /// Starts it; `program` is what a message may call the program there.
    ///
    /// # Errors
    /// One sentence: ssh cannot be started.
    pub fn start(
        &self,
        host: &HostPlan,
        remote: &str,
        program: String,
    ) -> Result<(ChildStdin, ChildStdout, ChildProcess), String> {
        let way = SshTarget {
            host: destination(host),
            program,
        };
        let explain: ExplainExit = Box::new(move |said| explain(&way, said));
        ChildProcess::start(&host.client, &mut self.command(host, remote), explain)
            .map_err(|e: io::Error| no_client(self.command_line().0, &e))
    }
}

/// An IPv6 address without the brackets that ssh does not know.
pub fn bare(client: &str) -> &str {
    let inner = client.strip_prefix('[').and_then(|c| c.strip_suffix(']'));
    inner.filter(|c| c.contains(':')).unwrap_or(client)
}

/// Host and user as one would type them.
pub(crate) fn destination(host: &HostPlan) -> String {
    match &host.user {
        Some(user) => format!("{user}@{}", bare(&host.client)),
        None => bare(&host.client).to_owned(),
    }
}

/// Where a program lies on a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteProgram {
    /// For a shell there: quoted, `$HOME` left to it.
    pub path: String,
    /// For people.
    pub shown: String,
    /// It is where `install` puts it by itself, and nobody else's business.
    pub is_default_path: bool,
}

impl RemoteProgram {
    /// EXEC_PATH, or `~/.cache/filermark/BUILD/filermark`.
    pub fn of(host: &HostPlan, build: &str) -> Self {
        let Some(path) = &host.program else {
            let rest = format!(".cache/filermark/{build}/filermark");
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

/// One word for a POSIX shell, whatever is in it; other shells (csh, fish) read it
/// alike.
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
}

impl SshLauncher {
    /// For the hosts of a plan.
    pub fn new(plan: &LaunchPlan, tag: RunTag) -> Self {
        Self {
            client: SshClient::of(plan),
            tag,
        }
    }
}

/// A program that the user names is started only if it is Filermark: the netmist of an
/// old rc file would do who knows what.
const CAREFULLY: &str = r#"if test -f "$1"; then grep -q "MARK" "$1" 2>/dev/null || { echo "$1: this is not Filermark" >&2; exit 126; }; fi; exec "$@""#;

/// The command line that starts an agent there.
fn start_line(program: &RemoteProgram, tag: &RunTag) -> String {
    let mut line = match program.is_default_path {
        true => "exec".to_owned(),
        false => {
            let script = CAREFULLY.replace("MARK", MARK);
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
        let program = RemoteProgram::of(host, own_build());
        let remote = start_line(&program, &self.tag);
        let (to_agent, from_agent, leash) = self.client.start(host, &remote, program.shown)?;
        Ok(LaunchedAgent {
            from_agent: Box::new(from_agent),
            to_agent: Box::new(to_agent),
            handle: Box::new(leash),
        })
    }
}

#[cfg(test)]
#[path = "ssh_tests.rs"]
mod tests;
