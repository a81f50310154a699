//! Asks a host for its system, by one command that works in POSIX shells, in csh and fish, in
//! cmd.exe and in PowerShell. It has no character that redirects or joins commands in one of
//! them, so that a host of which nothing is known is not changed by it.

use super::HostLimits;
use super::remote::{self, CommandOutput, Input, RemoteCommand, RemoteError};
use crate::launch::ssh::{Remote, SshClient, destination};
use crate::programs::SystemName;
use filermark_model::launch::HostPlan;
use filermark_system::Platform;
use std::time::Duration;

/// cmd.exe replaces the names, and takes all of it for words of the first command. Other shells
/// run three commands; PowerShell prints each word on a line of its own.
const ASK: &str =
    r#"echo filermark-system "%OS% %PROCESSOR_ARCHITECTURE%"; echo filermark-uname; uname -sm"#;
/// After [`ASK`]: a shell that reads a script from its standard input. cmd.exe takes this for
/// more words, too, and PowerShell does not have the command; they read no input.
const RUN: &str = "exec /bin/sh -s";
/// The beginning of the answer of Windows.
const OF_WINDOWS: &str = "filermark-system";
/// The line before the answer of `uname`.
const OF_UNAME: &str = "filermark-uname";

/// What a host is that was asked for its system and given a script.
pub(super) enum Asked {
    /// It has Windows; the script did not run.
    Windows(Platform),
    /// Another shell answered, which has run the script if it is a POSIX shell.
    Other(CommandOutput),
}

/// Asks a host for its system; a POSIX shell there also runs a script, in the same connection.
/// `program`: its name in messages.
///
/// # Errors
/// It does not answer, or its shell cannot be used.
pub(super) fn ask_and_run(
    client: &SshClient,
    host: &HostPlan,
    script: String,
    program: &str,
    limit: Duration,
    limits: &HostLimits,
) -> Result<Asked, RemoteError> {
    let call = RemoteCommand {
        client,
        host,
        remote: Remote::Command(format!("{ASK}; {RUN}")),
        program: program.to_owned(),
        input: Input::Text(script),
        limit,
        limits,
    };
    let reply = remote::run(&call, &|_| {})?;
    match answer_in(&String::from_utf8_lossy(&reply.output)) {
        Some(Ok(system)) if SystemName::of(&system).is_windows() => Ok(Asked::Windows(system)),
        Some(Err(why)) => Err(RemoteError::Failed(why.to_owned())),
        Some(Ok(_)) | None => Ok(Asked::Other(reply)),
    }
}

/// The system of a host.
///
/// # Errors
/// A message: it does not answer, or its shell cannot be used.
pub(crate) fn find(client: &SshClient, host: &HostPlan) -> Result<Platform, String> {
    match ask(client, host, &HostLimits::default()) {
        Ok(found) => Ok(found),
        Err(RemoteError::Failed(why)) => Err(why),
        Err(RemoteError::Stopped) => Err("stopped on request".into()),
    }
}

/// [`find`] within limits.
pub(super) fn ask(
    client: &SshClient,
    host: &HostPlan,
    limits: &HostLimits,
) -> Result<Platform, RemoteError> {
    let call = RemoteCommand {
        client,
        host,
        remote: Remote::Command(ASK.to_owned()),
        program: "the shell".into(),
        input: Input::Nothing,
        limit: limits.inspect.min(limits.total),
        limits,
    };
    let reply = remote::run(&call, &|_| {})?;
    let text = String::from_utf8_lossy(&reply.output);
    match answer_in(&text) {
        Some(Ok(found)) => Ok(found),
        Some(Err(why)) => Err(RemoteError::Failed(why.to_owned())),
        None => Err(RemoteError::Failed(reply.meaning.unwrap_or_else(|| {
            format!(
                "its shell does not state the system of the host; try `ssh {} uname`",
                destination(host)
            )
        }))),
    }
}

