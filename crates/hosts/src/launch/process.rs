//! Agents and SSH clients as child processes.
//!
//! A process leads its own process group: Ctrl-C at the terminal does not reach it, and its
//! children end with it. When the prime dies, its input ends, and so does it; a process without
//! an input is ended with the prime where the system can do that ([`Lifetime`]). Its standard
//! streams carry the protocol; its stderr goes to the log line by line, and the last lines are
//! kept to explain why a link ended. Their meaning is not known here: an [`ExplainExit`] explains
//! them.

use super::tag::RunTag;
use filermark_link::build::own_executable;
use filermark_link::child::{self, ExitKind};
use filermark_link::limits::CLEAN_UP_MAX;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::HostPlan;
use filermark_model::text::sanitize;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines of stderr that are kept.
const LINES_MAX: usize = 20;
/// Longest line that is kept, in characters.
const LINE_CHARS_MAX: usize = 500;
/// How long the remaining output of a process is awaited after its streams have ended.
const FINAL_OUTPUT_MAX: Duration = Duration::from_millis(500);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        match child::end_by(status) {
            ExitKind::Exited(code) => Self::Code(code),
            ExitKind::Signal(signal) => Self::Signal(signal),
        }
    }
}

/// The output of a process besides the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessOutput {
    /// The last lines of its stderr, the newest last; one line each, without control
    /// characters.
    pub lines: Vec<String>,
    /// How it ended; `None`: it is running.
    pub exit: Option<ProcessExit>,
}

/// Makes one line of it; `None`: nothing to explain.
pub type ExplainExit = Box<dyn Fn(&ProcessOutput) -> Option<String> + Send>;

/// What ends a process if the prime dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The end of its input: it may have work to do then.
    UntilEndOfInput,
    /// The system ([`child::spawn_in_own_group`]): its input is empty, and so has ended before.
    OfThisProcess,
}

/// A process that was started.
pub struct ChildProcess {
    child: Child,
    exit: Option<ProcessExit>,
    lines: Arc<Mutex<VecDeque<String>>>,
    stderr_ends: Receiver<()>,
    explain: ExplainExit,
    /// It is an agent of this host, which cleans up when its link ends: it gets this long
    /// before it is ended.
    clean_up_limit: Option<Duration>,
}

impl ChildProcess {
    /// Starts it; its output in the log begins with `host`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        host: &str,
        command: &mut Command,
        lifetime: Lifetime,
        explain: ExplainExit,
    ) -> io::Result<(ChildStdin, ChildStdout, Self)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = match lifetime {
            Lifetime::UntilEndOfInput => child::spawn_until_end_of_input(command)?,
            Lifetime::OfThisProcess => child::spawn_in_own_group(command)?,
        };
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (end, stderr_ends) = channel();
        let spawned = Self {
            child,
            exit: None,
            lines: lines.clone(),
            stderr_ends,
            explain,
            clean_up_limit: None,
        };
        // From here on the process is ended if anything fails.
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("no pipes"));
        };
        let host = host.to_owned();
        std::thread::Builder::new()
            .name("agent-stderr".into())
            .spawn(move || read_stderr(&host, stderr, &lines, &end))?;
        Ok((stdin, stdout, spawned))
    }

    /// How it ended; `None`: it is running.
    pub fn exit(&mut self) -> Option<ProcessExit> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().ok().flatten().map(ProcessExit::from);
        }
        self.exit
    }

    /// Its output so far.
    pub fn output(&mut self) -> ProcessOutput {
        let exit = self.exit();
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        ProcessOutput {
            lines: lines.iter().cloned().collect(),
            exit,
        }
    }

    /// Its output when it has ended, or after a short wait.
    pub fn final_output_lines(&mut self) -> ProcessOutput {
        let deadline = Instant::now() + FINAL_OUTPUT_MAX;
        while self.exit().is_none() && Instant::now() < deadline {
            std::thread::sleep(child::POLL);
        }
        // A background process that it has started may keep its stderr open.
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = self.stderr_ends.recv_timeout(left.max(child::POLL));
        self.output()
    }

    /// Ends it with all its children: SIGTERM, and SIGKILL after `grace`.
    pub fn end(&mut self, grace: Duration) {
        if self.exit().is_none() {
            child::end_all(std::slice::from_mut(&mut self.child), grace);
            self.exit();
        }
    }
}

impl AgentHandle for ChildProcess {
    fn final_output(&mut self) -> Option<String> {
        let output = self.final_output_lines();
        (self.explain)(&output)
    }

    fn release(&mut self, limit: Duration) {
        let limit = self.clean_up_limit.map_or(limit, |least| limit.max(least));
        let deadline = Instant::now() + limit;
        while self.exit().is_none() && Instant::now() < deadline {
            std::thread::sleep(child::POLL);
        }
        self.end(child::TERM_GRACE);
    }
}

/// Dropping it ends the process, except an agent that cleans up: its input has ended, so it
/// exits by itself.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.clean_up_limit.is_none() {
            self.end(Duration::from_secs(1));
        }
    }
}

