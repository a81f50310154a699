//! Sets up password-less login on the client hosts: the safe equivalent of the script in
//! appendix B of the training guide (slides E).
//!
//! First it checks which hosts accept this user already, and which key would be copied. Only
//! with `do_it`, `ssh-keygen` makes a key if there is none, and `ssh-copy-id` copies its public
//! half to one host after the other; both prompt the user at the terminal. Private keys never
//! leave this host, file modes are left to OpenSSH's programs, and no host key is accepted that
//! the user has not confirmed.

use super::copy_id::{arguments, tool};
use super::remote::{self, RemoteError};
use super::{HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, in_parallel};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{SshClient, destination, quote};
use filermark_link::child;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What `keys` is to do.
#[derive(Clone, Debug)]
pub struct KeysOptions {
    /// Make the changes; otherwise only check and report.
    pub do_it: bool,
    /// The user's home directory.
    pub home: PathBuf,
    /// Limits; a program that waits for the user has `total`.
    pub limits: HostLimits,
}

/// The result of `keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysReport {
    /// The key that was made, or would be, with the command.
    pub key: Option<NewKey>,
    /// The hosts, each once, in the order of the plan.
    pub hosts: Vec<HostOutcome>,
}

/// A key that did not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Its private half.
    pub path: PathBuf,
    /// The command that makes it.
    pub command: String,
    /// Whether it was made.
    pub made: bool,
}

/// Sets up SSH on all hosts of the plan, or reports what would be done.
///
/// # Errors
/// A message: no key could be made.
pub fn keys(
    plan: &LaunchPlan,
    options: &KeysOptions,
    observe: HostObserver<'_>,
) -> Result<KeysReport, String> {
    let client = SshClient::of(plan);
    let hosts = each_once(plan);
    let logins = in_parallel(
        &hosts,
        |host, observe_step| {
            observe_step(HostStep::Inspecting);
            try_login(&client, host, &options.limits)
        },
        observe,
    );
    let mut report = KeysReport {
        key: None,
        hosts: Vec::new(),
    };
    for (host, login) in hosts.iter().zip(logins) {
        let (state, detail) = match login {
            LoginCheck::Open(how) => (HostState::Nothing, how),
            LoginCheck::Failed(why) => (HostState::Failed, why),
            LoginCheck::Closed { new_host } => {
                let login = LoginRefused {
                    client: &client,
                    host,
                    new_host,
                };
                login.open(options, &mut report.key, observe)?
            }
        };
        observe(host, HostStep::Done(state));
        report.hosts.push(HostOutcome::new(host, state, detail));
    }
    Ok(report)
}

/// Whether a host accepts this user without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LoginCheck {
    /// It does, or this launcher does not need it.
    Open(String),
    /// Not without a password.
    Closed {
        /// Its host key is not known on this host either.
        new_host: bool,
    },
    /// A key would not help; a message.
    Failed(String),
}

/// Tries to log in without prompts.
fn try_login(client: &SshClient, host: &HostPlan, limits: &HostLimits) -> LoginCheck {
    if host.launcher != LauncherKind::Ssh {
        let how = format!(
            "not needed: its agent is not started by SSH ({})",
            host.launcher
        );
        return LoginCheck::Open(how);
    }
    let reply = match remote::try_login(client, host, limits) {
        Ok(reply) => reply,
        Err(RemoteError::Failed(why)) => return LoginCheck::Failed(why),
        Err(RemoteError::Stopped) => return LoginCheck::Failed("stopped on request".into()),
    };
    let has_line = |words: &str| reply.process_output.lines.iter().any(|l| l.contains(words));
    let changed = has_line("REMOTE HOST IDENTIFICATION HAS CHANGED");
    match reply.exit {
        ProcessExit::Code(0) => LoginCheck::Open("accepts this user without a password".into()),
        ProcessExit::Code(255) if has_line("Permission denied (") => {
            LoginCheck::Closed { new_host: false }
        }
        ProcessExit::Code(255) if has_line("Host key verification failed") && !changed => {
            LoginCheck::Closed { new_host: true }
        }
        _ => LoginCheck::Failed(reply.meaning.unwrap_or_else(|| "no answer".into())),
    }
}

/// A host that does not accept this user yet.
struct LoginRefused<'a> {
    client: &'a SshClient,
    host: &'a HostPlan,
    new_host: bool,
}

