//! One call of a script: started in its own process group, ended at its time limit or on
//! request; its output is kept.

use super::groups;
use super::output::{CapturedOutput, Streams};
use filermark_link::child::{self, ExitKind};
use filermark_results::{ScriptStatus, Timestamp};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A program that ends by itself has covered RUN if it ran for this share of it `[own]`:
/// `vmstat 1 300` ends a second early.
const RAN_MIN: f64 = 0.9;

/// A call that is to be made.
pub(super) struct ScriptCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(&'static str, String)>,
    pub until: CallLimit,
    /// A file that gets a copy of the output, and the line before it.
    pub copy: Option<(File, String)>,
    /// Whether stderr is also kept separately.
    pub splits_errors: bool,
    pub signal: Arc<CallSignal>,
}

/// When a call ends.
#[derive(Clone, Copy)]
pub(super) enum CallLimit {
    /// By itself, or after this time.
    Limit(Duration),
    /// When RUN has ended.
    EndOfRun,
}

/// Signals to a call under way.
#[derive(Default)]
pub(super) struct CallSignal {
    /// RUN has ended.
    pub run_ended: AtomicBool,
    /// The call has to end at once, or must not begin.
    pub give_up: AtomicBool,
}

impl CallSignal {
    fn has_run_ended(&self) -> bool {
        self.run_ended.load(Ordering::Relaxed)
    }

    fn is_given_up(&self) -> bool {
        self.give_up.load(Ordering::Relaxed)
    }
}

/// The result of a call.
pub(super) struct CallResult {
    pub at: Timestamp,
    pub seconds: f64,
    pub status: ScriptStatus,
    pub output: String,
    /// What it wrote to stderr, if that is kept separately.
    pub errors: String,
    /// The program has ended and is kept as the leader of its group, in which processes that
    /// it has started may still run.
    pub leader: Option<Child>,
}

impl CallResult {
    /// A call that failed.
    pub fn failed(reason: String) -> Self {
        Self {
            at: Timestamp::now(),
            seconds: 0.0,
            status: ScriptStatus::Failed { reason },
            output: String::new(),
            errors: String::new(),
            leader: None,
        }
    }
}

/// Makes a call and waits for its end; for a thread of its own.
pub(super) fn carry_out(job: ScriptCommand) -> CallResult {
    if job.signal.is_given_up() {
        return CallResult::failed("was not called, because the run had ended".into());
    }
    if matches!(job.until, CallLimit::EndOfRun) && job.signal.has_run_ended() {
        let reason = "was not started: RUN had ended before the program of the previous load point had ended";
        return CallResult::failed(reason.into());
    }
    let (at, since) = (Timestamp::now(), Instant::now());
    let (mut child, streams) = match start(&job) {
        Ok(started) => started,
        Err(e) => {
            let reason = format!("cannot be started: {e}; is it there and executable?");
            return CallResult::failed(reason);
        }
    };
    groups::enroll(&child);
    let kept = CapturedOutput::of(streams, job.copy);
    let mut status = watch(&mut child, job.until, &job.signal);
    let seconds = since.elapsed().as_secs_f64();
    let stays = match (&status, job.until) {
        (ScriptStatus::Exited { .. }, CallLimit::Limit(_)) => true,
        // The monitor may be a process that it has left running.
        (ScriptStatus::Exited { code: 0 }, CallLimit::EndOfRun) => {
            if !ran_until_end_of_run(&child, since, &job.signal) {
                let reason = "ended before RUN did, with exit code 0, and left nothing running";
                status = ScriptStatus::Failed {
                    reason: reason.into(),
                };
            }
            false
        }
        _ => false,
    };
    let leader = match stays {
        true => Some(child),
        false => {
            groups::end(std::slice::from_mut(&mut child));
            None
        }
    };
    let (output, errors) = kept.take(leader.is_none());
    CallResult {
        at,
        seconds,
        status,
        output,
        errors,
        leader,
    }
}

/// A program that was started at `since` has ended by itself: waits for the end of RUN and
/// returns whether it, or a process that it has left running, ran until then.
fn ran_until_end_of_run(child: &Child, since: Instant, signal: &CallSignal) -> bool {
    let ran = since.elapsed();
    while !signal.has_run_ended() && !signal.is_given_up() {
        std::thread::sleep(child::POLL);
    }
    ran >= since.elapsed().mul_f64(RAN_MIN) || child::has_running_group(child)
}

