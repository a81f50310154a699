//! The system calls of a program, traced by strace.

use crate::tools::{need, search_path};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The trace file of a command.
#[derive(Debug)]
pub struct Strace {
    file: PathBuf,
}

/// One system call that has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it was entered, in microseconds since 1970.
    pub at_us: u64,
    /// Its name in strace's output (`newfstatat`, `mkdirat`, ...).
    pub name: String,
    /// Arguments in strace's form: with `-y`, descriptors have their path.
    pub args: String,
    /// What it returned: `0`, `3</the/path>`, `-1 ENOENT (No such file or directory)`.
    pub result: String,
}

impl Call {
    /// Whether it returned an error.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.result.starts_with("-1 ")
    }
}

impl Strace {
    /// A trace to `file`, for [`Strace::command`], or [`Strace::args`] with a command of
    /// another fixture. strace follows all threads and children of the program.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without strace.
    pub fn new(file: &Path) -> Result<Strace> {
        need(&[("strace", "strace")])?;
        Ok(Strace {
            file: file.to_owned(),
        })
    }

    /// The arguments for strace itself; the program and its arguments follow them. `calls`
    /// is the value of `-e trace=`: `%file`, `%desc`, `read,write`, ...
    #[must_use]
    pub fn args(&self, calls: &str) -> Vec<std::ffi::OsString> {
        // -y: descriptors with their paths; -s 0: no contents; -qq: no messages about
        // exits; -ttt: the time; --seccomp-bpf: other calls run at full speed.
        let fixed = ["-f", "--seccomp-bpf", "-qq", "-ttt", "-y", "-s", "0", "-e"];
        let mut args: Vec<_> = fixed.iter().map(|arg| OsStr::new(arg).to_owned()).collect();
        args.push(format!("trace={calls}").into());
        args.extend(["-e", "signal=none", "-o"].map(|arg| OsStr::new(arg).to_owned()));
        args.push(self.file.clone().into());
        args.push("--".into());
        args
    }

    /// A command that runs a program under strace in the host's own namespaces.
    pub fn command(&self, calls: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("strace");
        command
            .args(self.args(calls))
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// The calls, in the order in which they returned. The command must have ended.
    ///
    /// # Errors
    ///
    /// When there is no trace.
    pub fn calls(&self) -> Result<Vec<Call>> {
        let bytes = std::fs::read(&self.file).map_err(Error::path("read", &self.file))?;
        Ok(parse(&String::from_utf8_lossy(&bytes)))
    }

    /// The number of calls by name, failed ones included, with `part` in their
    /// arguments, for example in a path.
    ///
    /// # Errors
    ///
    /// When there is no trace.
    pub fn counts(&self, part: &str) -> Result<BTreeMap<String, u64>> {
        let mut counts = BTreeMap::new();
        for call in self.calls()? {
            if call.args.contains(part) {
                *counts.entry(call.name).or_insert(0) += 1;
            }
        }
        Ok(counts)
    }
}

/// fchmodat2, which strace names from version 6.6 on. System calls since Linux 5.1 have
/// the same number on every architecture.
const FCHMODAT2: &str = "syscall_0x1c4";

/// Reads strace's output: `PID TIME name(args) = result`. A call that another thread
/// interrupted has two lines, `... <unfinished ...>` and `<... name resumed>...`.
fn parse(text: &str) -> Vec<Call> {
    let mut unfinished: BTreeMap<&str, (u64, String)> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, rest)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let Some((time, rest)) = rest.trim_start().split_once(' ') else {
            continue;
        };
        // SECONDS.MICROSECONDS
        let Ok(at_us) = time.replace('.', "").parse() else {
            continue;
        };
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(pid, (at_us, begun.trim_end().to_owned()));
            continue;
        }
        let (at_us, whole) = match rest.strip_prefix("<... ") {
            None => (at_us, rest.to_owned()),
            Some(resumed) => {
                let Some((_, end)) = resumed.split_once(" resumed>") else {
                    continue;
                };
                let (at_us, begun) = unfinished.remove(pid).unwrap_or_default();
                (at_us, format!("{begun}{end}"))
            }
        };
        calls.extend(parse_call(at_us, &whole));
    }
    calls
}

fn parse_call(at_us: u64, line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    let name = if name == FCHMODAT2 { "fchmodat2" } else { name };
    // The last one: a path may contain these characters.
    let (args, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix('=')?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(plain).then(|| Call {
        at_us,
        name: name.to_owned(),
        args: args.trim_end().to_owned(),
        result: result.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_interrupted_calls_are_read_and_other_lines_are_not() {
        let text = "\
12 1700000000.000001 mkdirat(AT_FDCWD</w>, \"/m/a\", 0777) = 0
12 1700000000.000002 newfstatat(3</m>, \"x\",  <unfinished ...>
13 1700000000.000003 unlink(\"/m/b\") = -1 ENOENT (No such file or directory)
12 1700000000.000004 <... newfstatat resumed>{st_mode=S_IFREG|0644, ...}, 0) = 0
13 1700000000.000005 pread64(5</m/c>, \"\"..., 4096, 0)        = 4096
13 1700000000.000006 syscall_0x1c4(0x5, 0x7f, 0x1a4, 0x100, 0, 0) = 0
13 1700000000.000007 +++ exited with 0 +++
";
        let calls = parse(text);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        let wanted = ["mkdirat", "unlink", "newfstatat", "pread64", "fchmodat2"];
        assert_eq!(names, wanted);
        // An interrupted call has the time of its first line.
        let us: Vec<u64> = calls.iter().map(|call| call.at_us % 10).collect();
        assert_eq!(us, [1, 3, 2, 5, 6]);
        assert!(calls[1].failed() && calls[1].result.contains("ENOENT"));
        assert!(calls[2].args.starts_with("3</m>, \"x\""), "{:?}", calls[2]);
        assert_eq!(calls[3].result, "4096");
    }
}
