//! Takes the files of a tree out of this host's cache, so that a load point does not
//! begin with what INIT, or the load point before, has left there.
//!
//! `posix_fadvise(POSIX_FADV_DONTNEED)` per file, which every user may do to what he may
//! open. Only pages that are written back go, so the file system is synchronised
//! before; the names and attributes that are cached stay. The other way,
//! `/proc/sys/vm/drop_caches`, needs root and empties the caches of the whole host.

use super::PosixShard;
use crate::sys::{Dir, Errno, Result};
use filermark_driver_kit::claim::{Level, NameMeaning};
use filermark_engine::driver::{DriverError, StopFlag};
use std::ffi::{CStr, CString};

/// Names that are read of a directory at once.
const PART: usize = 256;

impl PosixShard {
    /// All files of all procs; how many.
    pub(super) fn uncache(&mut self) -> std::result::Result<u64, DriverError> {
        let mut file_count = 0;
        for proc in &mut self.parts.handles.procs {
            let place = proc.place.path.join(&proc.tree.name);
            let top = match proc.top() {
                Ok(top) => top,
                Err(Errno::NOENT) => continue,
                Err(e) => return Err(failed(&place, e)),
            };
            let counted = tree(top, &self.parts.stop).map_err(|e| failed(&place, e))?;
            file_count += counted;
        }
        Ok(file_count)
    }
}

fn failed(place: &std::path::Path, e: Errno) -> DriverError {
    DriverError {
        place: place.display().to_string(),
        step: "INIT: drop the files from the client's cache".to_owned(),
        reason: e.to_string(),
        advice: "DROP_CACHES=off skips this step".to_owned(),
    }
}

/// The files of a tree; how many were taken out.
fn tree(top: &Dir, stop: &StopFlag) -> Result<u64> {
    let mut file_count = 0;
    for dir in below(top, Level::Tree, NameMeaning::Dir(Level::Dir))? {
        let dir = top.open_dir(&dir)?;
        for bucket in below(&dir, Level::Dir, NameMeaning::Dir(Level::Bucket))? {
            if stop.is_raised() {
                return Ok(file_count);
            }
            let bucket = dir.open_dir(&bucket)?;
            let files = below(&bucket, Level::Bucket, NameMeaning::File)?;
            let uncached = files.iter().filter(|name| uncached(&bucket, name));
            file_count += uncached.count() as u64;
        }
    }
    Ok(file_count)
}

/// A file that cannot be opened stays in the cache; what is read says how much it was.
fn uncached(dir: &Dir, name: &CStr) -> bool {
    dir.open_to_read(name)
        .is_ok_and(|file| file.uncache().is_ok())
}

/// The names of one kind in a directory of this level.
fn below(dir: &Dir, level: Level, kind: NameMeaning) -> Result<Vec<CString>> {
    let mut found = Vec::new();
    let mut names = dir.names()?;
    loop {
        let part = names.part(PART)?;
        if part.is_empty() {
            return Ok(found);
        }
        let fits = |name: &CString| level.meaning(name.to_bytes()) == kind;
        found.extend(part.into_iter().filter(fits));
    }
}
