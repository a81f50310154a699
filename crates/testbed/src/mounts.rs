//! Scratch file systems of several types, visible only to the test and the programs that
//! it starts.
//!
//! They are mounted in a separate mount namespace, held by a process that waits for
//! the end of its standard input, like process 1 of a [`crate::Sandbox`]: when the
//! test ends in any way, that pipe is closed, the holder exits, and the kernel
//! unmounts everything. Unlike in a sandbox, the process numbers and `/proc` are the
//! host's, so that a program under test finds `/proc/self`.

use crate::tools::{BUSY_LIMIT, log_tail, need, search_path};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Holds the namespace until its input ends; then unmounts, and removes `$1`.
const HOLD: &str = r#"
echo ready
cat >/dev/null || true
for place in "$1"/mnt*; do umount -f -l "$place" 2>/dev/null || true; done
rm -rf --one-file-system -- "$1"
"#;

/// Enters the namespace `$1` in the current directory and executes the program in the
/// same process: the child's pid is the program's. `$2` is the test's pid: if that is no
/// longer the parent, the test has ended and nothing is run.
const ENTER: &str = r#"
namespace=$1 parent=$2 && shift 2
exec nsenter --mount="$namespace" --wdns="$(pwd -P)" -- setpriv --pdeathsig KILL -- \
    sh -c '[ "$PPID" = "$1" ] && shift && exec "$@"' sh "$parent" "$@"
"#;

/// Time limit for the exit of the holder.
const EXIT_LIMIT: Duration = BUSY_LIMIT;

/// A mount namespace for the file systems of one test.
#[derive(Debug)]
pub struct Mounts {
    holder: Child,
    /// Closed to end the holder.
    input: Option<ChildStdin>,
    dir: PathBuf,
    numbers: AtomicU32,
    _dir: tempfile::TempDir,
}

/// A directory for a program under test.
#[derive(Debug, Clone)]
pub struct Scratch {
    path: PathBuf,
    host: PathBuf,
}

impl Scratch {
    /// The path for programs that are started by [`Mounts::command`].
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of that directory for the test itself.
    #[must_use]
    pub fn host(&self) -> &Path {
        &self.host
    }
}

impl Mounts {
    /// Makes the namespace; takes a few milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] when not root or without util-linux; otherwise what
    /// the system reported.
    pub fn new() -> Result<Arc<Mounts>> {
        if !rustix::process::geteuid().is_root() {
            return Err(Error::Unavailable(
                "mounting needs root; run ./test, or the tests as root".into(),
            ));
        }
        need(&[
            ("unshare", "util-linux"),
            ("nsenter", "util-linux"),
            ("setpriv", "util-linux"),
            ("mount", "mount"),
        ])?;
        let temp = tempfile::Builder::new()
            .prefix("filermark-mounts-")
            .tempdir()
            .map_err(Error::io("make the directory for mounts"))?;
        let dir = temp.path().to_owned();
        let (holder, input) = start_holder(&dir)?;
        Ok(Arc::new(Mounts {
            holder,
            input: Some(input),
            dir,
            numbers: AtomicU32::new(0),
            _dir: temp,
        }))
    }

