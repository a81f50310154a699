//! The names of a tree as bytes for system calls.
//! Nothing here takes from the heap.

use crate::sys::{Errno, Result};
use filermark_engine::file_action::{
    DIR_COUNT_MAX, DIR_DIGITS, FILE_DIGITS, FILES_PER_DIR_MAX, FileRef,
};
use filermark_model::Bucket;
use std::ffi::CStr;

/// Digits of a bucket's number in its name.
const BUCKET_DIGITS: usize = 2;

/// A name with the NUL that system calls want.
///
/// Made as one word and stored at once: the kernel reads it a word at a time right
/// away, and would have to wait for single bytes.
#[derive(Clone, Copy)]
pub(crate) struct NameBuf {
    bytes: [u8; 16],
    len: u8,
}

/// A letter and up to seven digits, as a word whose lowest byte comes first.
#[inline]
const fn numbered(letter: u8, number: u32, digits: usize) -> u64 {
    let mut word = 0;
    let mut rest = number;
    let mut at = digits;
    while at > 0 {
        word |= ((b'0' + (rest % 10) as u8) as u64) << (8 * at);
        rest /= 10;
        at -= 1;
    }
    word | letter as u64
}

impl NameBuf {
    #[inline]
    fn new(low: u64, high: u64, len: usize) -> Self {
        let word = u128::from(low) | u128::from(high) << 64;
        Self {
            bytes: word.to_le_bytes(),
            len: len as u8,
        }
    }

    /// For system calls.
    #[inline]
    pub(crate) fn as_c_str(&self) -> &CStr {
        // No name fills the buffer, so there is a NUL behind it.
        let bytes = self.bytes.get(..=usize::from(self.len));
        bytes
            .and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok())
            .unwrap_or(c"")
    }

    /// For people.
    pub(crate) fn as_str(&self) -> &str {
        self.as_c_str().to_str().unwrap_or("")
    }
}

/// `f0000012`.
#[inline]
pub(crate) fn file(file: FileRef) -> Result<NameBuf> {
    if file.file > FILES_PER_DIR_MAX {
        return Err(Errno::INVAL);
    }
    let word = numbered(file.kind.letter(), file.file, FILE_DIGITS);
    Ok(NameBuf::new(word, 0, 1 + FILE_DIGITS))
}

/// `d0003`.
pub(crate) fn dir(dir: u32) -> Result<NameBuf> {
    if dir > DIR_COUNT_MAX {
        return Err(Errno::INVAL);
    }
    let word = numbered(b'd', dir, DIR_DIGITS);
    Ok(NameBuf::new(word, 0, 1 + DIR_DIGITS))
}

/// `b07`.
pub(crate) fn bucket(bucket: Bucket) -> NameBuf {
    let word = numbered(b'b', u32::from(bucket.number()), BUCKET_DIGITS);
    NameBuf::new(word, 0, 1 + BUCKET_DIGITS)
}

/// `d0003/b07`.
pub(crate) fn bucket_path(of: u32, in_bucket: Bucket) -> Result<NameBuf> {
    let mut path = dir(of)?;
    let bucket = bucket(in_bucket);
    for byte in b"/".iter().chain(bucket.as_str().as_bytes()) {
        path.bytes[usize::from(path.len)] = *byte;
        path.len += 1;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use filermark_engine::file_action::FileKind;

    fn a_file(number: u32) -> FileRef {
        FileRef {
            dir: 3,
            bucket: Bucket::COPYFILE,
            kind: FileKind::Renamed,
            file: number,
        }
    }

    #[test]
    fn names_are_those_of_the_layout() {
        let name = file(a_file(12)).expect("name");
        assert_eq!(name.as_str(), "r0000012");
        assert_eq!(name.as_c_str(), c"r0000012");
        let longest = file(a_file(FILES_PER_DIR_MAX)).expect("name");
        assert_eq!(longest.as_c_str(), c"r9999999");
        let path = bucket_path(9_999, Bucket::COPYFILE).expect("path");
        assert_eq!(path.as_c_str(), c"d9999/b17");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(file(a_file(FILES_PER_DIR_MAX + 1)).is_err());
        assert!(dir(DIR_COUNT_MAX + 1).is_err());
    }
}
