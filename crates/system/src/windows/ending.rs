//! Requests to end, from one process to another of the same user: what SIGTERM is elsewhere.
//! They are events of Windows, which no crate wraps, named by the process and its purpose.
#![allow(unsafe_code)] // Nothing else is in here.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_FILE_NOT_FOUND, HANDLE, INVALID_HANDLE_VALUE, WAIT_OBJECT_0,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, EVENT_MODIFY_STATE, OpenEventW, OpenProcess, PROCESS_SYNCHRONIZE,
    PROCESS_TERMINATE, SetEvent, TerminateProcess, WaitForSingleObject,
};

/// The exit code of a process that did not end when it was asked to.
const KILLED_CODE: u32 = 137;

/// The name of the event of a process: for all sessions, since a service and a terminal are
/// different ones. `purpose` has no backslash.
fn event_name(pid: u32, purpose: &str) -> Vec<u16> {
    let name = format!("Global\\filermark-{purpose}-{pid}");
    name.encode_utf16().chain([0]).collect()
}

fn owned(raw: HANDLE) -> io::Result<OwnedHandle> {
    match raw.is_null() || raw == INVALID_HANDLE_VALUE {
        true => Err(io::Error::last_os_error()),
        // SAFETY: a call has just opened it, and nothing else closes it.
        false => Ok(unsafe { OwnedHandle::from_raw_handle(raw) }),
    }
}

fn wait(handle: &OwnedHandle, limit: Duration) -> bool {
    // Below INFINITE, so that every wait ends.
    let ms = u32::try_from(limit.as_millis())
        .unwrap_or(u32::MAX)
        .min(u32::MAX - 1);
    // SAFETY: the handle is open while it is borrowed.
    unsafe { WaitForSingleObject(handle.as_raw_handle(), ms) == WAIT_OBJECT_0 }
}

/// The requests that other processes make to this one. The name is free again when it is
/// dropped.
#[derive(Debug)]
pub struct EndRequests(OwnedHandle);

impl EndRequests {
    /// Makes this process known as one of `purpose`.
    ///
    /// # Errors
    /// The system's.
    pub fn announce(purpose: &str) -> io::Result<Self> {
        let name = event_name(std::process::id(), purpose);
        // SAFETY: the name ends with a zero and lives through the call; no attributes means
        // that only this user and administrators may open the event.
        owned(unsafe { CreateEventW(null(), 1, 0, name.as_ptr()) }).map(Self)
    }

    /// Waits for a request; false: none came within `limit`.
    pub fn wait(&self, limit: Duration) -> bool {
        wait(&self.0, limit)
    }
}

/// The numbers of all processes.
///
/// # Errors
/// The system's.
pub fn process_numbers() -> io::Result<Vec<u32>> {
    // SAFETY: it takes numbers only.
    let all = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0) })?;
    let mut entry = PROCESSENTRY32W {
        dwSize: size_of::<PROCESSENTRY32W>() as u32,
        ..PROCESSENTRY32W::default()
    };
    let mut numbers = Vec::new();
    // SAFETY: the structure states its length and lives through the calls.
    let mut more = unsafe { Process32FirstW(all.as_raw_handle(), &mut entry) };
    while more != 0 {
        numbers.push(entry.th32ProcessID);
        // SAFETY: as above.
        more = unsafe { Process32NextW(all.as_raw_handle(), &mut entry) };
    }
    Ok(numbers)
}

/// A process that has announced itself. The handle keeps its number from being reused.
#[derive(Debug)]
pub struct Announced {
    /// Its number.
    pub pid: u32,
    process: OwnedHandle,
    event: OwnedHandle,
}

impl Announced {
    /// Opens a process if it is one of `purpose`; `None`: it is not.
    ///
    /// # Errors
    /// The system's; the process is one of another user.
    pub fn open(pid: u32, purpose: &str) -> io::Result<Option<Self>> {
        let name = event_name(pid, purpose);
        // SAFETY: the name ends with a zero and lives through the call.
        let event = match owned(unsafe { OpenEventW(EVENT_MODIFY_STATE, 0, name.as_ptr()) }) {
            Ok(event) => event,
            Err(e) if e.raw_os_error() == Some(ERROR_FILE_NOT_FOUND as i32) => return Ok(None),
            Err(e) => return Err(e),
        };
        // SAFETY: it takes numbers only.
        let process =
            owned(unsafe { OpenProcess(PROCESS_SYNCHRONIZE | PROCESS_TERMINATE, 0, pid) })?;
        Ok(Some(Self {
            pid,
            process,
            event,
        }))
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// The system's.
    pub fn ask(&self) -> io::Result<()> {
        // SAFETY: the handle is open.
        match unsafe { SetEvent(self.event.as_raw_handle()) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // SAFETY: the handle is open. A failure shows in `has_ended`.
        unsafe { TerminateProcess(self.process.as_raw_handle(), KILLED_CODE) };
    }

    /// Whether it has ended, waiting `limit` at most for it.
    pub fn has_ended(&self, limit: Duration) -> bool {
        wait(&self.process, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_asked_by_its_number_and_purpose() {
        let own = std::process::id();
        assert!(process_numbers().unwrap().contains(&own));
        assert!(Announced::open(own, "test-a").unwrap().is_none());
        let requests = EndRequests::announce("test-a").unwrap();
        assert!(!requests.wait(Duration::ZERO));
        assert!(Announced::open(own, "test-b").unwrap().is_none());
        let found = Announced::open(own, "test-a")
            .unwrap()
            .expect("it is announced");
        assert_eq!(found.pid, own);
        found.ask().unwrap();
        assert!(requests.wait(Duration::from_secs(60)));
        assert!(!found.has_ended(Duration::ZERO), "this process runs");
        drop((requests, found));
        assert!(Announced::open(own, "test-a").unwrap().is_none());
    }
}
