//! A shell command that prints a figure.
//!
//! It runs in a process group of its own, which is killed when the limit has passed and
//! when the command has ended, so that no process stays behind.

use crate::figure;
use crate::meter::{ReadFailure, Sample, Source};
use crate::waiting::Deadline;
use filermark_energy_data::Quantity;
use filermark_model::text::sanitize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Most bytes that are read of its stdout and of its stderr.
const OUTPUT_LEN_MAX: usize = 4096;
/// How often a command that has closed its output is polled for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
const STEP: &str = "run the command";

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    command: String,
    quantity: Quantity,
    limit: Duration,
    /// A killed process that has not ended yet.
    left_over: Option<Child>,
}

impl Command {
    /// The command is run for every reading.
    pub(crate) fn new(command: &str, quantity: Quantity, limit: Duration) -> Self {
        Self {
            command: command.to_owned(),
            quantity,
            limit,
            left_over: None,
        }
    }

    /// Whether the last process has ended. One that waits for a disk cannot be killed.
    fn is_free(&mut self) -> bool {
        let last = self.left_over.as_mut();
        if last.is_some_and(|child| matches!(child.try_wait(), Ok(None))) {
            return false;
        }
        self.left_over = None;
        true
    }
}

impl Source for Command {
    fn figures(&mut self) -> Result<Sample, ReadFailure> {
        let deadline = Deadline::after(self.limit);
        if !self.is_free() {
            let reason =
                "the previous command was killed and has not ended; does a file system hang?";
            return Err(ReadFailure::new(STEP, reason));
        }
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", &self.command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| ReadFailure::new(STEP, format!("/bin/sh: {error}")))?;
        let output = read_output(&mut child, deadline);
        let ended = output.and_then(|output| wait(&child, deadline).map(|()| output));
        // Not reaped yet, so the process id is still valid.
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let output = match ended {
            Ok(output) => output,
            Err(failure) => {
                self.left_over = Some(child);
                // Mostly it ends at once.
                std::thread::sleep(POLL_INTERVAL);
                self.is_free();
                return Err(failure);
            }
        };
        let status = child
            .wait()
            .map_err(|e| ReadFailure::new(STEP, e.to_string()))?;
        if !status.success() {
            let errors = sanitize(String::from_utf8_lossy(&output.errors).trim(), 200);
            let reason = match errors.is_empty() {
                true => format!(
                    "it ended with {status} and printed nothing on stderr; try it in a shell"
                ),
                false => format!("it ended with {status}: {errors}"),
            };
            return Err(ReadFailure::new(STEP, reason));
        }
        let text = String::from_utf8_lossy(&output.output);
        let value = figure::the_one(&text, self.quantity);
        let value = value.map_err(|why| ReadFailure::new("read its output", why))?;
        Ok(Sample::now(vec![(self.quantity, value)]))
    }
}

/// What a command printed.
#[derive(Default)]
struct CommandOutput {
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// Reads both pipes until the output ends.
fn read_output(child: &mut Child, deadline: Deadline) -> Result<CommandOutput, ReadFailure> {
    let mut printed = CommandOutput::default();
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(ReadFailure::new(STEP, "it has no output"));
    };
    let (mut output, mut errors) = (Pipe::new(output.into()), Pipe::new(errors.into()));
    while output.is_open() {
        let left = deadline.left(STEP)?;
        let ready = {
            let mut open: Vec<PollFd<'_>> = Vec::with_capacity(2);
            open.extend(output.poll());
            open.extend(errors.poll());
            let left =
                Timespec::try_from(left).map_err(|e| ReadFailure::new(STEP, e.to_string()))?;
            match poll(&mut open, Some(&left)) {
                Ok(0) => return Err(deadline.passed(STEP)),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(ReadFailure::new(STEP, error.to_string())),
                Ok(_) => {}
            }
            let ready = |at: usize| open.get(at).is_some_and(|fd| !fd.revents().is_empty());
            (ready(0), ready(1))
        };
        if ready.0 {
            output.read_into(&mut printed.output)?;
            if printed.output.len() > OUTPUT_LEN_MAX {
                let reason = format!("it prints more than {OUTPUT_LEN_MAX} bytes");
                return Err(ReadFailure::new(STEP, reason));
            }
        }
        if ready.1 {
            errors.read_into(&mut printed.errors)?;
            // The first error matters most; the rest is read and dropped.
            printed.errors.truncate(OUTPUT_LEN_MAX);
        }
    }
    Ok(printed)
}

/// The end of a pipe that is read.
struct Pipe(Option<std::fs::File>);

impl Pipe {
    fn new(fd: OwnedFd) -> Self {
        Self(Some(fd.into()))
    }

    const fn is_open(&self) -> bool {
        self.0.is_some()
    }

    fn poll(&self) -> Option<PollFd<'_>> {
        let file = self.0.as_ref()?;
        Some(PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN))
    }

    /// Reads once. `poll` has reported it ready, so this does not block.
    fn read_into(&mut self, to: &mut Vec<u8>) -> Result<(), ReadFailure> {
        let Some(file) = &mut self.0 else {
            return Ok(());
        };
        let mut some = [0; 1024];
        match file.read(&mut some) {
            Ok(0) => self.0 = None,
            Ok(len) => to.extend_from_slice(some.get(..len).unwrap_or(&[])),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ReadFailure::new(STEP, error.to_string())),
        }
        Ok(())
    }
}

/// Waits for the end without reaping the process.
fn wait(child: &Child, deadline: Deadline) -> Result<(), ReadFailure> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let Some(pid) = pid else {
        return Err(ReadFailure::new(STEP, "it has no process number"));
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(_)) => return Ok(()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(ReadFailure::new(STEP, error.to_string())),
        }
        std::thread::sleep(POLL_INTERVAL.min(deadline.left(STEP)?));
    }
}
