//! Runs small programs of the system, within a limit.

use crate::child;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Maximum output that is kept, in bytes.
const OUTPUT_LEN_MAX: u64 = 4 << 20;
/// How long output is awaited after the program has ended.
const REST: Duration = Duration::from_millis(500);

/// The output of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// Whether it ended with exit code 0.
    pub is_success: bool,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// The first line of its standard error.
    pub stderr: String,
}

/// Why there is no output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// The program is not installed.
    Missing,
    /// It failed without an answer.
    Failed(String),
}

/// Runs it to its end.
pub fn run(program: &str, args: &[&str], limit: Duration) -> Result<ToolOutput, ToolError> {
    let mut command = Command::new(program);
    if cfg!(unix) {
        // Tools of administrators may not be in the user's PATH.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin"));
    }
    command
        .args(args)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match child::spawn_in_own_group(&mut command) {
        Ok(child) => child,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(ToolError::Missing),
        Err(e) => return Err(ToolError::Failed(format!("{program}: {e}"))),
    };
    let stdout = child.stdout.take().map(read_all);
    let stderr = child.stderr.take().map(read_all);
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(child::POLL),
            Ok(None) | Err(_) => {
                child::end_all(std::slice::from_mut(&mut child), child::POLL);
                let seconds = limit.as_secs_f64();
                let why = format!("{program} did not end within {seconds} s");
                return Err(ToolError::Failed(why));
            }
        }
    };
    let text = |end: Option<Receiver<Vec<u8>>>| {
        let bytes = end.and_then(|end| end.recv_timeout(REST).ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    Ok(ToolOutput {
        is_success: status.success(),
        stdout: text(stdout),
        stderr: text(stderr).lines().next().unwrap_or("").to_owned(),
    })
}

fn read_all(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, end) = channel();
    let work = move || {
        let mut bytes = Vec::new();
        let _ = stream.take(OUTPUT_LEN_MAX).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
    };
    let _ = std::thread::Builder::new()
        .name("tool-output".into())
        .spawn(work);
    end
}

// They run programs of a shell.
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_tools_is_read_within_a_limit() {
        let output = run(
            "sh",
            &["-c", "echo yes; echo no >&2; exit 3"],
            Duration::from_secs(10),
        );
        let output = output.expect("a shell");
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("yes\n", "no")
        );
        assert!(!output.is_success);
        let limit = Duration::from_millis(100);
        assert_eq!(
            run("no-such-tool-here", &[], limit),
            Err(ToolError::Missing)
        );
        let began = Instant::now();
        let slow = run("sh", &["-c", "sleep 60 & sleep 60"], limit);
        assert!(matches!(slow, Err(ToolError::Failed(why)) if why.contains("0.1 s")));
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
