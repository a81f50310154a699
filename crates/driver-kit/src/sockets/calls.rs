//! The calls under way, by id, by connection and by age.
//!
//! A call is in a slot of a slab. Its id is the slot's number (low bits) and a generation
//! (high bits), so that the call of a reply is found without a search and a late reply to an
//! earlier use of the slot is recognized. The slot that was free for the longest time is used
//! first, so that an id is repeated only after millions of calls: servers cache ids.

use super::Entry;
use filermark_model::Nanos;

const SLOT_BITS: u32 = 18;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// No slot.
const NIL: u32 = u32::MAX;
/// The number of different reply timeouts: over datagrams the timeout is doubled with every
/// retransmission.
pub(super) const STAGES: usize = 24;

/// The part of a call under way that all protocols have.
#[derive(Clone, Copy, Debug)]
pub struct CallBase {
    /// Its transaction id.
    pub xid: u32,
    /// The operation it belongs to.
    pub op: u32,
    /// The connection it goes over.
    pub conn: u32,
    /// When the present wait for its reply began.
    pub since: Nanos,
    /// When it began, or was sent for the first time.
    pub first: Nanos,
    /// Timeouts until now.
    pub tries: u16,
    /// At least one byte of it has been sent at some time.
    pub on_wire: bool,
    /// It was sent again with the same id.
    pub retransmitted: bool,
    /// It waits for a timer and is in no list: see [`Calls::park`].
    pub parked: bool,
    /// It is encoded on the present connection.
    encoded: bool,
    /// Which of the reply timeouts applies, below [`STAGES`].
    stage: u8,
    used: bool,
    /// Its offset in the bytes of its connection (low half).
    stream_at: u32,
    by_conn: Links,
    by_age: Links,
}

impl CallBase {
    fn new(xid: u32, op: u32, conn: u32, now: Nanos) -> Self {
        Self {
            xid,
            op,
            conn,
            since: now,
            first: now,
            tries: 0,
            on_wire: false,
            retransmitted: false,
            parked: false,
            encoded: false,
            stage: 0,
            used: false,
            stream_at: 0,
            by_conn: UNLINKED,
            by_age: UNLINKED,
        }
    }

    #[inline]
    pub(super) fn is_encoded(&self) -> bool {
        self.encoded
    }

    #[inline]
    pub(super) fn stage(&self) -> u8 {
        self.stage
    }
}

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: u32,
    next: u32,
}

const UNLINKED: Links = Links {
    prev: NIL,
    next: NIL,
};

/// The calls of one connection, in sending order.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    /// The first one that is not encoded on the present connection; nor are those after it.
    encode: u32,
    /// The first one of which no byte was sent on the present connection.
    stamp: u32,
    /// It is in the list of connections that have data to send.
    is_dirty: bool,
}

impl Queue {
    const EMPTY: Self = Self {
        head: NIL,
        tail: NIL,
        encode: NIL,
        stamp: NIL,
        is_dirty: false,
    };
}

/// The calls of one stage, by age.
#[derive(Clone, Copy, Debug)]
struct CallsByAge {
    oldest: u32,
    newest: u32,
}

/// All calls of a shard.
#[derive(Debug)]
pub struct Calls<T> {
    slots: Vec<T>,
    /// Free slots, as a list through `by_conn.next`.
    free_head: u32,
    free_tail: u32,
    free: u32,
    queues: Vec<Queue>,
    /// Connections that have data to send.
    dirty: Vec<u32>,
    /// The calls of each stage by age: with the same timeout, the reply to the oldest one is
    /// due first.
    ages: [CallsByAge; STAGES],
    /// Which stages have calls, a bit each.
    occupied: u32,
}