impl LoginRefused<'_> {
    fn open(
        &self,
        options: &KeysOptions,
        made: &mut Option<NewKey>,
        observe: HostObserver<'_>,
    ) -> Result<(HostState, String), String> {
        let private = match self.choose(&options.home) {
            HostKey::Exists(path) => path,
            HostKey::Make(path) => {
                self.make_key(&path, options, made)?;
                path
            }
            HostKey::Unfit(why) => return Ok((HostState::ByHand, why)),
        };
        let public = with_suffix(&private);
        let args = match arguments(self.client, self.host, &public) {
            Ok(args) => args,
            Err(why) => return Ok((HostState::ByHand, why)),
        };
        let shown = shown_command("ssh-copy-id", &args, &options.home);
        if !options.do_it {
            let first = match self.new_host {
                true => {
                    "its host key is new: ssh will show its fingerprint and ask for confirmation; "
                }
                false => "",
            };
            return Ok((HostState::Planned, format!("{first}{shown}")));
        }
        observe(self.host, HostStep::Asking(shown.clone()));
        let mut command = tool(self.client, "ssh-copy-id");
        let copied = at_terminal(command.args(&args), options.limits.total);
        let again = try_login(self.client, self.host, &options.limits);
        Ok(match (copied, again) {
            (_, LoginCheck::Open(how)) => (HostState::Done, how),
            (Err(why), _) => (
                HostState::Failed,
                format!("ssh-copy-id {why}; try `{shown}`"),
            ),
            (Ok(()), LoginCheck::Failed(why)) => (HostState::Failed, why),
            (Ok(()), LoginCheck::Closed { .. }) => (
                HostState::Failed,
                format!(
                    "the key was copied, but {} still asks for a password: either the key has a passphrase (`ssh-add {}`), or sshd there refuses it (see its log; a home directory that is writable by others is one reason)",
                    destination(self.host),
                    shown_path(&private, &options.home)
                ),
            ),
        })
    }

    /// Makes a key, once for all hosts.
    fn make_key(
        &self,
        path: &Path,
        options: &KeysOptions,
        made: &mut Option<NewKey>,
    ) -> Result<(), String> {
        if made.as_ref().is_some_and(|k| k.path == path) {
            return Ok(());
        }
        let args = ["-t", "ed25519", "-f"].map(String::from).to_vec();
        let args = [args, vec![path.display().to_string()]].concat();
        let shown = shown_command("ssh-keygen", &args, &options.home);
        if options.do_it {
            if let Some(dir) = path.parent() {
                // As ssh-keygen makes `~/.ssh`.
                filermark_system::make_private_dir(dir)
                    .map_err(|e| format!("{}: cannot be made: {e}", dir.display()))?;
            }
            let mut command = tool(self.client, "ssh-keygen");
            at_terminal(command.args(&args), options.limits.total)
                .map_err(|why| format!("ssh-keygen {why}; try `{shown}`"))?;
        }
        *made = Some(NewKey {
            path: path.to_owned(),
            command: shown,
            made: options.do_it,
        });
        Ok(())
    }

    /// The key that ssh would offer to this host.
    fn choose(&self, home: &Path) -> HostKey {
        let listed = identity_files(self.client, self.host, home);
        let is_there = |p: &&PathBuf| p.is_file();
        let modern = |p: &&PathBuf| p.to_string_lossy().contains("ed25519");
        let found = listed.iter().filter(is_there);
        if let Some(key) = found.clone().find(modern).or(found.clone().next()) {
            return match with_suffix(key).is_file() {
                true => HostKey::Exists(key.clone()),
                false => HostKey::Unfit(format!(
                    "{0} has no public key file next to it; `ssh-keygen -y -f {0} > {0}.pub` makes it",
                    shown_path(key, home)
                )),
            };
        }
        let default = home.join(".ssh/id_ed25519");
        match listed.first() {
            Some(first) if !listed.contains(&default) => HostKey::Unfit(format!(
                "SSH's configuration names the key {0} for this host, which is missing; `ssh-keygen -t ed25519 -f {0}` makes it",
                shown_path(first, home)
            )),
            _ => HostKey::Make(default),
        }
    }
}

/// A key for a host.
enum HostKey {
    Exists(PathBuf),
    Make(PathBuf),
    /// A message.
    Unfit(String),
}

/// The private keys that ssh would try, as `ssh -G` prints them; the usual ones if it fails.
fn identity_files(client: &SshClient, host: &HostPlan, home: &Path) -> Vec<PathBuf> {
    let configuration = client.configuration(host).unwrap_or_default();
    let files = configuration
        .lines()
        .filter_map(|l| l.strip_prefix("identityfile "));
    let files: Vec<_> = files
        .map(|f| match f.strip_prefix("~/").or(f.strip_prefix("%d/")) {
            Some(rest) => home.join(rest),
            None => PathBuf::from(f),
        })
        .collect();
    if !files.is_empty() {
        return files;
    }
    let usual = ["id_ed25519", "id_ecdsa", "id_rsa"];
    usual.map(|name| home.join(".ssh").join(name)).to_vec()
}

fn with_suffix(private: &Path) -> PathBuf {
    let mut name = private.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// A word of a command for the user's shell, with `~` for the home directory.
fn quote_word(word: &str, home: &Path) -> String {
    match Path::new(word).strip_prefix(home) {
        Ok(rest) => format!("~/{}", quote(&rest.display().to_string())),
        Err(_) => quote(word),
    }
}

fn shown_path(path: &Path, home: &Path) -> String {
    quote_word(&path.display().to_string(), home)
}

fn shown_command(name: &str, args: &[String], home: &Path) -> String {
    let words = args.iter().map(|arg| quote_word(arg, home));
    let words: Vec<_> = std::iter::once(name.to_owned()).chain(words).collect();
    words.join(" ")
}

/// Runs a program that prompts the user at the terminal. Its output is shown as progress.
fn at_terminal(command: &mut Command, limit: Duration) -> Result<(), String> {
    // In this process group: only it may read from the terminal.
    let mut asking = command
        .stdout(Stdio::from(io::stderr()))
        .spawn()
        .map_err(|e| format!("cannot be started: {e}; install OpenSSH's client"))?;
    let deadline = Instant::now() + limit;
    loop {
        match asking.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(child::POLL),
            Ok(None) => {
                let _ = asking.kill();
                let _ = asking.wait();
                return Err(format!("took longer than {} s", limit.as_secs_f64()));
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests;
