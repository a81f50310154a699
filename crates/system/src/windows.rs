//! Windows.

mod raw;

use crate::{FileAccess, HostFacts, Limits, Platform, User};
pub use raw::{file_number, free_bytes, host_name};
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval at which a pipe is checked: the system has no wait for one.
const LOOK: Duration = Duration::from_millis(10);

/// The system that this program runs on.
pub fn platform() -> Platform {
    Platform {
        os: "Windows".to_owned(),
        processor: std::env::consts::ARCH.to_owned(),
    }
}

/// Where the registry has the first processor's model.
const CPU_KEY: &str = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0";
/// Where it has the name of this Windows.
const OS_KEY: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";

/// What the system says about this host.
pub fn host_facts() -> HostFacts {
    let value = |key, name| raw::machine_text(key, name).unwrap_or_default();
    let [major, minor, build] = raw::version();
    let named = value(OS_KEY, "ProductName");
    HostFacts {
        os: match named.starts_with("Windows") {
            true => format!("{named} (build {build})"),
            false => format!("Windows (build {build})"),
        },
        kernel: format!("Windows NT {major}.{minor}.{build}"),
        cpu_model: value(CPU_KEY, "ProcessorNameString").trim().to_owned(),
        memory_bytes: raw::memory_bytes(),
    }
}

/// The user that this process runs as: users have no numbers here.
pub const fn user() -> Option<User> {
    None
}

/// The system has no such limits.
pub const fn limits() -> Limits {
    Limits {
        open_files_soft: None,
        open_files_hard: None,
        threads: None,
    }
}

/// There are no permission bits.
pub(crate) const fn access(_: &Metadata) -> Option<FileAccess> {
    None
}

/// Refused: a new file has the access of its directory, which others may have.
///
/// # Errors
/// Always `Unsupported`.
pub fn create_private(_: &Path) -> io::Result<File> {
    let why = "a file for one user only cannot be made on Windows; make it on another system";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Refused, as [`create_private`], unless it exists.
///
/// # Errors
/// `Unsupported`.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let why = "a directory for one user only cannot be made on Windows; make it by hand";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Refused, as [`make_private_dir`].
///
/// # Errors
/// `Unsupported`.
pub fn make_private_dirs(path: &Path) -> io::Result<()> {
    make_private_dir(path)
}

/// Opens a file to read.
///
/// # Errors
/// The system's.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates or empties a file to write. Named pipes are opened as files are.
///
/// # Errors
/// The system's.
pub fn create_at_once(path: &Path) -> io::Result<Option<File>> {
    File::create(path).map(Some)
}

/// Standard input, without a buffer.
///
/// # Errors
/// The system's.
pub fn stdin() -> io::Result<File> {
    let input = io::stdin().as_handle().try_clone_to_owned()?;
    Ok(input.into())
}

/// Standard input and output for a protocol; what is printed to standard output from here on goes
/// to standard error.
///
/// # Errors
/// The system's.
pub fn take_stdio() -> io::Result<(File, File)> {
    let output = io::stdout().as_handle().try_clone_to_owned()?;
    raw::print_to_stderr()?;
    Ok((stdin()?, output.into()))
}

/// Why this process may not make files in a directory: only whether it exists is checked.
pub fn unwritable(dir: &Path) -> Option<String> {
    std::fs::metadata(dir).err().map(|error| error.to_string())
}

/// Whether there may be a process of this number that is not visible: not known.
pub const fn may_be_hidden(_: u32) -> bool {
    true
}

/// Whether a read of a pipe returns at once, waiting `limit` at most for it; `None` waits for
/// ever. It does so at the end of the stream, too.
///
/// # Errors
/// The system's: it is no pipe.
pub fn wait_readable(source: &impl AsHandle, limit: Option<Duration>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        if raw::has_input(source.as_handle())? {
            return Ok(true);
        }
        if limit.is_some_and(|limit| began.elapsed() >= limit) {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
}
