//! Calls of Windows that no crate wraps.
#![allow(unsafe_code)] // Nothing else is in here.

use filermark_model::Nanos;
use std::time::Duration;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::Media::timeBeginPeriod;
use windows_sys::Win32::System::Diagnostics::Debug::{
    SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
};
use windows_sys::Win32::System::SystemInformation::GetTickCount64;
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadTimes};

/// The unit of times, in nanoseconds.
const UNIT_NS: u64 = 100;

/// Processor time of the calling thread. The system counts it in steps of its clock
/// interrupt, as a rule 1/64 s.
pub fn thread_cpu() -> Nanos {
    const ZERO: FILETIME = FILETIME {
        dwLowDateTime: 0,
        dwHighDateTime: 0,
    };
    let (mut began, mut ended, mut kernel, mut user) = (ZERO, ZERO, ZERO, ZERO);
    // SAFETY: the handle stands for the calling thread and need not be closed; all four
    // structures live through the call. Without an answer they stay 0.
    unsafe {
        GetThreadTimes(
            GetCurrentThread(),
            &mut began,
            &mut ended,
            &mut kernel,
            &mut user,
        );
    }
    let units = |t: FILETIME| u64::from(t.dwHighDateTime) << 32 | u64::from(t.dwLowDateTime);
    Nanos((units(kernel) + units(user)).saturating_mul(UNIT_NS))
}

/// Requests timers of one millisecond, the finest that this call has (the default is
/// 1/64 s), until the process ends.
pub fn minimize_timer_slack() {
    // SAFETY: a plain number.
    unsafe { timeBeginPeriod(1) };
}

/// Turns error reports of this process, and of those it starts, off: dumps would contain
/// passwords.
pub fn forbid_core_dumps() {
    // SAFETY: plain flags.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// Time since the boot, by the clock that runs while the host is suspended and that
/// cannot be set; in steps of 10 to 16 ms.
pub fn since_boot() -> Nanos {
    // SAFETY: it has no arguments.
    let ms = unsafe { GetTickCount64() };
    Nanos(Duration::from_millis(ms).as_nanos() as u64)
}