/// The answer in the output; `None`: there is none.
fn answer_in(text: &str) -> Option<Result<Platform, &'static str>> {
    let mut lines = text.lines().map(str::trim);
    if lines.clone().any(|line| line == OF_WINDOWS) {
        return Some(Err(
            "sshd there starts PowerShell, which passes no binary data to programs: make \
             cmd.exe its shell again (remove the value DefaultShell of \
             HKLM\\SOFTWARE\\OpenSSH) and try again",
        ));
    }
    let of_cmd = lines.clone().find_map(|line| {
        let rest = line.strip_prefix(OF_WINDOWS)?;
        rest.contains(OF_UNAME).then_some(rest)
    });
    if let Some(rest) = of_cmd {
        let words = rest.split(|c: char| c.is_whitespace() || ";\"\\".contains(c));
        let mut words = words.filter(|word| !word.is_empty());
        let (os, processor) = (words.next()?, words.next()?);
        return match os.contains('%') || processor.contains('%') {
            true => None,
            false => Some(Ok(platform(os, processor))),
        };
    }
    lines.find(|line| *line == OF_UNAME)?;
    let mut words = lines.next()?.split_whitespace();
    let (os, processor) = (words.next()?, words.last()?);
    let is_unix_on_windows = ["MINGW", "MSYS", "CYGWIN"]
        .iter()
        .any(|start| os.starts_with(start));
    Some(match is_unix_on_windows {
        true => Err(
            "sshd there starts a shell of MSYS or Cygwin: make cmd.exe its shell again (remove \
             the value DefaultShell of HKLM\\SOFTWARE\\OpenSSH) and try again",
        ),
        false => Ok(platform(os, processor)),
    })
}

fn platform(os: &str, processor: &str) -> Platform {
    let short = |word: &str| filermark_model::text::sanitize(word, 32);
    let os = if os == "Windows_NT" { "Windows" } else { os };
    Platform {
        os: short(os),
        processor: short(processor),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use super::super::answer::HostAnswer;
    use super::super::scripts::script_input;
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn every_shell_states_the_system() {
        // As cmd.exe, PowerShell and dash print it.
        let cmd = "filermark-system \"Windows_NT AMD64\"; echo filermark-uname; uname -sm\r\n";
        assert_eq!(answer_in(cmd), Some(Ok(platform("Windows", "AMD64"))));
        let run = "filermark-system \"Windows_NT ARM64\"; echo filermark-uname; uname -sm; exec /bin/sh -s\r\n";
        assert_eq!(answer_in(run), Some(Ok(platform("Windows", "ARM64"))));
        let escaped =
            "filermark-system \\\"Windows_NT AMD64\\\"; echo filermark-uname; uname -sm\r\n";
        assert_eq!(answer_in(escaped), Some(Ok(platform("Windows", "AMD64"))));
        let power = "filermark-system\r\n%OS% %PROCESSOR_ARCHITECTURE%\r\nfilermark-uname\r\n";
        let refused = answer_in(power).unwrap().unwrap_err();
        assert!(refused.contains("DefaultShell"), "{refused}");
        let linux = "Welcome\nfilermark-system %OS% %PROCESSOR_ARCHITECTURE%\nfilermark-uname\nLinux aarch64\n";
        assert_eq!(answer_in(linux), Some(Ok(platform("Linux", "aarch64"))));
        let msys = "filermark-uname\nMINGW64_NT-10.0-19045 x86_64\n";
        assert!(answer_in(msys).unwrap().is_err());
        for text in [
            "",
            "Welcome\n",
            "filermark-uname\n",
            "filermark-system %OS% %P%\n",
            "filermark-system \"%OS% %P%\"; echo filermark-uname\n",
        ] {
            assert_eq!(answer_in(text), None, "{text:?}");
        }
    }

    #[test]
    fn no_shell_takes_a_part_of_the_command_for_a_redirection() {
        let line = format!("{ASK}; {RUN}");
        assert!(!line.contains(['<', '>', '|', '&', '^', '(', ')', '!', '$', '`', '\'']));
    }

    #[cfg(windows)]
    #[test]
    fn cmd_states_the_system_and_runs_nothing() {
        use std::os::windows::process::CommandExt;
        let dir = tempfile::tempdir().unwrap();
        // As sshd of Windows starts it.
        let mut child = Command::new("cmd.exe")
            .raw_arg(format!("/c \"{ASK}; {RUN}\""))
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // It may have ended before.
        let _ = stdin.write_all(script_input("echo x >made;", &["own"]).as_bytes());
        drop(stdin);
        let ended = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        let found = answer_in(&text).expect("an answer").expect("a system");
        assert_eq!(
            SystemName::of(&found),
            SystemName::of(&filermark_system::platform()),
            "{text}"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn shells_of_this_host_answer() {
        for shell in ["sh", "bash", "dash", "csh", "tcsh", "fish", "zsh"] {
            let mut command = Command::new(shell);
            command.args(["-c", &format!("{ASK}; {RUN}")]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let Ok(mut child) = command.spawn() else {
                continue;
            };
            let script = script_input("say ran \"$1\"; end;", &["'a b'"]);
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(script.as_bytes()).unwrap();
            drop(stdin);
            let ended = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&ended.stdout);
            assert_eq!(
                answer_in(&text),
                Some(Ok(filermark_system::platform())),
                "{shell}: {ended:?}"
            );
            let answer = HostAnswer::find(&ended.stdout).unwrap();
            assert_eq!(answer.get("ran"), "a b", "{shell}");
        }
    }
}
