//! The namespaces in which everything of a test runs.
//!
//! Process 1 of the sandbox waits for the end of its standard input, a pipe
//! whose other end only this process holds. Whatever ends the test (a return,
//! a panic, SIGKILL) closes the pipe; process 1 exits, and with it the kernel
//! kills every process of the sandbox and takes the network and the mounts
//! away. No destructor has to run for that.

use crate::error::are_wanted;
use crate::tools::{need, search_path};
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

/// Runs its arguments after the first, the pid of the test, if that is still
/// the parent: it may have gone before there was a signal for its death.
const STILL_WANTED: &str = r#"[ "$PPID" = "$1" ] && shift && exec "$@""#;

/// How long process 1 may take to go once its input has ended.
const FAREWELL: Duration = Duration::from_secs(10);

/// A network, process and mount namespace, empty but for a loopback interface.
///
/// Shared by the fixtures that live in it; it ends when the last one is gone.
#[derive(Debug)]
pub struct Sandbox {
    init: Child,
    /// Kept only to be closed: its end is what process 1 waits for.
    input: Option<ChildStdin>,
    /// Process 1, as the host counts.
    pid: u32,
    dir: PathBuf,
    network: File,
    network_id: u64,
    numbers: AtomicU32,
    /// Removes `dir`; process 1 does too, for when this process cannot.
    _dir: tempfile::TempDir,
}

impl Sandbox {
    /// Makes the namespaces; takes some ten milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or without util-linux and
    /// iproute2; otherwise what the system or the set-up script said.
    pub fn new() -> Result<Arc<Sandbox>> {
        are_wanted()?;
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

    /// A path as processes inside see it (their `/run`, for example), for use
    /// from outside.
    #[must_use]
    pub fn inside(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    /// The inode of the network namespace: the same number under
    /// `/proc/PID/ns/net` says that a process is in this sandbox's network.
    #[must_use]
    pub fn network_id(&self) -> u64 {
        self.network_id
    }

    /// A command that will run in the sandbox's network, and otherwise like
    /// any child of the test: same files, same process numbers, its own pid in
    /// [`Child::id`] for signals.
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
                STILL_WANTED,
                "sh",
                &std::process::id().to_string(),
            ])
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// Runs a function of the test in the sandbox's network: sockets that it
    /// opens, and threads and processes that it starts, are inside.
    ///
    /// # Panics
    ///
    /// When the function does, with its message; and when the thread cannot
    /// enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        run_in(self.network.as_fd(), work)
    }

    /// A command in all of the sandbox's namespaces and in one for its own
    /// processes: when it ends or is killed, its descendants go with it.
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

    /// Runs a shell script to its end in all of the sandbox's namespaces.
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
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Error::failed(what, output.status.to_string(), said))
    }

    /// A number that nothing else in the sandbox has: for the names of files,
    /// and for a tap's name and addresses.
    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Runs a function in a network namespace, in a thread of its own.
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

/// Starts process 1 and reads the pid that it has on the host.
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
                crate::tools::last_words(&log),
            ))
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while start.elapsed() < FAREWELL {
            match self.init.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
        eprintln!("testbed: the sandbox does not go by itself; killing it");
        // unshare's --kill-child takes process 1 along.
        let _ = self.init.kill();
        let _ = self.init.wait();
    }
}
