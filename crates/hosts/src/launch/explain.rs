//! What OpenSSH's client means by its words and exit codes, in one sentence: the
//! reason, and the next thing to try.
//!
//! Pure text. The texts are those of OpenSSH 9.2 as it was seen to fail, in English
//! whatever the locale, since ssh has no translations; the words about programs are
//! those of dash, bash, zsh, ksh, csh and fish.

use super::process::{ProcessExit, ProcessOutput, explain_end, last_lines};

/// Where ssh was to go, and what was to be run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    /// The host as ssh is told.
    pub host: String,
    /// The program there, as a message may name it.
    pub program: String,
}

/// Exit code of ssh itself; also where the command there was ended by a signal.
const SSH_FAILED: i32 = 255;

/// Explains how ssh ended, or why it is silent; `None`: nothing worth telling.
pub fn explain(way: &SshTarget, said: &ProcessOutput) -> Option<String> {
    if let Some(known) = match_known_error(way, said) {
        return Some(known);
    }
    match said.exit {
        None => said
            .lines
            .iter()
            .rfind(|l| l.contains("panicked at"))
            .cloned(),
        Some(ProcessExit::Code(0)) => None,
        Some(ProcessExit::Code(SSH_FAILED)) => Some(match last_lines(said, 3) {
            Some(words) => format!("ssh failed: {words}; try `ssh {} true`", way.host),
            None => format!(
                "ssh ended with exit code 255 and no word: the connection was cut, or the program there was killed; look at the system log of {}",
                way.host
            ),
        }),
        Some(ProcessExit::Code(127)) => Some(missing(way)),
        Some(ProcessExit::Code(126)) => Some(not_executable(way, said)),
        Some(ProcessExit::Signal(signal)) => {
            Some(format!("the ssh client was ended by signal {signal}"))
        }
        Some(ProcessExit::Code(_)) => explain_end("the program there", said),
    }
}

/// What is said when the ssh client cannot even be started.
pub fn no_client(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "there is no program '{program}' here; install OpenSSH's client, or correct SSH_COMMAND"
        ),
        _ => format!("'{program}' cannot be started: {error}; correct SSH_COMMAND"),
    }
}

fn missing(way: &SshTarget) -> String {
    format!(
        "{} is missing there; `filermark install -r RC` copies it",
        way.program
    )
}

fn not_executable(way: &SshTarget, said: &ProcessOutput) -> String {
    let program = &way.program;
    if said.lines.iter().any(|l| l.contains("Exec format error")) {
        return format!(
            "{program} is a program for another kind of processor; all hosts of a run need the same kind, for they run the very same program: leave this one out of CLIENTS"
        );
    }
    format!(
        "{program} cannot be executed there (a file system mounted noexec, a directory, or its mode); correct EXEC_PATH"
    )
}

/// Makes a sentence of the line that has the words.
type ExplainLine = fn(&SshTarget, &ProcessOutput, &str) -> String;

