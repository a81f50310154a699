//! What the rules of claiming need of a mounted file system. Every call is relative to
//! an open directory, follows no symbolic link and enters no other mount.

use crate::status;
use crate::sys::{Dir, Errno, File, Kind, Names, OpenMode};
use filermark_driver_kit::claim::{
    DirLookup, Entry, EntryKind, FilePrefix, NOT_A_DIRECTORY, OTHER_FILE_SYSTEM, Patch, Removal,
    Removed, RunDirBackend,
};
use filermark_driver_kit::marker::MARKER_BYTES_MAX;
use filermark_engine::driver::{DriverError, StopFlag};
use filermark_engine::interrupt_guard;
use std::ffi::CString;

/// What may be otherwise a moment later.
const OF_THE_MOMENT: [Errno; 7] = [
    Errno::IO,
    Errno::AGAIN,
    Errno::INTR,
    Errno::NOMEM,
    Errno::NFILE,
    Errno::MFILE,
    Errno::STALE,
];

/// Names of one part of a listing.
const PART: usize = 512;

/// A run directory on a mounted file system.
pub struct Mounted<'a> {
    /// The run directory, for people.
    pub(crate) place: String,
    /// Its name.
    pub(crate) dir_name: &'a str,
    /// The directory that it is in.
    pub(crate) top: &'a Dir,
    pub(crate) stop: StopFlag,
    /// The error of the last call that failed.
    pub(crate) errno: Option<Errno>,
}

fn c_name(name: &str) -> Result<CString, Errno> {
    CString::new(name).map_err(|_| Errno::INVAL)
}

impl<'a> Mounted<'a> {
    pub(crate) fn new(place: String, dir_name: &'a str, top: &'a Dir) -> Self {
        Self {
            place,
            dir_name,
            top,
            stop: interrupt_guard::flag(),
            errno: None,
        }
    }

    fn failed(&mut self, step: &str, e: Errno) -> DriverError {
        self.errno = Some(e);
        error(&self.place, step, e)
    }

    fn found(
        &mut self,
        step: &str,
        opened: Result<Dir, Errno>,
    ) -> Result<DirLookup<Dir>, DriverError> {
        match opened {
            Ok(dir) => Ok(DirLookup::Dir(dir)),
            Err(Errno::NOENT) => Ok(DirLookup::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => Ok(DirLookup::Other(NOT_A_DIRECTORY)),
            Err(Errno::XDEV) => Ok(DirLookup::Other(OTHER_FILE_SYSTEM)),
            Err(e) => Err(self.failed(step, e)),
        }
    }
}

/// A failed step with the system's error and advice.
pub(super) fn error(place: &str, step: &str, e: Errno) -> DriverError {
    let advice = match e {
        Errno::ROFS => "the file system is mounted read-only; mount it to write (rw)",
        Errno::ACCES | Errno::PERM => {
            "this user has no write permission: change the permissions of the directory, or check \
             whether the export squashes root"
        }
        other => status::fatal_advice(other.0).unwrap_or(""),
    };
    DriverError {
        place: place.to_owned(),
        step: step.to_owned(),
        reason: e.to_string(),
        advice: advice.to_owned(),
    }
}

/// What a file begins with; `NoFile`: it is nothing that can be read at an offset.
fn front_of(file: &File) -> Result<FilePrefix, Errno> {
    let mut text = vec![0; MARKER_BYTES_MAX as usize];
    let mut len = 0;
    while len < text.len() {
        match file.read_at(&mut text[len..], len as u64) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(e) if OF_THE_MOMENT.contains(&e) => return Err(e),
            // A directory, a pipe and the like.
            Err(_) => return Ok(FilePrefix::NoFile),
        }
    }
    text.truncate(len);
    Ok(FilePrefix::Bytes(text))
}

/// The front of the file of a name.
pub(crate) fn read_front(dir: &Dir, name: &str) -> Result<FilePrefix, Errno> {
    match dir.open_to_read(&c_name(name)?) {
        Ok(file) => front_of(&file),
        Err(Errno::NOENT) => Ok(FilePrefix::Missing),
        Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Ok(FilePrefix::NoFile),
        Err(e) => Err(e),
    }
}

/// Writes over a part of a file.
pub(crate) fn put(file: &File, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
    let mut put = 0;
    while put < bytes.len() {
        match file.write_at(&bytes[put..], offset + put as u64)? {
            0 => return Err(Errno::IO),
            count => put += count,
        }
    }
    Ok(())
}

