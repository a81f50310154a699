//! NFS on the loop of the driver kit: records over TCP, where lost calls are retransmitted on
//! the next connection; datagrams over UDP, where a NULL call checks that a server answers.

use super::calls::Call;
use super::core::{Core, Timer};
use super::counters::Tally;
use super::ended_calls::CallEnd;
use super::ops::SETTLING;
use super::reply::CallOutcome;
use filermark_driver_kit::sockets::{
    Calls, Event, Incident, LoopState, OnLoss, Received, WireProtocol, probe_xid,
};
use filermark_engine::driver::{Action, ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_net::FrameProgress;
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, Decoder};
use std::collections::BTreeMap;

/// Offset of the message type, and its value in a reply (RFC 5531 section 9).
const KIND_AT: usize = 4;
const REPLY: u32 = 1;

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct ConnState {
    /// UDP: the xid of the NULL call.
    probe: u32,
    /// The NULL call has not been answered yet.
    is_probing: bool,
    /// The event of the messages of the current read so far.
    event: Event,
}

impl WireProtocol for Core {
    type Call = Call;
    type Conn = ConnState;
    type Timer = Timer;

    const CONNECT_STEP: &'static str = "connect to the NFS service";
    const CONNECTING_MAX: usize = 128;
    const ON_LOSS: OnLoss = OnLoss::SendAgain;
    /// A record mark.
    const STREAM_MARK: usize = 4;
    const NO_ANSWER: &'static str = "no answer to a NULL call over UDP and its retransmissions";

    fn calls(&self) -> &Calls<Call> {
        &self.calls
    }

    fn calls_mut(&mut self) -> &mut Calls<Call> {
        &mut self.calls
    }

    fn state(&self) -> &LoopState<Timer> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut LoopState<Timer> {
        &mut self.state
    }

    fn submit(&mut self, request: &Request) -> Submit {
        Self::submit(self, request)
    }

    fn connected(&mut self, conn: u32, state: &mut ConnState) -> Event {
        if !self.settings.datagrams {
            return Event::Up;
        }
        // Servers cache replies by xid and port: an earlier run may have used the same port.
        state.probe = probe_xid(conn ^ self.state.clock.now().0 as u32);
        state.is_probing = true;
        Event::Send
    }

    fn closed(&mut self, _conn: u32, state: &mut ConnState) {
        state.event = Event::Nothing;
    }

    fn own_bytes(&mut self, state: &mut ConnState, out: &mut Vec<u8>) {
        if state.is_probing {
            // NULL is procedure 0 of every version of every program.
            self.template.begin(out, state.probe, 0).finish(out);
        }
    }

    #[inline]
    fn encode_next(&mut self, conn: u32, _state: &mut ConnState, out: &mut Vec<u8>) -> bool {
        let next = self.calls.next_to_encode(conn);
        next.map(|slot| self.encode(slot, out)).is_some()
    }

    #[inline]
    fn call_sent(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (op, procedure) = (call.op, call.procedure);
        tracing::trace!(target: "filermark_nfs::rpc", conn = call.conn, xid = call.xid, procedure = procedure.name(), "sent");
        self.counters.call(procedure);
        if procedure == Procedure::Commit {
            self.count_commit(op);
        }
        self.ops.get_mut(op).stamp_sent(self.state.now);
    }

    #[inline]
    fn receive(
        &mut self,
        conn: u32,
        state: &mut ConnState,
        bytes: &mut [u8],
        at: Nanos,
    ) -> Received {
        if self.settings.datagrams {
            return self.receive_datagram(conn, state, bytes, at);
        }
        let mut records = std::mem::take(&mut self.records);
        let progress = records.split(bytes, |record| {
            state.event = Event::Replies;
            self.reply(conn, record, at);
        });
        self.records = records;
        Ok(progress?)
    }

    #[inline]
    fn after_read(&mut self, _conn: u32, state: &mut ConnState) -> Event {
        std::mem::take(&mut state.event)
    }

    fn fail_call(&mut self, slot: u32, status: Status) {
        let now = self.state.now;
        self.end_call(slot, CallOutcome::Ends(status), now);
    }

    fn count(&mut self, incident: Incident, times: u64) {
        let tally = match incident {
            Incident::Reconnect => Tally::Reconnects,
            Incident::ConnectFailure => Tally::ConnectFailures,
            Incident::Timeout => Tally::Timeouts,
            Incident::StreamError => Tally::StreamErrors,
            Incident::Retransmit => Tally::Retransmits,
            Incident::BadDatagram => Tally::BadReplies,
            Incident::Unreachable => Tally::PortUnreachable,
            Incident::SendError => Tally::SendErrors,
        };
        self.counters.add_many(tally, times);
    }