/// Waits until it ends, by itself or because it is ended.
fn watch(child: &mut Child, until: CallLimit, signal: &CallSignal) -> ScriptStatus {
    let failed = |reason: String| ScriptStatus::Failed { reason };
    let began = Instant::now();
    loop {
        match child::end_of(child) {
            Ok(Some(ExitKind::Exited(code))) => return ScriptStatus::Exited { code },
            Ok(Some(ExitKind::Signal(number))) => {
                return failed(format!("was ended by signal {number}"));
            }
            Ok(None) => {}
            Err(e) => return failed(e.to_string()),
        }
        match until {
            CallLimit::Limit(limit) if began.elapsed() >= limit => {
                let seconds = limit.as_secs_f64();
                return end_too_late(child, format!("took longer than {seconds} s and was ended"));
            }
            CallLimit::Limit(_) if signal.is_given_up() => {
                return end_too_late(child, "was ended, because the run had ended".into());
            }
            CallLimit::EndOfRun if signal.has_run_ended() || signal.is_given_up() => {
                return end_in_time(child);
            }
            _ => {}
        }
        std::thread::sleep(child::POLL);
    }
}

/// Ends a program that should have ended by itself.
fn end_too_late(child: &mut Child, why: String) -> ScriptStatus {
    let reason = match groups::end(std::slice::from_mut(child)) {
        true => why,
        false => format!("{why}, but hangs in the kernel"),
    };
    ScriptStatus::Failed { reason }
}

/// Ends a program that was to run until now.
fn end_in_time(child: &mut Child) -> ScriptStatus {
    let failed = |reason: String| ScriptStatus::Failed { reason };
    let grace = child::TERM_GRACE.as_secs();
    if !groups::end(std::slice::from_mut(child)) {
        return failed("does not end although it was killed, and hangs in the kernel".into());
    }
    match child.try_wait().ok().flatten().map(child::end_by) {
        Some(ExitKind::Exited(code)) => ScriptStatus::Stopped { code: Some(code) },
        Some(ExitKind::Signal(child::SIGKILL)) => failed(format!(
            "did not end within {grace} s of SIGTERM at the end of RUN and was killed"
        )),
        Some(ExitKind::Signal(child::SIGTERM)) | None => ScriptStatus::Stopped { code: None },
        Some(ExitKind::Signal(number)) => failed(format!("ended with signal {number} after RUN")),
    }
}

/// How long a script may be open for writing in another process: one that was forked while it
/// was written has it open until its own program starts, which takes long on a busy host.
const BUSY_MAX: Duration = Duration::from_secs(20);
/// "Exec format error", on every Unix.
const ENOEXEC: i32 = 8;

fn start(job: &ScriptCommand) -> io::Result<(Child, Streams)> {
    let began = Instant::now();
    loop {
        let mut direct = filermark_system::script_command(&job.program);
        let started = spawn(&mut direct, job);
        match started {
            // A script without a line that names its interpreter is run by a shell.
            Err(e) if e.raw_os_error() == Some(ENOEXEC) => {
                let mut shell = Command::new("/bin/sh");
                return spawn(shell.arg(&job.program), job);
            }
            Err(e)
                if e.kind() == io::ErrorKind::ExecutableFileBusy
                    && began.elapsed() < BUSY_MAX
                    && !job.signal.is_given_up() =>
            {
                std::thread::sleep(child::POLL);
            }
            other => return other,
        }
    }
}

fn spawn(command: &mut Command, job: &ScriptCommand) -> io::Result<(Child, Streams)> {
    let (output, end) = io::pipe()?;
    let (errors, errors_end) = match job.splits_errors {
        true => {
            let (errors, errors_end) = io::pipe()?;
            (Some(errors), errors_end)
        }
        false => (None, end.try_clone()?),
    };
    command
        .args(&job.args)
        .envs(job.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(end)
        .stderr(errors_end);
    let child = child::spawn_in_own_group(command)?;
    Ok((child, Streams { output, errors }))
}
