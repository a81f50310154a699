//! Explains the messages and exit codes of OpenSSH's client in one sentence: the reason, and
//! what to try.
//!
//! Pure text. The messages are those of OpenSSH 9.2, which are in English whatever the locale,
//! since ssh has no translations; those about programs are of dash, bash, zsh, ksh, csh and
//! fish.

use super::process::{ProcessExit, ProcessOutput, explain_end, last_lines};

/// The host of a connection, and the program to run there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    /// The host as passed to ssh.
    pub host: String,
    /// The program there, as shown in messages.
    pub program: String,
}

/// Exit code of an error of ssh itself; also if the command there was ended by a signal.
const SSH_FAILED: i32 = 255;

/// Explains how ssh ended, or why it does not answer; `None`: nothing to explain.
pub fn explain(target: &SshTarget, output: &ProcessOutput) -> Option<String> {
    if let Some(known) = explain_known_message(target, output) {
        return Some(known);
    }
    match output.exit {
        None => output
            .lines
            .iter()
            .rfind(|l| l.contains("panicked at"))
            .cloned(),
        Some(ProcessExit::Code(0)) => None,
        Some(ProcessExit::Code(SSH_FAILED)) => Some(match last_lines(output, 3) {
            Some(message) => format!("ssh failed: {message}; try `ssh {} true`", target.host),
            None => format!(
                "ssh ended with exit code 255 and no message: the connection was lost, or the program there was killed; see the system log of {}",
                target.host
            ),
        }),
        Some(ProcessExit::Code(127)) => Some(missing(target)),
        Some(ProcessExit::Code(126)) => Some(not_executable(target, output)),
        Some(ProcessExit::Signal(signal)) => {
            Some(format!("the ssh client was ended by signal {signal}"))
        }
        Some(ProcessExit::Code(_)) => explain_end("the program there", output),
    }
}

/// The message if the ssh client cannot be started.
pub fn no_client(program: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "there is no program '{program}' on this host; install OpenSSH's client, or correct SSH_COMMAND"
        ),
        _ => format!("'{program}' cannot be started: {error}; correct SSH_COMMAND"),
    }
}

fn missing(target: &SshTarget) -> String {
    format!(
        "{} is missing there; `filermark install -r RC` copies it",
        target.program
    )
}

fn not_executable(target: &SshTarget, output: &ProcessOutput) -> String {
    let program = &target.program;
    if output.lines.iter().any(|l| l.contains("Exec format error")) {
        return wrong_processor(target);
    }
    format!(
        "{program} cannot be executed there (a file system mounted noexec, a directory, or its mode); correct EXEC_PATH"
    )
}

fn wrong_processor(target: &SshTarget) -> String {
    format!(
        "{} is built for another processor architecture: set AGENTS_DIR (--agents) to a directory with a program for it, or remove the host from CLIENTS",
        target.program
    )
}

/// Makes a message of the line that matches.
type ExplainLine = fn(&SshTarget, &ProcessOutput, &str) -> String;

/// Known messages of ssh, the specific ones first: one failure causes several lines.
const KNOWN_MESSAGES: &[(&str, ExplainLine)] = &[
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", |w, s, _| {
        changed_key(w, s)
    }),
    ("Host key verification failed", |w, _, _| {
        format!(
            "the host key of {0} is not known here yet; `ssh {0}` shows its fingerprint: compare it and answer yes (or run `filermark keys -r RC --yes`, in which ssh asks)",
            w.host
        )
    }),
    ("Too many authentication failures", |w, _, _| {
        format!(
            "{} closed the connection after too many keys that it does not accept; set the right one in SSH's configuration (IdentityFile, IdentitiesOnly yes)",
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
                "the name {name} has no address of the requested IP version; change IPV6_ENABLE (netmist: -y), or add one to the name service or /etc/hosts"
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
            address_in(w, line)
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
            "{} stopped responding (no reply to ssh's keep-alives)",
            w.host
        )
    }),
    ("timed out", |w, _, line| {
        unreachable(w, line, "no answer in time")
    }),
    ("Bad configuration option", |_, _, line| {
        configuration_error(line)
    }),
    ("Can't open user config file", |_, _, line| {
        configuration_error(line)
    }),
    ("Bad owner or permissions on", |_, _, line| {
        configuration_error(line)
    }),
    ("hostname contains invalid characters", |w, _, _| {
        format!("'{}' is not a host name for ssh; correct CLIENTS", w.host)
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
            "{0} closed the connection before sshd identified itself: too many connections at once (MaxStartups), an address that it rejects, or no sshd at that port; try `ssh {0} true`",
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
    // The first word of the command lines for other systems.
    ("'exec' is not recognized as an internal", |w, _, _| {
        format!(
            "{} has Windows: set AGENTS_DIR (--agents), or a path of Windows as EXEC_PATH",
            w.host
        )
    }),
    (
        "is not recognized as an internal or external command",
        |w, _, _| missing(w),
    ),
    ("The system cannot find the path specified", |w, _, _| {
        missing(w)
    }),
    (
        "is not compatible with the version of Windows",
        |w, _, _| wrong_processor(w),
    ),
    (": this is not Filermark", |w, _, _| {
        format!(
            "{} is not Filermark (possibly netmist) and is not started; set EXEC_PATH to another path",
            w.program
        )
    }),
    ("required file not found", |w, _, _| wrong_platform(w)),
    ("version `GLIBC_", |w, _, _| wrong_platform(w)),
];

fn explain_known_message(target: &SshTarget, output: &ProcessOutput) -> Option<String> {
    KNOWN_MESSAGES.iter().find_map(|(message, sentence)| {
        let line = output.lines.iter().rfind(|l| l.contains(message))?;
        Some(sentence(target, output, line))
    })
}

fn changed_key(target: &SshTarget, output: &ProcessOutput) -> String {
    let known = |start: &str| output.lines.iter().find(|l| l.starts_with(start));
    let file = known("Offending")
        .and_then(|l| l.rsplit_once(" in "))
        .map_or(String::new(), |(_, file)| format!(" in {file}"));
    let remove = known("ssh-keygen").map_or(format!("ssh-keygen -R {}", target.host), Clone::clone);
    format!(
        "the host key of {} differs from the known one{file}: possible man-in-the-middle attack; if the host was reinstalled, run `{remove}`, then `filermark keys -r RC`",
        target.host
    )
}

fn denied(target: &SshTarget, line: &str) -> String {
    let who = line.split(": Permission").next().unwrap_or(&target.host);
    let methods = between(line, "denied (", ")").unwrap_or("all methods");
    format!(
        "{who} does not accept this user without a password (tried: {methods}); `filermark keys -r RC` sets up a key, USER sets another user"
    )
}

fn unreachable(target: &SshTarget, line: &str, why: &str) -> String {
    format!(
        "{} cannot be reached: {why}; check that the host is up, that its address is right and that no firewall blocks SSH",
        address_in(target, line)
    )
}

/// An error in ssh's configuration on this host.
fn configuration_error(line: &str) -> String {
    format!("ssh does not start: {line}; correct SSH_COMMAND or SSH's configuration")
}

fn wrong_platform(target: &SshTarget) -> String {
    format!(
        "{} does not run there: the host has another or an older C library; use a build that runs on all hosts, because they run the same binary",
        target.program
    )
}

/// "host port N" as ssh prints it.
fn address_in(target: &SshTarget, line: &str) -> String {
    let named =
        between(line, "connect to host ", ": ").or(between(line, "Connection to ", " timed"));
    named.unwrap_or(&target.host).to_owned()
}

fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[cfg(test)]
mod tests;
