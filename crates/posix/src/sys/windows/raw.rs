//! Calls of Windows that no crate wraps safely. Each takes plain values and a borrowed
//! handle; none keeps a pointer beyond the call. Names are relative to the handle of a
//! directory, as those of `openat` are, which the kernel's own calls (ntdll) can do and
//! those above them cannot.
#![allow(unsafe_code)] // The calls themselves; nothing else is in here.

use super::errors;
use super::wide::Wide;
use crate::sys::{Errno, Result};
use std::os::windows::io::{AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::time::Duration;
use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, ERROR_IO_PENDING, ERROR_NO_MORE_FILES, GetLastError, HANDLE, NTSTATUS,
    RtlNtStatusToDosError, UNICODE_STRING, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::{
    CancelIoEx, GetOverlappedResult, IO_STATUS_BLOCK, OVERLAPPED,
};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::{CreateEventW, WaitForSingleObject};

/// Bytes of an answer: a structure, and the longest name behind it.
const ANSWER_BYTES: usize = 576;

/// What the kernel says where a file was not there (FILE_CREATED).
const CREATED: usize = 2;

/// How a name is opened.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// Rights (FILE_...).
    pub access: u32,
    /// Whether it must or must not be there (FILE_OPEN, FILE_CREATE, FILE_OPEN_IF).
    pub disposition: u32,
    /// FILE_DIRECTORY_FILE and so on, beside those that are always set.
    pub options: u32,
}

/// Every handle is synchronous, and names what is there, not what that points to.
const ALWAYS: u32 = nt::FILE_SYNCHRONOUS_IO_NONALERT | nt::FILE_OPEN_REPARSE_POINT;
const SHARE_ALL: u32 = fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE;

fn failed(status: NTSTATUS) -> Errno {
    // SAFETY: a plain number.
    errors::of_status(status, |status| unsafe { RtlNtStatusToDosError(status) })
}

fn checked(status: NTSTATUS) -> Result<()> {
    match status {
        0.. => Ok(()),
        failure => Err(failed(failure)),
    }
}

pub(super) fn last_error() -> Errno {
    // SAFETY: it has no arguments.
    errors::of_code(unsafe { GetLastError() })
}

fn raw(handle: BorrowedHandle<'_>) -> HANDLE {
    handle.as_raw_handle()
}

/// Calls with a name in a directory, as the kernel's calls take it.
fn with_name<T>(
    dir: BorrowedHandle<'_>,
    name: &Wide,
    call: impl FnOnce(*const OBJECT_ATTRIBUTES) -> T,
) -> T {
    let units = name.units();
    let bytes = size_of_val(units) as u16;
    let text = UNICODE_STRING {
        Length: bytes,
        MaximumLength: bytes,
        Buffer: units.as_ptr().cast_mut(),
    };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: raw(dir),
        ObjectName: &raw const text,
        // Names are exact.
        Attributes: 0,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    call(&raw const attributes)
}

/// Opens or makes a name in a directory; an empty one is the directory itself. Also
/// whether it was made.
pub(super) fn open(dir: BorrowedHandle<'_>, name: &Wide, how: Open) -> Result<(OwnedHandle, bool)> {
    let mut handle: HANDLE = null_mut();
    let mut answer = IO_STATUS_BLOCK::default();
    let access = how.access | fs::SYNCHRONIZE | fs::FILE_READ_ATTRIBUTES;
    // SAFETY: all structures live through the call, and the handle of the directory is
    // open; what is null may be.
    let status = with_name(dir, name, |attributes| unsafe {
        nt::NtCreateFile(
            &raw mut handle,
            access,
            attributes,
            &raw mut answer,
            null(),
            fs::FILE_ATTRIBUTE_NORMAL,
            SHARE_ALL,
            how.disposition,
            how.options | ALWAYS,
            null(),
            0,
        )
    });
    checked(status)?;
    // SAFETY: the call has opened it, and nothing else owns it.
    let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
    Ok((handle, answer.Information == CREATED))
}

/// A structure that the system has filled in, read by the offsets of its members.
pub(super) struct Answer([u64; ANSWER_BYTES / 8]);

impl Answer {
    const EMPTY: Self = Self([0; ANSWER_BYTES / 8]);

    /// The member of eight bytes at an offset.
    pub(super) fn u64_at(&self, at: usize) -> u64 {
        self.0.get(at / 8).copied().unwrap_or(0)
    }

