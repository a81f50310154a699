//! Lets this user into the client hosts without a password: what the training guide's
//! appendix B does with a script (slides E), safely.
//!
//! First a look: which hosts let us in already, which key would be copied. Only when it
//! is asked for, `ssh-keygen` makes a key where there is none, and `ssh-copy-id` brings
//! its public half to one host after the other; both ask the user themselves, at the
//! terminal. Private keys never leave this host, modes are left to OpenSSH's programs,
//! and no host key is taken that the user has not seen.

use super::copy_id::{arguments, tool};
use super::remote::{self, RemoteError};
use super::{HostLimits, HostObserver, HostOutcome, HostState, HostStep, each_once, side_by_side};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{SshClient, destination, quote};
use filermark_link::child;
use filermark_model::launch::{HostPlan, LaunchPlan, LauncherKind};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What `keys` is to do.
#[derive(Clone, Debug)]
pub struct KeysOptions {
    /// Do it; otherwise only look and tell.
    pub do_it: bool,
    /// The user's home directory.
    pub home: PathBuf,
    /// Limits; what waits for the user has `whole`.
    pub limits: HostLimits,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysReport {
    /// The key that was made, or would be, with the command.
    pub key: Option<NewKey>,
    /// The hosts, each once, in the order of the plan.
    pub hosts: Vec<HostOutcome>,
}

/// A key that there was none of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Its private half.
    pub path: PathBuf,
    /// What makes it.
    pub command: String,
    /// It was made.
    pub made: bool,
}

/// Sets SSH up on all hosts of the plan, or says what would be done.
///
/// # Errors
/// One sentence: no key could be made.
pub fn keys(
    plan: &LaunchPlan,
    options: &KeysOptions,
    observe: HostObserver<'_>,
) -> Result<KeysReport, String> {
    let client = SshClient::of(plan);
    let hosts = each_once(plan);
    let doors = side_by_side(
        &hosts,
        |host, tell| {
            tell(HostStep::Inspecting);
            try_login(&client, host, &options.limits)
        },
        observe,
    );
    let mut report = KeysReport {
        key: None,
        hosts: Vec::new(),
    };
    for (host, door) in hosts.iter().zip(doors) {
        let (state, detail) = match door {
            LoginCheck::Open(how) => (HostState::Nothing, how),
            LoginCheck::Failed(why) => (HostState::Failed, why),
            LoginCheck::Closed { new_host } => {
                let door = LoginRefused {
                    client: &client,
                    host,
                    new_host,
                };
                door.open(options, &mut report.key, observe)?
            }
        };
        observe(host, HostStep::Done(state));
        report.hosts.push(HostOutcome::new(host, state, detail));
    }
    Ok(report)
}

/// Whether a host lets us in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LoginCheck {
    /// It does, or nobody needs it to.
    Open(String),
    /// Not without a password.
    Closed {
        /// Its host key is not known here yet either.
        new_host: bool,
    },
    /// A key would not help; one sentence.
    Failed(String),
}

/// Asks a host to let us in without a question.
fn try_login(client: &SshClient, host: &HostPlan, limits: &HostLimits) -> LoginCheck {
    if host.launcher != LauncherKind::Ssh {
        let how = format!("its agent is started another way ({})", host.launcher);
        return LoginCheck::Open(how);
    }
    let reply = match remote::try_login(client, host, limits) {
        Ok(reply) => reply,
        Err(RemoteError::Failed(why)) => return LoginCheck::Failed(why),
        Err(RemoteError::Stopped) => return LoginCheck::Failed("stopped on request".into()),
    };
    let said = |words: &str| reply.process_output.lines.iter().any(|l| l.contains(words));
    let changed = said("REMOTE HOST IDENTIFICATION HAS CHANGED");
    match reply.exit {
        ProcessExit::Code(0) => LoginCheck::Open("lets us in without a password".into()),
        ProcessExit::Code(255) if said("Permission denied (") => {
            LoginCheck::Closed { new_host: false }
        }
        ProcessExit::Code(255) if said("Host key verification failed") && !changed => {
            LoginCheck::Closed { new_host: true }
        }
        _ => LoginCheck::Failed(reply.meaning.unwrap_or_else(|| "no word from it".into())),
    }
}

/// A host that does not let us in yet.
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
                true => "its host key is new: ssh will show its fingerprint and ask; ",
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
                    "the key is there, but {} still asks: does the key have a passphrase (`ssh-add {}`), or does sshd there refuse keys (its log tells; a home directory that others may write is one reason)?",
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
                make_private_dir(dir)
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

    /// The key that ssh would show this host.
    fn choose(&self, home: &Path) -> HostKey {
        let listed = identity_files(self.client, self.host, home);
        let is_there = |p: &&PathBuf| p.is_file();
        let modern = |p: &&PathBuf| p.to_string_lossy().contains("ed25519");
        let found = listed.iter().filter(is_there);
        if let Some(key) = found.clone().find(modern).or(found.clone().next()) {
            return match with_suffix(key).is_file() {
                true => HostKey::Exists(key.clone()),
                false => HostKey::Unfit(format!(
                    "{0} has no public half beside it; `ssh-keygen -y -f {0} > {0}.pub` makes it",
                    shown_path(key, home)
                )),
            };
        }
        let default = home.join(".ssh/id_ed25519");
        match listed.first() {
            Some(first) if !listed.contains(&default) => HostKey::Unfit(format!(
                "SSH's configuration names the key {0} for it, which is missing; `ssh-keygen -t ed25519 -f {0}` makes it",
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
    /// One sentence.
    Unfit(String),
}

/// The private keys that ssh would try, by its own word (`ssh -G`); the usual ones
/// where it does not tell.
fn identity_files(client: &SshClient, host: &HostPlan, home: &Path) -> Vec<PathBuf> {
    let told = client.configuration(host).unwrap_or_default();
    let files = told.lines().filter_map(|l| l.strip_prefix("identityfile "));
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

/// Makes `~/.ssh` as ssh-keygen would, for nobody else to look into.
fn make_private_dir(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Runs a program that asks the user at the terminal. What it prints is talk.
fn at_terminal(command: &mut Command, limit: Duration) -> Result<(), String> {
    let talk = io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| format!("has no stderr: {e}"))?;
    // In our own process group: only that may read from the terminal.
    let mut asking = command
        .stdout(Stdio::from(talk))
        .spawn()
        .map_err(|e| format!("cannot be started: {e}; install OpenSSH's client"))?;
    let deadline = Instant::now() + limit;
    loop {
        match asking.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("ended with {status}")),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(child::LOOK),
            Ok(None) => {
                let _ = asking.kill();
                let _ = asking.wait();
                return Err(format!("took longer than {} s", limit.as_secs_f64()));
            }
            Err(e) => return Err(e.to_string()),
        }
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