impl<T: Entry<CallBase>> Calls<T> {
    /// A table for this number of connections. This number of `slots` is made at the beginning,
    /// so that ids are not repeated early; `generation` varies the ids.
    pub fn new(connections: usize, slots: u32, generation: u32) -> Self {
        let mut calls = Self {
            slots: Vec::with_capacity(slots as usize),
            free_head: NIL,
            free_tail: NIL,
            free: 0,
            queues: vec![Queue::EMPTY; connections],
            dirty: Vec::with_capacity(connections),
            ages: [CallsByAge {
                oldest: NIL,
                newest: NIL,
            }; STAGES],
            occupied: 0,
        };
        for slot in 0..slots.min(SLOT_MASK) {
            calls.add_slot(generation.wrapping_add(slot));
        }
        calls
    }

    /// The queue of one more connection; returns its number.
    pub fn add_connection(&mut self) -> u32 {
        self.queues.push(Queue::EMPTY);
        self.queues.len() as u32 - 1
    }

    fn add_slot(&mut self, generation: u32) {
        let slot = self.slots.len() as u32;
        let xid = generation << SLOT_BITS | slot;
        let call = CallBase::new(xid, 0, 0, Nanos::ZERO);
        self.slots.push(T::from(call));
        self.put_free(slot);
    }

    fn put_free(&mut self, slot: u32) {
        self.slots[slot as usize].by_conn.next = NIL;
        match self.free_tail {
            NIL => self.free_head = slot,
            tail => self.slots[tail as usize].by_conn.next = slot,
        }
        self.free_tail = slot;
        self.free += 1;
    }

    /// How many calls can begin now.
    #[inline]
    pub fn free_slots(&self) -> u32 {
        SLOT_MASK - self.slots.len() as u32 + self.free
    }

    /// Begins a call of an operation, at the end of its connection's queue. `None`: no slot is
    /// free.
    pub fn begin(&mut self, op: u32, conn: u32, now: Nanos) -> Option<&mut T> {
        if self.free_head == NIL {
            if self.slots.len() as u32 >= SLOT_MASK {
                return None;
            }
            self.add_slot(now.0 as u32);
        }
        let slot = self.free_head;
        let call = &mut self.slots[slot as usize];
        self.free_head = call.by_conn.next;
        if self.free_head == NIL {
            self.free_tail = NIL;
        }
        self.free -= 1;
        let base = CallBase::new(next_xid(call.xid), op, conn, now);
        *call = T::from(base);
        call.used = true;
        self.push(slot);
        Some(&mut self.slots[slot as usize])
    }

    /// The slot of the call with this id, if it is under way.
    #[inline]
    pub fn find(&self, xid: u32) -> Option<u32> {
        let slot = xid & SLOT_MASK;
        let call = self.slots.get(slot as usize)?;
        (call.used && call.xid == xid).then_some(slot)
    }

    /// Whether a call is under way in this slot.
    #[inline]
    pub fn is_used(&self, slot: u32) -> bool {
        let call = self.slots.get(slot as usize);
        call.is_some_and(|call| call.used)
    }

    /// The call in this slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }

    /// The call in this slot.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }

    /// Ends a call: its slot is free.
    #[inline]
    pub fn end(&mut self, slot: u32) {
        if !self.slots[slot as usize].parked {
            self.unlink(slot);
        }
        self.slots[slot as usize].used = false;
        self.put_free(slot);
    }

    /// Takes a call out of all queues, until [`Calls::unpark`].
    pub fn park(&mut self, slot: u32) {
        self.unlink(slot);
        self.slots[slot as usize].parked = true;
    }

    /// Puts a parked call back at the end of its queue, as a new call: another
    /// id, so that no server takes it for a retransmission. Its connection may have been changed.
    pub fn unpark(&mut self, slot: u32, now: Nanos) {
        let call = &mut self.slots[slot as usize];
        call.xid = next_xid(call.xid);
        call.since = now;
        call.first = now;
        call.stage = 0;
        call.parked = false;
        call.encoded = false;
        call.on_wire = false;
        call.retransmitted = false;
        self.push(slot);
    }

    /// Restarts the wait for its reply.
    #[inline]
    pub fn renew(&mut self, slot: u32, now: Nanos) {
        self.unlink_age(slot);
        self.slots[slot as usize].since = now;
        self.push_age(slot);
    }

