//! Calls of Windows that no crate wraps.
#![allow(unsafe_code)] // Nothing else is in here.

use std::fs::File;
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::path::Path;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_SUCCESS};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, GetDiskFreeSpaceExW, GetFileInformationByHandle,
};
use windows_sys::Win32::System::Console::{STD_OUTPUT_HANDLE, SetStdHandle};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNameDnsHostname, GetComputerNameExW, GlobalMemoryStatusEx, MEMORYSTATUSEX,
    OSVERSIONINFOW,
};

/// Longest name of a host, in UTF-16 units, with the final zero.
const NAME_LEN: usize = 256;
/// Longest text of the registry that is read, in UTF-16 units.
const TEXT_LEN: usize = 256;

/// The name of this host; empty: the system does not give it.
pub fn host_name() -> String {
    let mut name = [0_u16; NAME_LEN];
    let mut len = NAME_LEN as u32;
    // SAFETY: `name` has `len` units and lives through the call.
    let given = unsafe { GetComputerNameExW(ComputerNameDnsHostname, name.as_mut_ptr(), &mut len) };
    match given {
        0 => String::new(),
        _ => String::from_utf16_lossy(name.get(..len as usize).unwrap_or_default()),
    }
}

/// What this user may still store in the file system of a directory, in bytes.
///
/// # Errors
/// The system's.
pub fn free_bytes(dir: &Path) -> io::Result<u64> {
    let name: Vec<u16> = dir.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0_u64;
    let (all, unused) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the name ends with a zero, `free` lives through the call, and null pointers are
    // for figures that are not wanted.
    match unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &mut free, all, unused) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(free),
    }
}

/// Whether a pipe has bytes to read, or has ended.
///
/// # Errors
/// The system's: it is no pipe.
pub fn has_input(pipe: BorrowedHandle<'_>) -> io::Result<bool> {
    let mut available = 0;
    let (no_bytes, no_count) = (std::ptr::null_mut(), std::ptr::null_mut());
    let handle = pipe.as_raw_handle();
    // SAFETY: the handle is open while it is borrowed, `available` lives through the call, and
    // null pointers are for what is not wanted.
    let known = unsafe { PeekNamedPipe(handle, no_bytes, 0, no_count, &mut available, no_count) };
    match known {
        0 => match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(ERROR_BROKEN_PIPE as i32) => Ok(true),
            e => Err(e),
        },
        _ => Ok(available > 0),
    }
}

/// The number of a file in its file system: another file that exists has another one.
///
/// # Errors
/// The system's.
pub fn file_number(file: &File) -> io::Result<u64> {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut about: BY_HANDLE_FILE_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: the handle is open while it is borrowed, and `about` lives through the call.
    match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut about) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow)),
    }
}

/// What is printed to standard output from here on goes to standard error.
///
/// # Errors
/// The system's.
pub fn print_to_stderr() -> io::Result<()> {
    // SAFETY: the handle of standard error is open as long as the process lives; it has no other
    // owner that closes it, and the standard library asks for the handle with each use.
    match unsafe { SetStdHandle(STD_OUTPUT_HANDLE, io::stderr().as_raw_handle()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The version of the system's kernel: major, minor, build.
pub fn version() -> [u32; 3] {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut found: OSVERSIONINFOW = unsafe { std::mem::zeroed() };
    found.dwOSVersionInfoSize = size_of::<OSVERSIONINFOW>() as u32;
    // SAFETY: the size is that of `found`, which lives through the call. It cannot fail.
    unsafe { RtlGetVersion(&mut found) };
    [
        found.dwMajorVersion,
        found.dwMinorVersion,
        found.dwBuildNumber,
    ]
}

/// Physical memory: all of it, and what is available, in bytes.
pub fn memory() -> Option<(u64, u64)> {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut found: MEMORYSTATUSEX = unsafe { std::mem::zeroed() };
    found.dwLength = size_of::<MEMORYSTATUSEX>() as u32;
    // SAFETY: the size is that of `found`, which lives through the call.
    match unsafe { GlobalMemoryStatusEx(&mut found) } {
        0 => None,
        _ => Some((found.ullTotalPhys, found.ullAvailPhys)),
    }
}

/// A text in the registry's part of this machine.
pub fn machine_text(key: &str, name: &str) -> Option<String> {
    let wide = |text: &str| text.encode_utf16().chain([0]).collect::<Vec<u16>>();
    let (key, name) = (wide(key), wide(name));
    let mut text = [0_u16; TEXT_LEN];
    let mut bytes = size_of_val(&text) as u32;
    // SAFETY: both names end with a zero, `text` has `bytes` bytes, all live through the call, and
    // the null pointer is for the type, of which only texts are asked for.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            key.as_ptr(),
            name.as_ptr(),
            RRF_RT_REG_SZ,
            std::ptr::null_mut(),
            text.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    let units = text.get(..bytes as usize / 2)?;
    let text = String::from_utf16_lossy(units);
    (status == ERROR_SUCCESS).then(|| text.trim_end_matches('\0').to_owned())
}
