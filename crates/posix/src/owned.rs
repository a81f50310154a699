//! Directories with an owner file: made by INIT, removed by CLEANUP.

use crate::claim::backend::{put, read_front};
use crate::status::NOT_OURS;
use crate::sys::{Dir, Errno, OpenMode, Result};
use filermark_driver_kit::claim::FilePrefix;
use filermark_driver_kit::marker::owner_text;
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
    /// owner file is right, or if it is empty and the owner file is not whole yet: others
    /// that share a tree may be making it. Another run's owner file is left as it is.
    pub(crate) fn make(&self, parent: &Dir, name: &CStr) -> Result<Dir> {
        let made = match parent.make_dir(name) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(e) => return Err(e),
        };
        let dir = parent.open_dir(name)?;
        match self.look(&dir)? {
            OwnerFileStatus::Ours => {}
            OwnerFileStatus::Unwritten if made || is_alone(&dir)? => {
                if let Err(e) = self.write(&dir) {
                    if made {
                        self.undo(parent, name, &dir);
                    }
                    return Err(e);
                }
            }
            // It may have been written while we looked at what else is there.
            OwnerFileStatus::Unwritten if self.look(&dir)? == OwnerFileStatus::Ours => {}
            OwnerFileStatus::Unwritten => return Err(Errno::EXIST),
            OwnerFileStatus::NotOurs => return Err(NOT_OURS),
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
        let is_ours = self.look(&dir)? == OwnerFileStatus::Ours;
        if is_ours {
            match dir.unlink(&marker()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(e) => return Err(e),
            }
        }
        match parent.remove_dir(name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => {
                // It stays, and has to be known as ours.
                if is_ours {
                    self.write(&dir)?;
                }
                match e {
                    // Another proc made something in it.
                    Errno::NOTEMPTY => Ok(()),
                    e => Err(e),
                }
            }
        }
    }

    /// Takes a directory away again whose owner file cannot be written (the file system is full,
    /// say): nothing may be made in it, since CLEANUP would not enter it. One whose owner file
    /// another proc has written meanwhile stays.
    fn undo(&self, parent: &Dir, name: &CStr, dir: &Dir) {
        let is_unwritten = matches!(self.look(dir), Ok(OwnerFileStatus::Unwritten));
        if is_unwritten && is_alone(dir).unwrap_or(false) {
            // Why the owner file cannot be written is what the user has to know.
            let _ = dir.unlink(&marker());
            if parent.remove_dir(name).is_err() {
                let _ = self.write(dir);
            }
        }
    }

    fn look(&self, dir: &Dir) -> Result<OwnerFileStatus> {
        Ok(match read_front(dir, MARKER)? {
            FilePrefix::Missing => OwnerFileStatus::Unwritten,
            FilePrefix::NoFile => OwnerFileStatus::NotOurs,
            FilePrefix::Bytes(bytes) if bytes == self.text.as_bytes() => OwnerFileStatus::Ours,
            FilePrefix::Bytes(bytes) => {
                let is_blank = bytes.iter().all(|byte| *byte == 0);
                match is_blank || self.text.as_bytes().starts_with(&bytes) {
                    true => OwnerFileStatus::Unwritten,
                    false => OwnerFileStatus::NotOurs,
                }
            }
        })
    }

    /// Not cut first: others may be writing the same.
    fn write(&self, dir: &Dir) -> Result<()> {
        let file = dir.open_file(&marker(), OpenMode::default(), true)?;
        put(&file, 0, self.text.as_bytes())
    }
}

/// What the owner file of a directory says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerFileStatus {
    /// What it should.
    Ours,
    /// Nothing yet, or the beginning of it.
    Unwritten,
    /// Something else.
    NotOurs,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> (tempfile::TempDir, Dir) {
        let top = tempfile::tempdir().expect("dir");
        let dir = Dir::open_top(top.path()).expect("open");
        (top, dir)
    }

    #[test]
    fn the_owner_file_of_another_run_is_left_as_it_is() {
        let (top, dir) = ground();
        let ours = Owned::of("filermark.t/p000000", "ours");
        let theirs = Owned::of("filermark.t/p000000", "theirs");
        theirs.make(&dir, c"p000000").expect("made");
        let refused = ours.make(&dir, c"p000000").map(|_| ());
        assert_eq!(refused, Err(NOT_OURS));
        ours.remove(&dir, c"p000000").expect("it is left");
        let file = top.path().join("p000000").join(MARKER);
        assert_eq!(std::fs::read_to_string(&file).expect("text"), theirs.text);
        theirs.make(&dir, c"p000000").expect("it is its own");
        // One that was cut while it was written is made good.
        std::fs::write(&file, &ours.text[..60]).expect("cut");
        ours.make(&dir, c"p000000").expect("made good");
        assert_eq!(std::fs::read_to_string(&file).expect("text"), ours.text);
        ours.remove(&dir, c"p000000").expect("removed");
        assert!(!top.path().join("p000000").exists());
    }
}
