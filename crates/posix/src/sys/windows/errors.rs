//! Errors of Windows as error numbers. The numbers and the words are those of the C
//! library, so that a record has the same names on all systems; an error without one
//! keeps its number and the words of the system.

use crate::sys::Errno;
use std::io::ErrorKind;
use windows_sys::Win32::Foundation as w;

/// Marks the number of an error of Windows that has no name here.
pub(crate) const FOREIGN: u32 = 0x4000_0000;

/// The C library's numbers, and two that it does not have (from 1001 on).
pub(crate) mod numbers {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const EINTR: i32 = 4;
    pub(crate) const EIO: i32 = 5;
    pub(crate) const ENXIO: i32 = 6;
    pub(crate) const EAGAIN: i32 = 11;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EACCES: i32 = 13;
    pub(crate) const EBUSY: i32 = 16;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const EXDEV: i32 = 18;
    pub(crate) const ENODEV: i32 = 19;
    pub(crate) const ENOTDIR: i32 = 20;
    pub(crate) const EISDIR: i32 = 21;
    pub(crate) const EINVAL: i32 = 22;
    pub(crate) const ENFILE: i32 = 23;
    pub(crate) const EMFILE: i32 = 24;
    pub(crate) const EFBIG: i32 = 27;
    pub(crate) const ENOSPC: i32 = 28;
    pub(crate) const EROFS: i32 = 30;
    pub(crate) const EMLINK: i32 = 31;
    pub(crate) const EPIPE: i32 = 32;
    pub(crate) const ENAMETOOLONG: i32 = 38;
    pub(crate) const ENOLCK: i32 = 39;
    pub(crate) const ENOSYS: i32 = 40;
    pub(crate) const ENOTEMPTY: i32 = 41;
    pub(crate) const ECANCELED: i32 = 105;
    pub(crate) const ELOOP: i32 = 114;
    pub(crate) const ENOTCONN: i32 = 126;
    pub(crate) const ETIMEDOUT: i32 = 138;
    pub(crate) const ESTALE: i32 = 1001;
    pub(crate) const EDQUOT: i32 = 1002;
}

/// A number, its name and words, and the errors of Windows that have it.
struct Row {
    number: i32,
    name: &'static str,
    words: &'static str,
    codes: &'static [u32],
}

macro_rules! rows {
    ($($name:ident, $words:literal: $($code:ident)*;)*) => {
        &[$(Row {
            number: numbers::$name,
            name: stringify!($name),
            words: $words,
            codes: &[$(w::$code),*],
        }),*]
    };
}

#[rustfmt::skip]
const ROWS: &[Row] = rows! {
    EPERM, "operation not permitted": ERROR_PRIVILEGE_NOT_HELD;
    ENOENT, "no such file or directory": ERROR_FILE_NOT_FOUND ERROR_PATH_NOT_FOUND
        ERROR_BAD_NETPATH ERROR_BAD_NET_NAME ERROR_INVALID_DRIVE ERROR_DELETE_PENDING;
    EINTR, "interrupted system call":;
    EIO, "input/output error": ERROR_CRC ERROR_SEEK ERROR_WRITE_FAULT ERROR_READ_FAULT
        ERROR_GEN_FAILURE ERROR_IO_DEVICE ERROR_FILE_CORRUPT ERROR_DISK_CORRUPT
        ERROR_HANDLE_EOF;
    ENXIO, "no such device or address": ERROR_NOT_READY ERROR_NO_MEDIA_IN_DRIVE;
    EAGAIN, "resource temporarily unavailable": ERROR_LOCK_VIOLATION ERROR_IO_PENDING;
    ENOMEM, "out of memory": ERROR_NOT_ENOUGH_MEMORY ERROR_OUTOFMEMORY
        ERROR_NO_SYSTEM_RESOURCES ERROR_COMMITMENT_LIMIT ERROR_WORKING_SET_QUOTA
        ERROR_NOT_ENOUGH_QUOTA;
    EACCES, "permission denied": ERROR_ACCESS_DENIED ERROR_NETWORK_ACCESS_DENIED
        ERROR_LOGON_FAILURE ERROR_INVALID_PASSWORD;
    EBUSY, "device or resource busy": ERROR_SHARING_VIOLATION ERROR_USER_MAPPED_FILE
        ERROR_BUSY ERROR_PIPE_BUSY ERROR_CURRENT_DIRECTORY;
    EEXIST, "file exists": ERROR_FILE_EXISTS ERROR_ALREADY_EXISTS;
    EXDEV, "a link to or a mount of another directory": ERROR_NOT_SAME_DEVICE;
    ENODEV, "no such device": ERROR_BAD_UNIT ERROR_DEV_NOT_EXIST;
    ENOTDIR, "not a directory": ERROR_DIRECTORY;
    EISDIR, "is a directory": ERROR_DIRECTORY_NOT_SUPPORTED;
    EINVAL, "invalid argument": ERROR_INVALID_PARAMETER ERROR_INVALID_NAME
        ERROR_BAD_PATHNAME ERROR_NEGATIVE_SEEK ERROR_INVALID_ADDRESS
        ERROR_OFFSET_ALIGNMENT_VIOLATION;
    ENFILE, "too many open files in system": ERROR_NO_MORE_SEARCH_HANDLES;
    EMFILE, "too many open files": ERROR_TOO_MANY_OPEN_FILES;
    EFBIG, "file too large": ERROR_FILE_TOO_LARGE;
    ENOSPC, "no space left on device": ERROR_DISK_FULL ERROR_HANDLE_DISK_FULL;
    EROFS, "read-only file system": ERROR_WRITE_PROTECT;
    EMLINK, "too many links": ERROR_TOO_MANY_LINKS;
    EPIPE, "broken pipe": ERROR_BROKEN_PIPE ERROR_NO_DATA ERROR_PIPE_NOT_CONNECTED;
    ENAMETOOLONG, "file name too long": ERROR_FILENAME_EXCED_RANGE;
    ENOLCK, "no locks available": ERROR_SHARING_BUFFER_EXCEEDED;
    ENOSYS, "function not implemented": ERROR_INVALID_FUNCTION ERROR_NOT_SUPPORTED
        ERROR_CALL_NOT_IMPLEMENTED;
    ENOTEMPTY, "directory not empty": ERROR_DIR_NOT_EMPTY;
    ECANCELED, "operation canceled": ERROR_OPERATION_ABORTED ERROR_CANCELLED;
    ELOOP, "a link or another reparse point": ERROR_CANT_RESOLVE_FILENAME
        ERROR_STOPPED_ON_SYMLINK ERROR_REPARSE_TAG_INVALID;
    ENOTCONN, "the file server or its connection is gone": ERROR_NETNAME_DELETED
        ERROR_UNEXP_NET_ERR ERROR_REM_NOT_LIST ERROR_ADAP_HDW_ERR ERROR_NOT_CONNECTED
        ERROR_DEVICE_NOT_CONNECTED ERROR_NETWORK_UNREACHABLE ERROR_HOST_UNREACHABLE
        ERROR_CONNECTION_ABORTED ERROR_NO_NETWORK ERROR_BAD_NET_RESP;
    ETIMEDOUT, "connection timed out": ERROR_SEM_TIMEOUT ERROR_TIMEOUT WAIT_TIMEOUT;
    ESTALE, "stale file handle": ERROR_FILE_INVALID ERROR_INVALID_HANDLE;
    EDQUOT, "disk quota exceeded": ERROR_DISK_QUOTA_EXCEEDED;
};

