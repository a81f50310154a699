//! The namespaces in which the fixtures of a test run.
//!
//! Process 1 of the sandbox waits for the end of its standard input, a pipe
//! whose other end only this process holds. When the test ends in any way (a
//! return, a panic, SIGKILL), the pipe is closed and process 1 exits; the kernel
//! then kills every process of the sandbox and removes the network and the
//! mounts. No destructor has to run for that.

use crate::error::check_enabled;
use crate::tools::{BUSY_LIMIT, need, search_path};
use crate::{Error, Result};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const INIT: &str = include_str!("../scripts/sandbox-init.sh");

/// Runs the arguments after the first, which is the pid of the test, if that is still
/// the parent: the test may have ended before the parent-death signal was set.
const EXEC_IF_PARENT_LIVES: &str = r#"[ "$PPID" = "$1" ] && shift && exec "$@""#;

/// Time limit for the exit of process 1 after its input has ended.
const EXIT_LIMIT: Duration = BUSY_LIMIT;

/// A network, process and mount namespace, empty but for a loopback interface.
///
/// Shared by the fixtures in it; it ends when the last one is dropped.
#[derive(Debug)]
pub struct Sandbox {
    init: Child,
    /// Closed to end process 1.
    input: Option<ChildStdin>,
    /// The pid of process 1 in the host's namespace.
    pid: u32,
    dir: PathBuf,
    network: File,
    network_id: u64,
    numbers: AtomicU32,
    /// Removes `dir`; process 1 removes it, too, if this process was killed.
    _dir: tempfile::TempDir,
}

impl Sandbox {
    /// Makes the namespaces; takes some ten milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or without util-linux and
    /// iproute2; otherwise what the system or the setup script reported.
    pub fn new() -> Result<Arc<Sandbox>> {
        check_enabled()?;
        if !rustix::process::geteuid().is_root() {
            return Err(Error::Unavailable(
                "namespaces and file handles need root; run ./test, or the tests as root".into(),
            ));
        }
        need(&[
            ("unshare", "util-linux"),
            ("nsenter", "util-linux"),
            ("setpriv", "util-linux"),
            ("ip", "iproute2"),
        ])?;
        let temp = tempfile::Builder::new()
            .prefix("filermark-testbed-")
            .tempdir()
            .map_err(Error::io("make the sandbox's directory"))?;
        let dir = temp.path().to_owned();
        let (init, input, pid) = start_init(&dir)?;
        let network = File::open(format!("/proc/{pid}/ns/net"))
            .map_err(Error::io("open the sandbox's network namespace"))?;
        let network_id = network
            .metadata()
            .map_err(Error::io("look at the sandbox's network namespace"))?
            .ino();
        Ok(Arc::new(Sandbox {
            init,
            input: Some(input),
            pid,
            dir,
            network,
            network_id,
            numbers: AtomicU32::new(0),
            _dir: temp,
        }))
    }

    /// The sandbox's directory on the host: configurations, logs, captures.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path on the host of a path inside (of the sandbox's `/run`, for example).
    #[must_use]
    pub fn inside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    /// The inode of the network namespace. A process is in this sandbox's network if
    /// `/proc/PID/ns/net` has that inode.
    #[must_use]
    pub fn network_id(&self) -> u64 {
        self.network_id
    }

    /// The pid of its process 1 in the host's namespace.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// A command in the sandbox's network, otherwise like any child of the test:
    /// same files, same process numbers, its own pid in [`Child::id`] for signals.
    ///
    /// It is killed when the *thread* that spawned it ends, so that nothing is
    /// left when the test is killed: wait for it in the same thread.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.pid))
            .args(["--", "setpriv", "--pdeathsig", "KILL", "--"])
            .args([
                "sh",
                "-c",
                EXEC_IF_PARENT_LIVES,
                "sh",
                &std::process::id().to_string(),
            ])
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// Runs a function of the test in the sandbox's network: sockets that it
    /// opens, and threads and processes that it starts, are in it.
    ///
    /// # Panics
    ///
    /// When the function panics, with its message; and when the thread cannot
    /// enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        run_in(self.network.as_fd(), work)
    }

    /// A command in all of the sandbox's namespaces and in its own process namespace:
    /// when it ends or is killed, its descendants are killed, too.
    pub(crate) fn inner_command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.pid.to_string()])
            .args(["--net", "--mount", "--ipc", "--uts", "--pid", "--"])
            .args(["setpriv", "--pdeathsig", "KILL", "--"])
            .args([
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "--",
            ])
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// Runs a shell script in all of the sandbox's namespaces and waits for its end.
    pub(crate) fn set_up(&self, what: &str, script: &str, args: &[&str]) -> Result<()> {
        let output = Command::new("nsenter")
            .args(["--target", &self.pid.to_string()])
            .args(["--net", "--mount", "--ipc", "--uts", "--pid", "--"])
            .args(["sh", "-euc", script, what])
            .args(args)
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io(what))?;
        if output.status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::failed(what, output.status.to_string(), stderr))
    }

    /// A unique number in the sandbox, for names of files, and for the name and
    /// addresses of a tap.
    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Runs a function in a network namespace, in a separate thread.
pub(crate) fn run_in<T: Send>(network: BorrowedFd<'_>, work: impl FnOnce() -> T + Send) -> T {
    let outcome = std::thread::scope(|scope| {
        scope
            .spawn(move || {
                move_into_link_name_space(network, Some(LinkNameSpaceType::Network))
                    .expect("enter the network namespace");
                work()
            })
            .join()
    });
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Starts process 1 and reads its pid in the host's namespace.
fn start_init(dir: &Path) -> Result<(Child, ChildStdin, u32)> {
    let log = dir.join("sandbox.log");
    let errors = File::create(&log).map_err(Error::path("create", &log))?;
    let mut init = Command::new("unshare")
        .args(["--net", "--pid", "--mount", "--ipc", "--uts"])
        .args(["--fork", "--kill-child", "--", "sh", "-c", INIT, "init"])
        .arg(dir)
        .env("PATH", search_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(Error::io("start unshare"))?;
    let (Some(input), Some(output)) = (init.stdin.take(), init.stdout.take()) else {
        return Err(Error::failed("unshare", "no pipes", ""));
    };
    let mut line = String::new();
    BufReader::new(output)
        .read_line(&mut line)
        .map_err(Error::io("read the sandbox's pid"))?;
    match line.trim().parse() {
        Ok(pid) => Ok((init, input, pid)),
        Err(_) => {
            drop(input);
            let status = init.wait().map_err(Error::io("wait for unshare"))?;
            Err(Error::failed(
                "make the sandbox's namespaces",
                status.to_string(),
                crate::tools::log_tail(&log),
            ))
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while start.elapsed() < EXIT_LIMIT {
            match self.init.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
        eprintln!("testbed: process 1 of the sandbox does not exit; killing it");
        // unshare's --kill-child kills process 1, too.
        let _ = self.init.kill();
        let _ = self.init.wait();
    }
}
