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

/// The eight decimal digits of a number below 10^8 as characters, in a word whose lowest byte comes
/// first. Pairs of parts are divided at once: by 10,000, by 100, by 10.
#[inline]
const fn digits8(number: u32) -> u64 {
    let number = number as u64;
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 5_243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    ones + 0x3030_3030_3030_3030
}

/// A letter and up to seven digits, as a word whose lowest byte comes first.
#[inline]
const fn numbered(letter: u8, number: u32, digits: usize) -> u64 {
    ((digits8(number) >> (8 * (7 - digits))) & !0xff) | letter as u64
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
    fn digits_are_those_of_the_number() {
        let few = 0..20_000;
        let many = (20_000..100_000_000).step_by(997);
        for number in few.chain(many).chain([FILES_PER_DIR_MAX, 99_999_999]) {
            let text = format!("{number:08}");
            assert_eq!(digits8(number).to_le_bytes(), text.as_bytes());
        }
        assert_eq!(numbered(b'b', 7, 2).to_le_bytes()[..3], *b"b07");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(file(a_file(FILES_PER_DIR_MAX + 1)).is_err());
        assert!(dir(DIR_COUNT_MAX + 1).is_err());
    }
}
