//! Unix systems.

use crate::{HostFacts, Limits, Platform, Privacy, User};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat, fcntl_getfl, fcntl_setfl, statvfs};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, geteuid, getgid, getrlimit, getuid, test_kill_process};
use rustix::system::uname;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The name of this host.
pub fn host_name() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// The system that this program runs on.
pub fn platform() -> Platform {
    let uname = uname();
    Platform {
        os: uname.sysname().to_string_lossy().into_owned(),
        processor: uname.machine().to_string_lossy().into_owned(),
    }
}

/// What the system says about this host by calls.
pub fn host_facts() -> HostFacts {
    let uname = uname();
    let (name, release) = (uname.sysname(), uname.release());
    HostFacts {
        kernel: format!("{} {}", name.to_string_lossy(), release.to_string_lossy()),
        #[cfg(any(target_os = "freebsd", target_os = "macos"))]
        cpu_model: crate::sysctl::cpu_model(),
        #[cfg(any(target_os = "freebsd", target_os = "macos"))]
        memory_bytes: crate::sysctl::memory_bytes(),
        ..HostFacts::default()
    }
}

/// No call returns the memory that is available without swapping; on Linux `/proc/meminfo` has it.
pub const fn memory_available_bytes() -> Option<u64> {
    None
}

/// The user that this process runs as; `None`: the system has no numbers for users.
pub fn user() -> Option<User> {
    Some(User {
        uid: getuid().as_raw(),
        gid: getgid().as_raw(),
        effective_uid: geteuid().as_raw(),
    })
}

/// The limits of this process.
pub fn limits() -> Limits {
    let files = getrlimit(Resource::Nofile);
    Limits {
        open_files_soft: files.current,
        open_files_hard: files.maximum,
        threads: getrlimit(Resource::Nproc).current,
    }
}

/// By the permission bits. Files of root count as those of an administrator.
pub(crate) fn privacy(file: &File) -> io::Result<Privacy> {
    let found = file.metadata()?;
    let (mode, owner) = (found.mode() & 0o777, found.uid());
    if mode & 0o077 != 0 {
        return Ok(Privacy::Shared {
            who: format!("mode {mode:03o}"),
            may_read: mode & 0o044 != 0,
        });
    }
    Ok(match owner == 0 || owner == geteuid().as_raw() {
        true => Privacy::Private,
        false => Privacy::Foreign(owner.to_string()),
    })
}

/// The command by which a user makes a file private.
pub fn private_command(path: &Path) -> String {
    format!("chmod 600 {}", path.display())
}

/// The command that runs a script of the user.
pub fn script_command(path: &Path) -> Command {
    Command::new(path)
}

/// Creates a file that only this user may read and write.
///
/// # Errors
/// It exists already, or the system's.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Makes a directory that only this user may use. One that exists stays as it is.
///
/// # Errors
/// The system's; the directory above it is missing.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        done => done,
    }
}

/// [`make_private_dir`], with those above it that are missing.
///
/// # Errors
/// The system's.
pub fn make_private_dirs(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700).recursive(true).create(path)
}

/// Opens a file to read; a pipe without a writer is opened at once.
///
/// # Errors
/// The system's.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

/// Creates or empties a file to write; a FIFO is opened at once, or not at all (`None`) where it
/// has no reader. Writes wait for a full pipe.
///
/// # Errors
/// The system's.
pub fn create_at_once(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    match options.open(path) {
        Ok(file) => {
            let flags = fcntl_getfl(&file)?;
            fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
            Ok(Some(file))
        }
        Err(e) if e.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The number of a file in its file system: another file has another one.
///
/// # Errors
/// The system's.
pub fn file_number(file: &File) -> io::Result<u64> {
    file.metadata().map(|meta| meta.ino())
}

/// Standard input, without a buffer.
///
/// # Errors
/// The system's.
pub fn stdin() -> io::Result<File> {
    Ok(rustix::io::dup(rustix::stdio::stdin())?.into())
}

/// Standard input and output for a protocol; what is printed to standard output from here on goes
/// to standard error.
///
/// # Errors
/// The system's.
pub fn take_stdio() -> io::Result<(File, File)> {
    let output = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((stdin()?, output.into()))
}

/// What this user may still store in the file system of a directory, in bytes.
///
/// # Errors
/// The system's.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let found = statvfs(dir)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Why this process may not make files in a directory; `None`: it may.
pub fn unwritable(dir: &Path) -> Option<String> {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    let asked = accessat(CWD, dir, rights, AtFlags::EACCESS);
    asked.err().map(|error| error.to_string())
}

/// Whether there may be a process of this number that is not visible.
pub fn may_be_hidden(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // A process that has ended and was not waited for can be signalled, and is visible.
    matches!(pid.map(test_kill_process), Some(Err(e)) if e != Errno::SRCH)
}

/// Whether a read of a pipe or a terminal returns at once, waiting `limit` at most for it;
/// `None` waits for ever. It does so at the end of the stream, too. A signal ends the wait.
///
/// # Errors
/// The system's.
pub fn wait_readable(source: &impl AsFd, limit: Option<Duration>) -> io::Result<bool> {
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: limit.subsec_nanos().into(),
    });
    match poll(&mut [PollFd::new(source, PollFlags::IN)], limit.as_ref()) {
        Ok(count) => Ok(count > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
