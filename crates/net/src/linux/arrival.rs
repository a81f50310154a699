//! Reads that also return when the bytes arrived at this host.
//!
//! Between the arrival of a reply and the moment at which a sleeping thread
//! reads it lie 15 to 25 microseconds of waking up, which are ours and not the
//! server's. The kernel notes the arrival of every packet when it is asked to
//! (SO_TIMESTAMPNS, the same note that packet captures show) and hands it out
//! with the data. It costs some 50 nanoseconds per read.
#![allow(unsafe_code)] // recvmsg with control data and this socket option have no safe wrapper.

use filermark_model::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

/// Greater ages are taken as unknown.
const AGE_MAX: Nanos = Nanos::from_secs(1);

/// Buffer for the control data of one read: larger than a header and a `timespec`.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Asks the kernel to note arrivals on a socket. Where it refuses, reads go on
/// without.
pub(crate) fn note_arrivals(socket: impl AsFd) {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is borrowed, and the option's value is an int that outlives the call.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Reads what is there, as far as it fits. Gives the number of bytes and how long
/// ago the last of them arrived; no time where that is not known.
///
/// # Errors
/// The system's.
pub(crate) fn read(socket: impl AsFd, into: &mut [u8]) -> io::Result<(usize, Nanos)> {
    // SAFETY: the pointer and the length are those of a slice that is ours alone.
    unsafe { receive(socket, into.as_mut_ptr(), into.len()) }
}

/// Reads behind what `into` holds, as far as its capacity goes, like [`read`].
///
/// # Errors
/// The system's.
pub(crate) fn read_behind(socket: impl AsFd, into: &mut Vec<u8>) -> io::Result<(usize, Nanos)> {
    let spare = into.spare_capacity_mut();
    let len = spare.len();
    // SAFETY: the spare capacity is ours alone and may be written to.
    let (came, age) = unsafe { receive(socket, spare.as_mut_ptr().cast(), len)? };
    // SAFETY: the kernel has written `came` bytes there, `len` at most.
    unsafe { into.set_len(into.len() + came.min(len)) };
    Ok((came, age))
}

/// # Safety
/// `len` bytes may be written from `into` on.
unsafe fn receive(socket: impl AsFd, into: *mut u8, len: usize) -> io::Result<(usize, Nanos)> {
    let mut data = libc::iovec {
        iov_base: into.cast(),
        iov_len: len,
    };
    let mut control = MaybeUninit::<Control>::uninit();
    // SAFETY: all bytes zero is a message header without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut data;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the header points to one buffer that the caller vouches for and to
    // `control`, with their true lengths.
    let came = unsafe { libc::recvmsg(socket, &raw mut message, 0) };
    let Ok(came) = usize::try_from(came) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has filled the header in.
    let arrival = unsafe { arrival(&message) };
    Ok((came, arrival.map_or(Nanos::ZERO, age)))
}

/// The arrival time in a message's control data, on the clock of the day.
///
/// # Safety
/// The header is as `recvmsg` left it.
pub(super) unsafe fn arrival(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: these walk over the control data of a header that the kernel filled in.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = at.as_ref() {
            if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                let time = libc::CMSG_DATA(at).cast::<libc::timespec>();
                let time = time.read_unaligned();
                return Some(nanos(time.tv_sec, time.tv_nsec));
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
    None
}

fn age(arrival: Nanos) -> Nanos {
    age_at(now_of_day(), arrival)
}

/// The clock of the day, on which arrivals are noted.
pub(super) fn now_of_day() -> Nanos {
    let now = clock_gettime(ClockId::Realtime);
    nanos(now.tv_sec, now.tv_nsec)
}

/// How long ago it was. The clock of the day may be set at any time: what lies
/// in the future or very long ago counts as now.
pub(super) fn age_at(now: Nanos, arrival: Nanos) -> Nanos {
    let age = now.since(arrival);
    if age > AGE_MAX { Nanos::ZERO } else { age }
}

fn nanos(seconds: impl Into<i128>, nanos: impl Into<i128>) -> Nanos {
    let ns = seconds.into() * 1_000_000_000 + nanos.into();
    Nanos(u64::try_from(ns).unwrap_or(0))
}
