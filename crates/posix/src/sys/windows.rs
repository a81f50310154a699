//! Directories and files of Windows, by calls relative to a directory's handle. No name
//! is followed where it is a reparse point (a symbolic link, a junction, a mounted
//! volume ...): names are opened as what they are, and what is a reparse point is refused.
//!
//! | module | contents |
//! |---|---|
//! | `raw` | the system calls |
//! | `errors` | errors of Windows as error numbers |
//! | `wide` | names in UTF-16 |
//! | `listing` | the names in a directory |
//! | `mapped`, `fault` | memory mappings, and what happens when a page cannot be had |
//! | `pipes` | programs that are asked through pipes |
//! | `facts` | what is known of a volume |
//! | `tests` | what only Windows has: attributes, sharing, links |

mod errors;
mod facts;
mod fault;
mod listing;
pub(crate) mod mapped;
pub(crate) mod pipes;
mod raw;
#[cfg(test)]
mod tests;
mod wide;

use super::{Errno, Kind, Meta, OpenMode, Result, Space};
pub(super) use errors::numbers;
pub(crate) use errors::{FOREIGN, message_of, name_of};
pub use listing::Names;
use raw::Open;
use std::ffi::CStr;
use std::fs::{self, OpenOptions};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wide::Wide;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Storage::FileSystem as w;
use windows_sys::Win32::System::SystemServices::IO_REPARSE_TAG_MOUNT_POINT;

/// What the file system of a directory is known not to have, by all directories below
/// one that [`Dir::open_top`] has opened.
#[derive(Debug, Default)]
struct Volume {
    /// It does not remove as POSIX does (names go at once).
    removes_plainly: AtomicBool,
    /// It does not rename so.
    renames_plainly: AtomicBool,
    /// It does not know a name without its directory as the target of a rename.
    wants_dir: AtomicBool,
}

/// A directory that names are relative to.
#[derive(Debug)]
pub struct Dir {
    handle: OwnedHandle,
    volume: Arc<Volume>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File(fs::File);

const DIR: u32 = nt::FILE_DIRECTORY_FILE;
const NO_DIR: u32 = nt::FILE_NON_DIRECTORY_FILE;
/// Rights to look at a directory and go through it.
const NAMING: u32 = w::FILE_LIST_DIRECTORY | w::FILE_TRAVERSE;

/// `C:` is where a process stands on that drive; what is meant is the drive.
fn whole(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Prefix(_)), None) => {
            let mut drive = path.as_os_str().to_owned();
            drive.push(r"\");
            drive.into()
        }
        _ => path.to_owned(),
    }
}

/// Attributes of an open file or directory, and what kind of reparse point it is.
fn tag_of(handle: BorrowedHandle<'_>) -> Result<(u32, u32)> {
    let answer = raw::info(handle, nt::FileAttributeTagInformation, 8)?;
    Ok((answer.u32_at(0), answer.u32_at(4)))
}

/// What kind of reparse point it is; `None`: it is none. A file system that does not know the
/// question has none either.
fn reparse_tag(handle: BorrowedHandle<'_>) -> Result<Option<u32>> {
    match tag_of(handle) {
        Ok((attributes, tag)) => {
            let is_one = attributes & w::FILE_ATTRIBUTE_REPARSE_POINT != 0;
            Ok(is_one.then_some(tag))
        }
        Err(Errno::INVAL | Errno::NOSYS) => Ok(None),
        Err(e) => Err(e),
    }
}

impl Dir {
    /// The user's own directory; here, and only here, links are followed.
    pub(crate) fn open_top(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .access_mode(NAMING | w::FILE_READ_ATTRIBUTES | w::SYNCHRONIZE)
            .custom_flags(w::FILE_FLAG_BACKUP_SEMANTICS)
            .open(whole(path))?;
        match file.metadata()?.is_dir() {
            true => Ok(Self {
                handle: file.into(),
                volume: Arc::default(),
            }),
            false => Err(Errno::NOTDIR),
        }
    }

    /// The directory `path` (one or more names) below this one, without going through
    /// reparse points: one name after the other.
    pub(crate) fn open_dir(&self, path: &CStr) -> Result<Self> {
        let mut at: Option<OwnedHandle> = None;
        for name in path.to_str().map_err(|_| Errno::INVAL)?.split('/') {
            let parent = at
                .as_ref()
                .map_or(self.handle.as_handle(), |h| h.as_handle());
            at = Some(open_child(parent, &Wide::new(name)?)?);
        }
        Ok(Self {
            handle: at.ok_or(Errno::NOENT)?,
            volume: self.volume.clone(),
        })
    }

