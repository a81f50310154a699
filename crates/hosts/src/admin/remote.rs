//! Runs one command on one host over SSH, with limits: its input, its output, its exit.

use super::HostLimits;
use crate::launch::process::{ChildProcess, ProcessExit, ProcessOutput};
use crate::launch::ssh::{Remote, SshClient};
use filermark_link::child;
use filermark_link::start::AgentHandle;
use filermark_model::launch::HostPlan;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Maximum output of a command that is kept, in bytes: its beginning.
const OUTPUT_LEN_MAX: usize = 256 << 10;
/// How long output is awaited after ssh has ended.
const FINAL_OUTPUT_MAX: Duration = Duration::from_millis(500);

/// A command for a host.
pub(super) struct RemoteCommand<'a> {
    pub client: &'a SshClient,
    pub host: &'a HostPlan,
    /// What is started there.
    pub remote: Remote,
    /// Name of the program in messages.
    pub program: String,
    pub input: Input<'a>,
    /// How long it may take.
    pub limit: Duration,
    pub limits: &'a HostLimits,
}

/// What a command gets on its standard input.
pub(super) enum Input<'a> {
    /// Nothing: it reads end of file immediately.
    Nothing,
    /// A file. The command must make progress with it (`HostLimits::silence`).
    File(&'a Path),
    /// A short text.
    Text(String),
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// The beginning of its output.
    pub output: Vec<u8>,
    /// How ssh ended.
    pub exit: ProcessExit,
    /// The meaning of its exit, as a message.
    pub meaning: Option<String>,
    /// Its stderr and exit.
    pub process_output: ProcessOutput,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemoteError {
    /// A message.
    Failed(String),
    /// The user stopped the command.
    Stopped,
}

/// Runs it; `progress` is called repeatedly with the number of bytes that ssh has read.
pub(super) fn run(
    call: &RemoteCommand<'_>,
    progress: &dyn Fn(u64),
) -> Result<CommandOutput, RemoteError> {
    let input: Option<Box<dyn Read + Send>> = match &call.input {
        Input::Nothing => None,
        Input::File(path) => {
            let failed = |e| format!("{}: cannot be read: {e}", path.display());
            let file = File::open(path).map_err(|e| RemoteError::Failed(failed(e)))?;
            Some(Box::new(file))
        }
        Input::Text(text) => Some(Box::new(io::Cursor::new(text.clone()))),
    };
    let (stdin, stdout, mut handle) = call
        .client
        .start(call.host, &call.remote, call.program.clone())
        .map_err(RemoteError::Failed)?;
    let sent = Arc::new(AtomicU64::new(0));
    let (output_end, output) = channel();
    let threads = on_thread("ssh-output", move || keep(stdout, &output_end)).and_then(|()| {
        let sent = sent.clone();
        on_thread("ssh-input", move || {
            // Without an input the command reads end of file immediately.
            let mut stdin = stdin;
            if let Some(input) = input {
                let _ = copy(input, &mut stdin, &sent);
            }
        })
    });
    threads.map_err(|e| RemoteError::Failed(format!("no thread for ssh: {e}")))?;
    let moved = matches!(call.input, Input::File(_)).then_some(&*sent);
    wait(call, &mut handle, &sent, moved, progress)?;
    let bytes = rest_of(&output);
    Ok(CommandOutput {
        output: bytes,
        exit: handle.exit().unwrap_or(ProcessExit::Signal(0)),
        meaning: handle.final_output(),
        process_output: handle.output(),
    })
}

/// Runs a dialogue with what is started there, on a thread; `progress` is called repeatedly with
/// the number of bytes that the dialogue counts. It ends when no byte was passed in either
/// direction for `HostLimits::silence`, from its beginning on.
pub(super) fn dialogue<T: Send + 'static>(
    call: &RemoteCommand<'_>,
    progress: &dyn Fn(u64),
    work: impl FnOnce(Counted<ChildStdout>, Counted<ChildStdin>, &AtomicU64) -> Result<T, String>
    + Send
    + 'static,
) -> Result<T, RemoteError> {
    let (stdin, stdout, mut handle) = call
        .client
        .start(call.host, &call.remote, call.program.clone())
        .map_err(RemoteError::Failed)?;
    let sent = Arc::new(AtomicU64::new(0));
    let (end, done) = channel();
    let counted = sent.clone();
    let moved = Arc::new(AtomicU64::new(0));
    let stdout = Counted(stdout, moved.clone());
    let stdin = Counted(stdin, moved.clone());
    on_thread("ssh-dialogue", move || {
        // The end of its input ends what was started.
        let _ = end.send(work(stdout, stdin, &counted));
    })
    .map_err(|e| RemoteError::Failed(format!("no thread for ssh: {e}")))?;
    wait(call, &mut handle, &sent, Some(&moved), progress)?;
    let why = match done.recv_timeout(FINAL_OUTPUT_MAX) {
        Ok(Ok(result)) => return Ok(result),
        Ok(Err(why)) => Some(why),
        Err(_) => None,
    };
    // A message of ssh itself is more specific.
    let of_ssh = match handle.exit() {
        Some(ProcessExit::Code(0)) => None,
        _ => handle.final_output(),
    };
    let message = of_ssh
        .or(why)
        .unwrap_or_else(|| "ssh ended without an answer".into());
    Err(RemoteError::Failed(message))
}

