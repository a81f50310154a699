//! A connection that io_uring receives and sends for: in the clear, with short messages. One with a long
//! message, or whose socket was full, leaves the ring and goes on with the reactor.

use super::Stream;
use crate::sockets::protocol::{WireProtocol, stamp};
use crate::sockets::shard::Io;
use filermark_net::{Link, ReadOutcome, SentBytes};
use std::io;

impl<P: WireProtocol> Stream<P> {
    /// Whether the ring must send something first: bytes of this connection, or those of others in
    /// all its places. What is in the queue is sent after that.
    pub(super) fn is_behind(&mut self, core: &mut P, io: &Io) -> bool {
        let slot = self.link.as_ref().and_then(Link::ring_slot);
        let (Some(slot), Some(ring)) = (slot, &io.ring) else {
            return false;
        };
        if ring.is_queued(slot) {
            self.has_more = true;
            return true;
        }
        if ring.is_full() {
            core.calls_mut().mark_dirty(self.number);
            return true;
        }
        false
    }

    /// The ring has sent what it had of this connection, as far as the socket took it. A socket
    /// that did not take all of it waits on the reactor from now on.
    pub(in crate::sockets) fn sent(&mut self, mut sent: SentBytes, core: &mut P, io: &mut Io) {
        let is_own = (sent.key >> 32) as u32 == self.epoch;
        let outcome = match (&mut self.link, sent.taken) {
            (Some(link), Ok(taken)) if is_own => {
                self.sent = self.sent.wrapping_add(taken as u32);
                stamp(core, self.number, self.sent, false);
                link.keep_unsent(&mut sent.bytes, taken, &mut io.pool);
                match link.unsent_len() {
                    0 => Ok(()),
                    _ => self.leave_ring(io),
                }
            }
            (_, Err(error)) if is_own => Err(error),
            _ => Ok(()),
        };
        if let Some(ring) = &mut io.ring {
            ring.give_back(sent.bytes);
        }
        if std::mem::take(&mut self.has_more) {
            core.calls_mut().mark_dirty(self.number);
        }
        if let Err(error) = outcome {
            self.lost(core, io, &error);
        }
    }

    /// A connection whose socket is full goes on with the reactor.
    pub(super) fn leave_ring(&mut self, io: &mut Io) -> io::Result<()> {
        let slot = self.link.as_ref().and_then(Link::ring_slot);
        match (slot, &mut io.ring) {
            (Some(slot), Some(ring)) => ring.leave(slot),
            _ => Ok(()),
        }
    }

    /// The ring receives for a connection in the clear from now on, where there is one.
    pub(super) fn attach(&mut self, io: &mut Io) -> io::Result<()> {
        let key = self.key();
        if let (Some(link), Some(ring)) = (&mut self.link, &mut io.ring)
            && !link.has_tls()
            && ring.attach(link, key)?
        {
            io.reactor.release(link)?;
        }
        Ok(())
    }

    /// The ring has everything of this connection read: it waits on the reactor from now on, which
    /// reports what is there already.
    pub(super) fn detach(&mut self, io: &mut Io) -> io::Result<()> {
        let key = self.key();
        if let Some(link) = &mut self.link {
            link.set_ring_slot(None);
            io.reactor.add(link, key)?;
            self.wants_space = true;
        }
        self.update_space(io)
    }

    /// What the ring has received for this connection, or one read.
    pub(super) fn read(&mut self, io: &mut Io) -> io::Result<Option<ReadOutcome>> {
        let Some(link) = &mut self.link else {
            return Ok(None);
        };
        let (Some(slot), Some(ring)) = (link.ring_slot(), &mut io.ring) else {
            io.system_calls.reads += 1;
            return link.receive(&mut io.scratch);
        };
        let read = ring.receive(slot)?;
        if read.is_none() && ring.has_left(slot) {
            self.detach(io)?;
        }
        Ok(read)
    }
}
