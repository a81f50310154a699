//! One program of a fixture, running inside a sandbox.

use crate::tools::{log_tail, wait_until};
use crate::{Error, Result, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A running program; killed, with its descendants, when dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    name: String,
    child: Child,
    log: PathBuf,
    /// Keeps the sandbox alive as long as the program.
    _sandbox: Arc<Sandbox>,
}

impl Daemon {
    /// Starts a program. Output and errors go to `NAME.log` in the sandbox's
    /// directory; its input is a pipe.
    pub(crate) fn start(
        sandbox: &Arc<Sandbox>,
        name: &str,
        program: &str,
        args: &[&str],
    ) -> Result<Daemon> {
        let log = sandbox.dir().join(format!("{name}.log"));
        let output = File::create(&log).map_err(Error::path("create", &log))?;
        let errors = output
            .try_clone()
            .map_err(Error::path("duplicate the handle of", &log))?;
        let child = sandbox
            .inner_command(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(Error::io(format!("start {program}")))?;
        Ok(Daemon {
            name: name.to_owned(),
            child,
            log,
            _sandbox: Arc::clone(sandbox),
        })
    }

    /// The file with its output.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// The program's pid in the machine's namespace. `None` before it has started
    /// and after it has ended.
    pub(crate) fn inner_pid(&self) -> Option<u32> {
        let unshare = children(self.child.id());
        let program = children(*unshare.first()?);
        program.first().copied()
    }

    /// Its output so far.
    pub(crate) fn output(&self) -> String {
        match std::fs::read(&self.log) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(no log {}: {error})", self.log.display()),
        }
    }

    /// An error if the program has ended by itself.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Error::failed(
                &self.name,
                format!("ended: {status}"),
                log_tail(&self.log),
            )),
            Err(error) => Err(Error::io(format!("watch {}", self.name))(error)),
        }
    }

    /// Waits until `answer` returns a value for the output.
    pub(crate) fn wait_for<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut answer: impl FnMut(&str) -> Option<T>,
    ) -> Result<T> {
        let log = self.log.clone();
        let what = format!("{}: {what}", self.name);
        wait_until(&what, limit, &log, || {
            // Checked before the output is read, so that the last output is used.
            let alive = self.check();
            match answer(&self.output()) {
                Some(found) => Ok(Some(found)),
                None => alive.map(|()| None),
            }
        })
    }

    /// Sends a line to the program.
    pub(crate) fn send_line(&mut self, line: &str) -> Result<()> {
        let Some(input) = self.child.stdin.as_mut() else {
            return Err(Error::failed(&self.name, "its input is closed", ""));
        };
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .map_err(Error::io(format!("write to {}", self.name)))
    }

    /// Closes the program's input and waits for it to end.
    pub(crate) fn finish(&mut self, limit: Duration) -> Result<ExitStatus> {
        drop(self.child.stdin.take());
        let log = self.log.clone();
        let what = format!("the end of {}", self.name);
        wait_until(&what, limit, &log, || {
            self.child.try_wait().map_err(Error::io(&what))
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- end of {}.log ---\n{}", self.name, log_tail(&self.log));
        }
        self.kill();
        let _ = self.child.wait();
    }
}

impl Daemon {
    /// Kills the innermost process: `child` is nsenter, its child is unshare, and
    /// the child of unshare is the program, as process 1 of a process namespace.
    /// Each of them ends when its child has ended, so that all have ended when
    /// nsenter has. In the reverse order, the host's process 1 would have to collect
    /// the remaining processes, and in a container it may not.
    fn kill(&mut self) {
        for unshare in children(self.child.id()) {
            let program = children(unshare);
            for pid in if program.is_empty() {
                vec![unshare]
            } else {
                program
            } {
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
            }
        }
        if children(self.child.id()).is_empty() {
            let _ = self.child.kill();
        }
    }
}

/// The children of a process; none when it has ended.
fn children(pid: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}
