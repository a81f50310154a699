//! Asks a host for its system, by one command that works in POSIX shells, in csh and fish, in
//! cmd.exe and in PowerShell.

use super::HostLimits;
use super::remote::{self, RemoteCommand, RemoteError};
use crate::launch::process::ProcessExit;
use crate::launch::ssh::{Remote, SshClient, destination};
use filermark_model::launch::HostPlan;
use filermark_system::Platform;

/// cmd.exe and PowerShell run the first part, in which an inner cmd.exe replaces the names;
/// cmd.exe takes the second part for more words of it. Others have no `cmd`, and run the second.
const ASK: &str = r#"cmd /c "echo filermark-system %OS% %PROCESSOR_ARCHITECTURE%"; echo filermark-uname; uname -sm"#;
/// The beginning of the answer of Windows.
const OF_WINDOWS: &str = "filermark-system ";
/// The line before the answer of `uname`.
const OF_UNAME: &str = "filermark-uname";

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
        input: None,
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

/// Whether a host on which a POSIX shell did not answer may have Windows: the exit codes of
/// PowerShell and cmd.exe for a command that they do not have, 1 and 9009, of which ssh passes
/// on eight bits.
pub(super) fn may_be_windows(exit: ProcessExit) -> bool {
    matches!(exit, ProcessExit::Code(1 | 49 | 9009))
}

/// The answer in the output; `None`: there is none.
fn answer_in(text: &str) -> Option<Result<Platform, &'static str>> {
    let mut lines = text.lines().map(str::trim);
    let found = lines.clone().find_map(|line| line.strip_prefix(OF_WINDOWS));
    if let Some(rest) = found {
        // PowerShell ends the command at the semicolon, cmd.exe prints the rest, too.
        let is_cmd = rest.contains(OF_UNAME);
        let mut words = rest.split(|c: char| c.is_whitespace() || c == ';' || c == '"');
        let (os, processor) = (words.next()?, words.next()?);
        if os.contains('%') || processor.contains('%') {
            return None;
        }
        return Some(match is_cmd {
            true => Ok(platform(os, processor)),
            false => Err(
                "sshd there starts PowerShell, which passes no binary data to programs: make \
                 cmd.exe its shell again (remove the value DefaultShell of \
                 HKLM\\SOFTWARE\\OpenSSH) and try again",
            ),
        });
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
    use super::*;
    use std::process::Command;

    #[test]
    fn every_shell_states_the_system() {
        // As cmd.exe, PowerShell and dash print it.
        let cmd = "filermark-system Windows_NT AMD64; echo filermark-uname; uname -sm\r\n";
        assert_eq!(answer_in(cmd), Some(Ok(platform("Windows", "AMD64"))));
        let inner = "filermark-system Windows_NT ARM64\"; echo filermark-uname; uname -sm\r\n";
        assert_eq!(answer_in(inner), Some(Ok(platform("Windows", "ARM64"))));
        let power = "filermark-system Windows_NT AMD64\r\nfilermark-uname\r\n";
        let refused = answer_in(power).unwrap().unwrap_err();
        assert!(refused.contains("DefaultShell"), "{refused}");
        let linux = "Welcome\nfilermark-uname\nLinux aarch64\n";
        assert_eq!(answer_in(linux), Some(Ok(platform("Linux", "aarch64"))));
        let msys = "filermark-uname\nMINGW64_NT-10.0-19045 x86_64\n";
        assert!(answer_in(msys).unwrap().is_err());
        for text in [
            "",
            "Welcome\n",
            "filermark-uname\n",
            "filermark-system %OS% %P%\n",
        ] {
            assert_eq!(answer_in(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_exit_codes_of_unknown_commands_are_known() {
        for (code, expected) in [(1, true), (9009 & 0xff, true), (0, false), (255, false)] {
            assert_eq!(may_be_windows(ProcessExit::Code(code)), expected, "{code}");
        }
        assert!(!may_be_windows(ProcessExit::Signal(9)));
    }

    #[test]
    fn shells_of_this_host_answer() {
        for shell in ["sh", "bash", "dash", "csh", "tcsh", "fish", "zsh"] {
            let Ok(ended) = Command::new(shell).args(["-c", ASK]).output() else {
                continue;
            };
            let text = String::from_utf8_lossy(&ended.stdout);
            assert_eq!(
                answer_in(&text),
                Some(Ok(filermark_system::platform())),
                "{shell}: {ended:?}"
            );
        }
    }
}