    /// Repeats a call that was refused with NFS3ERR_JUKEBOX.
    fn fire(&mut self, timer: Timer) {
        let Timer::Jukebox { xid } = timer;
        if let Some(slot) = self.calls.find(xid) {
            self.calls.unpark(slot, self.state.now);
        }
    }

    /// Ends all calls that wait after NFS3ERR_JUKEBOX.
    fn stopping(&mut self) {
        let now = self.state.now;
        for Timer::Jukebox { xid } in self.state.take_timers() {
            if let Some(slot) = self.calls.find(xid) {
                self.end_call(slot, CallOutcome::Failed(Nfsstat3::Jukebox), now);
            }
        }
    }

    fn begin_settling(&mut self) {
        self.counted_in_run = Some(self.counters.values());
    }

    fn settle(&mut self) -> bool {
        Self::settle(self)
    }

    fn end_settling(&mut self) {
        self.give_up_held();
        if let Some(before) = self.counted_in_run.take() {
            self.counters.discard_after_run(&before);
        }
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        self.counters.take(into);
    }

    fn transfer_bytes(&self) -> (u32, u32) {
        let sizes = self.file_systems.iter().map(|f| (f.rsize, f.wsize));
        sizes
            .reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
            .unwrap_or_default()
    }

    fn forget_objects(&mut self, proc: u32, from: ObjectId) {
        self.cursors
            .retain(|(of, dir, _), _| *of != proc || *dir < from);
        self.forget_all_held(proc, from);
        if let Some(proc) = self.procs.get_mut(proc as usize) {
            proc.handles.forget(from);
        }
    }

    fn connect_advice(&self) -> &'static str {
        match self.settings.datagrams {
            false => {
                "check that the server runs and how many connections it and this client allow \
                 (ulimit -n; RESVPORT allows 512 at most); CONNECTIONS=N lets procs share"
            }
            true => {
                "check that the server serves NFS over UDP (many are built without it) and that \
                 no firewall blocks it; or set TCP=on"
            }
        }
    }
}

impl Core {
    fn receive_datagram(
        &mut self,
        conn: u32,
        state: &mut ConnState,
        message: &[u8],
        at: Nanos,
    ) -> Received {
        if !is_reply(message) {
            return Err("the message is not a reply".into());
        }
        let is_of_probe = peek_xid(message) == Some(state.probe);
        match (is_of_probe, state.is_probing) {
            (true, true) => state.event = probe_answered(message),
            (false, false) => self.reply(conn, message, at),
            // A second reply to the NULL call, or a reply to a call of an earlier run.
            (true, false) | (false, true) => {}
        }
        state.is_probing &= !matches!(state.event, Event::Up);
        Ok(FrameProgress {
            consumed: message.len(),
            wanted: 0,
        })
    }

    /// Counts a COMMIT that is sent, unless it is one of the mix.
    fn count_commit(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let is_at_end = logical.token == SETTLING;
        let tally = match logical.action {
            Action::Read { .. } => Tally::ReadCommits,
            _ if logical.is_upkeep(Procedure::Commit) => Tally::WriteCommits,
            _ => return,
        };
        self.counters.add(tally);
        self.counters
            .add_many(Tally::EndCommits, u64::from(is_at_end));
    }

    /// Datagrams: records how a call ended, because more replies to it may arrive.
    pub(crate) fn remember(&mut self, slot: u32, given_up: bool) {
        let call = self.calls.get(slot);
        if given_up {
            self.ended_calls.remember(call.xid, CallEnd::TimedOut);
        } else if call.retransmitted {
            self.ended_calls.remember(call.xid, CallEnd::Answered);
        } else {
            self.ended_calls.answered_at_once(call.xid);
        }
    }

    /// Counts a reply that no call waits for.
    #[cold]
    pub(crate) fn count_unexpected_reply(&mut self, xid: Option<u32>) {
        let end = xid.and_then(|xid| self.ended_calls.find(xid));
        self.counters.add(match end {
            Some(CallEnd::Answered) => Tally::DuplicateReplies,
            Some(CallEnd::TimedOut) => Tally::LateReplies,
            None => Tally::StaleReplies,
        });
    }
}

/// The event of a reply to the NULL call.
fn probe_answered(message: &[u8]) -> Event {
    let header = ReplyHeader::decode(&mut Decoder::new(message));
    match header.map(|header| header.check()) {
        Ok(Ok(())) => Event::Up,
        Ok(Err(refusal)) => Event::Refused(refusal.to_string()),
        Err(error) => Event::Refused(error.to_string()),
    }
}

fn is_reply(message: &[u8]) -> bool {
    let kind = message.get(KIND_AT..).and_then(<[u8]>::first_chunk);
    kind.is_some_and(|kind| u32::from_be_bytes(*kind) == REPLY)
}
