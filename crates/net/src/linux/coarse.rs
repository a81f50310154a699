//! Takes events where the system call epoll_pwait2 does not exist.
//!
//! With its feature `linux_5_11`, rustix makes every wait by epoll_pwait2, also one that only
//! looks. This one is made by epoll_wait of the C library, which every kernel has.
#![allow(unsafe_code)] // epoll_wait has no safe wrapper beside the one of rustix.

use crate::ready::{EVENTS_MAX, Ready};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, OwnedFd};

/// Puts what is ready now into `ready`, without waiting.
///
/// # Errors
/// The system's; none is to be expected.
pub(super) fn take_events(epoll: &OwnedFd, ready: &mut Vec<Ready>) -> rustix::io::Result<()> {
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS_MAX];
    // SAFETY: the pointer and the length are those of an array that outlives the call.
    let came = unsafe {
        libc::epoll_wait(
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            EVENTS_MAX as libc::c_int,
            0,
        )
    };
    let Ok(came) = usize::try_from(came) else {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    };
    ready.extend(events.iter().take(came).map(|event| {
        // Copied: on x86-64 the fields are not aligned.
        let (flags, key) = (event.events, event.u64);
        super::ready_of(super::EventFlags::from_bits_retain(flags), key)
    }));
    Ok(())
}
