//! What the tests need of the system that they run on.

use std::path::Path;

/// Makes a symbolic link to a directory.
#[cfg(unix)]
pub(crate) fn link_to_dir(to: &Path, at: &Path) -> bool {
    std::os::unix::fs::symlink(to, at).is_ok()
}

/// Makes a symbolic link to a file.
#[cfg(unix)]
pub(crate) fn link_to_file(to: &Path, at: &Path) -> bool {
    std::os::unix::fs::symlink(to, at).is_ok()
}

/// Makes a symbolic link to a directory, which a user without the right to do so, and
/// Wine, may not: then false. Under Wine it is one of the system below.
#[cfg(windows)]
pub(crate) fn link_to_dir(to: &Path, at: &Path) -> bool {
    std::os::windows::fs::symlink_dir(to, at).is_ok() || wine::link(to, at)
}

/// Makes a symbolic link to a file, or says why not. Wine goes through those of the system
/// below, whatever it is told, and shows no attribute of them: there is nothing to test.
#[cfg(windows)]
pub(crate) fn link_to_file(to: &Path, at: &Path) -> bool {
    let made = std::os::windows::fs::symlink_file(to, at);
    if let Err(e) = &made {
        eprintln!("no symbolic link can be made here: {e}");
    }
    made.is_ok()
}

/// The programs of the system below Wine.
#[cfg(windows)]
pub(crate) mod wine {
    use std::path::Path;
    use std::process::Command;

    /// A path as the system below Wine has it; `None`: this is not Wine.
    fn below(path: &Path) -> Option<String> {
        let output = Command::new("winepath.exe").arg("-u").arg(path).output();
        let text = String::from_utf8(output.ok()?.stdout).ok()?;
        Some(text.trim_end().to_owned())
    }

    /// Whether this is Wine.
    pub(crate) fn is_here() -> bool {
        below(Path::new("C:\\")).is_some()
    }

    /// Runs a program of the system below on a file.
    fn run(program: &str, before: &[&str], path: &Path) -> bool {
        let Some(path) = below(path) else {
            return false;
        };
        let program = format!(r"\\?\unix\bin\{program}");
        let status = Command::new(program).args(before).arg(path).status();
        status.is_ok_and(|status| status.success())
    }

    /// Makes a symbolic link.
    pub(crate) fn link(to: &Path, at: &Path) -> bool {
        below(to).is_some_and(|to| run("ln", &["-s", &to], at)) && at.symlink_metadata().is_ok()
    }

    /// Cuts a file, which Wine forbids while it is mapped.
    pub(crate) fn cut(path: &Path) -> bool {
        run("truncate", &["-s", "0"], path)
    }
}
