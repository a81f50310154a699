//! io_uring for TCP connections with short messages: what comes is received by the kernel while the
//! thread waits, into buffers that it was given before, and several connections are sent to by one
//! system call. Linux 6.1 is needed.
//!
//! A connection that is attached has a *slot*. Arrival times are those of the kernel, as with
//! `recvmsg`. A send takes what the socket takes at once, as `write` does; its bytes are the
//! kernel's during that system call only.
//!
//! Everything else waits on the reactor (epoll): connections with long messages, which are read to
//! where they belong, connections whose socket was full, TLS, datagrams. While a connection is
//! attached, the reactor is one of the files that the ring waits for.

mod buffers;
mod calls;
mod receiving;
mod sending;
mod slots;

use super::Reactor;
use crate::ready::{Ready, SENDS_MAX};
use buffers::COUNT;
use calls::{Calls, Note};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
/// More connections wait on the reactor: where all have something, the buffers have to last for them.
const SLOTS_MAX: usize = 4 * COUNT as usize;
/// How long a ring that is dropped, and the test of one that was made, wait for the kernel.
const END_MAX: Duration = Duration::from_secs(1);
/// No buffer.
const NONE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// What comes is received here.
    Attached,
    /// Receiving is being ended; what comes until then is still received here.
    Leaving,
    /// Receiving has ended, and the connection goes on with the reactor.
    Left,
    /// The connection is closed, its receiving is being ended.
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    key: u64,
    socket: RawFd,
    /// The kernel is receiving.
    is_armed: bool,
    /// The buffers that came and were not read.
    first: u16,
    last: u16,
    /// How the stream has ended: 0, or an error.
    end: Option<i32>,
}

/// A send of the next system call.
#[derive(Debug)]
struct Send {
    slot: u32,
    bytes: Vec<u8>,
    result: Option<i32>,
}

/// Receives and sends for many connections of one thread.
pub struct SocketRing {
    calls: Calls,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Of each buffer: what is in it, and the next one of the same slot.
    notes: [Note; COUNT as usize],
    next: [u16; COUNT as usize],
    /// The buffer that was read last.
    current: u16,
    sends: [Send; SENDS_MAX],
    send_count: usize,
    /// Slots whose receiving has ended for want of buffers.
    unarmed: Vec<u32>,
    /// Slots that the kernel receives for.
    armed_count: usize,
    /// Slots that are attached.
    attached_count: usize,
    /// What the next wait reports.
    ready: Vec<Ready>,
    is_polling: bool,
    is_polled: bool,
    /// Sends were given to it that the kernel has not carried out.
    is_broken: bool,
}

impl std::fmt::Debug for SocketRing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SocketRing")
            .field("slots", &self.slots.len())
            .field("attached", &self.attached_count)
            .finish_non_exhaustive()
    }
}

impl SocketRing {
    /// A ring that was seen to receive: where a kernel or a sandbox lacks a part of what is
    /// needed, there is none.
    ///
    /// # Errors
    /// EPERM: io_uring is forbidden here. ENOSYS: the kernel has none. EINVAL: it is older than
    /// Linux 6.1. Others of io_uring_setup(2) and mmap(2).
    pub fn new() -> io::Result<Self> {
        let mut ring = Self {
            calls: Calls::new()?,
            slots: Vec::new(),
            free: Vec::new(),
            notes: [Note::default(); COUNT as usize],
            next: [NONE; COUNT as usize],
            current: NONE,
            sends: std::array::from_fn(|_| Send {
                slot: 0,
                bytes: Vec::new(),
                result: None,
            }),
            send_count: 0,
            unarmed: Vec::new(),
            armed_count: 0,
            attached_count: 0,
            ready: Vec::new(),
            is_polling: false,
            is_polled: false,
            is_broken: false,
        };
        ring.prove()?;
        Ok(ring)
    }

    /// Receives a byte, and ends receiving.
    fn prove(&mut self) -> io::Result<()> {
        let (near, mut far) = UnixStream::pair()?;
        let lacks = || io::Error::from_raw_os_error(libc::EINVAL);
        let slot = self.attach_socket(near.as_raw_fd(), 0)?.ok_or_else(lacks)?;
        let end = Instant::now() + END_MAX;
        far.write_all(&[7])?;
        loop {
            self.reap();
            if let Some(read) = self.receive(slot)? {
                let is_right = read.scratch_len == 1 && self.bytes() == [7];
                is_right.then_some(()).ok_or_else(lacks)?;
                break;
            }
            (Instant::now() < end).then_some(()).ok_or_else(lacks)?;
            self.calls.wait(Some(END_MAX))?;
        }
        self.forget_slot(slot);
        while self.armed_count > 0 {
            (Instant::now() < end).then_some(()).ok_or_else(lacks)?;
            self.calls.wait(Some(END_MAX))?;
            self.reap();
        }
        self.ready.clear();
        Ok(())
    }

    /// System calls so far.
    pub fn entered_count(&self) -> u64 {
        self.calls.entered_count
    }

    /// Waits until a connection or the reactor has something, `timeout` at most (`None` waits for
    /// ever), and puts what is ready into `ready`. Without connections it is [`Reactor::wait`].
    ///
    /// # Errors
    /// The system's; none is to be expected.
    pub fn wait(
        &mut self,
        reactor: &mut Reactor,
        timeout: Option<Duration>,
        ready: &mut Vec<Ready>,
    ) -> io::Result<()> {
        if self.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.release();
        if self.attached_count == 0 && self.ready.is_empty() {
            if self.calls.has_queued() {
                self.calls.submit()?;
            }
            return reactor.wait(timeout, ready);
        }
        ready.clear();
        self.arm_again()?;
        if !self.is_polling {
            self.calls.poll(reactor.as_fd().as_raw_fd())?;
            self.is_polling = true;
        }
        if self.ready.is_empty() {
            self.calls.wait(timeout)?;
        } else if self.calls.has_queued() {
            self.calls.submit()?;
        }
        self.reap();
        if std::mem::take(&mut self.is_polled) {
            reactor.wait(Some(Duration::ZERO), ready)?;
        }
        ready.append(&mut self.ready);
        Ok(())
    }

    /// Receives again where that ended for want of buffers.
    fn arm_again(&mut self) -> io::Result<()> {
        while let Some(number) = self.unarmed.pop() {
            let Some(slot) = self.slots.get_mut(number as usize) else {
                continue;
            };
            if slot.state == State::Attached && !slot.is_armed && slot.end.is_none() {
                if let Err(error) = self.calls.receive(slot.socket, number) {
                    self.unarmed.push(number);
                    return Err(error);
                }
                slot.is_armed = true;
                self.armed_count += 1;
            }
        }
        Ok(())
    }
}

impl Drop for SocketRing {
    fn drop(&mut self) {
        if self.is_broken {
            // Another system call would carry out sends whose bytes are gone.
            return self.calls.buffers.leak();
        }
        // The sockets are open still. What is queued is begun, so that its end can be requested.
        let end = Instant::now() + END_MAX;
        if self.calls.has_queued() && self.calls.submit().is_err() {
            return self.calls.buffers.leak();
        }
        if self.armed_count > 0 {
            self.calls.cancel_all(END_MAX / 2);
        }
        while self.armed_count > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.calls.wait(Some(left)).is_err() {
                return self.calls.buffers.leak();
            }
            self.reap();
        }
    }
}

#[cfg(test)]
mod tests;
