//! One command on one host, over SSH, with limits: what is sent to it, what comes
//! back, how it ended.

use super::HostLimits;
use crate::launch::process::{ChildProcess, ProcessExit, ProcessOutput};
use crate::launch::ssh::SshClient;
use filermark_link::child;
use filermark_link::start::AgentHandle;
use filermark_model::launch::HostPlan;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Most that is kept of what a command prints, in bytes: its beginning.
const OUTPUT_LEN_MAX: usize = 256 << 10;
/// How long output is still waited for after ssh has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A command for a host.
pub(super) struct RemoteCommand<'a> {
    pub client: &'a SshClient,
    pub host: &'a HostPlan,
    /// A command line for the login shell there.
    pub remote: String,
    /// What a message may call the program there.
    pub program: String,
    /// What it gets on its standard input.
    pub input: Option<&'a Path>,
    /// How long it may take.
    pub limit: Duration,
    pub limits: &'a HostLimits,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// The beginning of what it printed.
    pub output: Vec<u8>,
    /// How ssh ended.
    pub exit: ProcessExit,
    /// What its end means.
    pub meaning: Option<String>,
    /// What it is made of.
    pub process_output: ProcessOutput,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemoteError {
    /// One sentence.
    Failed(String),
    /// The user wished to stop.
    Stopped,
}

/// Runs it; `look` is told every now and then how many bytes ssh has taken.
pub(super) fn run(
    call: &RemoteCommand<'_>,
    look: &dyn Fn(u64),
) -> Result<CommandOutput, RemoteError> {
    let input = call.input.map(File::open).transpose().map_err(|e| {
        let path = call
            .input
            .map_or(String::new(), |p| p.display().to_string());
        RemoteError::Failed(format!("{path}: cannot be read: {e}"))
    })?;
    let (stdin, stdout, mut leash) = call
        .client
        .start(call.host, &call.remote, call.program.clone())
        .map_err(RemoteError::Failed)?;
    let sent = Arc::new(AtomicU64::new(0));
    let (output_end, output) = channel();
    let threads = on_thread("ssh-output", move || keep(stdout, &output_end)).and_then(|()| {
        let sent = sent.clone();
        on_thread("ssh-input", move || {
            // Without an input the command sees the end of it at once.
            let mut stdin = stdin;
            if let Some(file) = input {
                let _ = copy(file, &mut stdin, &sent);
            }
        })
    });
    threads.map_err(|e| RemoteError::Failed(format!("no thread for ssh: {e}")))?;
    wait(call, &mut leash, &sent, look)?;
    let bytes = rest_of(&output);
    Ok(CommandOutput {
        output: bytes,
        exit: leash.exit().unwrap_or(ProcessExit::Signal(0)),
        meaning: leash.final_output(),
        process_output: leash.output(),
    })
}

/// Runs a command that does nothing: whether the host lets us in, unasked.
pub(crate) fn try_login(
    client: &SshClient,
    host: &HostPlan,
    limits: &HostLimits,
) -> Result<CommandOutput, RemoteError> {
    let call = RemoteCommand {
        client,
        host,
        remote: "exit 0".into(),
        program: "the shell".into(),
        input: None,
        limit: limits.inspect,
        limits,
    };
    run(&call, &|_| {})
}

/// Waits till ssh ends, or ends it.
fn wait(
    call: &RemoteCommand<'_>,
    leash: &mut ChildProcess,
    sent: &AtomicU64,
    look: &dyn Fn(u64),
) -> Result<(), RemoteError> {
    let began = Instant::now();
    let (mut progress, mut last) = (0, began);
    while leash.exit().is_none() {
        let now = Instant::now();
        let count = sent.load(Ordering::Relaxed);
        if count != progress {
            (progress, last) = (count, now);
        }
        look(count);
        let why = if call.limits.stop.is_raised() {
            leash.end(child::PATIENCE);
            return Err(RemoteError::Stopped);
        } else if now - began > call.limit {
            call.limit
        } else if call.input.is_some() && now - last > call.limits.silence {
            call.limits.silence
        } else {
            std::thread::sleep(child::LOOK);
            continue;
        };
        leash.end(child::PATIENCE);
        // What ssh says of itself tells more than that it took long.
        let words = leash
            .final_output()
            .filter(|_| leash.exit() == Some(ProcessExit::Code(255)));
        return Err(RemoteError::Failed(words.unwrap_or_else(|| {
            format!(
                "no answer within {} s; is the host busy, or does its login shell wait for something? Try `ssh {} true`",
                why.as_secs_f64(),
                crate::launch::ssh::destination(call.host)
            )
        })));
    }
    look(sent.load(Ordering::Relaxed));
    Ok(())
}

fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work)?;
    Ok(())
}

fn copy(mut from: File, to: &mut impl io::Write, sent: &AtomicU64) -> io::Result<()> {
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

/// Reads to the end and passes the beginning on.
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

/// What has come, and what still comes within a moment: something that was left
/// running may hold the pipe for ever.
fn rest_of(output: &Receiver<Vec<u8>>) -> Vec<u8> {
    let deadline = Instant::now() + LAST_WORDS;
    let mut bytes = Vec::new();
    loop {
        match output.try_recv() {
            Ok(more) => bytes.extend(more),
            Err(TryRecvError::Disconnected) => return bytes,
            Err(TryRecvError::Empty) if Instant::now() >= deadline => return bytes,
            Err(TryRecvError::Empty) => std::thread::sleep(child::LOOK),
        }
    }
}
