//! A minimal protocol with sessions. Messages have eight bytes.

use super::super::*;
use crate::extends;
use filermark_engine::driver::{Completion, ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_net::FrameProgress;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;

/// Bytes of a message.
pub(super) const MESSAGE: usize = 8;

/// One message, of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message {
    /// `E`, `C`: the steps of the set-up; `S`: a call in a slot; `B`: a call of the server.
    /// Answers have the lower-case letter; `x` refuses.
    pub(super) kind: u8,
    pub(super) slot: u8,
    pub(super) number: u16,
    pub(super) token: u32,
}

impl Message {
    pub(super) fn new(kind: u8) -> Self {
        Self {
            kind,
            slot: 0,
            number: 0,
            token: 0,
        }
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind, self.slot]);
        out.extend_from_slice(&self.number.to_be_bytes());
        out.extend_from_slice(&self.token.to_be_bytes());
    }

    pub(super) fn read(bytes: &[u8; MESSAGE]) -> Self {
        let [kind, slot, n0, n1, t0, t1, t2, t3] = *bytes;
        Self {
            kind,
            slot,
            number: u16::from_be_bytes([n0, n1]),
            token: u32::from_be_bytes([t0, t1, t2, t3]),
        }
    }
}

/// A slot of the session: the number of its call, and whether one is under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    number: u16,
    is_taken: bool,
}

#[derive(Debug)]
pub(super) struct Call {
    base: CallBase,
    /// Its slot in the session, once it has one.
    slot: Option<u8>,
}

extends!(Call, CallBase);

impl From<CallBase> for Call {
    fn from(base: CallBase) -> Self {
        Self { base, slot: None }
    }
}

#[derive(Debug)]
pub(super) struct Op {
    base: OpBase,
}

extends!(Op, OpBase);

impl From<OpBase> for Op {
    fn from(base: OpBase) -> Self {
        Self { base }
    }
}

/// The data of a connection: the protocol's own bytes to send, and the event of the last read.
#[derive(Debug, Default)]
pub(super) struct ConnState {
    own: Vec<u8>,
    event: Event,
    /// It was made while the shard ran; its calls go on with the first connection.
    is_aside: bool,
}

/// The state of a shard; with `AGAIN` calls are sent again after a loss.
#[derive(Debug)]
pub(super) struct Core<const AGAIN: bool> {
    pub(super) state: LoopState<Infallible>,
    pub(super) calls: Calls<Call>,
    ops: Ops<Op>,
    pub(super) slots: Vec<Slot>,
    pub(super) incidents: BTreeMap<String, u64>,
    /// The next call ends when it is to be encoded, as a call on a file that was lost.
    pub(super) ends_next: bool,
    /// For how long the server of that connection may be out of reach.
    pub(super) aside_gone_after: Nanos,
    /// Calls go to this address, over a connection of their own.
    pub(super) aside: Option<SocketAddr>,
    /// Its number, once there is one.
    aside_conn: Option<u32>,
    new: Option<SocketAddr>,
}

impl<const AGAIN: bool> Core<AGAIN> {
    pub(super) fn new(state: LoopState<Infallible>, calls: Calls<Call>) -> Self {
        Self {
            state,
            calls,
            ops: Ops::default(),
            slots: Vec::new(),
            incidents: BTreeMap::new(),
            ends_next: false,
            aside_gone_after: Nanos::from_secs(2),
            aside: None,
            aside_conn: None,
            new: None,
        }
    }

    fn take(&mut self, state: &mut ConnState, message: Message, at: Nanos) {
        match message.kind {
            b'e' => {
                Message::new(b'C').put(&mut state.own);
                state.event = Event::Send;
            }
            b'c' => {
                let count = message.slot.into();
                // A session that still exists keeps the state of its slots.
                if self.slots.len() != count {
                    self.slots = vec![Slot::default(); count];
                }
                state.event = Event::Up;
            }
            b'x' => state.event = Event::Refused("no such client".to_owned()),
            b'B' => {
                let kind = b'b';
                Message { kind, ..message }.put(&mut state.own);
                state.event = Event::Send;
            }
            _ => {
                self.answered(message, at);
                if matches!(state.event, Event::Nothing) {
                    state.event = Event::Replies;
                }
            }
        }
    }

    fn answered(&mut self, message: Message, at: Nanos) {
        let Some(slot) = self.calls.find(message.token) else {
            return;
        };
        let number = self.slots[usize::from(message.slot)].number;
        assert_eq!(number, message.number, "the number of the call");
        self.over(slot, Status::Ok, at);
    }

    fn over(&mut self, slot: u32, status: Status, now: Nanos) {
        let call = self.calls.get(slot);
        let (op, session_slot) = (call.op, call.slot);
        if let Some(taken) = session_slot.and_then(|s| self.slots.get_mut(usize::from(s))) {
            taken.is_taken = false;
        }
        self.calls.end(slot);
        let ended = self.ops.get_mut(op);
        ended.fail(status);
        ended.outcome.physical += u32::from(status == Status::Ok);
        ended.note_done(now);
        self.state.done.push(Completion {
            token: ended.token,
            outcome: ended.outcome,
        });
        self.ops.end(op);
    }
}

