//! A program that is asked through pipes: waiting for them with a limit.

use super::{Errno, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The standard input of a program; dropped, it ends.
#[derive(Debug)]
pub(crate) struct Input(ChildStdin);

/// Starts a program whose standard input we write to.
pub(crate) fn spawn(command: &mut Command) -> Result<(Child, Input)> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    let input = child.stdin.take().ok_or(Errno::PIPE)?;
    Ok((child, Input(input)))
}

impl Input {
    /// Writes a line when the pipe takes bytes: one that takes any takes a line of this length
    /// whole. Asks `may_wait` every `interval` meanwhile.
    ///
    /// # Errors
    /// ETIMEDOUT: it did not take them as long as `may_wait`; EPIPE: the program has ended.
    pub(crate) fn write(
        &mut self,
        line: &[u8],
        interval: Duration,
        may_wait: impl Fn() -> bool,
    ) -> Result<()> {
        while !ready_within(&self.0, PollFlags::OUT, interval)? {
            if !may_wait() {
                return Err(Errno::TIMEDOUT);
            }
        }
        Ok(self.0.write_all(line)?)
    }
}

/// Whether there is something to read, or the end, waiting `limit` at most for it.
pub(crate) fn is_readable_within(pipe: &ChildStdout, limit: Duration) -> Result<bool> {
    ready_within(pipe, PollFlags::IN, limit)
}

fn ready_within(pipe: &impl AsFd, wanted: PollFlags, limit: Duration) -> Result<bool> {
    let limit = Timespec {
        tv_sec: limit.as_secs() as _,
        tv_nsec: limit.subsec_nanos() as _,
    };
    match poll(&mut [PollFd::new(pipe, wanted)], Some(&limit)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
