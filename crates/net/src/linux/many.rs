//! Many datagrams per system call, and the options of datagram sockets that have
//! no safe wrapper.
//!
//! A load generator that makes a system call per datagram spends most of its time
//! entering the kernel: sendmmsg and recvmmsg take up to [`BATCH`] at once. Nothing
//! is allocated: the headers of a batch are on the stack.
#![allow(unsafe_code)] // sendmmsg, recvmmsg and these socket options have no safe wrapper.

use super::arrival::{age_at, arrival, now_of_day};
use crate::ready::{BATCH, ReceivedDatagram, SocketBuffer};
use filermark_model::Nanos;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::{SocketAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

/// Buffer for the control data of one datagram: a header and a `timespec`.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Sends the pieces of `bytes` at `ranges` as one datagram each, up to [`BATCH`] of
/// them in one system call. Returns how many the system took. A range that is not
/// inside of `bytes` is sent as nothing.
///
/// # Errors
/// The system's for the first datagram; that of a later one comes with the next call.
pub(crate) fn send_many(
    socket: &UdpSocket,
    bytes: &[u8],
    ranges: &[Range<usize>],
) -> io::Result<usize> {
    const EMPTY: libc::iovec = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut pieces = [EMPTY; BATCH];
    // SAFETY: all bytes zero is a message header without anything.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    let count = ranges.len().min(BATCH);
    let places = pieces.iter_mut().zip(&mut messages);
    for ((piece, message), range) in places.zip(ranges) {
        let datagram = bytes.get(range.clone()).unwrap_or_default();
        // The kernel only reads what it sends.
        piece.iov_base = datagram.as_ptr().cast_mut().cast();
        piece.iov_len = datagram.len();
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `count` headers point to one piece each, which points into
    // `bytes` with its true length; all of them outlive the call.
    let taken = unsafe {
        libc::sendmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count as libc::c_uint,
            0,
        )
    };
    usize::try_from(taken).map_err(|_| io::Error::last_os_error())
}

/// Receives up to [`BATCH`] datagrams in one system call, each into its own `capacity`
/// bytes of `into`, and notes them in `came` in the order in which they lie there.
/// Returns how many; 0 if not even one fits.
///
/// # Errors
/// `WouldBlock`: none is there. Otherwise the system's; an answer of the network to
/// what was sent earlier is among them, and only that is lost by it.
pub(crate) fn receive_many(
    socket: &UdpSocket,
    into: &mut [u8],
    capacity: usize,
    came: &mut [ReceivedDatagram; BATCH],
) -> io::Result<usize> {
    let count = (into.len() / capacity.max(1)).min(BATCH);
    if count == 0 {
        return Ok(0);
    }
    let mut controls = [MaybeUninit::<Control>::uninit(); BATCH];
    // SAFETY: all bytes zero is a piece, and a message header, without anything.
    let (mut pieces, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let places = pieces.iter_mut().zip(&mut messages).zip(&mut controls);
    for (((piece, message), control), part) in places.zip(into.chunks_exact_mut(capacity.max(1))) {
        piece.iov_base = part.as_mut_ptr().cast();
        piece.iov_len = part.len();
        message.msg_hdr.msg_iov = piece;
        message.msg_hdr.msg_iovlen = 1;
        message.msg_hdr.msg_control = control.as_mut_ptr().cast();
        message.msg_hdr.msg_controllen = size_of::<Control>() as _;
    }
    // SAFETY: the first `count` headers point to one piece each, which is a part of
    // `into` of its own, and to control data of its own, with their true lengths.
    let got = unsafe {
        libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            count as libc::c_uint,
            libc::MSG_DONTWAIT as _, // its type differs in musl
            std::ptr::null_mut(),
        )
    };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    let now = now_of_day();
    for (note, message) in came.iter_mut().zip(&messages).take(got) {
        // SAFETY: the kernel has filled this header in.
        let arrival = unsafe { arrival(&message.msg_hdr) };
        *note = ReceivedDatagram {
            len: (message.msg_len as usize).min(capacity),
            cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            age: arrival.map_or(Nanos::ZERO, |at| age_at(now, at)),
        };
    }
    Ok(got)
}

/// The largest packet that the way to this socket's peer takes whole, in bytes, as
/// far as this host knows; `None` where it is not known.
pub fn path_mtu(socket: &UdpSocket) -> Option<u32> {
    let (level, option) = match socket.peer_addr().ok()? {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is an int, whose place and length are given.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    (failed == 0).then(|| u32::try_from(value).ok()).flatten()
}

/// Asks for a buffer beyond the system's limit (net.core.rmem_max, wmem_max), as
/// only a privileged process may. Whether it was granted shows in the buffer's size.
pub(crate) fn force_buffer(socket: impl AsFd, which: SocketBuffer, bytes: usize) {
    let option = match which {
        SocketBuffer::Receive => libc::SO_RCVBUFFORCE,
        SocketBuffer::Send => libc::SO_SNDBUFFORCE,
    };
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is borrowed, and the option's value is an int that outlives the call.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}
