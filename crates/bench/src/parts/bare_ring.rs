//! The bare loop of NFS calls by io_uring: receives that the kernel repeats, into buffers that it
//! was given before, and all sends of a turn in the system call that waits for the next replies. It
//! neither decodes nor counts anything else, and no arrival times are asked for.
#![allow(unsafe_code)] // The kernel uses memory between two calls.

use super::bare_nfs::{Call, failed, keep_up};
use filermark_system::uring::{Memory, deferred};
use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

const ENTRIES: u32 = 4096;
const COMPLETIONS: u32 = 16 << 10;
/// Buffers, and the bytes of each.
const BUFFERS: u16 = 1024;
const BUFFER_LEN: usize = 4096;
/// The number of a completion that is of a send that failed.
const SEND: u64 = 1 << 32;
/// Longest wait for a reply, in seconds.
const REPLY_TIMEOUT_S: u64 = 5;

/// Connections with calls under way.
pub struct BareRing {
    ring: IoUring,
    /// Dropped after the ring, which the kernel receives for until then.
    list: Memory,
    bytes: Memory,
    tail: u16,
    links: Vec<(TcpStream, usize)>,
    calls: Vec<u8>,
    call_len: usize,
    reply_len: usize,
}

impl BareRing {
    /// Connects, and sends the first calls.
    ///
    /// # Errors
    /// There is no io_uring of Linux 6.1; those of the connections.
    pub fn open(
        server: SocketAddr,
        (connections, depth): (u32, u32),
        kind: Call,
    ) -> Result<Self, String> {
        let call = kind.encode()?;
        let ring = deferred(ENTRIES, COMPLETIONS).map_err(failed)?;
        let list = Memory::new(usize::from(BUFFERS) * size_of::<BufRingEntry>());
        let list = list.map_err(failed)?;
        let bytes = Memory::new(usize::from(BUFFERS) * BUFFER_LEN).map_err(failed)?;
        let address = list.at(0) as u64;
        let submitter = ring.submitter();
        // SAFETY: the list is mapped and zeroed, and unmapped after the ring was dropped.
        unsafe { submitter.register_buf_ring_with_flags(address, BUFFERS, 0, 0) }
            .map_err(failed)?;
        let mut bare = Self {
            ring,
            list,
            bytes,
            tail: 0,
            links: Vec::new(),
            calls: call.repeat(depth as usize),
            call_len: call.len(),
            reply_len: 0,
        };
        for buffer in 0..BUFFERS {
            bare.give(buffer);
        }
        bare.publish();
        for number in 0..connections {
            let mut stream = TcpStream::connect(server).map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            bare.reply_len = kind.first_reply(&mut stream, &call)?;
            bare.links.push((stream, 0));
            bare.receive(number as usize)?;
        }
        for (stream, _) in &mut bare.links {
            stream.write_all(&bare.calls).map_err(failed)?;
        }
        Ok(bare)
    }

    fn push(&mut self, entry: &squeue::Entry) -> Result<(), String> {
        if self.ring.submission().is_full() {
            self.ring.submit().map_err(failed)?;
        }
        // SAFETY: calls to send are never changed, buffers are mapped while the ring is there.
        unsafe { self.ring.submission().push(entry) }.map_err(failed)
    }

    fn receive(&mut self, number: usize) -> Result<(), String> {
        let socket = Fd(self.links[number].0.as_raw_fd());
        let entry = opcode::RecvMulti::new(socket, 0).build();
        self.push(&entry.user_data(number as u64))
    }

    fn send(&mut self, number: usize, calls: usize) -> Result<(), String> {
        let socket = Fd(self.links[number].0.as_raw_fd());
        let length = (calls * self.call_len) as u32;
        let entry = opcode::Send::new(socket, self.calls.as_ptr(), length).build();
        let entry = entry.flags(squeue::Flags::SKIP_SUCCESS);
        self.push(&entry.user_data(SEND))
    }

    fn give(&mut self, buffer: u16) {
        let place = usize::from(self.tail % BUFFERS) * size_of::<BufRingEntry>();
        // SAFETY: an entry of the list that the kernel does not read before `publish`.
        let entry = unsafe { &mut *self.list.at(place).cast::<BufRingEntry>() };
        entry.set_addr(self.bytes.at(usize::from(buffer) * BUFFER_LEN) as u64);
        entry.set_len(BUFFER_LEN as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the list begins with an entry, whose last field is the tail, which is accessed by
        // atomic operations only.
        let tail = unsafe {
            let tail = BufRingEntry::tail(self.list.at(0).cast());
            AtomicU16::from_ptr(tail.cast_mut())
        };
        tail.store(self.tail, Ordering::Release);
    }

    /// Sends a new call for each reply, for this long; returns the number of replies.
    ///
    /// # Errors
    /// Those of the connections.
    pub fn keep_up(&mut self, span: Duration) -> Result<u64, String> {
        keep_up(span, || self.turn())
    }

    fn next(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }

    fn turn(&mut self) -> Result<u64, String> {
        let limit = Timespec::new().sec(REPLY_TIMEOUT_S);
        let args = SubmitArgs::new().timespec(&limit);
        (self.ring.submitter().submit_with_args(1, &args)).map_err(failed)?;
        let mut count = 0;
        while let Some(entry) = self.next() {
            let result = entry.result();
            let came = usize::try_from(result).unwrap_or(0);
            let buffer = cqueue::buffer_select(entry.flags());
            let is_out_of_buffers = result == -rustix::io::Errno::NOBUFS.raw_os_error();
            if entry.user_data() == SEND || (came == 0 && !is_out_of_buffers) {
                return Err(failed(format!("a call of the kernel ended with {result}")));
            }
            let number = entry.user_data() as usize;
            if let Some(buffer) = buffer {
                self.give(buffer);
            }
            self.links[number].1 += came;
            let whole = self.links[number].1 / self.reply_len;
            self.links[number].1 %= self.reply_len;
            if whole > 0 {
                self.send(number, whole)?;
                count += whole as u64;
            }
            if !cqueue::more(entry.flags()) {
                self.receive(number)?;
            }
        }
        self.publish();
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bare_nfs::tests::count_replies;
    use super::*;

    #[test]
    fn each_reply_is_counted_and_followed_by_a_call() {
        count_replies([(3, 4), (1, 1)], |address, shape| {
            let mut bare = BareRing::open(address, shape, Call::Getattr)?;
            Ok(Box::new(move || bare.keep_up(Duration::ZERO)))
        });
    }
}