    /// A directory of the file system with the system's temporary files, on most
    /// machines a disk.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn plain(&self) -> Result<Scratch> {
        self.place("dir")
    }

    /// An empty tmpfs of this size in MiB.
    ///
    /// # Errors
    ///
    /// What mount(8) reported.
    pub fn tmpfs(&self, size_mib: u32) -> Result<Scratch> {
        self.tmpfs_kib(size_mib.saturating_mul(1024))
    }

    /// An empty tmpfs of this size in KiB.
    ///
    /// # Errors
    ///
    /// What mount(8) reported.
    pub fn tmpfs_kib(&self, size_kib: u32) -> Result<Scratch> {
        let place = self.place("mnt")?;
        let options = format!("size={size_kib}k,mode=755");
        self.mount(&["-t", "tmpfs", "-o", &options, "tmpfs"], &place)?;
        Ok(place)
    }

    /// A read-only view of another directory.
    ///
    /// # Errors
    ///
    /// What mount(8) reported.
    pub fn read_only(&self, of: &Scratch) -> Result<Scratch> {
        let place = self.place("mnt")?;
        self.mount(&["--bind", &of.path.display().to_string()], &place)?;
        self.run(&["mount", "-o", "remount,bind,ro"], &place)?;
        Ok(place)
    }

    /// An empty ext4 of this size in MiB in a file, through a loop device; without a
    /// journal, which would use most of a small one.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without e2fsprogs or loop devices; otherwise what
    /// mkfs or mount reported.
    pub fn ext4(&self, size_mib: u32) -> Result<Scratch> {
        need(&[("mkfs.ext4", "e2fsprogs")])?;
        if !Path::new("/dev/loop-control").exists() {
            return Err(Error::Unavailable("/dev/loop-control is missing".into()));
        }
        let place = self.place("mnt")?;
        let image = place.path.with_extension("image");
        let file = File::create(&image).map_err(Error::path("create", &image))?;
        file.set_len(u64::from(size_mib) << 20)
            .map_err(Error::path("extend", &image))?;
        let name = image.display().to_string();
        let done = Command::new("mkfs.ext4")
            .args(["-q", "-F", "-O", "^has_journal", "-m", "0", &name])
            .env("PATH", search_path())
            .output();
        check("mkfs.ext4", done)?;
        self.mount(&["-t", "ext4", "-o", "loop", &name], &place)?;
        Ok(place)
    }

    /// Detaches a mount that may be in use (`umount -l`): open files continue to work,
    /// the path is then an empty directory.
    ///
    /// # Errors
    ///
    /// What umount(8) reported.
    pub fn detach(&self, place: &Scratch) -> Result<()> {
        self.run(&["umount", "-l"], place)
    }

    /// A command in the mount namespace, otherwise like any child of the test: its own
    /// pid in [`Child::id`] for signals, the host's network.
    ///
    /// It is killed when the *thread* that spawned it ends: wait for it in the
    /// same thread.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", ENTER, "sh"])
            .arg(self.namespace())
            .arg(std::process::id().to_string())
            .arg(program)
            .env("PATH", search_path());
        command
    }

    /// A new empty directory, with its two paths.
    pub(crate) fn place(&self, kind: &str) -> Result<Scratch> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.dir.join(format!("{kind}{number}"));
        std::fs::create_dir(&path).map_err(Error::path("make", &path))?;
        let host = PathBuf::from(format!("/proc/{}/root{}", self.holder.id(), path.display()));
        Ok(Scratch { path, host })
    }

    /// Starts mount(8) in the namespace; `/dev/fuse`, open, may be its standard input.
    pub(crate) fn start_mount(
        &self,
        args: &[&str],
        place: &Scratch,
        input: Stdio,
    ) -> Result<Child> {
        self.enter("mount")
            .args(args)
            .arg(&place.path)
            .stdin(input)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io("start mount"))
    }

    fn mount(&self, args: &[&str], place: &Scratch) -> Result<()> {
        let done = self.start_mount(args, place, Stdio::null())?;
        check("mount", done.wait_with_output())
    }

    /// Runs a program on a directory in the namespace.
    pub(crate) fn run(&self, args: &[&str], place: &Scratch) -> Result<()> {
        let [program, args @ ..] = args else {
            return Ok(());
        };
        let done = self.enter(program).args(args).arg(&place.path).output();
        check(program, done)
    }

    fn enter(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--mount={}", self.namespace()))
            .args(["--", program])
            .env("PATH", search_path());
        command
    }

    fn namespace(&self) -> String {
        format!("/proc/{}/ns/mnt", self.holder.id())
    }
}

/// Starts the holder and waits until the namespace exists.
fn start_holder(dir: &Path) -> Result<(Child, ChildStdin)> {
    let log = dir.join("holder.log");
    let errors = File::create(&log).map_err(Error::path("create", &log))?;
    let mut holder = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .args(["sh", "-c", HOLD, "holder"])
        .arg(dir)
        .env("PATH", search_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(Error::io("start unshare"))?;
    let (Some(input), Some(output)) = (holder.stdin.take(), holder.stdout.take()) else {
        return Err(Error::failed("unshare", "no pipes", ""));
    };
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    if read.is_ok() && line.trim() == "ready" {
        return Ok((holder, input));
    }
    drop(input);
    let status = holder.wait().map_err(Error::io("wait for unshare"))?;
    Err(Error::failed(
        "make a mount namespace",
        status.to_string(),
        log_tail(&log),
    ))
}

/// An error with the message of a helper program, if it failed.
fn check(what: &str, done: std::io::Result<std::process::Output>) -> Result<()> {
    let output = done.map_err(Error::io(what))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::failed(what, output.status.to_string(), stderr))
}

impl Drop for Mounts {
    fn drop(&mut self) {
        drop(self.input.take());
        let start = Instant::now();
        while start.elapsed() < EXIT_LIMIT {
            match self.holder.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
        eprintln!("testbed: the process that holds the mounts does not exit; killing it");
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
