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

/// Makes a symbolic link to a directory, or says why not.
#[cfg(windows)]
pub(crate) fn link_to_dir(to: &Path, at: &Path) -> bool {
    made(at, std::os::windows::fs::symlink_dir(to, at))
}

/// Makes a symbolic link to a file, or says why not.
#[cfg(windows)]
pub(crate) fn link_to_file(to: &Path, at: &Path) -> bool {
    made(at, std::os::windows::fs::symlink_file(to, at))
}

/// Wine makes no links, and returns success. It follows those of the system below in spite
/// of the flag, and shows no attribute of them by a handle: nothing can be tested with them.
#[cfg(windows)]
fn made(at: &Path, link: std::io::Result<()>) -> bool {
    let is_there = at.symlink_metadata().is_ok();
    if !is_there {
        eprintln!("no symbolic link can be made here: {link:?}");
    }
    is_there
}

/// Whether this is Wine.
#[cfg(windows)]
pub(crate) fn is_wine() -> bool {
    std::env::var_os("WINEPREFIX").is_some()
}

/// A program that answers each line with another one.
#[cfg(unix)]
pub(crate) fn answering(with: &str) -> Vec<String> {
    let script = format!("while read -r line; do echo {with}; done");
    ["sh", "-c", &script].map(str::to_owned).to_vec()
}
