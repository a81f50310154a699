//! Windows.

mod acl;
pub mod ending;
pub mod job;
mod raw;

use crate::{HostFacts, Limits, Platform, Privacy, User};
pub use raw::{file_number, free_bytes, host_name};
use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Interval at which a pipe is checked: the system has no wait for one.
const LOOK: Duration = Duration::from_millis(10);

/// The system that this program runs on. The processor has the name that Windows gives it
/// (PROCESSOR_ARCHITECTURE), as a client states it that is asked by SSH.
pub fn platform() -> Platform {
    let processor = match std::env::consts::ARCH {
        "x86_64" => "AMD64",
        "aarch64" => "ARM64",
        other => other,
    };
    Platform {
        os: "Windows".to_owned(),
        processor: processor.to_owned(),
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
        memory_bytes: raw::memory().map_or(0, |(all, _)| all),
    }
}

/// Memory that is available without swapping, in bytes; `None`: not known.
pub fn memory_available_bytes() -> Option<u64> {
    raw::memory().map(|(_, available)| available)
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

/// By the list of access.
pub(crate) fn privacy(file: &File) -> io::Result<Privacy> {
    let own_user = acl::own_user()?;
    Ok(acl::access_list(file)?.privacy(&own_user, acl::account_name))
}

/// The command by which a user makes a file private.
pub fn private_command(path: &Path) -> String {
    let shown = path.display();
    format!("icacls \"{shown}\" /inheritance:r /grant:r \"%USERNAME%:F\"")
}

/// The command that runs a script of the user: by cmd.exe or PowerShell, which its name
/// decides; other programs directly.
pub fn script_command(path: &Path) -> Command {
    let ending = path.extension().unwrap_or_default();
    if ending.eq_ignore_ascii_case("ps1") {
        let mut command = Command::new("powershell.exe");
        let options = [
            "-NoProfile",
            "-NonInteractive",
            "-ExecutionPolicy",
            "Bypass",
        ];
        command.args(options).arg("-File").arg(path);
        return command;
    }
    // The standard library starts cmd.exe for .cmd and .bat, and quotes arguments for it.
    Command::new(path)
}

/// Creates a file that only this user may read and write: its list of access has one entry, and
/// inherits none.
///
/// # Errors
/// It exists already, the file system keeps no lists of access, or the system's.
pub fn create_private(path: &Path) -> io::Result<File> {
    let user = acl::own_user()?;
    let file = acl::create_file(path, &format!("O:{user}D:P(A;;FA;;;{user})"))?;
    match privacy(&file) {
        Ok(Privacy::Private) => Ok(file),
        other => {
            drop(file);
            let _ = std::fs::remove_file(path);
            Err(other.err().unwrap_or_else(|| no_lists(path)))
        }
    }
}

fn no_lists(path: &Path) -> io::Error {
    let why = format!(
        "the file system of {} keeps no lists of access, so others could read the file; choose a directory on NTFS",
        path.display()
    );
    io::Error::new(io::ErrorKind::Unsupported, why)
}

/// Makes a directory that only this user may use, with what is made in it. One that exists
/// stays as it is.
///
/// # Errors
/// The system's; the directory above it is missing.
pub fn make_private_dir(path: &Path) -> io::Result<()> {
    let user = acl::own_user()?;
    match acl::create_dir(path, &format!("O:{user}D:P(A;OICI;FA;;;{user})")) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        done => done,
    }
}

/// [`make_private_dir`], with those above it that are missing.
///
/// # Errors
/// The system's.
pub fn make_private_dirs(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_private_dirs(above)?;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_private_file_is_written_and_read_and_others_are_recognized() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("with blanks.key");
        let mut file = create_private(&path).unwrap();
        file.write_all(b"words").unwrap();
        drop(file);
        let mut text = String::new();
        let mut file = open_at_once(&path).unwrap();
        assert_eq!(privacy(&file).unwrap(), Privacy::Private);
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "words");

        let open = dir.path().join("open");
        let user = acl::own_user().unwrap();
        // All users (WD) may read it.
        let sddl = format!("D:P(A;;FA;;;{user})(A;;FR;;;WD)");
        let file = acl::create_file(&open, &sddl).unwrap();
        let found = privacy(&file).unwrap();
        assert!(
            matches!(found, Privacy::Shared { may_read: true, .. }),
            "{found:?}"
        );
        assert!(crate::others_may_read(&open));
        assert!(private_command(&open).starts_with("icacls"));
    }

    #[test]
    fn the_processor_has_the_name_that_windows_gives_it() {
        let named = std::env::var("PROCESSOR_ARCHITECTURE").unwrap();
        assert_eq!(platform().processor, named);
    }

    #[test]
    fn accounts_have_names() {
        assert!(acl::own_user().unwrap().starts_with("S-1-5-"));
        assert!(acl::account_name("S-1-1-0").is_some(), "all users");
        assert_eq!(acl::account_name("no identifier"), None);
    }

    #[test]
    fn the_name_of_a_script_decides_what_runs_it() {
        let shell = script_command(Path::new(r"C:\a b\mon.PS1"));
        assert_eq!(shell.get_program(), "powershell.exe");
        assert_eq!(shell.get_args().last().unwrap(), r"C:\a b\mon.PS1");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b.cmd");
        std::fs::write(&path, "@echo off\r\necho [%~1]\r\nexit /b 3\r\n").unwrap();
        let ended = script_command(&path).arg("RUN NING").output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert_eq!((text.trim(), ended.status.code()), ("[RUN NING]", Some(3)));
    }
}