/// Words that ssh is known to say, the telling ones first: one failure has several.
const KNOWN: &[(&str, ExplainLine)] = &[
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", |w, s, _| {
        changed_key(w, s)
    }),
    ("Host key verification failed", |w, _, _| {
        format!(
            "the host key of {0} is not known here yet; `ssh {0}` shows its fingerprint: compare it and answer yes (or `filermark keys -r RC --yes`, which lets ssh ask)",
            w.host
        )
    }),
    ("Too many authentication failures", |w, _, _| {
        format!(
            "{} gave up after too many keys that it does not know; name the right one in SSH's configuration (IdentityFile, IdentitiesOnly yes)",
            w.host
        )
    }),
    ("bad permissions", |_, _, line| {
        format!("ssh does not use a private key that others may read ({line}); chmod 600 it")
    }),
    ("Permission denied (", |w, _, line| denied(w, line)),
    ("Password change required", |w, _, _| {
        format!(
            "the password at {0} has expired; log in by hand (`ssh {0}`) and change it",
            w.host
        )
    }),
    ("Could not resolve hostname", |_, _, line| {
        let name = between(line, "hostname ", ":").unwrap_or("the host");
        if line.contains("Address family") {
            return format!(
                "the name {name} has no address of the IP version that is asked for; change IPV6_ENABLE (netmist: -y), or add one to the name service or /etc/hosts"
            );
        }
        format!(
            "the name {name} cannot be resolved; correct CLIENTS, or add it to the name service, /etc/hosts or SSH's configuration"
        )
    }),
    ("Connection refused", |w, _, line| {
        format!(
            "{}: nothing listens at {}; is sshd running there, and is the port right (Port in SSH's configuration, or -p in SSH_COMMAND)?",
            "connection refused",
            place(w, line)
        )
    }),
    ("No route to host", |w, _, line| {
        unreachable(w, line, "no route to it")
    }),
    ("Network is unreachable", |w, _, line| {
        unreachable(w, line, "the network is unreachable")
    }),
    ("not responding", |w, _, _| {
        format!(
            "{} has fallen silent in the middle (no answer to ssh's keep-alives)",
            w.host
        )
    }),
    ("timed out", |w, _, line| {
        unreachable(w, line, "no answer in time")
    }),
    ("Bad configuration option", |_, _, line| ours(line)),
    ("Can't open user config file", |_, _, line| ours(line)),
    ("Bad owner or permissions on", |_, _, line| ours(line)),
    ("hostname contains invalid characters", |w, _, _| {
        format!("'{}' is no host name for ssh; correct CLIENTS", w.host)
    }),
    ("Unable to negotiate with", |w, _, line| {
        let what = between(line, "no matching ", " found").unwrap_or("algorithm");
        format!(
            "ssh here and sshd at {} have no {what} in common; update one of them, or allow it in SSH's configuration",
            w.host
        )
    }),
    ("kex_exchange_identification", |w, _, _| {
        format!(
            "{0} closed the connection before sshd said its first word: too many connections at once (MaxStartups), an address that it does not let in, or no sshd at that port; try `ssh {0} true`",
            w.host
        )
    }),
    ("closed by remote host", |w, _, _| {
        format!(
            "{} closed the connection (sshd ended, or the host went down)",
            w.host
        )
    }),
    ("Broken pipe", |w, _, _| {
        format!("the connection to {} broke", w.host)
    }),
    (": this is not Filermark", |w, _, _| {
        format!(
            "{} is something else than Filermark (netmist, perhaps) and is not started; name another place (EXEC_PATH)",
            w.program
        )
    }),
    ("required file not found", |w, _, _| wrong_platform(w)),
    ("version `GLIBC_", |w, _, _| wrong_platform(w)),
];

fn match_known_error(way: &SshTarget, said: &ProcessOutput) -> Option<String> {
    KNOWN.iter().find_map(|(words, sentence)| {
        let line = said.lines.iter().rfind(|l| l.contains(words))?;
        Some(sentence(way, said, line))
    })
}

fn changed_key(way: &SshTarget, said: &ProcessOutput) -> String {
    let known = |start: &str| said.lines.iter().find(|l| l.starts_with(start));
    let place = known("Offending")
        .and_then(|l| l.rsplit_once(" in "))
        .map_or(String::new(), |(_, file)| format!(" in {file}"));
    let remove = known("ssh-keygen").map_or(format!("ssh-keygen -R {}", way.host), Clone::clone);
    format!(
        "the host key of {} is another one than the one known{place}: somebody may be in between; if the host was installed anew, `{remove}` and then `filermark keys -r RC`",
        way.host
    )
}

fn denied(way: &SshTarget, line: &str) -> String {
    let who = line.split(": Permission").next().unwrap_or(&way.host);
    let ways = between(line, "denied (", ")").unwrap_or("its ways");
    format!(
        "{who} does not let us in without a password (tried: {ways}); `filermark keys -r RC` sets that up, USER names another user"
    )
}

fn unreachable(way: &SshTarget, line: &str, why: &str) -> String {
    format!(
        "{} cannot be reached: {why}; is the host up, is its address right, and does a firewall let SSH through?",
        place(way, line)
    )
}

/// A mistake in ssh's own configuration here.
fn ours(line: &str) -> String {
    format!("ssh does not start: {line}; correct SSH_COMMAND or SSH's configuration")
}

fn wrong_platform(way: &SshTarget) -> String {
    format!(
        "{} does not run there: the host has another or an older C library; use a build here that runs on all hosts, for they run the very same program",
        way.program
    )
}

/// "host port N" as ssh names it.
fn place(way: &SshTarget, line: &str) -> String {
    let named =
        between(line, "connect to host ", ": ").or(between(line, "Connection to ", " timed"));
    named.unwrap_or(&way.host).to_owned()
}

fn between<'a>(line: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(before)?;
    Some(rest.split_once(behind)?.0)
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
