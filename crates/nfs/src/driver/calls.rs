//! The calls that are under way, by xid, by connection and by age.
//!
//! A call lives in a slot of a slab. Its xid is the slot's number (low bits) and
//! a generation (high bits), so that a reply finds its call without a search and
//! a late reply to an earlier use of the slot is recognised. Slots are reused in
//! turn, the longest free first, so that an xid comes back after millions of
//! calls only: servers remember xids.

use filermark_model::Nanos;
use filermark_onc::nfs3::Procedure;

const SLOT_BITS: u32 = 18;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Slots made at the beginning, to have many xids in turn from the start.
const SLOTS_MIN: u32 = 512;
/// No slot.
const NIL: u32 = u32::MAX;
/// How many lengths of the wait for a reply there are: over datagrams it is doubled
/// with every retransmission.
pub(crate) const STAGES: usize = 24;

/// A call under way.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its transaction id.
    pub(crate) xid: u32,
    /// The operation it belongs to.
    pub(crate) op: u32,
    /// The connection it goes over.
    pub(crate) conn: u32,
    /// What is called.
    pub(crate) procedure: Procedure,
    /// Length of the transfer, in bytes.
    pub(crate) length: u32,
    /// Offset of the transfer, in bytes; READDIR: the cookie.
    pub(crate) offset: u64,
    /// Since when its reply is waited for.
    pub(crate) since: Nanos,
    /// When it began, or went out for the first time.
    pub(crate) first: Nanos,
    /// Where it begins in the bytes of its connection (low half).
    pub(crate) stream_at: u32,
    /// Time-outs so far.
    pub(crate) tries: u16,
    /// Waits for NFS3ERR_JUKEBOX so far.
    pub(crate) waits: u16,
    /// Some byte of it has been handed to the system at some time.
    pub(crate) on_wire: bool,
    /// It went again with the same xid.
    pub(crate) retransmitted: bool,
    /// It repeats data that went before (the verifier changed).
    pub(crate) rewrite: bool,
    /// It waits for a timer (NFS3ERR_JUKEBOX) and is in no list.
    pub(crate) parked: bool,
    /// Which of the waits for a reply it is in, below [`STAGES`].
    pub(crate) stage: u8,
    used: bool,
    by_conn: Links,
    by_age: Links,
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

/// The calls of one connection in the order they are to be sent.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    /// The first one not encoded on the present connection; all behind it are neither.
    encode: u32,
    /// The first one of which no byte is known to be sent on the present connection.
    stamp: u32,
}

/// The calls of one stage, by age.
#[derive(Clone, Copy, Debug)]
struct CallsByAge {
    oldest: u32,
    newest: u32,
}

/// All calls of a shard.
#[derive(Debug)]
pub(crate) struct Calls {
    slots: Vec<Call>,
    /// Free slots, as a list through `by_conn.next`.
    free_head: u32,
    free_tail: u32,
    free: u32,
    queues: Vec<Queue>,
    /// The calls of each stage by age: with one length of the wait, the oldest one's
    /// reply is due first.
    ages: [CallsByAge; STAGES],
    /// Which stages have calls, a bit each.
    occupied: u32,
}

impl Calls {
    /// Room for the calls of this many connections. `start` varies the xids.
    pub(crate) fn new(connections: usize, start: u32) -> Self {
        let queue = Queue {
            head: NIL,
            tail: NIL,
            encode: NIL,
            stamp: NIL,
        };
        let mut calls = Self {
            slots: Vec::with_capacity(SLOTS_MIN as usize),
            free_head: NIL,
            free_tail: NIL,
            free: 0,
            queues: vec![queue; connections],
            ages: [CallsByAge {
                oldest: NIL,
                newest: NIL,
            }; STAGES],
            occupied: 0,
        };
        for slot in 0..SLOTS_MIN {
            calls.add_slot(start.wrapping_add(slot));
        }
        calls
    }

