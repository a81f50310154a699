//! Requests to end, from one process to another of the same user: what SIGTERM is elsewhere.
//! They are events of Windows, which no crate wraps, named by the process and its purpose.
#![allow(unsafe_code)] // Nothing else is in here.

use super::acl;
use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::time::Duration;
use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, ERROR_FILE_NOT_FOUND, ERROR_SUCCESS, HANDLE, INVALID_HANDLE_VALUE,
    SetLastError, WAIT_OBJECT_0,
};
use windows_sys::Win32::Storage::FileSystem::READ_CONTROL;
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, EVENT_MODIFY_STATE, OpenEventW, OpenProcess, PROCESS_NAME_WIN32,
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
    QueryFullProcessImageNameW, SetEvent, TerminateProcess, WaitForSingleObject,
};

/// The exit code of a process that did not end when it was asked to.
const KILLED_CODE: u32 = 137;
/// Longest path of an executable, in UTF-16 units.
const PATH_LEN: usize = 32_768;

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

/// Creates the event of a process, which only this user may use.
fn create_event(pid: u32, purpose: &str) -> io::Result<OwnedHandle> {
    let user = acl::own_user()?;
    create_event_of(pid, purpose, &format!("O:{user}D:P(A;;GA;;;{user})"))
}

/// Creates the event of a process with a security descriptor.
fn create_event_of(pid: u32, purpose: &str, sddl: &str) -> io::Result<OwnedHandle> {
    let name = event_name(pid, purpose);
    let descriptor = acl::descriptor(sddl)?;
    // SAFETY: it takes a number only.
    unsafe { SetLastError(ERROR_SUCCESS) };
    // SAFETY: the name ends with a zero; name, attributes and descriptor live through the call.
    let raw = unsafe { CreateEventW(&acl::attributes(&descriptor), 1, 0, name.as_ptr()) };
    let status = io::Error::last_os_error();
    // An event that exists is opened.
    let event = owned(raw)?;
    match status.raw_os_error() == Some(ERROR_ALREADY_EXISTS as i32) {
        true => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "another process holds the name of its event",
        )),
        false => Ok(event),
    }
}

/// The requests that other processes make to this one. The name is free again when it is
/// dropped.
#[derive(Debug)]
pub struct EndRequests(OwnedHandle);

impl EndRequests {
    /// Makes this process known as one of `purpose`.
    ///
    /// # Errors
    /// The name exists: this process has it already, or another process made it up. Or the
    /// system's.
    pub fn announce(purpose: &str) -> io::Result<Self> {
        create_event(std::process::id(), purpose).map(Self)
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
    /// Opens a process if it is one of `purpose`; `None`: it is not. It is one if this user has
    /// made the event of its number, and `is_program` accepts the path of its executable: any
    /// process can make up the name of an event. The process is opened first, and all the rest
    /// is about what was opened.
    ///
    /// # Errors
    /// The system's; the process is one of another user, for example.
    pub fn open(
        pid: u32,
        purpose: &str,
        is_program: impl FnOnce(&Path) -> bool,
    ) -> io::Result<Option<Self>> {
        let rights = PROCESS_SYNCHRONIZE | PROCESS_TERMINATE | PROCESS_QUERY_LIMITED_INFORMATION;
        // SAFETY: it takes numbers only.
        let process = owned(unsafe { OpenProcess(rights, 0, pid) })?;
        let name = event_name(pid, purpose);
        let rights = EVENT_MODIFY_STATE | READ_CONTROL;
        // SAFETY: the name ends with a zero and lives through the call.
        let event = match owned(unsafe { OpenEventW(rights, 0, name.as_ptr()) }) {
            Ok(event) => event,
            Err(e) if e.raw_os_error() == Some(ERROR_FILE_NOT_FOUND as i32) => return Ok(None),
            Err(e) => return Err(e),
        };
        if acl::owner(&event)? != acl::own_user()? || !is_program(&executable(&process)?) {
            return Ok(None);
        }
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

/// The path of the executable of a process.
fn executable(process: &OwnedHandle) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; PATH_LEN];
    let mut len = PATH_LEN as u32;
    // SAFETY: the handle is open while it is borrowed, `path` has `len` units, and both live
    // through the call.
    let known = unsafe {
        QueryFullProcessImageNameW(
            process.as_raw_handle(),
            PROCESS_NAME_WIN32,
            path.as_mut_ptr(),
            &mut len,
        )
    };
    match known {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(OsString::from_wide(path.get(..len as usize).unwrap_or_default()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn open(pid: u32, purpose: &str) -> Option<Announced> {
        Announced::open(pid, purpose, |_| true).unwrap()
    }

    #[test]
    fn a_process_with_another_executable_is_not_opened() {
        // It waits for its input, so that it ends with this test.
        let mut other = Command::new("cmd")
            .args(["/d", "/c", "pause"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // As a program does that makes up the name.
        let _event = create_event(other.id(), "test-c").unwrap();
        let mut path = PathBuf::new();
        let found = Announced::open(other.id(), "test-c", |executable| {
            path = executable.to_owned();
            false
        });
        assert!(found.unwrap().is_none());
        let name = path.file_name().unwrap().to_ascii_lowercase();
        assert_eq!(name, "cmd.exe", "{path:?}");
        assert!(path.is_file(), "{path:?}");
        let found = open(other.id(), "test-c").expect("it is accepted");
        assert!(!found.has_ended(Duration::ZERO));
        found.kill();
        other.wait().unwrap();
    }

    #[test]
    fn an_event_of_another_user_is_not_opened() {
        let own = std::process::id();
        // Of the administrators, and all users may use it.
        let sddl = "O:BAD:P(A;;GA;;;WD)";
        let Ok(_event) = create_event_of(own, "test-e", sddl) else {
            eprintln!("skipped: this user may not create events of others");
            return;
        };
        assert!(open(own, "test-e").is_none());
    }

    #[test]
    fn a_name_that_exists_is_refused() {
        let first = EndRequests::announce("test-d").unwrap();
        let why = EndRequests::announce("test-d").unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::AlreadyExists);
        drop(first);
        EndRequests::announce("test-d").unwrap();
    }

    #[test]
    fn a_process_is_asked_by_its_number_and_purpose() {
        let own = std::process::id();
        assert!(process_numbers().unwrap().contains(&own));
        assert!(open(own, "test-a").is_none());
        let requests = EndRequests::announce("test-a").unwrap();
        assert!(!requests.wait(Duration::ZERO));
        assert!(open(own, "test-b").is_none());
        let found = open(own, "test-a").expect("it is announced");
        assert_eq!(found.pid, own);
        found.ask().unwrap();
        assert!(requests.wait(Duration::from_secs(60)));
        assert!(!found.has_ended(Duration::ZERO), "this process runs");
        drop((requests, found));
        assert!(open(own, "test-a").is_none());
    }
}
