//! Directories with an owner file: made by INIT, removed by CLEANUP.

use crate::claim::backend::{put, read_front};
use crate::sys::{Class, Dir, Errno, Result};
use filermark_engine::claim::FileFront;
use filermark_engine::marker::owner_text;
use filermark_engine::name::MARKER;
use std::ffi::{CStr, CString};

/// One such directory.
pub(crate) struct Owned {
    /// What its owner file holds.
    text: String,
}

impl Owned {
    /// The directory of a path, which counts from that of the mount point on.
    pub(crate) fn of(path: &str, nonce: &str) -> Self {
        Self {
            text: owner_text(path, nonce),
        }
    }

    /// Makes the directory `name`, with its owner file. One that is there is fine if its
    /// owner file is right, or if it is empty: others that share a tree may be making it.
    pub(crate) fn make(&self, parent: &Dir, name: &CStr) -> Result<Dir> {
        let made = match parent.make_dir(name) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(e),
        };
        let dir = parent.open_dir(name)?;
        let is_ours = !made && self.is_in(&dir)?;
        if !is_ours {
            if !made && !is_alone(&dir)? && !self.is_in(&dir)? {
                return Err(Errno::EXIST);
            }
            self.write(&dir)?;
        }
        Ok(dir)
    }

    /// Removes the directory `name` if nothing but its owner file is in it.
    pub(crate) fn remove(&self, parent: &Dir, name: &CStr) -> Result<()> {
        let dir = match parent.open_dir(name) {
            Err(Errno::NOENT) => return Ok(()),
            dir => dir?,
        };
        if !is_alone(&dir)? {
            return Ok(());
        }
        if self.is_in(&dir)? {
            match dir.unlink(&marker()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(e),
            }
        }
        match parent.remove_dir(name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            // Somebody was faster: it stays ours.
            Err(Errno::NOTEMPTY) => self.write(&dir),
            Err(e) => Err(e),
        }
    }

    fn is_in(&self, dir: &Dir) -> Result<bool> {
        let front = read_front(dir, MARKER)?;
        Ok(matches!(front, FileFront::Bytes(bytes) if bytes == self.text.as_bytes()))
    }

    /// Not cut first: others may be writing the same.
    fn write(&self, dir: &Dir) -> Result<()> {
        put(
            &dir.open_file(&marker(), Class::default(), true)?,
            &self.text,
        )
    }
}

fn marker() -> CString {
    CString::new(MARKER).unwrap_or_default()
}

/// Whether nothing but an owner file is in a directory.
fn is_alone(dir: &Dir) -> Result<bool> {
    let names = dir.names()?.part(2)?;
    Ok(names
        .iter()
        .all(|name| name.as_bytes() == MARKER.as_bytes()))
}
