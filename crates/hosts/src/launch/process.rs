//! Agents and SSH clients as processes of their own.
//!
//! A process leads its own process group: Ctrl-C at the terminal does not hit it, and
//! what it starts ends with it. Its standard streams are the protocol's; what it says
//! on stderr goes to the log line by line, and the last lines are kept to explain why a
//! link ended. What its words mean is not known here: an [`ExplainExit`] tells.

use super::tag::RunTag;
use filermark_link::build::own_executable;
use filermark_link::child;
use filermark_link::limits::CLEAN_UP_MAX;
use filermark_link::start::{AgentHandle, LaunchedAgent, Launcher};
use filermark_model::launch::HostPlan;
use filermark_model::text::sanitize;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines of stderr that are kept.
const LINES_MAX: usize = 20;
/// Longest line that is kept, in characters.
const LINE_CHARS_MAX: usize = 500;
/// How long is waited for the last words of a process whose streams have ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessExit {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => Self::Code(code),
            None => Self::Signal(status.signal().unwrap_or_default()),
        }
    }
}

/// What a process said beside the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessOutput {
    /// The last lines of its stderr, the newest last; one line each, without control
    /// characters.
    pub lines: Vec<String>,
    /// How it ended; `None`: it still runs.
    pub exit: Option<ProcessExit>,
}

/// Makes one line of it; `None`: nothing worth telling.
pub type ExplainExit = Box<dyn Fn(&ProcessOutput) -> Option<String> + Send>;

/// A process that was started.
pub struct ChildProcess {
    child: Child,
    exit: Option<ProcessExit>,
    lines: Arc<Mutex<VecDeque<String>>>,
    stderr_ends: Receiver<()>,
    explain: ExplainExit,
    /// It is an agent of this host, which tidies up when it is left alone: it is
    /// given this long before it is ended.
    tidies_within: Option<Duration>,
}

impl ChildProcess {
    /// Starts it; `host` stands before its words in the log.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(
        host: &str,
        command: &mut Command,
        explain: ExplainExit,
    ) -> io::Result<(ChildStdin, ChildStdout, Self)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = child::in_own_group(command).spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let (end, stderr_ends) = channel();
        let spawned = Self {
            child,
            exit: None,
            lines: lines.clone(),
            stderr_ends,
            explain,
            tidies_within: None,
        };
        // From here on `spawned` ends the process when anything fails.
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("no pipes"));
        };
        let host = host.to_owned();
        std::thread::Builder::new()
            .name("agent-stderr".into())
            .spawn(move || read_stderr(&host, stderr, &lines, &end))?;
        Ok((stdin, stdout, spawned))
    }

    /// How it ended; `None`: it still runs.
    pub fn exit(&mut self) -> Option<ProcessExit> {
        if self.exit.is_none() {
            self.exit = self.child.try_wait().ok().flatten().map(ProcessExit::from);
        }
        self.exit
    }

    /// What it has said so far.
    pub fn output(&mut self) -> ProcessOutput {
        let exit = self.exit();
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        ProcessOutput {
            lines: lines.iter().cloned().collect(),
            exit,
        }
    }

    /// What it has said when it has ended, or when it does not end within a moment.
    pub fn final_output_lines(&mut self) -> ProcessOutput {
        let deadline = Instant::now() + LAST_WORDS;
        while self.exit().is_none() && Instant::now() < deadline {
            std::thread::sleep(child::LOOK);
        }
        // Something that it has left running may hold its stderr for ever.
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = self.stderr_ends.recv_timeout(left.max(child::LOOK));
        self.output()
    }

    /// Ends it now, with all that it started: first asks, then does not.
    pub fn end(&mut self, patience: Duration) {
        if self.exit().is_none() {
            child::end_all(std::slice::from_mut(&mut self.child), patience);
            self.exit();
        }
    }
}

impl AgentHandle for ChildProcess {
    fn final_output(&mut self) -> Option<String> {
        let said = self.final_output_lines();
        (self.explain)(&said)
    }

    fn release(&mut self, limit: Duration) {
        let limit = self.tidies_within.map_or(limit, |least| limit.max(least));
        let deadline = Instant::now() + limit;
        while self.exit().is_none() && Instant::now() < deadline {
            std::thread::sleep(child::LOOK);
        }
        self.end(child::PATIENCE);
    }
}

/// No process outlives its leash, but an agent that tidies up: its input has ended,
/// and it ends by itself.
impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.tidies_within.is_none() {
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
        // An agent's own warnings are warnings here too.
        match line.contains(" WARN ") || line.contains("ERROR ") {
            true => tracing::warn!(target: "filermark_cluster", "{host}: {line}"),
            false => tracing::info!(target: "filermark_cluster::launch", "{host}: {line}"),
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

/// Cuts bytes into lines that are fit for a message.
#[derive(Default)]
struct LineCutter(Vec<u8>);

impl LineCutter {
    fn push(&mut self, bytes: &[u8], take: &mut dyn FnMut(String)) {
        for byte in bytes {
            match byte {
                b'\n' => self.finish(take),
                // One more than is shown, so that what is cut is seen to be.
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

/// Agents as processes of this host: when the prime dies, they notice it and clean up.
#[derive(Clone, Debug)]
pub struct LocalLauncher {
    program: PathBuf,
    tag: RunTag,
    log: Option<String>,
}

impl LocalLauncher {
    /// This very program is the agent.
    ///
    /// # Errors
    /// The system does not say where the program is.
    pub fn new(tag: RunTag) -> Result<Self, String> {
        let program = own_executable()
            .map_err(|e| format!("this program's own file cannot be found: {e}"))?;
        Ok(Self::of(program, tag))
    }

    /// Another program is: for those that embed a run.
    pub const fn of(program: PathBuf, tag: RunTag) -> Self {
        Self {
            program,
            tag,
            log: None,
        }
    }

    /// What its rooms are to say on stderr (RUST_LOG); it is passed on as ours.
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
        let (to_agent, from_agent, mut leash) =
            ChildProcess::start(&host.client, &mut command, explain).map_err(|e| {
                let program = self.program.display();
                format!("the agent {program} cannot be started: {e}")
            })?;
        leash.tidies_within = Some(CLEAN_UP_MAX);
        Ok(LaunchedAgent {
            from_agent: Box::new(from_agent),
            to_agent: Box::new(to_agent),
            handle: Box::new(leash),
        })
    }
}

/// What an agent's end means, in its own words.
pub(crate) fn explain_agent(said: &ProcessOutput) -> Option<String> {
    explain_end("the agent", said)
}

/// The same for `what`.
pub(crate) fn explain_end(what: &str, said: &ProcessOutput) -> Option<String> {
    let ended = match said.exit {
        Some(ProcessExit::Code(0)) | None => None,
        Some(ProcessExit::Code(code)) => Some(format!("{what} ended with exit code {code}")),
        Some(ProcessExit::Signal(9)) => Some(format!(
            "{what} was killed (signal 9; by somebody, or by the system for want of memory)"
        )),
        Some(ProcessExit::Signal(signal)) => Some(format!("{what} was ended by signal {signal}")),
    };
    let words = last_lines(said, 3);
    match (ended, words) {
        (Some(ended), Some(words)) => Some(format!("{ended}: {words}")),
        (ended, words) => ended.or(words),
    }
}

/// The last few lines in one.
pub(crate) fn last_lines(said: &ProcessOutput, count: usize) -> Option<String> {
    let from = said.lines.len().saturating_sub(count);
    let lines = &said.lines[from..];
    (!lines.is_empty()).then(|| lines.join("; "))
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