    /// The member of four bytes at an offset.
    pub(super) fn u32_at(&self, at: usize) -> u32 {
        (self.u64_at(at) >> (at % 8 * 8)) as u32
    }

    /// The text of so many bytes at an offset.
    pub(super) fn text_at(&self, at: usize, bytes: u32) -> String {
        let end = (at + bytes as usize).min(ANSWER_BYTES);
        let unit = |at: usize| (self.u64_at(at) >> (at % 8 * 8)) as u16;
        let units: Vec<u16> = (at..end).step_by(2).map(unit).collect();
        String::from_utf16_lossy(&units)
    }
}

/// What is known of an open file (FILE_INFORMATION_CLASS).
pub(super) fn info(
    file: BorrowedHandle<'_>,
    class: nt::FILE_INFORMATION_CLASS,
    bytes: usize,
) -> Result<Answer> {
    let mut answer = Answer::EMPTY;
    let mut block = IO_STATUS_BLOCK::default();
    let bytes = bytes.min(ANSWER_BYTES) as u32;
    let into = (&raw mut answer.0).cast();
    // SAFETY: the answer has so many bytes.
    let status =
        unsafe { nt::NtQueryInformationFile(raw(file), &raw mut block, into, bytes, class) };
    checked(status).map(|()| answer)
}

/// What is known of the volume of an open file (FS_INFORMATION_CLASS).
pub(super) fn volume_info(
    file: BorrowedHandle<'_>,
    class: nt::FS_INFORMATION_CLASS,
) -> Result<Answer> {
    let mut answer = Answer::EMPTY;
    let mut block = IO_STATUS_BLOCK::default();
    let (into, bytes) = ((&raw mut answer.0).cast(), ANSWER_BYTES as u32);
    // SAFETY: the answer has so many bytes.
    let status =
        unsafe { nt::NtQueryVolumeInformationFile(raw(file), &raw mut block, into, bytes, class) };
    checked(status).map(|()| answer)
}

/// Changes something of an open file. `Err(None)`: the file system does not know the
/// class.
fn set_info(
    file: BorrowedHandle<'_>,
    class: nt::FILE_INFORMATION_CLASS,
    value: &Answer,
    bytes: usize,
) -> std::result::Result<(), Option<Errno>> {
    use windows_sys::Win32::Foundation as w;
    let mut block = IO_STATUS_BLOCK::default();
    let bytes = bytes.min(ANSWER_BYTES) as u32;
    let from = (&raw const value.0).cast();
    // SAFETY: the value has so many bytes, and is only read.
    let status = unsafe { nt::NtSetInformationFile(raw(file), &raw mut block, from, bytes, class) };
    match status {
        w::STATUS_INVALID_INFO_CLASS
        | w::STATUS_INVALID_PARAMETER
        | w::STATUS_NOT_SUPPORTED
        | w::STATUS_NOT_IMPLEMENTED
        | w::STATUS_INVALID_DEVICE_REQUEST => Err(None),
        status => checked(status).map_err(Some),
    }
}

/// Removes the name that a file was opened by, with rights to DELETE: at once if
/// `posix`, also where others have it open; otherwise when the last of them closes it.
pub(super) fn remove(
    file: BorrowedHandle<'_>,
    posix: bool,
) -> std::result::Result<(), Option<Errno>> {
    let flags = nt::FILE_DISPOSITION_DELETE
        | nt::FILE_DISPOSITION_POSIX_SEMANTICS
        | nt::FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE;
    let mut value = Answer::EMPTY;
    if posix {
        value.0[0] = flags.into();
        return set_info(file, nt::FileDispositionInformationEx, &value, 4);
    }
    value.0[0] = 1;
    set_info(file, nt::FileDispositionInformation, &value, 1)
}

