//! Jobs of Windows: a program and all processes that it starts, ended together. No crate wraps
//! them.
#![allow(unsafe_code)] // Nothing else is in here.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::Child;
use std::ptr::{null, null_mut};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

/// How a program is created that is to be in a job: it runs only when it is in it, so that none
/// of its children is outside; and Ctrl-C at the terminal does not reach it.
pub const CREATION_FLAGS: u32 = CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP;
/// The exit code of programs that are ended with their job: that of SIGKILL in a Unix shell.
pub const ENDED_CODE: u32 = 137;

/// A job. One that ends with us is ended by its closing, also by the end of this process.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// A new job with a program that was created with [`CREATION_FLAGS`], which begins to run.
    /// With `ends_with_us` all processes of the job are ended when it is closed; without, they
    /// run on until they end by themselves or by [`Job::end`].
    ///
    /// # Errors
    /// The system's; the program does not run then, and must be ended.
    pub fn begin(child: &Child, ends_with_us: bool) -> io::Result<Self> {
        let job = Self::new()?;
        if ends_with_us {
            job.end_when_closed()?;
        }
        // SAFETY: both handles are open through the call.
        let added =
            unsafe { AssignProcessToJobObject(job.0.as_raw_handle(), child.as_raw_handle()) };
        if added == 0 {
            return Err(io::Error::last_os_error());
        }
        resume(child.id())?;
        Ok(job)
    }

    fn new() -> io::Result<Self> {
        // SAFETY: null pointers mean no attributes and no name.
        owned(unsafe { CreateJobObjectW(null(), null()) }).map(Self)
    }

    fn end_when_closed(&self) -> io::Result<()> {
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        // SAFETY: the structure has the stated length and lives through the call.
        let set = unsafe {
            SetInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast(),
                size_of_val(&limits) as u32,
            )
        };
        match set {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Whether a process of the job is running.
    ///
    /// # Errors
    /// The system's.
    pub fn is_running(&self) -> io::Result<bool> {
        let mut found = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the structure has the stated length and lives through the call.
        let known = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut found).cast(),
                size_of_val(&found) as u32,
                null_mut(),
            )
        };
        match known {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(found.ActiveProcesses > 0),
        }
    }

    /// Ends every process of the job at once.
    pub fn end(&self) {
        // SAFETY: the handle is open. A failure shows in `is_running`.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), ENDED_CODE) };
    }
}

/// Asks a program that was created with [`CREATION_FLAGS`] to end, as Ctrl-Break at a terminal
/// does. False: it has no terminal in common with this program, and cannot be asked.
pub fn ask_to_end(pid: u32) -> bool {
    // SAFETY: it takes numbers only.
    unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, pid) != 0 }
}

fn owned(raw: HANDLE) -> io::Result<OwnedHandle> {
    match raw.is_null() || raw == INVALID_HANDLE_VALUE {
        true => Err(io::Error::last_os_error()),
        // SAFETY: a call has just opened it, and nothing else closes it.
        false => Ok(unsafe { OwnedHandle::from_raw_handle(raw) }),
    }
}

/// Lets the one thread of a suspended process run.
fn resume(pid: u32) -> io::Result<()> {
    // SAFETY: it takes numbers only.
    let all = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    let mut entry = THREADENTRY32 {
        dwSize: size_of::<THREADENTRY32>() as u32,
        ..THREADENTRY32::default()
    };
    // SAFETY: the structure states its length and lives through the calls.
    let mut more = unsafe { Thread32First(all.as_raw_handle(), &mut entry) };
    let mut resumed = false;
    while more != 0 {
        if entry.th32OwnerProcessID == pid {
            // SAFETY: it takes numbers only.
            let thread =
                owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID) })?;
            // SAFETY: the handle is open.
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
            resumed = true;
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(all.as_raw_handle(), &mut entry) };
    }
    match resumed {
        true => Ok(()),
        false => Err(io::Error::other("the new process has no thread")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::windows::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// A command of cmd.exe that waits for its input, so that it ends with this test.
    fn start(line: &str) -> Child {
        Command::new("cmd")
            .args(["/d", "/c", line])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .creation_flags(CREATION_FLAGS)
            .spawn()
            .unwrap()
    }

    #[test]
    fn a_program_in_a_job_runs_and_ends_by_itself() {
        let mut child = start("exit 7");
        let job = Job::begin(&child, true).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(7));
        let since = Instant::now();
        while job.is_running().unwrap() && since.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!job.is_running().unwrap());
    }

    #[test]
    fn a_program_ends_with_its_children() {
        // An inner cmd.exe that waits, too.
        let mut child = start("cmd /d /c pause & pause");
        let job = Job::begin(&child, false).unwrap();
        assert!(job.is_running().unwrap());
        job.end();
        assert_eq!(child.wait().unwrap().code(), Some(ENDED_CODE as i32));
        let since = Instant::now();
        while job.is_running().unwrap() && since.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!job.is_running().unwrap());
        let mut other = start("pause");
        drop(Job::begin(&other, true).unwrap());
        // Ended by the closing of its job, whatever its code; its input is still open.
        let _input = other.stdin.take();
        other.wait().unwrap();
    }
}