    /// Moves a call to the end of its connection's queue, to be encoded and sent once more, with
    /// the timeout of this stage.
    pub(super) fn send_again(&mut self, slot: u32, stage: u8, now: Nanos) {
        self.unlink(slot);
        let call = &mut self.slots[slot as usize];
        call.since = now;
        call.stage = stage.min(STAGES as u8 - 1);
        call.encoded = false;
        self.push(slot);
    }

    /// Moves a call before the others that are not encoded, as a call that was never sent.
    pub fn requeue(&mut self, slot: u32) {
        self.unlink_conn(slot);
        let call = &mut self.slots[slot as usize];
        call.encoded = false;
        call.on_wire = false;
        let conn = call.conn;
        let queue = self.queues[conn as usize];
        if queue.encode == NIL {
            self.push_conn(slot);
        } else {
            let next = queue.encode;
            let prev = self.slots[next as usize].by_conn.prev;
            self.slots[slot as usize].by_conn = Links { prev, next };
            self.slots[next as usize].by_conn.prev = slot;
            if prev != NIL {
                self.slots[prev as usize].by_conn.next = slot;
            }
            let queue = &mut self.queues[conn as usize];
            for place in [&mut queue.head, &mut queue.encode, &mut queue.stamp] {
                if *place == next {
                    *place = slot;
                }
            }
        }
        self.mark_dirty(conn);
    }

    /// The oldest call of each stage that has calls.
    #[inline]
    pub(super) fn oldest(&self) -> impl Iterator<Item = (u32, &T)> {
        let mut left = self.occupied;
        std::iter::from_fn(move || {
            let stage = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            let slot = self.ages.get(stage)?.oldest;
            Some((slot, self.slots.get(slot as usize)?))
        })
    }

    /// The first call of a connection's queue.
    #[inline]
    pub fn first(&self, conn: u32) -> Option<u32> {
        some(self.queues[conn as usize].head)
    }

    /// The call after this one.
    #[inline]
    pub fn after(&self, slot: u32) -> Option<u32> {
        some(self.slots[slot as usize].by_conn.next)
    }

    /// The next call to be encoded on this connection.
    #[inline]
    pub fn next_to_encode(&self, conn: u32) -> Option<u32> {
        some(self.queues[conn as usize].encode)
    }

    /// Marks the call of [`Calls::next_to_encode`] as encoded, and returns it.
    #[inline]
    pub(super) fn encoded(&mut self, conn: u32, stream_at: u32) -> Option<u32> {
        let queue = &mut self.queues[conn as usize];
        let slot = some(queue.encode)?;
        let call = &mut self.slots[slot as usize];
        call.stream_at = stream_at;
        call.encoded = true;
        queue.encode = call.by_conn.next;
        Some(slot)
    }

    /// The next call of which a byte has been sent, when `sent_to` bytes (low half) of the
    /// connection have been sent; each is returned once per connection.
    #[inline]
    pub(super) fn next_sent(&mut self, conn: u32, sent_to: u32) -> Option<u32> {
        let queue = &mut self.queues[conn as usize];
        let slot = queue.stamp;
        if slot == queue.encode {
            return None;
        }
        let call = self.slots.get(slot as usize)?;
        if sent_to.wrapping_sub(call.stream_at).wrapping_sub(1) >= 1 << 31 {
            return None;
        }
        queue.stamp = call.by_conn.next;
        Some(slot)
    }

    /// Marks all calls of this connection to be encoded and sent again.
    pub(super) fn rewind(&mut self, conn: u32) {
        let queue = &mut self.queues[conn as usize];
        let from = queue.head;
        let to = std::mem::replace(&mut queue.encode, from);
        queue.stamp = from;
        self.note_unencoded(from, to);
    }

    /// Marks the calls that are encoded and not sent to be encoded again.
    pub(super) fn rewind_unsent(&mut self, conn: u32) {
        let queue = &mut self.queues[conn as usize];
        let from = queue.stamp;
        let to = std::mem::replace(&mut queue.encode, from);
        self.note_unencoded(from, to);
    }

