//! Sends of several connections by one system call.
#![allow(unsafe_code)] // The kernel reads the bytes of other values while it sends.

use super::SocketRing;
use crate::ready::{SENDS_MAX, SentBytes};
use std::io;

/// How often the kernel is asked for the end of sends that it has carried out already.
const TRIES_MAX: u32 = 1000;

impl SocketRing {
    /// Whether [`SocketRing::send_queued`] has to come before another [`SocketRing::send`].
    pub fn is_full(&self) -> bool {
        self.send_count >= SENDS_MAX
    }

    /// Whether there is something for [`SocketRing::send_queued`].
    pub fn has_sends(&self) -> bool {
        self.send_count > 0
    }

    /// Whether bytes of this connection wait for [`SocketRing::send_queued`]: others would have to
    /// stay behind them.
    pub fn is_queued(&self, slot: u32) -> bool {
        let mut queued = self.sends.iter().take(self.send_count);
        queued.any(|send| send.slot == slot)
    }

    /// Sends `bytes` with the next [`SocketRing::send_queued`]; an empty buffer is in their place
    /// then. `false`, and nothing is done: it is full, bytes of the connection wait already, or it has
    /// failed.
    pub fn send(&mut self, slot: u32, bytes: &mut Vec<u8>) -> bool {
        if self.is_broken || self.is_queued(slot) {
            return false;
        }
        let Some(place) = self.sends.get_mut(self.send_count) else {
            return false;
        };
        self.send_count += 1;
        place.slot = slot;
        place.result = None;
        place.bytes.clear();
        std::mem::swap(&mut place.bytes, bytes);
        true
    }

    /// What is not sent yet of a connection is not sent.
    pub(super) fn unqueue(&mut self, slot: u32) {
        for place in (0..self.send_count).rev() {
            if self.sends[place].slot == slot {
                self.send_count -= 1;
                self.sends.swap(place, self.send_count);
            }
        }
    }

    /// Sends what is queued, in one system call, which does not wait. What became of it is in
    /// [`SocketRing::next_sent`].
    ///
    /// # Errors
    /// Those of io_uring_enter(2) that do not pass: the ring cannot be used any more.
    pub fn send_queued(&mut self) -> io::Result<()> {
        let count = self.send_count;
        if count == 0 {
            return Ok(());
        }
        if self.is_broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let error = match self.carry_out(count) {
            Ok(true) => return Ok(()),
            Ok(false) => io::ErrorKind::TimedOut.into(),
            Err(error) => error,
        };
        self.is_broken = true;
        for send in &mut self.sends {
            // The kernel may still read them.
            std::mem::forget(std::mem::take(&mut send.bytes));
        }
        self.send_count = 0;
        Err(error)
    }

    /// Gives the kernel the sends that are queued; whether it has carried all of them out.
    fn carry_out(&mut self, count: usize) -> io::Result<bool> {
        for place in 0..count {
            let send = &self.sends[place];
            let socket = self.slots.get(send.slot as usize).map_or(-1, |s| s.socket);
            // SAFETY: the bytes are neither changed nor freed before `send_queued` returns. That
            // is after their completions, or they are leaked.
            unsafe { self.calls.send(socket, &send.bytes, place as u32)? };
        }
        // Sends that must not wait have ended when the kernel has taken them.
        for _ in 0..TRIES_MAX {
            self.calls.submit()?;
            self.reap();
            let mut sends = self.sends.iter().take(count);
            if sends.all(|send| send.result.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the system took of the bytes of the next connection.
    pub fn next_sent(&mut self) -> Option<SentBytes> {
        self.send_count = self.send_count.checked_sub(1)?;
        let send = self.sends.get_mut(self.send_count)?;
        let result = send.result.take()?;
        let bytes = std::mem::take(&mut send.bytes);
        let key = self.slots.get(send.slot as usize)?.key;
        let taken = match usize::try_from(result) {
            Ok(taken) => Ok(taken.min(bytes.len())),
            Err(_) if matches!(-result, libc::EAGAIN | libc::EINTR) => Ok(0),
            Err(_) => Err(io::Error::from_raw_os_error(-result)),
        };
        Some(SentBytes { key, bytes, taken })
    }

    /// Keeps a buffer of [`SocketRing::next_sent`] for the next send.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        if let Some(send) = self.sends.get_mut(self.send_count) {
            send.bytes = bytes;
        }
    }
}
