//! A program that is asked through pipes. What we write is written without waiting, and its
//! completion is awaited with a limit. The system has no such wait for reading: a pipe is asked
//! again and again, less and less often. Only ends that no other process reads are asked, since
//! the question waits for a read of the same end.

use super::raw;
use crate::sys::{Errno, Result};
use std::os::windows::io::AsHandle;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The first and the longest pause before a pipe is looked at again.
const PAUSE: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(5)];

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
    /// Writes a line. Asks `may_wait` every `interval` while the pipe does not take it.
    ///
    /// # Errors
    /// ETIMEDOUT: it did not take the line as long as `may_wait`, or took a part of it; EPIPE:
    /// the program has ended.
    pub(crate) fn write(
        &mut self,
        line: &[u8],
        interval: Duration,
        may_wait: impl Fn() -> bool,
    ) -> Result<()> {
        // The standard library makes our end an asynchronous one (`ChildStdin::from`).
        match raw::write_async(self.0.as_handle(), line, interval, may_wait) {
            Ok(count) if count == line.len() => Ok(()),
            Ok(_) | Err(Errno::CANCELED) => Err(Errno::TIMEDOUT),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is something to read, or the end, waiting `limit` at most for it.
pub(crate) fn is_readable_within(pipe: &ChildStdout, limit: Duration) -> Result<bool> {
    holds_within(limit, || raw::has_input(pipe.as_handle()))
}

fn holds_within(limit: Duration, holds: impl Fn() -> Result<bool>) -> Result<bool> {
    let end = Instant::now() + limit;
    let [mut pause, longest] = PAUSE;
    while !holds()? {
        if Instant::now() >= end {
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(longest);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, Read};

    const MARK: &str = "FILERMARK_TEST_PIPE";
    const LIMIT: Duration = Duration::from_secs(60);

    /// A test of this module in a process of its own.
    fn this_test(name: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("exe"));
        let name = format!("sys::windows::pipes::tests::{name}");
        command.args(["--exact", &name, "--nocapture"]);
        command.env(MARK, "1").stdout(Stdio::piped());
        command
    }

    /// In a process of its own, which answers each line that it reads.
    #[test]
    fn a_program_is_waited_for() {
        if std::env::var_os(MARK).is_some() {
            for line in std::io::stdin().lock().lines() {
                println!("answer to {}", line.expect("line"));
            }
            return;
        }
        let mut command = this_test("a_program_is_waited_for");
        let (mut child, mut input) = spawn(&mut command).expect("started");
        let mut output = child.stdout.take().expect("pipe");
        let mut text = String::new();
        for number in 0..3 {
            let line = format!("question {number}\n");
            input
                .write(line.as_bytes(), LIMIT, || false)
                .expect("written");
            let wanted = format!("answer to question {number}");
            while !text.contains(&wanted) {
                assert_eq!(is_readable_within(&output, LIMIT), Ok(true));
                let mut part = [0; 512];
                let count = output.read(&mut part).expect("read");
                assert!(count > 0, "{text}");
                text.push_str(&String::from_utf8_lossy(&part[..count]));
            }
        }
        let silent = is_readable_within(&output, Duration::ZERO);
        assert_eq!(silent, Ok(false), "{text}");
        drop(input);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("the end");
        assert!(child.wait().expect("ended").success());
        assert_eq!(is_readable_within(&output, LIMIT), Ok(true), "the end");
    }

    /// In a process of its own, which reads nothing until it is killed.
    #[test]
    fn a_program_that_does_not_read_is_not_waited_for() {
        if std::env::var_os(MARK).is_some() {
            std::thread::sleep(2 * LIMIT);
            return;
        }
        let mut command = this_test("a_program_that_does_not_read_is_not_waited_for");
        let (mut child, mut input) = spawn(&mut command).expect("started");
        let line = [b'x'; 4096];
        let asked = std::cell::Cell::new(0);
        // The pipe is full at some time.
        let error = (0..1024).find_map(|_| {
            let may_wait = || asked.replace(asked.get() + 1) < 2;
            let written = input.write(&line, Duration::from_millis(1), may_wait);
            written.err()
        });
        let is_running = matches!(child.try_wait(), Ok(None));
        child.kill().expect("killed");
        child.wait().expect("ended");
        assert_eq!(error, Some(Errno::TIMEDOUT));
        assert!(asked.get() > 2 && is_running);
        let late = input.write(&line, LIMIT, || false);
        assert_eq!(late, Err(Errno::PIPE), "no process can read it");
    }
}
