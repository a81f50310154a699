//! A program that is asked through pipes. The system cannot wait for a pipe with a limit:
//! it is asked again and again, less and less often.

use super::raw;
use crate::sys::Result;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::windows::io::AsHandle;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

/// The first and the longest pause before a pipe is looked at again.
const PAUSE: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(5)];

/// The standard input of a program; dropped, it ends.
#[derive(Debug)]
pub(crate) struct Input {
    to_program: PipeWriter,
    /// The program's own end, by which what it has not read yet can be seen. Nothing is
    /// read from it here.
    of_program: PipeReader,
}

/// Starts a program whose standard input we write to.
pub(crate) fn spawn(command: &mut Command) -> Result<(Child, Input)> {
    let (of_program, to_program) = std::io::pipe()?;
    let child = command.stdin(of_program.try_clone()?).spawn()?;
    Ok((
        child,
        Input {
            to_program,
            of_program,
        },
    ))
}

impl Input {
    /// Writes a line. A pipe in which nothing is takes a line of this length whole.
    pub(crate) fn write(&mut self, line: &[u8]) -> Result<()> {
        Ok(self.to_program.write_all(line)?)
    }

    /// Whether the program has read what it was sent, waiting `limit` at most for it.
    pub(crate) fn is_writable_within(&self, limit: Duration) -> Result<bool> {
        holds_within(limit, || {
            raw::has_input(self.of_program.as_handle()).map(|unread| !unread)
        })
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
    use std::process::Stdio;

    const MARK: &str = "FILERMARK_TEST_PIPE";
    const LIMIT: Duration = Duration::from_secs(60);

    /// In a process of its own, which answers each line that it reads.
    #[test]
    fn a_program_is_waited_for() {
        if std::env::var_os(MARK).is_some() {
            for line in std::io::stdin().lock().lines() {
                println!("answer to {}", line.expect("line"));
            }
            return;
        }
        let name = "sys::windows::pipes::tests::a_program_is_waited_for";
        let mut command = Command::new(std::env::current_exe().expect("exe"));
        let args = ["--exact", name, "--nocapture"];
        command.args(args).env(MARK, "1").stdout(Stdio::piped());
        let (mut child, mut input) = spawn(&mut command).expect("started");
        let mut output = child.stdout.take().expect("pipe");
        let mut text = String::new();
        for number in 0..3 {
            assert_eq!(input.is_writable_within(LIMIT), Ok(true));
            let line = format!("question {number}\n");
            input.write(line.as_bytes()).expect("written");
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
}
