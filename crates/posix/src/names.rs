//! The names of a tree as bytes for system calls, and the other way round.
//! Nothing here takes from the heap.

use crate::sys::{Errno, Result};
use filermark_engine::file_action::{
    DIR_COUNT_MAX, DIR_DIGITS, FILE_DIGITS, FILES_PER_DIR_MAX, FileKind, FileRef,
};
use filermark_model::Bucket;
use std::ffi::CStr;

/// Digits of a bucket's number in its name.
const BUCKET_DIGITS: usize = 2;

/// A name with the NUL that system calls want.
#[derive(Clone, Copy)]
pub(crate) struct NameBuf {
    bytes: [u8; 24],
    len: u8,
}

impl NameBuf {
    const fn empty() -> Self {
        Self {
            bytes: [0; 24],
            len: 0,
        }
    }

    fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.len)] = byte;
        self.len += 1;
    }

    fn number(&mut self, letter: u8, number: u32, digits: usize) {
        self.push(letter);
        let from = usize::from(self.len);
        let mut rest = number;
        for slot in self.bytes[from..from + digits].iter_mut().rev() {
            *slot = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.len += digits as u8;
    }

    /// For system calls.
    pub(crate) fn as_c_str(&self) -> &CStr {
        // The buffer is longer than any name, so there is a NUL.
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }

    /// For people.
    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or("")
    }
}

/// `f0000012`.
pub(crate) fn file(file: FileRef) -> Result<NameBuf> {
    if file.file > FILES_PER_DIR_MAX {
        return Err(Errno::INVAL);
    }
    let mut name = NameBuf::empty();
    name.number(file.kind.letter(), file.file, FILE_DIGITS);
    Ok(name)
}

/// `d0003`.
pub(crate) fn dir(dir: u32) -> Result<NameBuf> {
    if dir > DIR_COUNT_MAX {
        return Err(Errno::INVAL);
    }
    let mut name = NameBuf::empty();
    name.number(b'd', dir, DIR_DIGITS);
    Ok(name)
}

/// `b07`.
pub(crate) fn bucket(bucket: Bucket) -> NameBuf {
    let mut name = NameBuf::empty();
    name.number(b'b', u32::from(bucket.number()), BUCKET_DIGITS);
    name
}

/// `d0003/b07`.
pub(crate) fn bucket_path(of: u32, in_bucket: Bucket) -> Result<NameBuf> {
    let mut path = dir(of)?;
    path.push(b'/');
    path.number(b'b', u32::from(in_bucket.number()), BUCKET_DIGITS);
    Ok(path)
}

/// Whether `name` is `letter` and so many digits.
fn is_numbered(name: &[u8], letter: u8, digits: usize) -> bool {
    matches!(name.split_first(), Some((first, rest))
        if *first == letter && rest.len() == digits && rest.iter().all(u8::is_ascii_digit))
}

/// Whether a name in a tree is a directory's of ours.
pub(crate) fn is_dir(name: &[u8]) -> bool {
    is_numbered(name, b'd', DIR_DIGITS)
}

/// Whether a name in a directory is a bucket's.
pub(crate) fn is_bucket(name: &[u8]) -> bool {
    is_numbered(name, b'b', BUCKET_DIGITS)
}

/// What a name in a bucket stands for, if it is ours.
pub(crate) fn kind_of(name: &[u8]) -> Option<FileKind> {
    FileKind::ALL
        .into_iter()
        .find(|kind| is_numbered(name, kind.letter(), FILE_DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_file(number: u32) -> FileRef {
        FileRef {
            dir: 3,
            bucket: Bucket::COPYFILE,
            kind: FileKind::Renamed,
            file: number,
        }
    }

    #[test]
    fn names_are_those_of_the_layout_and_are_known_again() {
        let name = file(a_file(12)).expect("name");
        assert_eq!(name.as_str(), "r0000012");
        assert_eq!(name.as_c_str(), c"r0000012");
        assert_eq!(kind_of(b"r0000012"), Some(FileKind::Renamed));
        let path = bucket_path(9_999, Bucket::COPYFILE).expect("path");
        assert_eq!(path.as_c_str(), c"d9999/b17");
        assert!(is_dir(dir(0).expect("dir").as_str().as_bytes()));
        assert!(is_bucket(bucket(Bucket::UNLINK).as_str().as_bytes()));
    }

    #[test]
    fn what_does_not_fit_and_what_is_foreign_is_refused() {
        assert!(file(a_file(FILES_PER_DIR_MAX + 1)).is_err());
        assert!(dir(DIR_COUNT_MAX + 1).is_err());
        for foreign in [
            "",
            "f",
            "f000001",
            "f00000012",
            "x0000001",
            "f000000a",
            "f-000001",
        ] {
            assert_eq!(kind_of(foreign.as_bytes()), None, "{foreign}");
        }
        assert!(!is_dir(b"d000") && !is_dir(b"d00000") && !is_bucket(b"b1"));
    }
}
