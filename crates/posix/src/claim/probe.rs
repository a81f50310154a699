//! What a file system can do: tried in a scratch file that is removed again. The
//! driver does not know yet which of it the workloads need, so all of it is reported.

use crate::buffer::{ALIGN, Buffer};
use crate::sys::{Dir, Errno, File, OpenMode, Result, mapped};
use filermark_driver_kit::claim::PROBE_PREFIX;
use std::collections::hash_map::RandomState;
use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, Hasher};

/// The scratch file's size, in bytes.
const SCRATCH_BYTES: usize = 4 * ALIGN;

/// A sentence for everything that the file system lacks, and what is done instead.
///
/// # Errors
/// Not even a plain file can be written.
pub(super) fn lacking(dir: &Dir) -> Result<Vec<String>> {
    // Clients on several hosts try the same directory at once: the number of the process
    // says nothing.
    let number = RandomState::new().build_hasher().finish();
    let name = CString::new(format!("{PROBE_PREFIX}{number:016x}")).map_err(|_| Errno::INVAL)?;
    let file = dir.open_new(&name)?;
    let found = write_all(&file).map(|()| try_all(dir, &name, &file));
    drop(file);
    dir.unlink(&name)?;
    found
}

fn write_all(file: &File) -> Result<()> {
    let mut buffer = Buffer::default();
    let bytes = buffer.get(SCRATCH_BYTES);
    match file.write_at(bytes, 0)? {
        count if count == bytes.len() => Ok(()),
        // The second write says why.
        count => file.write_at(&bytes[count..], count as u64).map(drop),
    }
}

fn try_all(dir: &Dir, name: &CStr, file: &File) -> Vec<String> {
    let opened = |class: OpenMode| {
        let mut buffer = Buffer::default();
        let file = dir.open_file(name, class, false)?;
        file.write_at(buffer.get(ALIGN), 0)?;
        file.read_at(buffer.get(ALIGN), 0).map(drop)
    };
    let locked = || match file.try_lock(0, 1, true)? {
        true => file.unlock(0, 1),
        false => Err(Errno::AGAIN),
    };
    let tries: [(&str, Result<()>, &str); 6] = [
        (
            "O_DIRECT is",
            opened(OpenMode::new(true, false)),
            "direct transfers go through the cache",
        ),
        (
            "O_SYNC is",
            opened(OpenMode::new(false, true)),
            "writes with O_SYNC fail",
        ),
        (
            "fsync is",
            file.sync(),
            "writes that commit fail, unless DISABLE_FSYNCS is set",
        ),
        ("byte-range locks are", locked(), "locking operations fail"),
        (
            "shared mappings to read are",
            mapped::read(file, 0, ALIGN, (0, &mut [])),
            "mmap_read operations fail",
        ),
        (
            "shared mappings to write are",
            mapped::write(file, 0, &[1; 64], false),
            "mmap_write operations fail",
        ),
    ];
    let refused = tries
        .into_iter()
        .filter_map(|(what, tried, instead)| Some((what, tried.err()?, instead)));
    refused
        .map(|(what, e, instead)| format!("{what} refused ({e}): {instead}"))
        .collect()
}