    fn note_unencoded(&mut self, from: u32, to: u32) {
        let mut next = from;
        while next != to
            && let Some(call) = self.slots.get_mut(next as usize)
        {
            call.encoded = false;
            next = call.by_conn.next;
        }
    }

    /// Marks a connection that has data to send.
    #[inline]
    pub fn mark_dirty(&mut self, conn: u32) {
        let is_dirty = &mut self.queues[conn as usize].is_dirty;
        if !*is_dirty {
            *is_dirty = true;
            self.dirty.push(conn);
        }
    }

    /// The connection at this index of the list of those that have data to send; its mark is
    /// removed. At the end the list is cleared.
    #[inline]
    pub(super) fn next_dirty(&mut self, place: usize) -> Option<u32> {
        match self.dirty.get(place) {
            Some(conn) => {
                self.queues[*conn as usize].is_dirty = false;
                Some(*conn)
            }
            None => {
                self.dirty.clear();
                None
            }
        }
    }

    fn push(&mut self, slot: u32) {
        self.push_conn(slot);
        self.push_age(slot);
        self.mark_dirty(self.slots[slot as usize].conn);
    }

    fn push_conn(&mut self, slot: u32) {
        let conn = self.slots[slot as usize].conn as usize;
        let tail = self.queues[conn].tail;
        self.slots[slot as usize].by_conn = Links {
            prev: tail,
            next: NIL,
        };
        if tail != NIL {
            self.slots[tail as usize].by_conn.next = slot;
        }
        let queue = &mut self.queues[conn];
        queue.tail = slot;
        for place in [&mut queue.head, &mut queue.encode, &mut queue.stamp] {
            if *place == NIL {
                *place = slot;
            }
        }
    }

    fn unlink(&mut self, slot: u32) {
        self.unlink_conn(slot);
        self.unlink_age(slot);
    }

    fn unlink_conn(&mut self, slot: u32) {
        let call = &self.slots[slot as usize];
        let Links { prev, next } = call.by_conn;
        let queue = &mut self.queues[call.conn as usize];
        for place in [&mut queue.head, &mut queue.encode, &mut queue.stamp] {
            if *place == slot {
                *place = next;
            }
        }
        if queue.tail == slot {
            queue.tail = prev;
        }
        if prev != NIL {
            self.slots[prev as usize].by_conn.next = next;
        }
        if next != NIL {
            self.slots[next as usize].by_conn.prev = prev;
        }
    }

    fn push_age(&mut self, slot: u32) {
        let stage = usize::from(self.slots[slot as usize].stage);
        let newest = self.ages[stage].newest;
        self.slots[slot as usize].by_age = Links {
            prev: newest,
            next: NIL,
        };
        match newest {
            NIL => self.ages[stage].oldest = slot,
            newest => self.slots[newest as usize].by_age.next = slot,
        }
        self.ages[stage].newest = slot;
        self.occupied |= 1 << stage;
    }

    fn unlink_age(&mut self, slot: u32) {
        let call = &self.slots[slot as usize];
        let Links { prev, next } = call.by_age;
        let stage = usize::from(call.stage);
        match prev {
            NIL => self.ages[stage].oldest = next,
            prev => self.slots[prev as usize].by_age.next = next,
        }
        match next {
            NIL => self.ages[stage].newest = prev,
            next => self.slots[next as usize].by_age.prev = prev,
        }
        if self.ages[stage].oldest == NIL {
            self.occupied &= !(1 << stage);
        }
    }
}

/// A transaction id that no call ever has: the highest slot is never used.
pub const fn probe_xid(number: u32) -> u32 {
    number << SLOT_BITS | SLOT_MASK
}

const fn next_xid(xid: u32) -> u32 {
    xid.wrapping_add(1 << SLOT_BITS)
}

const fn some(slot: u32) -> Option<u32> {
    if slot == NIL { None } else { Some(slot) }
}

#[cfg(test)]
mod tests;