/// Renames a file that was opened with rights to DELETE; a file of the new name gives
/// way. The name is in `dir`; `None`: in the directory that the file is in.
pub(super) fn rename(
    file: BorrowedHandle<'_>,
    dir: Option<BorrowedHandle<'_>>,
    name: &Wide,
    posix: bool,
) -> std::result::Result<(), Option<Errno>> {
    const NAME_AT: usize = 20;
    let mut value = Answer::EMPTY;
    let flags = nt::FILE_RENAME_REPLACE_IF_EXISTS
        | nt::FILE_RENAME_POSIX_SEMANTICS
        | nt::FILE_RENAME_IGNORE_READONLY_ATTRIBUTE;
    value.0[0] = if posix { flags.into() } else { 1 };
    value.0[1] = dir.map_or(0, |dir| raw(dir) as u64);
    let units = name.units();
    value.0[2] = size_of_val(units) as u64;
    for (unit, at) in units.iter().zip((NAME_AT..).step_by(2)) {
        value.0[at / 8] |= u64::from(*unit) << (at % 8 * 8);
    }
    let class = match posix {
        true => nt::FileRenameInformationEx,
        false => nt::FileRenameInformation,
    };
    // The system wants the whole structure, however short the name is.
    let bytes = (NAME_AT + size_of_val(units)).max(size_of::<nt::FILE_RENAME_INFORMATION>());
    set_info(file, class, &value, bytes)
}

/// Sets the attributes of an open file; its times stay.
pub(super) fn set_attributes(file: BorrowedHandle<'_>, attributes: u32) -> Result<()> {
    let mut value = Answer::EMPTY;
    value.0[4] = attributes.into();
    let bytes = size_of::<nt::FILE_BASIC_INFORMATION>();
    set_info(file, nt::FileBasicInformation, &value, bytes).map_err(|e| e.unwrap_or(Errno::NOSYS))
}

/// The next entries of a directory, as FILE_FULL_DIR_INFO; false: there are no more. The
/// buffer begins at a multiple of 8.
pub(super) fn list(dir: BorrowedHandle<'_>, into: &mut [u8]) -> Result<bool> {
    let bytes = u32::try_from(into.len()).unwrap_or(u32::MAX);
    let buffer = into.as_mut_ptr();
    if !buffer.addr().is_multiple_of(8) {
        return Err(Errno::INVAL);
    }
    let class = fs::FileFullDirectoryInfo;
    // SAFETY: the buffer has so many bytes, and the alignment of the structure.
    let done = unsafe { fs::GetFileInformationByHandleEx(raw(dir), class, buffer.cast(), bytes) };
    if done != 0 {
        return Ok(true);
    }
    // SAFETY: it has no arguments.
    match unsafe { GetLastError() } {
        // The second: a root directory in which nothing is, at the first call.
        ERROR_NO_MORE_FILES | ERROR_FILE_NOT_FOUND => Ok(false),
        code => Err(errors::of_code(code)),
    }
}

/// Locks a range without waiting; locks belong to the handle.
pub(super) fn lock(
    file: BorrowedHandle<'_>,
    offset: u64,
    length: u64,
    exclusive: bool,
) -> Result<()> {
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.Offset = offset as u32;
    place.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
    let flags = match exclusive {
        true => fs::LOCKFILE_FAIL_IMMEDIATELY | fs::LOCKFILE_EXCLUSIVE_LOCK,
        false => fs::LOCKFILE_FAIL_IMMEDIATELY,
    };
    let (low, high) = (length as u32, (length >> 32) as u32);
    // SAFETY: the handle is synchronous, so that `place` is only used in the call.
    match unsafe { fs::LockFileEx(raw(file), flags, 0, low, high, &raw mut place) } {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// Gives a range free that was locked by [`lock`].
pub(super) fn unlock(file: BorrowedHandle<'_>, offset: u64, length: u64) -> Result<()> {
    let parts = |n: u64| (n as u32, (n >> 32) as u32);
    let ((low, high), (count_low, count_high)) = (parts(offset), parts(length));
    // SAFETY: plain numbers and an open handle.
    match unsafe { fs::UnlockFile(raw(file), low, high, count_low, count_high) } {
        0 => Err(last_error()),
        _ => Ok(()),
    }
}

/// The whole path of an open file, links resolved, in one of the forms of the system
/// (VOLUME_NAME_...).
pub(super) fn path_of(file: BorrowedHandle<'_>, form: u32) -> Result<Vec<u16>> {
    /// The longest path of the system.
    const UNITS_MAX: usize = 32_768;
    let mut path = vec![0; UNITS_MAX];
    let (into, capacity) = (path.as_mut_ptr(), UNITS_MAX as u32);
    // SAFETY: the vector has so many units.
    match unsafe { fs::GetFinalPathNameByHandleW(raw(file), into, capacity, form) } as usize {
        0 => Err(last_error()),
        count if count < UNITS_MAX => {
            path.truncate(count);
            Ok(path)
        }
        _ => Err(Errno::INVAL),
    }
}

/// Where the volume of a path is mounted: a drive, a directory or a share.
pub(super) fn volume_of(path: &[u16]) -> Result<Vec<u16>> {
    let path: Vec<u16> = path.iter().copied().chain([0]).collect();
    let mut place = vec![0; path.len() + 2];
    let (into, capacity) = (place.as_mut_ptr(), place.len() as u32);
    // SAFETY: the path ends with a 0, and the vector has so many units.
    if unsafe { fs::GetVolumePathNameW(path.as_ptr(), into, capacity) } == 0 {
        return Err(last_error());
    }
    let end = place.iter().position(|unit| *unit == 0);
    place.truncate(end.unwrap_or(place.len()));
    Ok(place)
}

/// A write that the system works on. Dropped, it has ended: the system does not use `place` and
/// the bytes any more.
struct PendingWrite<'a> {
    pipe: BorrowedHandle<'a>,
    /// A pointer, since the system writes there.
    place: *const OVERLAPPED,
}

impl PendingWrite<'_> {
    fn cancel(&self) {
        // SAFETY: `place` lives longer than this. That the write has ended already is no error.
        unsafe { CancelIoEx(raw(self.pipe), self.place) };
    }

    /// Waits for its end, and returns how many bytes were written.
    fn end(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: `place` lives longer than this, `count` through the call.
        match unsafe { GetOverlappedResult(raw(self.pipe), self.place, &raw mut count, 1) } {
            0 => Err(last_error()),
            _ => Ok(count as usize),
        }
    }
}

