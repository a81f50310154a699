//! What a directory's file system allows, found out with a file that exists for a moment.

use crate::sys::{Dir, Errno, OpenMode};
use std::ffi::CString;
use std::io;
use std::path::Path;

/// Whether files of a directory can be opened past the client's cache, as the operations with
/// `direct` do it on this system. Creates a file for a moment.
///
/// # Errors
/// No file can be created there.
pub fn takes_direct(dir: &Path) -> io::Result<bool> {
    let failed = |why: Errno| io::Error::other(why.to_string());
    let name = CString::new(format!(".filermark-probe-{}", std::process::id()))?;
    let dir = Dir::open_top(dir).map_err(failed)?;
    drop(dir.open_new(&name).map_err(failed)?);
    let direct = dir.open_file(&name, OpenMode::new(true, false), false);
    let is_taken = direct.is_ok();
    drop(direct);
    // It is ours: it was not there before.
    let _ = dir.unlink(&name);
    Ok(is_taken)
}
