//! The ring itself: what the kernel is to do, and what it has done.
#![allow(unsafe_code)] // Calls have addresses of memory that the kernel uses.

use super::buffers::{Buffers, GROUP};
use crate::linux::arrival::arrival;
use filermark_model::Nanos;
use filermark_system::uring;
use io_uring::types::{CancelBuilder, Fd, RecvMsgOut, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::ops::Range;
use std::os::fd::RawFd;
use std::time::Duration;

/// Calls that the kernel was not given yet.
const ENTRIES: u32 = 256;
/// Completions that were not taken yet; the kernel keeps what is above.
const COMPLETIONS: u32 = 4096;
/// Control data in front of received bytes: a header and a `timespec`.
const CONTROL: usize = 64;
/// How often a full queue is given to the kernel: for 50 ms, where it takes nothing.
const RETRIES_MAX: u32 = 250;
/// A pause after the kernel could not take a call for the moment.
const RETRY_WAIT: Duration = Duration::from_micros(200);

/// Which call a completion is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// Receiving of a socket, by its slot.
    Receive(u32),
    /// A send, by its place.
    Send(u32),
    /// The reactor has events.
    Poll,
    /// A receive was to be ended.
    Cancel,
}

/// A completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    pub(super) call: Call,
    /// Bytes, or the negative error.
    pub(super) result: i32,
    /// The buffer that it has used.
    pub(super) buffer: Option<u16>,
    /// More completions of the call follow.
    pub(super) more: bool,
}

/// Bytes in a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Note {
    pub(super) start: u32,
    pub(super) len: u32,
    /// When the last of them arrived at this host, on the clock of the day, where the kernel
    /// noted it.
    pub(super) arrival: Option<Nanos>,
}

impl Note {
    pub(super) fn part(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// The ring with what its calls refer to. The buffers are dropped after the ring.
pub(super) struct Calls {
    ring: IoUring,
    pub(super) buffers: Buffers,
    /// What each receive has beside its bytes.
    header: Box<libc::msghdr>,
    /// System calls so far.
    pub(super) entered_count: u64,
}

impl Call {
    fn number(self) -> u64 {
        match self {
            Self::Receive(slot) => u64::from(slot),
            Self::Send(place) => 1 << 32 | u64::from(place),
            Self::Poll => 2 << 32,
            Self::Cancel => 3 << 32,
        }
    }

    fn of(number: u64) -> Self {
        match number >> 32 {
            0 => Self::Receive(number as u32),
            1 => Self::Send(number as u32),
            2 => Self::Poll,
            _ => Self::Cancel,
        }
    }
}

impl Calls {
    pub(super) fn new() -> io::Result<Self> {
        let ring = uring::deferred(ENTRIES, COMPLETIONS)?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let buffers = Buffers::register(&ring)?;
        // SAFETY: all bytes zero is a message header without anything.
        let mut header: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        header.msg_controllen = CONTROL as _;
        Ok(Self {
            ring,
            buffers,
            header,
            entered_count: 0,
        })
    }

    /// Receives whatever comes on a socket, until it ends or no buffer is left.
    pub(super) fn receive(&mut self, socket: RawFd, slot: u32) -> io::Result<()> {
        let header = &raw const *self.header;
        let call = opcode::RecvMsgMulti::new(Fd(socket), header, GROUP).build();
        self.push(call, Call::Receive(slot))
    }

    /// Sends what the socket takes at once.
    ///
    /// # Safety
    /// `bytes` are not changed or freed before the completion was taken.
    pub(super) unsafe fn send(
        &mut self,
        socket: RawFd,
        bytes: &[u8],
        place: u32,
    ) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let call = opcode::Send::new(Fd(socket), bytes.as_ptr(), length)
            .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
            .build();
        self.push(call, Call::Send(place))
    }

    /// Reports once that this file has something to read.
    pub(super) fn poll(&mut self, file: RawFd) -> io::Result<()> {
        let call = opcode::PollAdd::new(Fd(file), libc::POLLIN as u32).build();
        self.push(call, Call::Poll)
    }

    /// Ends the receiving of a socket; its last completion says when.
    pub(super) fn cancel(&mut self, slot: u32) -> io::Result<()> {
        let call = opcode::AsyncCancel::new(Call::Receive(slot).number()).build();
        self.push(call, Call::Cancel)
    }

    /// Ends everything that is under way (Linux 6.0).
    pub(super) fn cancel_all(&mut self, limit: Duration) {
        let all = CancelBuilder::any().all();
        let limit = Some(Timespec::from(limit));
        let _ = self.ring.submitter().register_sync_cancel(limit, all);
    }

    fn push(&mut self, entry: squeue::Entry, call: Call) -> io::Result<()> {
        let entry = entry.user_data(call.number());
        for _ in 0..RETRIES_MAX {
            if !self.ring.submission().is_full() {
                break;
            }
            self.submit()?;
        }
        // SAFETY: what the entry refers to lives as long as its call: the header and the buffers
        // are this value's, bytes to send are the caller's promise. Sockets are numbers.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::ErrorKind::WouldBlock.into())
    }

    /// Whether the kernel was not given everything yet.
    pub(super) fn has_queued(&mut self) -> bool {
        !self.ring.submission().is_empty()
    }

    /// Gives the kernel what is queued. One system call.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        self.entered_count += 1;
        let entered = self.ring.submitter().submit();
        passing(entered)
    }

    /// The same, and waits for a completion, not longer than the limit. One system call.
    pub(super) fn wait(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let limit = limit.map(Timespec::from);
        let mut args = SubmitArgs::new();
        if let Some(limit) = &limit {
            args = args.timespec(limit);
        }
        self.entered_count += 1;
        let entered = self.ring.submitter().submit_with_args(1, &args);
        passing(entered)
    }

    /// The next completion; the buffer of a receive is the program's from then on.
    pub(super) fn next(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let buffer = cqueue::buffer_select(entry.flags());
        if let Some(id) = buffer {
            self.buffers.take(id);
        }
        Some(Completion {
            call: Call::of(entry.user_data()),
            result: entry.result(),
            buffer,
            more: cqueue::more(entry.flags()),
        })
    }

    /// What a receive has put into a buffer; no bytes: the end of the stream.
    pub(super) fn note(&mut self, buffer: u16, result: i32) -> Note {
        let filled = usize::try_from(result)
            .unwrap_or(0)
            .min(super::buffers::LEN);
        let bytes = self.buffers.get(buffer, 0..filled);
        let Ok(message) = RecvMsgOut::parse(bytes, &self.header) else {
            return Note::default();
        };
        let (payload, control) = (message.payload_data(), message.control_data());
        // SAFETY: all bytes zero is a message header without anything.
        let mut of_control: libc::msghdr = unsafe { std::mem::zeroed() };
        of_control.msg_control = control.as_ptr().cast_mut().cast();
        of_control.msg_controllen = control.len() as _;
        Note {
            start: (filled - payload.len()) as u32,
            len: payload.len() as u32,
            // SAFETY: the control data is as recvmsg left it, and only read.
            arrival: unsafe { arrival(&of_control) },
        }
    }
}

/// The result of a system call without errors that pass.
fn passing(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Ok(_) => Ok(()),
        Err(e) if matches!(e.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
        // The kernel is short of memory for a moment, or its queue of completions is full.
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {
            std::thread::sleep(RETRY_WAIT);
            Ok(())
        }
        Err(e) => Err(e),
    }
}
