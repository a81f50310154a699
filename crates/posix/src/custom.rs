//! The user's own programs behind custom1 and custom2.
//!
//! A program is started when it is first needed, one per load-making thread, and
//! stays until the thread ends. For every operation it gets one line on its standard
//! input and answers one line on its standard output, which it must flush:
//!
//! ```text
//! custom1 /mnt/test/filermark.x/CL0_MINE/d0000/b21/f0000003
//! ok
//! custom1 /mnt/test/filermark.x/CL0_MINE/d0000/b21/f0000004
//! ok 4096            (bytes read)
//! custom2 /mnt/test/filermark.x/CL0_MINE/d0000/b22/f0000000
//! ok 0 8192          (bytes read, bytes written)
//! custom2 /mnt/test/filermark.x/CL0_MINE/d0000/b22/f0000001
//! error what went wrong
//! ```
//!
//! The end of its input is the request to end. If it does not answer within 30 s, or
//! ends by itself, the operation fails and the next one starts it again. It inherits
//! our standard error.

use crate::counters::{Counters, Tally};
use crate::status::{CUSTOM_ERROR, CUSTOM_GARBAGE};
use crate::sys::{Errno, Result, pipes};
use filermark_engine::driver::StopFlag;
use filermark_model::text::quoted;
use std::io::Read;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How often the wish to stop is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a program may take to end by itself.
const END_LIMIT: Duration = Duration::from_secs(1);
/// The longest answer, in bytes.
const LINE_BYTES_MAX: usize = 4096;

/// What a program did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// Both programs of a shard.
#[derive(Debug)]
pub(crate) struct CustomPrograms {
    programs: [Program; 2],
}

#[derive(Debug)]
struct Program {
    name: &'static str,
    argv: Vec<String>,
    running: Option<RunningProgram>,
    line: Vec<u8>,
    reported: bool,
}

impl CustomPrograms {
    /// Nothing is started yet.
    pub(crate) fn new(argvs: &[Vec<String>; 2]) -> Self {
        let [first, second] = argvs;
        let program = |name, argv: &Vec<String>| Program {
            name,
            argv: argv.clone(),
            running: None,
            line: Vec::new(),
            reported: false,
        };
        Self {
            programs: [program("custom1", first), program("custom2", second)],
        }
    }

    /// Has a program do its work on a file.
    ///
    /// # Errors
    /// ENOSYS: there is no such program; ETIMEDOUT: no answer; EPIPE: it has ended;
    /// or one of our own.
    pub(crate) fn ask(
        &mut self,
        which: u8,
        path: &str,
        stop: &StopFlag,
        counters: &mut Counters,
    ) -> Result<Answer> {
        let program = self
            .programs
            .get_mut(usize::from(which))
            .ok_or(Errno::NOSYS)?;
        let answer = program.ask(path, stop, counters);
        if let Err(e) = answer
            && e != CUSTOM_ERROR
        {
            // Whatever it still says would answer the wrong question.
            program.running = None;
        }
        answer
    }
}

impl Program {
    fn ask(&mut self, path: &str, stop: &StopFlag, counters: &mut Counters) -> Result<Answer> {
        if self.running.is_none() {
            let running = RunningProgram::start(&self.argv)?;
            counters.add(Tally::CustomStarts);
            self.running = Some(running);
        }
        let running = self.running.as_mut().ok_or(Errno::PIPE)?;
        self.line.clear();
        self.line.extend_from_slice(self.name.as_bytes());
        self.line.push(b' ');
        self.line.extend_from_slice(path.as_bytes());
        self.line.push(b'\n');
        running.question.write(&self.line, stop)?;
        running.read_line(&mut self.line, stop)?;
        let answer = parse(&self.line);
        if answer.is_err() && !self.reported {
            self.reported = true;
            let line = quoted(String::from_utf8_lossy(&self.line).trim_end());
            tracing::warn!(
                program = self.name,
                answer = line,
                "a custom program reported an error or sent an invalid answer"
            );
        }
        answer
    }
}

/// A program that runs.
#[derive(Debug)]
struct RunningProgram {
    child: Child,
    question: ProgramInput,
    answer: ChildStdout,
}

/// Its standard input; taken away to make it end.
#[derive(Debug)]
struct ProgramInput(Option<pipes::Input>);

impl ProgramInput {
    /// Writes a line as soon as the program's pipe takes it: a program that answers without
    /// reading eventually fills it.
    fn write(&mut self, line: &[u8], stop: &StopFlag) -> Result<()> {
        let limit = Instant::now() + ANSWER_LIMIT;
        let pipe = self.0.as_mut().ok_or(Errno::PIPE)?;
        pipe.write(line, LOOK_EVERY, || {
            Instant::now() < limit && !stop.is_raised()
        })
    }
}

impl RunningProgram {
    fn start(argv: &[String]) -> Result<Self> {
        let (program, args) = argv.split_first().ok_or(Errno::NOSYS)?;
        let mut command = Command::new(program);
        let (mut child, input) = pipes::spawn(command.args(args).stdout(Stdio::piped()))?;
        let question = ProgramInput(Some(input));
        let answer = child.stdout.take().ok_or(Errno::PIPE)?;
        Ok(Self {
            child,
            question,
            answer,
        })
    }

