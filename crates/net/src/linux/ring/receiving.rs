//! What the kernel has received, and what of it was read.

use super::calls::{Call, Completion};
use super::{NONE, Slot, SocketRing, State};
use crate::link::ReadOutcome;
use crate::linux::arrival::{age_at, now_of_day};
use crate::ready::Ready;
use filermark_model::Nanos;
use std::io::{self, ErrorKind};

impl SocketRing {
    /// Takes the next bytes that came, up to a buffer of them; see [`SocketRing::bytes`].
    /// `None`: nothing is there.
    ///
    /// # Errors
    /// The connection broke; its end is `UnexpectedEof`.
    pub fn receive(&mut self, slot: u32) -> io::Result<Option<ReadOutcome>> {
        self.release();
        let Some(buffer) = self.pop(slot) else {
            return match self.slot(slot).and_then(|slot| slot.end) {
                None => Ok(None),
                Some(0) => Err(ErrorKind::UnexpectedEof.into()),
                Some(error) => Err(io::Error::from_raw_os_error(error)),
            };
        };
        self.current = buffer;
        let note = self.notes[usize::from(buffer)];
        let arrival = note.arrival;
        Ok(Some(ReadOutcome {
            scratch_len: note.len as usize,
            more: self.has_more(slot),
            age: arrival.map_or(Nanos::ZERO, |arrival| age_at(now_of_day(), arrival)),
        }))
    }

    fn has_more(&mut self, slot: u32) -> bool {
        let has_more = |s: &mut Slot| s.first != NONE || s.end.is_some() || s.state == State::Left;
        self.slot(slot).is_some_and(has_more)
    }

    /// The bytes of the last [`SocketRing::receive`].
    pub fn bytes(&mut self) -> &mut [u8] {
        let note = self.notes.get(usize::from(self.current));
        let part = note.map_or(0..0, |note| note.part());
        self.calls.buffers.get(self.current, part)
    }

    /// Gives the buffer that was read last to the kernel.
    pub(super) fn release(&mut self) {
        self.calls
            .buffers
            .give(std::mem::replace(&mut self.current, NONE));
    }

    pub(super) fn pop(&mut self, slot: u32) -> Option<u16> {
        let of = self.slots.get_mut(slot as usize)?;
        let buffer = of.first;
        of.first = *self.next.get(usize::from(buffer))?;
        Some(buffer)
    }

    pub(super) fn push(&mut self, slot: u32, buffer: u16) {
        let Some(of) = self.slots.get_mut(slot as usize) else {
            return;
        };
        self.next[usize::from(buffer)] = NONE;
        match of.first {
            NONE => of.first = buffer,
            _ => self.next[usize::from(of.last)] = buffer,
        }
        of.last = buffer;
    }

    /// Takes the completions that are there.
    pub(super) fn reap(&mut self) {
        while let Some(completion) = self.calls.next() {
            match completion.call {
                Call::Receive(slot) => self.received(slot, completion),
                Call::Send(place) => {
                    if let Some(send) = self.sends.get_mut(place as usize) {
                        send.result = Some(completion.result);
                    }
                }
                Call::Poll => {
                    self.is_polling = false;
                    self.is_polled = true;
                }
                Call::Cancel => {}
            }
        }
    }

    fn received(&mut self, number: u32, completion: Completion) {
        let Some(slot) = self.slots.get_mut(number as usize) else {
            return;
        };
        if !completion.more {
            slot.is_armed = false;
            self.armed_count -= 1;
        }
        let (state, was_empty) = (slot.state, slot.first == NONE);
        let end = match (completion.buffer, completion.result) {
            (buffer, error) if error < 0 => {
                buffer.into_iter().for_each(|b| self.calls.buffers.give(b));
                Some(error.unsigned_abs() as i32)
            }
            (None, _) => Some(0),
            (Some(buffer), result) => {
                let note = self.calls.note(buffer, result);
                self.notes[usize::from(buffer)] = note;
                if note.len == 0 || state == State::Closed {
                    self.calls.buffers.give(buffer);
                } else {
                    self.push(number, buffer);
                }
                (note.len == 0).then_some(0)
            }
        };
        self.ended(number, completion.more, end);
        if was_empty || end.is_some() {
            self.report(number);
        }
    }

    /// A receive has ended, as far as there is an `end` or no `more` completions.
    fn ended(&mut self, number: u32, more: bool, end: Option<i32>) {
        let Some(slot) = self.slot(number) else {
            return;
        };
        // These say nothing of the connection: receiving is begun again.
        let passes = |end: &i32| {
            let is_short = matches!(*end, libc::ENOBUFS | libc::ENOMEM);
            is_short || matches!(*end, libc::ECANCELED | libc::EINTR | libc::EAGAIN)
        };
        slot.end = slot.end.or(end.filter(|end| !passes(end)));
        match slot.state {
            _ if more => {}
            State::Closed => self.free_slot(number),
            State::Leaving => {
                slot.state = State::Left;
                self.report(number);
            }
            State::Attached => self.unarmed.push(number),
            State::Left | State::Free => {}
        }
    }

    /// The next wait reports a slot.
    pub(super) fn report(&mut self, slot: u32) {
        let Some(of) = self.slot(slot).filter(|s| s.state != State::Closed) else {
            return;
        };
        let ready = Ready {
            key: of.key,
            readable: true,
            writable: false,
            ended: of.end == Some(0),
            broken: of.end.is_some_and(|end| end != 0),
        };
        self.ready.push(ready);
    }
}
