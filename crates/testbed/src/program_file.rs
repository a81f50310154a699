//! Programs and scripts that a test writes and then starts.
//!
//! The kernel refuses to start a file that any process has open for writing (ETXTBSY). While
//! one thread of a test program writes a file, another may fork: until its child starts its own
//! program, the child has the file open, too, however soon the writer closes it. So another
//! process writes the file.

use crate::{Error, Result};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program or a script that all users may run. It can be started at once.
///
/// # Errors
///
/// The file cannot be written.
pub fn write_program(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let source = tempfile::NamedTempFile::new().map_err(Error::io("make a temporary file"))?;
    std::fs::write(source.path(), contents).map_err(Error::path("write", source.path()))?;
    copy_program(source.path(), path)
}

/// Copies a file as a program that all users may run. It can be started at once.
///
/// # Errors
///
/// The file cannot be read, or the copy cannot be written.
pub fn copy_program(source: &Path, path: &Path) -> Result<()> {
    let done = Command::new("install")
        .args(["-m", "755", "--"])
        .args([source, path])
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run install"))?;
    if done.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    Err(Error::path("write", path)(io::Error::other(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts are written and started while other threads start programs all the time.
    #[test]
    fn a_program_can_be_started_while_others_are() {
        let dir = tempfile::tempdir().expect("a directory");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let dir = dir.path();
                scope.spawn(move || {
                    for round in 0..25 {
                        let path = dir.join(format!("{thread}-{round}"));
                        write_program(&path, format!("#!/bin/sh\nexit {thread}\n"))
                            .expect("it is written");
                        let status = Command::new(&path).status().expect("it is started");
                        assert_eq!(status.code(), Some(thread));
                    }
                });
            }
        });
    }

    #[test]
    fn a_directory_that_does_not_exist_is_named() {
        let error = write_program(Path::new("/nonexistent/dir/program"), "x").unwrap_err();
        assert!(
            error.to_string().contains("/nonexistent/dir/program"),
            "{error}"
        );
    }
}