    /// Waits for a line; without its end in `line`.
    fn read_line(&mut self, line: &mut Vec<u8>, stop: &StopFlag) -> Result<()> {
        let limit = Instant::now() + ANSWER_LIMIT;
        line.clear();
        let mut part = [0; 512];
        while !line.ends_with(b"\n") {
            if Instant::now() >= limit || stop.is_raised() {
                return Err(Errno::TIMEDOUT);
            }
            if !pipes::is_readable_within(&self.answer, LOOK_EVERY)? {
                continue;
            }
            let count = self.answer.read(&mut part)?;
            line.extend_from_slice(&part[..count]);
            if count == 0 {
                return Err(Errno::PIPE);
            }
            if line.len() > LINE_BYTES_MAX {
                return Err(CUSTOM_GARBAGE);
            }
        }
        line.pop();
        Ok(())
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.question.0 = None;
        let limit = Instant::now() + END_LIMIT;
        while Instant::now() < limit {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Understands an answer.
fn parse(line: &[u8]) -> Result<Answer> {
    let text = std::str::from_utf8(line).map_err(|_| CUSTOM_GARBAGE)?;
    let mut words = text.split_ascii_whitespace();
    match words.next() {
        Some("ok") => {}
        Some("error") => return Err(CUSTOM_ERROR),
        _ => return Err(CUSTOM_GARBAGE),
    }
    let mut number = || match words.next() {
        None => Ok(0),
        Some(word) => word.parse().map_err(|_| CUSTOM_GARBAGE),
    };
    Ok(Answer {
        read_bytes: number()?,
        written_bytes: number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn answering(with: &str) -> CustomPrograms {
        CustomPrograms::new(&[crate::testing::answering(with), Vec::new()])
    }

    #[cfg(unix)]
    fn shell(script: &str) -> CustomPrograms {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        CustomPrograms::new(&[argv, Vec::new()])
    }

    fn ask(customs: &mut CustomPrograms, which: u8) -> Result<Answer> {
        customs.ask(which, "/x y", &StopFlag::new(), &mut Counters::new())
    }

    #[test]
    fn answers_are_understood_and_others_are_not() {
        let of = |read_bytes, written_bytes| {
            Ok(Answer {
                read_bytes,
                written_bytes,
            })
        };
        assert_eq!(parse(b"ok"), of(0, 0));
        assert_eq!(parse(b"ok 5\r"), of(5, 0));
        assert_eq!(parse(b"ok 5 6"), of(5, 6));
        assert_eq!(parse(b"error no luck"), Err(CUSTOM_ERROR));
        for bad in [&b""[..], b"okay", b"ok x", b"ok -1", b"\xff"] {
            assert_eq!(parse(bad), Err(CUSTOM_GARBAGE), "{bad:?}");
        }
    }

    // The pipes of Windows are tested in `sys::windows::pipes`: Wine's shell has no loops.
    #[cfg(unix)]
    #[test]
    fn a_program_serves_many_operations() {
        let mut customs = answering("ok 7");
        for _ in 0..20 {
            assert_eq!(ask(&mut customs, 0).expect("answer").read_bytes, 7);
        }
        assert_eq!(ask(&mut customs, 1), Err(Errno::NOSYS));
        assert_eq!(ask(&mut customs, 2), Err(Errno::NOSYS));
    }

    #[cfg(unix)]
    #[test]
    fn one_that_fails_is_an_error() {
        let mut customs = answering("error no");
        assert_eq!(ask(&mut customs, 0), Err(CUSTOM_ERROR));
    }

    #[test]
    fn one_that_is_not_there_is_an_error() {
        let missing = vec!["/does/not/exist".to_owned()];
        let mut customs = CustomPrograms::new(&[missing, Vec::new()]);
        assert_eq!(ask(&mut customs, 0), Err(Errno::NOENT));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_gets_the_operation_and_the_path() {
        let mut customs = shell(
            "while read -r op path; do [ \"$op:$path\" = 'custom1:/x y' ] && echo ok 7; done",
        );
        for _ in 0..3 {
            assert_eq!(ask(&mut customs, 0).expect("answer").read_bytes, 7);
        }
    }

    #[cfg(unix)]
    #[test]
    fn one_that_ends_is_an_error_and_comes_again() {
        let mut customs = shell("read -r line; echo ok; exit");
        assert!(ask(&mut customs, 0).is_ok());
        assert_eq!(ask(&mut customs, 0), Err(Errno::PIPE));
        assert!(ask(&mut customs, 0).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn the_wish_to_stop_ends_the_wait() {
        let mut customs = answering("ok");
        let stop = StopFlag::new();
        stop.raise();
        let from = Instant::now();
        let answer = customs.ask(0, "/x", &stop, &mut Counters::new());
        assert_eq!(answer, Err(Errno::TIMEDOUT));
        drop(customs);
        assert!(from.elapsed() < Duration::from_secs(10));
    }
}
