//! The names in a directory (GetFileInformationByHandleEx), in parts of the size that
//! those of Linux have.

use super::raw;
use crate::sys::Result;
use std::ffi::CString;
use std::os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle};

/// Buffer size of a listing, in bytes.
const LISTING_BYTES: usize = 32 << 10;

// Offsets of the members of FILE_FULL_DIR_INFO.
const NEXT_AT: usize = 0;
const NAME_BYTES_AT: usize = 60;
const NAME_AT: usize = 68;

/// The part of a buffer that a listing goes to; the system wants it aligned.
fn aligned(buffer: &mut Vec<u8>) -> &mut [u8] {
    const UNIT: usize = size_of::<u64>();
    buffer.resize(LISTING_BYTES + UNIT, 0);
    let from = buffer.as_ptr().align_offset(UNIT).min(UNIT);
    &mut buffer[from..from + LISTING_BYTES]
}

/// Lists an open directory to its end; the number of calls that returned entries or the
/// end.
pub(super) fn count_calls(dir: BorrowedHandle<'_>, buffer: &mut Vec<u8>) -> Result<u32> {
    let part = aligned(buffer);
    let mut calls = 1;
    while raw::list(dir, part)? {
        calls += 1;
    }
    Ok(calls)
}

/// The names in a directory, being listed.
#[derive(Debug)]
pub struct Names {
    dir: OwnedHandle,
    buffer: Vec<u8>,
    /// Where the next entry is; `None`: the system has to be asked.
    at: Option<usize>,
}

impl Names {
    pub(super) fn new(dir: OwnedHandle) -> Self {
        Self {
            dir,
            buffer: Vec::new(),
            at: None,
        }
    }

    /// So many of them at most; none: there are no more.
    pub(crate) fn part(&mut self, count: usize) -> Result<Vec<CString>> {
        let mut names = Vec::new();
        while names.len() < count
            && let Some(name) = self.next()?
        {
            if name != "." && name != ".." {
                names.extend(CString::new(name));
            }
        }
        Ok(names)
    }

    /// What is no UTF-16 in a name is replaced: such a name is not one of ours.
    fn next(&mut self) -> Result<Option<String>> {
        let bytes = aligned(&mut self.buffer);
        let at = match self.at {
            Some(at) => at,
            None if raw::list(self.dir.as_handle(), bytes)? => 0,
            None => return Ok(None),
        };
        let next = u32_at(bytes, at + NEXT_AT) as usize;
        self.at = (next > 0).then(|| at.saturating_add(next));
        let len = u32_at(bytes, at + NAME_BYTES_AT) as usize;
        let name = bytes.get(at + NAME_AT..(at + NAME_AT).saturating_add(len));
        let units = name.unwrap_or_default().chunks_exact(2);
        let units: Vec<u16> = units.map(|u| u16::from_le_bytes([u[0], u[1]])).collect();
        Ok(Some(String::from_utf16_lossy(&units)))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at.saturating_add(4));
    found.map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}