/// States of the kernel that its translation into errors of Windows makes unclear: both
/// become "access denied".
const STATES: [(w::NTSTATUS, Errno); 2] = [
    (w::STATUS_FILE_IS_A_DIRECTORY, Errno::ISDIR),
    // Its name is gone as soon as the last one closes it.
    (w::STATUS_DELETE_PENDING, Errno::NOENT),
];

/// The number of an error of Windows (GetLastError).
pub(super) fn of_code(code: u32) -> Errno {
    let row = ROWS.iter().find(|row| row.codes.contains(&code));
    row.map_or(Errno(FOREIGN | code & !FOREIGN), |row| {
        Errno(row.number as u32)
    })
}

/// The number of a state of the kernel; `translate` gives the error of Windows for it.
pub(super) fn of_status(status: w::NTSTATUS, translate: impl Fn(w::NTSTATUS) -> u32) -> Errno {
    let known = STATES.iter().find(|(state, _)| *state == status);
    known.map_or_else(|| of_code(translate(status)), |(_, errno)| *errno)
}

impl From<std::io::Error> for Errno {
    fn from(e: std::io::Error) -> Self {
        if let Some(code) = e.raw_os_error() {
            return of_code(code as u32);
        }
        match e.kind() {
            ErrorKind::NotFound => Self::NOENT,
            ErrorKind::PermissionDenied => Self::ACCES,
            ErrorKind::InvalidInput => Self::INVAL,
            ErrorKind::Unsupported => Self::NOSYS,
            ErrorKind::BrokenPipe => Self::PIPE,
            ErrorKind::TimedOut => Self::TIMEDOUT,
            _ => Self::IO,
        }
    }
}

/// The words for an error number.
pub(crate) fn message_of(number: i32) -> String {
    if let Some(row) = ROWS.iter().find(|row| row.number == number) {
        return row.words.to_owned();
    }
    let code = number as u32 & !FOREIGN;
    std::io::Error::from_raw_os_error(code as i32).to_string()
}

/// The name of an error number.
pub(crate) fn name_of(number: i32) -> Option<&'static str> {
    let row = ROWS.iter().find(|row| row.number == number)?;
    Some(row.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_windows_have_the_numbers_of_their_meaning() {
        for (code, errno) in [
            (2, Errno::NOENT),
            (3, Errno::NOENT),
            (5, Errno::ACCES),
            (17, Errno::XDEV),
            (19, Errno::ROFS),
            (32, Errno::BUSY),
            (33, Errno::AGAIN),
            (80, Errno::EXIST),
            (183, Errno::EXIST),
            (112, Errno::NOSPC),
            (145, Errno::NOTEMPTY),
            (267, Errno::NOTDIR),
            (87, Errno::INVAL),
            (64, Errno::NOTCONN),
            (1295, Errno::DQUOT),
        ] {
            assert_eq!(of_code(code), errno, "{code}");
        }
    }

    #[test]
    fn an_error_without_a_name_keeps_its_number() {
        let errno = of_code(4_319);
        let text = errno.to_string();
        assert!(text.starts_with("error 4319: "), "{text}");
    }

    #[test]
    fn no_error_has_two_numbers() {
        let mut codes: Vec<u32> = ROWS.iter().flat_map(|row| row.codes).copied().collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }

    #[test]
    fn states_that_windows_merges_have_different_numbers() {
        let denied = |_| w::ERROR_ACCESS_DENIED;
        assert_eq!(
            of_status(w::STATUS_FILE_IS_A_DIRECTORY, denied),
            Errno::ISDIR
        );
        assert_eq!(of_status(w::STATUS_DELETE_PENDING, denied), Errno::NOENT);
        assert_eq!(of_status(w::STATUS_ACCESS_DENIED, denied), Errno::ACCES);
    }
}
