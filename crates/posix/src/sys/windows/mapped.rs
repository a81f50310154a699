//! Reading and writing through memory mappings. Every page is touched; a page that the
//! system cannot give makes the transfer fail with EIO, never the process.
//!
//! A mapping never extends a file: what is beyond its end fails with EIO before it is
//! mapped. While one exists, the system refuses to cut the file below it (on a share:
//! for this client only).
#![allow(unsafe_code)] // Mappings are raw memory; it never leaves this module as a reference.

use super::{File, fault, raw};
use crate::sys::{Errno, Result};
use std::os::windows::io::{AsHandle, AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::sync::OnceLock;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, FlushViewOfFile, MEMORY_MAPPED_VIEW_ADDRESS,
    MapViewOfFile, PAGE_READONLY, PAGE_READWRITE, UnmapViewOfFile,
};
use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

/// Size of a page of memory, and what a view begins at a multiple of, in bytes.
fn units() -> (usize, u64) {
    static UNITS: OnceLock<(usize, u64)> = OnceLock::new();
    *UNITS.get_or_init(|| {
        let mut info = SYSTEM_INFO::default();
        // SAFETY: the structure lives through the call.
        unsafe { GetSystemInfo(&raw mut info) };
        let page = info.dwPageSize.max(1) as usize;
        (page, info.dwAllocationGranularity.max(1).into())
    })
}

/// A part of a file in memory, shared with all processes of this host.
struct View {
    address: MEMORY_MAPPED_VIEW_ADDRESS,
    /// Where in it the part begins that was asked for.
    within: usize,
    len: usize,
}

impl View {
    /// The part of `length` bytes at `offset`.
    fn new(file: &File, offset: u64, length: usize, writing: bool) -> Result<Self> {
        if !fault::IS_AVAILABLE {
            return Err(Errno::NOSYS);
        }
        let end = offset.checked_add(length as u64).ok_or(Errno::INVAL)?;
        if end > file.size()? {
            return Err(Errno::IO);
        }
        let within = offset % units().1;
        let start = offset - within;
        let (protection, access) = match writing {
            true => (PAGE_READWRITE, FILE_MAP_WRITE),
            false => (PAGE_READONLY, FILE_MAP_READ),
        };
        let len = within as usize + length;
        let handle = file.as_handle().as_raw_handle();
        // SAFETY: the handle is open, and null and 0 stand for the defaults: no name, and
        // the size that the file has.
        let section = unsafe { CreateFileMappingW(handle, null(), protection, 0, 0, null()) };
        if section.is_null() {
            return Err(raw::last_error());
        }
        // SAFETY: the call has made it, and nothing else owns it. A view keeps it alive.
        let section = unsafe { OwnedHandle::from_raw_handle(section) };
        let (low, high) = (start as u32, (start >> 32) as u32);
        // SAFETY: the system chooses the place, so that nothing of ours is covered.
        let address = unsafe { MapViewOfFile(section.as_raw_handle(), access, high, low, len) };
        match address.Value.is_null() {
            true => Err(raw::last_error()),
            false => Ok(Self {
                address,
                within: within as usize,
                len,
            }),
        }
    }

    fn start(&self) -> *mut u8 {
        self.address.Value.cast()
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: it was mapped, and is unmapped once.
        unsafe { UnmapViewOfFile(self.address) };
    }
}

fn copied(done: bool) -> Result<()> {
    match done {
        true => Ok(()),
        false => Err(Errno::IO),
    }
}

/// Maps `length` bytes at `offset`, reads a byte of every page, and copies what is to
/// be copied: from where in these bytes, and to where.
pub(crate) fn read(
    file: &File,
    offset: u64,
    length: usize,
    (skip, copy): (usize, &mut [u8]),
) -> Result<()> {
    let view = View::new(file, offset, length, false)?;
    let page = units().0;
    let mut byte = 0;
    // The pages of what was asked for; the view may begin before it.
    for at in (view.within / page * page..view.len).step_by(page) {
        // SAFETY: in the view.
        copied(unsafe { fault::copy(&raw mut byte, view.start().add(at), 1) })?;
    }
    let skip = skip.min(length);
    let len = copy.len().min(length - skip);
    // SAFETY: `len` bytes from there are in the view, and `copy` is our own.
    copied(unsafe {
        let from = view.start().add(view.within + skip);
        fault::copy(copy.as_mut_ptr(), from, len)
    })
}

/// Maps the place of `data` at `offset` and copies it there; with `commit`, waits
/// until it is stable.
pub(crate) fn write(file: &File, offset: u64, data: &[u8], commit: bool) -> Result<()> {
    let view = View::new(file, offset, data.len(), true)?;
    // SAFETY: the view has `within` and `data.len()` bytes, and there is no reference
    // into it.
    copied(unsafe {
        let into = view.start().add(view.within);
        fault::copy(into, data.as_ptr(), data.len())
    })?;
    if !commit {
        return Ok(());
    }
    // SAFETY: the range is the view's.
    if unsafe { FlushViewOfFile(view.start().cast(), view.len) } == 0 {
        return Err(raw::last_error());
    }
    // That only starts the writes; this waits for them.
    file.sync()
}