impl Drop for PendingWrite<'_> {
    fn drop(&mut self) {
        self.cancel();
        let _ = self.end();
    }
}

/// Writes to an asynchronous pipe, and asks `may_wait` every `interval` while it does not take
/// the bytes. Returns how many it took; fewer than all, or ECANCELED: the wait was given up.
pub(super) fn write_async(
    pipe: BorrowedHandle<'_>,
    bytes: &[u8],
    interval: Duration,
    may_wait: impl Fn() -> bool,
) -> Result<usize> {
    let len = u32::try_from(bytes.len()).map_err(|_| Errno::INVAL)?;
    // Below INFINITE.
    let pause_ms = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
    let pause_ms = pause_ms.min(u32::MAX - 1);
    // SAFETY: null pointers mean no attributes and no name; the event is reset by hand.
    let event = unsafe { CreateEventW(null(), 1, 0, null()) };
    if event.is_null() {
        return Err(last_error());
    }
    // SAFETY: the call has made it, and nothing else owns it.
    let event = unsafe { OwnedHandle::from_raw_handle(event) };
    let mut place = OVERLAPPED {
        hEvent: event.as_raw_handle(),
        ..OVERLAPPED::default()
    };
    let at = &raw mut place;
    // SAFETY: the bytes and `place` live until the write has ended, which `PendingWrite` waits
    // for before they go.
    let done = unsafe { fs::WriteFile(raw(pipe), bytes.as_ptr(), len, null_mut(), at) };
    // SAFETY: it has no arguments.
    let code = unsafe { GetLastError() };
    if done == 0 && code != ERROR_IO_PENDING {
        return Err(errors::of_code(code));
    }
    let write = PendingWrite { pipe, place: at };
    loop {
        // SAFETY: the event is open.
        match unsafe { WaitForSingleObject(event.as_raw_handle(), pause_ms) } {
            WAIT_OBJECT_0 => break,
            WAIT_TIMEOUT if may_wait() => {}
            _ => {
                write.cancel();
                break;
            }
        }
    }
    write.end()
}

/// Whether a pipe has something to read, or has ended.
pub(super) fn has_input(pipe: BorrowedHandle<'_>) -> Result<bool> {
    let mut count = 0;
    // SAFETY: nothing is read, so that there need be no buffer.
    let done = unsafe {
        PeekNamedPipe(
            raw(pipe),
            null_mut(),
            0,
            null_mut(),
            &raw mut count,
            null_mut(),
        )
    };
    match done {
        0 if last_error() == Errno::PIPE => Ok(true),
        0 => Err(last_error()),
        _ => Ok(count > 0),
    }
}