    /// Volume and number: the same for the same directory.
    pub(crate) fn id(&self) -> Result<(u64, u64)> {
        let handle = self.handle.as_handle();
        if let Ok(answer) = raw::info(handle, nt::FileIdInformation, 24) {
            return Ok((answer.u64_at(0), answer.u64_at(8) ^ answer.u64_at(16)));
        }
        let volume = raw::volume_info(handle, nt::FileFsVolumeInformation)?;
        let number = raw::info(handle, nt::FileInternalInformation, 8)?;
        Ok((volume.u32_at(8).into(), number.u64_at(0)))
    }

    fn open(
        &self,
        name: &CStr,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<OwnedHandle> {
        self.open_or_make(name, access, disposition, options)
            .map(|(handle, _)| handle)
    }

    fn open_or_make(
        &self,
        name: &CStr,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<(OwnedHandle, bool)> {
        let how = Open {
            access,
            disposition,
            options,
        };
        raw::open(self.handle.as_handle(), &Wide::of(name)?, how)
    }

    /// Opens a file that may be there already; also whether it was made.
    fn open_checked(
        &self,
        name: &CStr,
        access: u32,
        disposition: u32,
        options: u32,
    ) -> Result<(File, bool)> {
        let (handle, made) = self.open_or_make(name, access, disposition, NO_DIR | options)?;
        match !made && reparse_tag(handle.as_handle())?.is_some() {
            true => Err(Errno::LOOP),
            false => Ok((File(handle.into()), made)),
        }
    }

    /// Opens a file to read and write; with `create`, makes it if need be.
    pub(crate) fn open_file(&self, name: &CStr, class: OpenMode, create: bool) -> Result<File> {
        let mut options = 0;
        if class.direct {
            options |= nt::FILE_NO_INTERMEDIATE_BUFFERING;
        }
        if class.sync {
            options |= nt::FILE_WRITE_THROUGH;
        }
        let disposition = match create {
            true => nt::FILE_OPEN_IF,
            false => nt::FILE_OPEN,
        };
        // Rights by their generic names: the single one to append excludes transfers past
        // the cache.
        let access = GENERIC_READ | GENERIC_WRITE;
        self.open_checked(name, access, disposition, options)
            .map(|(file, _)| file)
    }

    /// Opens a file to read, at whatever it is.
    pub(crate) fn open_to_read(&self, name: &CStr) -> Result<File> {
        self.open_checked(name, GENERIC_READ, nt::FILE_OPEN, 0)
            .map(|(file, _)| file)
    }

    /// Makes a file, or empties the one that is there.
    pub(crate) fn open_fresh(&self, name: &CStr) -> Result<File> {
        let access = GENERIC_READ | GENERIC_WRITE;
        let (file, made) = self.open_checked(name, access, nt::FILE_OPEN_IF, 0)?;
        if !made {
            file.truncate(0)?;
        }
        Ok(file)
    }

    /// Makes a file that is not there yet.
    pub(crate) fn open_new(&self, name: &CStr) -> Result<File> {
        let access = GENERIC_READ | GENERIC_WRITE;
        let made = self.open(name, access, nt::FILE_CREATE, NO_DIR)?;
        Ok(File(made.into()))
    }

    /// The attributes of a name.
    pub(crate) fn meta(&self, name: &CStr) -> Result<Meta> {
        const SIZE_AT: usize = 40;
        const ATTRIBUTES_AT: usize = 48;
        let file = self.open_to_name(name)?;
        let info = raw::info(file.as_handle(), nt::FileNetworkOpenInformation, 56)?;
        let (attributes, size) = (info.u32_at(ATTRIBUTES_AT), info.u64_at(SIZE_AT));
        let is = |attribute| attributes & attribute != 0;
        let kind = match is(w::FILE_ATTRIBUTE_DIRECTORY) {
            _ if is(w::FILE_ATTRIBUTE_REPARSE_POINT | w::FILE_ATTRIBUTE_DEVICE) => Kind::Other,
            true => Kind::Dir,
            false => Kind::File,
        };
        Ok(Meta { kind, size })
    }

    /// Whether we may read a file: it is opened to read.
    pub(crate) fn access(&self, name: &CStr) -> Result<()> {
        self.open(name, w::FILE_READ_DATA, nt::FILE_OPEN, 0)
            .map(drop)
    }

    /// Sets the attributes of a file that correspond to permissions: it is read-only if
    /// its owner may not write, and has the archive attribute if all may read.
    pub(crate) fn chmod(&self, name: &CStr, mode: u32) -> Result<()> {
        const BASIC_BYTES: usize = size_of::<nt::FILE_BASIC_INFORMATION>();
        const ATTRIBUTES_AT: usize = 32;
        const CHANGED: u32 = w::FILE_ATTRIBUTE_READONLY | w::FILE_ATTRIBUTE_ARCHIVE;
        let file = self.open(name, w::FILE_WRITE_ATTRIBUTES, nt::FILE_OPEN, 0)?;
        let basic = raw::info(file.as_handle(), nt::FileBasicInformation, BASIC_BYTES)?;
        let was = basic.u32_at(ATTRIBUTES_AT);
        if was & w::FILE_ATTRIBUTE_REPARSE_POINT != 0 {
            return Err(Errno::LOOP);
        }
        let mut attributes = was & !(CHANGED | w::FILE_ATTRIBUTE_NORMAL);
        if mode & 0o200 == 0 {
            attributes |= w::FILE_ATTRIBUTE_READONLY;
        }
        if mode & 0o004 != 0 {
            attributes |= w::FILE_ATTRIBUTE_ARCHIVE;
        }
        // None at all would mean: leave them.
        if attributes == 0 {
            attributes = w::FILE_ATTRIBUTE_NORMAL;
        }
        raw::set_attributes(file.as_handle(), attributes)
    }

    /// Makes a directory.
    pub(crate) fn make_dir(&self, name: &CStr) -> Result<()> {
        self.open(name, NAMING, nt::FILE_CREATE, DIR).map(drop)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, name: &CStr) -> Result<()> {
        let dir = self.open(name, w::DELETE, nt::FILE_OPEN, DIR)?;
        // Links to directories and mounts are directories to the system.
        match reparse_tag(dir.as_handle())?.is_some() {
            true => Err(Errno::NOTDIR),
            false => self.remove(dir.as_handle()),
        }
    }

    /// Removes a file, or a link to one.
    pub(crate) fn unlink(&self, name: &CStr) -> Result<()> {
        let file = self.open(name, w::DELETE, nt::FILE_OPEN, NO_DIR)?;
        self.remove(file.as_handle())
    }

    fn remove(&self, file: BorrowedHandle<'_>) -> Result<()> {
        by_both_ways(&self.volume.removes_plainly, |posix| {
            raw::remove(file, posix)
        })
    }

    /// Renames `from` in this directory to `to` in the other.
    pub(crate) fn rename(&self, from: &CStr, to_dir: &Self, to: &CStr) -> Result<()> {
        let file = self.open(from, w::DELETE, nt::FILE_OPEN, 0)?;
        let name = Wide::of(to)?;
        let wants_dir = &self.volume.wants_dir;
        let plainly = &self.volume.renames_plainly;
        if std::ptr::eq(self, to_dir) && !wants_dir.load(Ordering::Relaxed) {
            // File servers are asked so: their clients know no directory of the target.
            let renamed = by_both_ways(plainly, |posix| {
                raw::rename(file.as_handle(), None, &name, posix)
            });
            match renamed {
                Err(Errno::INVAL | Errno::NOENT | Errno::NOSYS) => {}
                other => return other,
            }
        }
        let dir = Some(to_dir.handle.as_handle());
        by_both_ways(plainly, |posix| {
            raw::rename(file.as_handle(), dir, &name, posix)
        })?;
        if std::ptr::eq(self, to_dir) {
            wants_dir.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Lists the directory to its end; the number of calls that returned entries or the
    /// end.
    pub(crate) fn list(&self, buffer: &mut Vec<u8>) -> Result<u32> {
        listing::count_calls(self.open_self(w::FILE_LIST_DIRECTORY)?.as_handle(), buffer)
    }

    /// The directory itself once more.
    fn open_self(&self, access: u32) -> Result<OwnedHandle> {
        let how = Open {
            access,
            disposition: nt::FILE_OPEN,
            options: DIR,
        };
        raw::open(self.handle.as_handle(), &Wide::SELF, how).map(|(handle, _)| handle)
    }

    /// Its names, `.` and `..` left out, part by part. Names may be removed meanwhile.
    pub(crate) fn names(&self) -> Result<Names> {
        self.open_self(w::FILE_LIST_DIRECTORY).map(Names::new)
    }

    /// A handle of a name that is only asked about.
    fn open_to_name(&self, name: &CStr) -> Result<OwnedHandle> {
        self.open(name, w::FILE_READ_ATTRIBUTES, nt::FILE_OPEN, 0)
    }

    /// The space of the file system that a file is on.
    pub(crate) fn space_at(&self, name: &CStr) -> Result<Space> {
        facts::space(self.open_to_name(name)?.as_handle())
    }

    /// The space of the directory's own file system.
    pub(crate) fn space(&self) -> Result<Space> {
        facts::space(self.handle.as_handle())
    }

    /// The longest name at a file. The longest path is that of the system.
    pub(crate) fn limits_at(&self, name: &CStr) -> Result<()> {
        let file = self.open_to_name(name)?;
        raw::volume_info(file.as_handle(), nt::FileFsAttributeInformation).map(drop)
    }

    /// What the system says about the volume: name, value.
    pub(crate) fn mount_facts(&self) -> Vec<(String, String)> {
        facts::of(self.handle.as_handle())
    }

    /// What transfers past the cache must be multiples of, in bytes: a sector.
    pub(crate) fn direct_unit(&self) -> u64 {
        facts::sector_bytes(self.handle.as_handle())
    }

    /// Writes out what the volume of the directory still has to write. Only an
    /// administrator may; others, and shares of a server, only have the directory written.
    pub(crate) fn sync_all(&self) -> Result<()> {
        match facts::flush_volume(self.handle.as_handle()) {
            Ok(()) => Ok(()),
            // No permission, or no local volume.
            Err(e @ (Errno::ACCES | Errno::PERM | Errno::NOSYS | Errno::INVAL | Errno::NOENT)) => {
                tracing::warn!(
                    reason = %e,
                    "the volume was not flushed: writes of INIT may continue in WARMUP; an \
                     administrator may flush local volumes"
                );
                // The directory's own entries, where the file system does that.
                match self.sync() {
                    Err(Errno::ACCES | Errno::PERM | Errno::NOSYS | Errno::INVAL) => Ok(()),
                    other => other,
                }
            }
            Err(e) => Err(e),
        }
    }

    /// Makes its entries stable.
    pub(crate) fn sync(&self) -> Result<()> {
        let dir = self.open_self(w::FILE_ADD_FILE | w::FILE_LIST_DIRECTORY)?;
        Ok(fs::File::from(dir).sync_all()?)
    }
}

/// As POSIX does it, or, where the file system does not (`plainly`), as Windows has always done.
fn by_both_ways(
    plainly: &AtomicBool,
    call: impl Fn(bool) -> std::result::Result<(), Option<Errno>>,
) -> Result<()> {
    if !plainly.load(Ordering::Relaxed) {
        match call(true) {
            Err(None) => {}
            Err(Some(e)) => return Err(e),
            Ok(()) => return Ok(()),
        }
    }
    call(false).map_err(|e| e.unwrap_or(Errno::INVAL))?;
    plainly.store(true, Ordering::Relaxed);
    Ok(())
}

/// A directory in another one, which is no reparse point.
fn open_child(parent: BorrowedHandle<'_>, name: &Wide) -> Result<OwnedHandle> {
    let how = Open {
        access: NAMING,
        disposition: nt::FILE_OPEN,
        options: DIR,
    };
    let (dir, _) = raw::open(parent, name, how)?;
    match reparse_tag(dir.as_handle())? {
        None => Ok(dir),
        // A junction, or a volume that is mounted here.
        Some(IO_REPARSE_TAG_MOUNT_POINT) => Err(Errno::XDEV),
        Some(_) => Err(Errno::NOTDIR),
    }
}

impl File {
    /// One read.
    #[inline]
    pub(crate) fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        Ok(self.0.seek_read(into, offset)?)
    }

    /// One write.
    #[inline]
    pub(crate) fn write_at(&self, from: &[u8], offset: u64) -> Result<usize> {
        Ok(self.0.seek_write(from, offset)?)
    }

    /// Makes contents and attributes stable (FlushFileBuffers).
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.0.sync_all()?)
    }

    /// There is no call for one file.
    pub(crate) fn uncache(&self) -> Result<()> {
        Err(Errno::NOSYS)
    }

    /// Its size, in bytes.
    pub(crate) fn size(&self) -> Result<u64> {
        const SIZE_AT: usize = 8;
        let answer = raw::info(self.0.as_handle(), nt::FileStandardInformation, 24)?;
        Ok(answer.u64_at(SIZE_AT))
    }

    /// Cuts or extends to a size.
    pub(crate) fn truncate(&self, size: u64) -> Result<()> {
        Ok(self.0.set_len(size)?)
    }

    /// Tries once to lock a range; false: another handle has a lock on it.
    pub(crate) fn try_lock(&self, offset: u64, length: u64, exclusive: bool) -> Result<bool> {
        match raw::lock(self.0.as_handle(), offset, length, exclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Gives a range free again.
    pub(crate) fn unlock(&self, offset: u64, length: u64) -> Result<()> {
        raw::unlock(self.0.as_handle(), offset, length)
    }
}

impl AsHandle for File {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.0.as_handle()
    }
}

/// There is no limit to raise.
pub(crate) fn raise_file_limit() -> Option<u64> {
    None
}

/// The numbers of devices are those of Linux.
pub(crate) fn device_numbers(_: u64) -> (u32, u32) {
    (0, 0)
}
/// The same.
pub(crate) fn device_at(_: &str) -> Option<u64> {
    None
}
