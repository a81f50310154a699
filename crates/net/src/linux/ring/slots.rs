//! Which connections the ring receives for.

use super::{NONE, SLOTS_MAX, Slot, SocketRing, State};
use crate::link::Link;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

impl SocketRing {
    /// Receives for this connection from now on, which is connected, has no TLS, and is not in a
    /// reactor. `false`: there are too many.
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    pub fn attach(&mut self, link: &mut Link, key: u64) -> io::Result<bool> {
        let slot = self.attach_socket(link.as_fd().as_raw_fd(), key)?;
        link.set_ring_slot(slot);
        Ok(slot.is_some())
    }

    pub(super) fn attach_socket(&mut self, socket: RawFd, key: u64) -> io::Result<Option<u32>> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() >= SLOTS_MAX => return Ok(None),
            None => self.slots.len() as u32,
        };
        let new = Slot {
            state: State::Attached,
            key,
            socket,
            is_armed: true,
            first: NONE,
            last: NONE,
            end: None,
        };
        if let Err(error) = self.calls.receive(socket, slot) {
            if (slot as usize) < self.slots.len() {
                self.free.push(slot);
            }
            return Err(error);
        }
        match self.slots.get_mut(slot as usize) {
            Some(old) => *old = new,
            None => self.slots.push(new),
        }
        self.attached_count += 1;
        self.armed_count += 1;
        Ok(Some(slot))
    }

    pub(super) fn slot(&mut self, slot: u32) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(slot as usize)?;
        (slot.state != State::Free).then_some(slot)
    }

    /// Begins to end the receiving of a connection, which goes on with the reactor when
    /// [`SocketRing::has_left`].
    ///
    /// # Errors
    /// Those of io_uring_enter(2).
    pub fn leave(&mut self, slot: u32) -> io::Result<()> {
        let Some(of) = self.slot(slot).filter(|s| s.state == State::Attached) else {
            return Ok(());
        };
        if !of.is_armed {
            of.state = State::Left;
            self.report(slot);
            return Ok(());
        }
        self.calls.cancel(slot)?;
        if let Some(of) = self.slot(slot) {
            of.state = State::Leaving;
        }
        Ok(())
    }

    /// Whether bytes are to be sent by [`SocketRing::send`]: the connection is not about to leave.
    pub fn is_attached(&self, slot: u32) -> bool {
        let slot = self.slots.get(slot as usize);
        slot.is_some_and(|slot| slot.state == State::Attached)
    }

    /// Whether everything that came was read, and nothing more comes here: the connection is to be
    /// put into the reactor. Its slot is free then.
    pub fn has_left(&mut self, slot: u32) -> bool {
        let left = |s: &&mut Slot| s.state == State::Left && s.first == NONE && s.end.is_none();
        let has_left = self.slot(slot).filter(left).is_some();
        if has_left {
            self.free_slot(slot);
        }
        has_left
    }

    /// Ends everything for a connection that is about to be closed.
    pub fn forget(&mut self, link: &mut Link) {
        if let Some(slot) = link.ring_slot() {
            link.set_ring_slot(None);
            // The kernel keeps the socket open until receiving has ended.
            link.shut_down();
            self.forget_slot(slot);
        }
    }

    pub(super) fn forget_slot(&mut self, slot: u32) {
        self.unqueue(slot);
        while let Some(buffer) = self.pop(slot) {
            self.calls.buffers.give(buffer);
        }
        let Some(of) = self.slot(slot) else { return };
        if !of.is_armed {
            return self.free_slot(slot);
        }
        of.state = State::Closed;
        // Where that fails, receiving ends with the stream, which was shut down. The kernel must know
        // the socket before its number can stand for another one.
        let _ = self.calls.cancel(slot);
        let _ = self.calls.submit();
    }

    pub(super) fn free_slot(&mut self, slot: u32) {
        if let Some(of) = self.slot(slot) {
            of.state = State::Free;
            self.attached_count -= 1;
            self.free.push(slot);
        }
    }
}