impl<const AGAIN: bool> WireProtocol for Core<AGAIN> {
    type Call = Call;
    type Conn = ConnState;
    type Timer = Infallible;

    const CONNECT_STEP: &'static str = "set up a session";
    const CONNECTING_MAX: usize = 4;
    const ON_LOSS: OnLoss = match AGAIN {
        true => OnLoss::SendAgain,
        false => OnLoss::Fail,
    };

    fn calls(&self) -> &Calls<Call> {
        &self.calls
    }

    fn calls_mut(&mut self) -> &mut Calls<Call> {
        &mut self.calls
    }

    fn state(&self) -> &LoopState<Infallible> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut LoopState<Infallible> {
        &mut self.state
    }

    fn submit(&mut self, request: &Request) -> Submit {
        let op = self.ops.begin(request);
        let conn = match (self.aside, self.aside_conn) {
            (None, _) => 0,
            (Some(_), Some(conn)) => conn,
            (Some(address), None) => {
                self.new = Some(address);
                let conn = self.calls.add_connection();
                *self.aside_conn.insert(conn)
            }
        };
        self.calls
            .begin(op, conn, self.state.now)
            .expect("a free slot");
        Submit::Queued
    }

    fn new_connection(&mut self) -> Option<(Peer, ConnState)> {
        let state = ConnState {
            is_aside: true,
            ..ConnState::default()
        };
        Some((self.new.take()?.into(), state))
    }

    fn gone_after(&self, state: &ConnState, usual: Nanos) -> Nanos {
        match state.is_aside {
            true => self.aside_gone_after.min(usual),
            false => usual,
        }
    }

    fn connected(&mut self, _conn: u32, state: &mut ConnState) -> Event {
        Message::new(b'E').put(&mut state.own);
        Event::Send
    }

    fn closed(&mut self, _conn: u32, state: &mut ConnState) {
        *state = ConnState {
            is_aside: state.is_aside,
            ..ConnState::default()
        };
        if !AGAIN {
            self.slots.clear();
        }
    }

    fn own_bytes(&mut self, state: &mut ConnState, out: &mut Vec<u8>) {
        out.append(&mut state.own);
    }

    fn encode_next(&mut self, conn: u32, _state: &mut ConnState, out: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.ends_next)
            && let Some(slot) = self.calls.next_to_encode(conn)
        {
            self.fail_call(slot, Status::Disconnected);
        }
        let Some(slot) = self.calls.next_to_encode(conn) else {
            return false;
        };
        let call = self.calls.get_mut(slot);
        let free = self.slots.iter().position(|s| !s.is_taken);
        let Some(session_slot) = call.slot.or(free.map(|s| s as u8)) else {
            return false;
        };
        let place = &mut self.slots[usize::from(session_slot)];
        // A call that is sent again keeps its number.
        place.number += u16::from(call.slot.is_none());
        place.is_taken = true;
        call.slot = Some(session_slot);
        let message = Message {
            kind: b'S',
            slot: session_slot,
            number: place.number,
            token: call.xid,
        };
        message.put(out);
        true
    }

    fn call_sent(&mut self, slot: u32) {
        let (op, now) = (self.calls.get(slot).op, self.state.now);
        self.ops.get_mut(op).stamp_sent(now);
    }

    fn receive(
        &mut self,
        _conn: u32,
        state: &mut ConnState,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Received {
        let (whole, rest) = bytes.as_chunks::<MESSAGE>();
        for message in whole {
            if message[0] == 0 {
                return Err("no message begins with 0".into());
            }
            self.take(state, Message::read(message), at);
        }
        Ok(FrameProgress {
            consumed: bytes.len() - rest.len(),
            wanted: MESSAGE - rest.len(),
        })
    }

    fn after_read(&mut self, _conn: u32, state: &mut ConnState) -> Event {
        std::mem::take(&mut state.event)
    }

    fn fail_call(&mut self, slot: u32, status: Status) {
        let now = self.state.now;
        if self.calls.get(slot).conn != 0 && !self.state.stopping {
            self.calls.park(slot);
            let call = self.calls.get_mut(slot);
            call.conn = 0;
            call.slot = None;
            self.calls.unpark(slot, now);
            return;
        }
        self.over(slot, status, now);
    }

    fn count(&mut self, incident: Incident, times: u64) {
        *self.incidents.entry(format!("{incident:?}")).or_default() += times;
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        into.append(&mut self.incidents);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        (0, 0)
    }

    fn forget_objects(&mut self, _proc: u32, _from: ObjectId) {}

    fn connect_advice(&self, _tls: Option<&filermark_tls::TlsError>) -> &'static str {
        "ask the peer"
    }
}
