//! strace as judge of what a program asked of the system.

use crate::tools::{need, search_path};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A trace that a command is going to leave.
#[derive(Debug)]
pub struct Strace {
    file: PathBuf,
}

/// One system call that has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its name, as strace has it (`newfstatat`, `mkdirat`, ...).
    pub name: String,
    /// Arguments, as strace prints them: with `-y`, descriptors have their path.
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
    /// Makes `command` run `program` under strace, which follows all of its
    /// threads and children; `command` is one that takes a program as its next
    /// arguments, such as `Command::new("env")` or that of `Mounts::command`.
    /// `calls` is what `-e trace=` takes: `%file`, `%desc`, `read,write`, ...
    /// The trace goes to `file`.
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

    /// The arguments for strace itself; the program and its own come after them.
    #[must_use]
    pub fn args(&self, calls: &str) -> Vec<std::ffi::OsString> {
        // -y: descriptors with their paths; -s 0: no contents; -qq: no talk of exits;
        // --seccomp-bpf: what is not traced runs at full speed.
        let fixed = ["-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-e"];
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

    /// The calls, in the order in which they returned. To be asked for when the
    /// command has ended.
    ///
    /// # Errors
    ///
    /// When there is no trace.
    pub fn calls(&self) -> Result<Vec<Call>> {
        let bytes = std::fs::read(&self.file).map_err(Error::path("read", &self.file))?;
        Ok(parse(&String::from_utf8_lossy(&bytes)))
    }

    /// How often each call was made on something whose path has `part` in it,
    /// failed ones included.
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

/// Reads strace's output: `PID name(args) = result`, where another thread came
/// between in two lines, `... <unfinished ...>` and `<... name resumed>...`.
fn parse(text: &str) -> Vec<Call> {
    let mut unfinished: BTreeMap<&str, String> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((pid, rest)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            unfinished.insert(pid, begun.trim_end().to_owned());
            continue;
        }
        let whole = match rest.strip_prefix("<... ") {
            None => rest.to_owned(),
            Some(resumed) => {
                let Some((_, end)) = resumed.split_once(" resumed>") else {
                    continue;
                };
                format!("{}{end}", unfinished.remove(pid).unwrap_or_default())
            }
        };
        calls.extend(parse_call(&whole));
    }
    calls
}

fn parse_call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once('(')?;
    // The last one: a path may have such characters in it.
    let (args, result) = rest.rsplit_once(") ")?;
    let result = result.trim_start().strip_prefix('=')?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(plain).then(|| Call {
        name: name.to_owned(),
        args: args.trim_end().to_owned(),
        result: result.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_interrupted_calls_are_read_and_talk_is_not() {
        let text = "\
12 mkdirat(AT_FDCWD</w>, \"/m/a\", 0777) = 0
12 newfstatat(3</m>, \"x\",  <unfinished ...>
13 unlink(\"/m/b\") = -1 ENOENT (No such file or directory)
12 <... newfstatat resumed>{st_mode=S_IFREG|0644, ...}, 0) = 0
13 pread64(5</m/c>, \"\"..., 4096, 0)        = 4096
13 +++ exited with 0 +++
";
        let calls = parse(text);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["mkdirat", "unlink", "newfstatat", "pread64"]);
        assert!(calls[1].failed() && calls[1].result.contains("ENOENT"));
        assert!(calls[2].args.starts_with("3</m>, \"x\""), "{:?}", calls[2]);
        assert_eq!(calls[3].result, "4096");
    }
}