/// A stream, and the number of bytes that it has passed on.
pub(super) struct Counted<S>(S, Arc<AtomicU64>);

impl<S: Read> Read for Counted<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        self.1.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl<S: Write> Write for Counted<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.0.write(bytes)?;
        self.1.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Runs a command that does nothing, without prompts: whether the host accepts this user.
pub(crate) fn try_login(
    client: &SshClient,
    host: &HostPlan,
    limits: &HostLimits,
) -> Result<CommandOutput, RemoteError> {
    let call = RemoteCommand {
        client,
        host,
        remote: Remote::Command("exit 0".into()),
        program: "the shell".into(),
        input: Input::Nothing,
        limit: limits.inspect,
        limits,
    };
    run(&call, &|_| {})
}

/// Waits until ssh ends, or ends it. `sent` is shown as progress; `moved` must change within
/// `HostLimits::silence`, `None`: there is only the limit of the command.
fn wait(
    call: &RemoteCommand<'_>,
    handle: &mut ChildProcess,
    sent: &AtomicU64,
    moved: Option<&AtomicU64>,
    progress: &dyn Fn(u64),
) -> Result<(), RemoteError> {
    let began = Instant::now();
    let (mut last_count, mut last_change) = (0, began);
    while handle.exit().is_none() {
        let now = Instant::now();
        let count = moved.map_or(0, |moved| moved.load(Ordering::Relaxed));
        if count != last_count {
            (last_count, last_change) = (count, now);
        }
        progress(sent.load(Ordering::Relaxed));
        let why = if call.limits.stop.is_raised() {
            handle.end(child::TERM_GRACE);
            return Err(RemoteError::Stopped);
        } else if now - began > call.limit {
            call.limit
        } else if moved.is_some() && now - last_change > call.limits.silence {
            call.limits.silence
        } else {
            std::thread::sleep(child::POLL);
            continue;
        };
        handle.end(child::TERM_GRACE);
        // A message of ssh itself is more specific than the time limit.
        let message = handle
            .final_output()
            .filter(|_| handle.exit() == Some(ProcessExit::Code(255)));
        return Err(RemoteError::Failed(message.unwrap_or_else(|| {
            format!(
                "no answer within {} s; the host may be busy, or its login shell waits for input: try `ssh {} true`",
                why.as_secs_f64(),
                crate::launch::ssh::destination(call.host)
            )
        })));
    }
    progress(sent.load(Ordering::Relaxed));
    Ok(())
}

fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work)?;
    Ok(())
}

fn copy(mut from: impl Read, to: &mut impl Write, sent: &AtomicU64) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let n = from.read(&mut chunk)?;
        if n == 0 {
            return Ok(());
        }
        to.write_all(&chunk[..n])?;
        sent.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// Reads to the end and sends the beginning to `end`.
fn keep(mut stdout: impl Read, end: &Sender<Vec<u8>>) {
    let mut chunk = [0; 4096];
    let mut kept = 0;
    loop {
        match stdout.read(&mut chunk) {
            Ok(0) => return,
            Ok(n) => {
                let n = n.min(OUTPUT_LEN_MAX - kept);
                kept += n;
                if n > 0 && end.send(chunk[..n].to_vec()).is_err() {
                    return;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The output received so far, and what arrives within a short time: a background process may
/// keep the pipe open.
fn rest_of(output: &Receiver<Vec<u8>>) -> Vec<u8> {
    let deadline = Instant::now() + FINAL_OUTPUT_MAX;
    let mut bytes = Vec::new();
    loop {
        match output.try_recv() {
            Ok(more) => bytes.extend(more),
            Err(TryRecvError::Disconnected) => return bytes,
            Err(TryRecvError::Empty) if Instant::now() >= deadline => return bytes,
            Err(TryRecvError::Empty) => std::thread::sleep(child::POLL),
        }
    }
}