    fn add_slot(&mut self, generation: u32) {
        let slot = self.slots.len() as u32;
        self.slots.push(Call {
            xid: generation << SLOT_BITS | slot,
            op: 0,
            conn: 0,
            procedure: Procedure::Null,
            length: 0,
            offset: 0,
            since: Nanos::ZERO,
            first: Nanos::ZERO,
            stream_at: 0,
            tries: 0,
            waits: 0,
            on_wire: false,
            retransmitted: false,
            rewrite: false,
            parked: false,
            stage: 0,
            used: false,
            by_conn: UNLINKED,
            by_age: UNLINKED,
        });
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

    /// How many calls could begin now.
    #[inline]
    pub(crate) fn free_slots(&self) -> u32 {
        SLOT_MASK - self.slots.len() as u32 + self.free
    }

    /// Begins a call: it waits at the end of its connection's queue. `None`: no room.
    pub(crate) fn begin(
        &mut self,
        op: u32,
        conn: u32,
        procedure: Procedure,
        now: Nanos,
    ) -> Option<&mut Call> {
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
        *call = Call {
            xid: next_xid(call.xid),
            op,
            conn,
            procedure,
            length: 0,
            offset: 0,
            since: now,
            first: now,
            stream_at: 0,
            tries: 0,
            waits: 0,
            on_wire: false,
            retransmitted: false,
            rewrite: false,
            parked: false,
            stage: 0,
            used: true,
            by_conn: UNLINKED,
            by_age: UNLINKED,
        };
        self.push(slot);
        Some(&mut self.slots[slot as usize])
    }

    /// The slot of the call with this xid, if it is under way.
    #[inline]
    pub(crate) fn find(&self, xid: u32) -> Option<u32> {
        let slot = xid & SLOT_MASK;
        let call = self.slots.get(slot as usize)?;
        (call.used && call.xid == xid).then_some(slot)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Call {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Call {
        &mut self.slots[slot as usize]
    }

    /// Ends a call: its slot is free.
    #[inline]
    pub(crate) fn end(&mut self, slot: u32) {
        if !self.slots[slot as usize].parked {
            self.unlink(slot);
        }
        self.slots[slot as usize].used = false;
        self.put_free(slot);
    }

    /// Takes a call out of all queues, until [`Calls::unpark`].
    pub(crate) fn park(&mut self, slot: u32) {
        self.unlink(slot);
        self.slots[slot as usize].parked = true;
    }

    /// Puts a parked call back at the end of its queue, as a new call: another
    /// xid, so that no server takes it for a retransmission.
    pub(crate) fn unpark(&mut self, slot: u32, now: Nanos) {
        let call = &mut self.slots[slot as usize];
        call.xid = next_xid(call.xid);
        call.since = now;
        call.first = now;
        call.stage = 0;
        call.parked = false;
        call.on_wire = false;
        call.retransmitted = false;
        self.push(slot);
    }

    /// Counts as just begun from here on.
    pub(crate) fn renew(&mut self, slot: u32, now: Nanos) {
        self.unlink_age(slot);
        self.slots[slot as usize].since = now;
        self.push_age(slot);
    }

    /// Goes to the end of its connection's queue, to be encoded and sent once more,
    /// and into this stage of waiting.
    pub(crate) fn again(&mut self, slot: u32, stage: u8, now: Nanos) {
        self.unlink(slot);
        let call = &mut self.slots[slot as usize];
        call.since = now;
        call.stage = stage.min(STAGES as u8 - 1);
        self.push(slot);
    }

    /// Of each stage that has calls, the one that is waited for longest.
    #[inline]
    pub(crate) fn oldest(&self) -> impl Iterator<Item = (u32, &Call)> {
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
    pub(crate) fn first(&self, conn: u32) -> Option<u32> {
        some(self.queues[conn as usize].head)
    }

    /// The call behind this one.
    #[inline]
    pub(crate) fn after(&self, slot: u32) -> Option<u32> {
        some(self.slots[slot as usize].by_conn.next)
    }

    /// The next call to be encoded on this connection.
    #[inline]
    pub(crate) fn next_to_encode(&self, conn: u32) -> Option<u32> {
        some(self.queues[conn as usize].encode)
    }

    /// The call that [`Calls::next_to_encode`] gave is encoded.
    #[inline]
    pub(crate) fn encoded(&mut self, conn: u32, stream_at: u32) {
        let queue = &mut self.queues[conn as usize];
        if let Some(call) = self.slots.get_mut(queue.encode as usize) {
            call.stream_at = stream_at;
            queue.encode = call.by_conn.next;
        }
    }

    /// The next call of which a byte has been sent, when `sent_to` (low half)
    /// bytes of the connection have been; each is given once per connection.
    #[inline]
    pub(crate) fn next_sent(&mut self, conn: u32, sent_to: u32) -> Option<u32> {
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

    /// Everything of this connection is to be encoded and sent anew.
    pub(crate) fn rewind(&mut self, conn: u32) {
        let queue = &mut self.queues[conn as usize];
        queue.encode = queue.head;
        queue.stamp = queue.head;
    }

    /// What is encoded and not sent is to be encoded anew; what is sent stays so.
    pub(crate) fn rewind_unsent(&mut self, conn: u32) {
        let queue = &mut self.queues[conn as usize];
        queue.encode = queue.stamp;
    }

    fn push(&mut self, slot: u32) {
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
        self.push_age(slot);
    }

    fn unlink(&mut self, slot: u32) {
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
        self.unlink_age(slot);
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
pub(crate) const fn probe_xid(number: u32) -> u32 {
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