/// Reads stderr to its end.
fn read_stderr(
    host: &str,
    mut stderr: impl Read,
    lines: &Mutex<VecDeque<String>>,
    end: &Sender<()>,
) {
    let mut cutter = LineCutter::default();
    let mut buffer = [0; 4096];
    let mut take = |line: String| {
        // An agent's warnings are warnings here, too.
        match logged_warning(&line) {
            Some(text) => tracing::warn!(target: "filermark_clients", "{host}: {text}"),
            None => tracing::info!(target: "filermark_clients::launch", "{host}: {line}"),
        }
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    };
    loop {
        match stderr.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => cutter.push(&buffer[..n], &mut take),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    cutter.finish(&mut take);
    let _ = end.send(());
}

/// The text of a line of an agent's log whose level is a warning or an error: "LEVEL TARGET: TEXT",
/// without a time, since the log of the prime has one.
fn logged_warning(line: &str) -> Option<&str> {
    let rest = ["WARN ", "ERROR "]
        .iter()
        .find_map(|level| line.strip_prefix(level))?;
    let (target, text) = rest.split_once(": ")?;
    target.starts_with("filermark").then_some(text)
}

/// Cuts bytes into lines that are safe for a message.
#[derive(Default)]
struct LineCutter(Vec<u8>);

impl LineCutter {
    fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(String)) {
        for byte in bytes {
            match byte {
                b'\n' => self.finish(take),
                // One more than is shown, so that a cut can be recognized.
                _ if self.0.len() < 4 * (LINE_CHARS_MAX + 1) => self.0.push(*byte),
                _ => {}
            }
        }
    }

    fn finish(&mut self, take: &mut dyn FnMut(String)) {
        let line = sanitize(String::from_utf8_lossy(&self.0).trim(), LINE_CHARS_MAX);
        self.0.clear();
        if !line.trim().is_empty() {
            take(line.trim().to_owned());
        }
    }
}

/// Agents as processes of this host: when the prime dies, their input ends and they clean up.
#[derive(Clone, Debug)]
pub struct LocalLauncher {
    program: PathBuf,
    tag: RunTag,
    log: Option<String>,
}

impl LocalLauncher {
    /// This program is the agent.
    ///
    /// # Errors
    /// The system does not provide the path of this program.
    pub fn new(tag: RunTag) -> Result<Self, String> {
        let program = own_executable()
            .map_err(|e| format!("this program's own file cannot be found: {e}"))?;
        Ok(Self::of(program, tag))
    }

    /// Another program is the agent: for tests and programs that embed a run.
    pub const fn of(program: PathBuf, tag: RunTag) -> Self {
        Self {
            program,
            tag,
            log: None,
        }
    }

    /// The log filter of its stderr (RUST_LOG); the output is passed on to the log.
    pub fn with_log_level(mut self, log: Option<String>) -> Self {
        self.log = log;
        self
    }
}

impl Launcher for LocalLauncher {
    fn launch(&self, _client: usize, host: &HostPlan) -> Result<LaunchedAgent, String> {
        let mut command = Command::new(&self.program);
        command.args(self.tag.agent_args());
        if let Some(log) = &self.log {
            command.env("RUST_LOG", log);
        }
        let explain: ExplainExit = Box::new(explain_agent);
        let lifetime = Lifetime::UntilEndOfInput;
        let (to_agent, from_agent, mut handle) =
            ChildProcess::start(&host.client, &mut command, lifetime, explain).map_err(|e| {
                let program = self.program.display();
                format!("the agent {program} cannot be started: {e}")
            })?;
        handle.clean_up_limit = Some(CLEAN_UP_MAX);
        Ok(LaunchedAgent {
            from_agent: Box::new(from_agent),
            to_agent: Box::new(to_agent),
            handle: Box::new(handle),
        })
    }
}

/// What the end of an agent means, with its output.
pub(crate) fn explain_agent(output: &ProcessOutput) -> Option<String> {
    explain_end("the agent", output)
}

/// What the end of `what` means, with its output.
pub(crate) fn explain_end(what: &str, output: &ProcessOutput) -> Option<String> {
    let ended = match output.exit {
        Some(ProcessExit::Code(0)) | None => None,
        Some(ProcessExit::Code(code)) => Some(format!("{what} ended with exit code {code}")),
        Some(ProcessExit::Signal(9)) => Some(format!(
            "{what} was killed (signal 9: by a user, or by the kernel because memory was exhausted)"
        )),
        Some(ProcessExit::Signal(signal)) => Some(format!("{what} was ended by signal {signal}")),
    };
    let message = last_lines(output, 3);
    match (ended, message) {
        (Some(ended), Some(message)) => Some(format!("{ended}: {message}")),
        (ended, message) => ended.or(message),
    }
}

/// The last few lines in one.
pub(crate) fn last_lines(output: &ProcessOutput, count: usize) -> Option<String> {
    let from = output.lines.len().saturating_sub(count);
    let lines = &output.lines[from..];
    (!lines.is_empty()).then(|| lines.join("; "))
}

#[cfg(all(test, unix))]
mod tests;