impl RunDirBackend for Mounted<'_> {
    type Dir = Dir;
    type Listing = Names;

    fn place(&self) -> String {
        self.place.clone()
    }

    fn find_run_dir(&mut self) -> Result<DirLookup<Dir>, DriverError> {
        let opened = c_name(self.dir_name).and_then(|name| self.top.open_dir(&name));
        self.found("open the run's directory", opened)
    }

    fn make_run_dir(&mut self) -> Result<bool, DriverError> {
        match c_name(self.dir_name).and_then(|name| self.top.make_dir(&name)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(e) => Err(self.failed("make the run's directory", e)),
        }
    }

    fn remove_run_dir(&mut self) -> Result<(), DriverError> {
        match c_name(self.dir_name).and_then(|name| self.top.remove_dir(&name)) {
            Ok(()) | Err(Errno::NOENT | Errno::STALE) => Ok(()),
            Err(e) => Err(self.failed("remove the run's directory", e)),
        }
    }

    fn find_dir(&mut self, parent: &Dir, name: &str) -> Result<DirLookup<Dir>, DriverError> {
        let opened = c_name(name).and_then(|name| parent.open_dir(&name));
        self.found("inspect a leftover", opened)
    }

    fn read_file(&mut self, dir: &Dir, name: &str) -> Result<FilePrefix, DriverError> {
        read_front(dir, name).map_err(|e| self.failed("read the marker file", e))
    }

    fn write_file(&mut self, dir: &Dir, name: &str, text: &str) -> Result<(), DriverError> {
        let write = || {
            let file = dir.open_fresh(&c_name(name)?)?;
            put(&file, 0, text.as_bytes())?;
            // The probe reports a file system without fsync.
            let _ = file.sync();
            let _ = dir.sync();
            Ok(())
        };
        write().map_err(|e| self.failed("write the marker file", e))
    }

    fn change_file(
        &mut self,
        dir: &Dir,
        name: &str,
        change: &mut dyn FnMut(FilePrefix) -> Option<Patch>,
    ) -> Result<(), DriverError> {
        // Synchronous: the NFS client then sends the bytes that are written, and not the
        // page that they are in; and other hosts see them at once.
        let class = OpenMode::new(false, true);
        let mut rewrite = || {
            let file = match dir.open_file(&c_name(name)?, class, false) {
                Err(Errno::NOENT | Errno::LOOP) => return Ok(()),
                file => file?,
            };
            let front = front_of(&file)?;
            match change(front) {
                Some(patch) => put(&file, patch.offset, &patch.bytes),
                None => Ok(()),
            }
        };
        rewrite().map_err(|e| self.failed("renew the marker file", e))
    }

    fn list(&mut self, dir: &Dir) -> Result<Option<Names>, DriverError> {
        match dir.names() {
            Ok(names) => Ok(Some(names)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(self.failed("list the run's directory", e)),
        }
    }

    fn next_entries(&mut self, listing: &mut Names) -> Result<Option<Vec<Entry>>, DriverError> {
        let part = listing.part(PART);
        let names = part.map_err(|e| self.failed("list the run's directory", e))?;
        let entry = |name: CString| Entry {
            name: name.into_bytes(),
            kind: EntryKind::Unknown,
        };
        let entries: Vec<Entry> = names.into_iter().map(entry).collect();
        Ok((!entries.is_empty()).then_some(entries))
    }

    fn remove(
        &mut self,
        what: Removal,
        dir: &Dir,
        names: &[&str],
    ) -> Result<Vec<Removed>, DriverError> {
        let mut became = Vec::with_capacity(names.len());
        for name in names {
            let c_name = c_name(name).map_err(|e| self.failed("remove leftovers", e))?;
            let removed = match what {
                Removal::File => dir.unlink(&c_name),
                Removal::Dir => dir.remove_dir(&c_name),
            };
            let is_dir = || dir.meta(&c_name).is_ok_and(|meta| meta.kind == Kind::Dir);
            became.push(match (what, removed) {
                (_, Ok(())) => Removed::Done,
                (_, Err(Errno::NOENT)) => Removed::NotFound,
                // On Windows a link to a directory is one, too.
                (Removal::File, Err(Errno::ISDIR)) => Removed::NotRemoved,
                (Removal::File, Err(Errno::PERM | Errno::BUSY)) if is_dir() => Removed::NotRemoved,
                (Removal::Dir, Err(Errno::NOTEMPTY | Errno::NOTDIR | Errno::BUSY)) => {
                    Removed::NotRemoved
                }
                (_, Err(e)) => return Err(self.failed("remove leftovers", e)),
            });
        }
        Ok(became)
    }

    fn may_pass(&self) -> bool {
        self.errno.is_some_and(|e| OF_THE_MOMENT.contains(&e))
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_raised()
    }
}
