//! NFS on the loop of the driver kit: what all versions have in common.

use super::calls::Call;
use super::core::{Core, Timer};
use super::counters::Tally;
use super::ended_calls::CallEnd;
use super::ops::SETTLING;
use super::reply::CallOutcome;
use super::variant::Variant;
use crate::starttls;
use filermark_driver_kit::sockets::{
    Calls, Event, Incident, LoopState, OnLoss, Peer, Received, WireProtocol,
};
use filermark_engine::driver::{Action, ObjectId, Request, Status, Submit};
use filermark_model::Nanos;
use filermark_onc::nfs3::{Nfsstat3, Procedure};
use filermark_tls::TlsError;
use std::collections::BTreeMap;
use std::io;

impl<V: Variant> WireProtocol for Core<V> {
    type Call = Call<V::Call>;
    type Conn = V::Conn;
    type Timer = Timer;

    const HAS_LEASES: bool = V::HAS_LEASES;
    const CONNECT_STEP: &'static str = "connect to the NFS service";
    const CONNECTING_MAX: usize = 128;
    const ON_LOSS: OnLoss = OnLoss::SendAgain;
    /// A record mark.
    const STREAM_MARK: usize = 4;
    const NO_ANSWER: &'static str = "no answer to a NULL call over UDP and its retransmissions";

    fn calls(&self) -> &Calls<Call<V::Call>> {
        &self.calls
    }

    fn calls_mut(&mut self) -> &mut Calls<Call<V::Call>> {
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

    fn connected(&mut self, conn: u32, state: &mut V::Conn) -> Event {
        V::connected(self, conn, state)
    }

    fn closed(&mut self, conn: u32, state: &mut V::Conn) {
        if let Some(contexts) = &mut self.contexts {
            contexts.closed(conn);
        }
        self.wake_waiting();
        V::closed(self, conn, state);
    }

    fn given_up(&mut self, conn: u32, _state: &mut V::Conn) -> Option<io::Error> {
        V::given_up(self, conn)
    }

    fn own_bytes(&mut self, state: &mut V::Conn, out: &mut Vec<u8>) {
        V::own_bytes(self, state, out);
    }

    #[inline]
    fn encode_next(&mut self, conn: u32, _state: &mut V::Conn, out: &mut Vec<u8>) -> bool {
        if self.contexts.is_none() {
            return V::encode_next(self, conn, out);
        }
        if self.calls.next_to_encode(conn).is_none() {
            self.end_window_wait(conn);
            return false;
        }
        if !self.has_space(conn) {
            return false;
        }
        let start = out.len();
        let is_encoded = V::encode_next(self, conn, out) && self.protect(conn, out, start);
        if is_encoded {
            self.count_window_wait(conn);
        }
        is_encoded
    }

    #[inline]
    fn call_sent(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (op, procedure) = (call.op, call.procedure);
        tracing::trace!(target: "filermark_nfs::rpc", conn = call.conn, xid = call.xid, procedure = procedure.name(), "sent");
        V::count_call(self, slot);
        if procedure == Procedure::Commit {
            self.count_commit(op);
        }
        self.ops.get_mut(op).stamp_sent(self.state.now);
    }

    #[inline]
    fn receive(&mut self, conn: u32, state: &mut V::Conn, bytes: &mut [u8], at: Nanos) -> Received {
        V::receive(self, conn, state, bytes, at)
    }

    #[inline]
    fn after_read(&mut self, conn: u32, state: &mut V::Conn) -> Event {
        self.wake_waiting();
        V::after_read(self, conn, state)
    }

    fn new_connection(&mut self) -> Option<(Peer, V::Conn)> {
        V::new_connection(self)
    }

    fn gone_after(&self, state: &V::Conn, usual: Nanos) -> Nanos {
        V::gone_after(state, usual)
    }

    fn fail_call(&mut self, slot: u32, status: Status) {
        if V::send_elsewhere(self, slot) {
            return;
        }
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
        match timer {
            Timer::Jukebox { xid } => {
                if let Some(slot) = self.calls.find(xid) {
                    self.calls.unpark(slot, self.state.now);
                    V::unparked(self, slot);
                }
            }
            Timer::OfConn { conn, timer } => V::fire(self, conn, timer),
            Timer::Contexts => self.renew_contexts(),
        }
    }

    /// Ends all calls that wait after NFS3ERR_JUKEBOX.
    fn stopping(&mut self) {
        let now = self.state.now;
        if let Some(contexts) = &mut self.contexts {
            contexts.timers_taken();
        }
        for timer in self.state.take_timers() {
            match timer {
                Timer::Jukebox { xid } => {
                    if let Some(slot) = self.calls.find(xid) {
                        self.end_call(slot, CallOutcome::Failed(Nfsstat3::Jukebox), now);
                    }
                }
                Timer::OfConn { conn, timer } => V::fire(self, conn, timer),
                Timer::Contexts => self.renew_contexts(),
            }
        }
    }

    fn begin_settling(&mut self) {
        self.counted_in_run = Some(self.counters.values());
    }

    fn settle(&mut self) -> bool {
        let is_held = Self::settle(self);
        V::settle(self) || is_held
    }

    fn end(&mut self) -> bool {
        let is_ending = V::end(self);
        if let Some(contexts) = self.contexts.as_mut().filter(|_| !is_ending) {
            contexts.end();
        }
        is_ending
    }

    fn clients_left(&self) -> u64 {
        V::clients_left(self)
    }

    fn end_settling(&mut self) {
        self.give_up_held();
        if let Some(before) = self.counted_in_run.take() {
            self.counters.discard_after_run(&before);
        }
    }

    fn take_counters(&mut self, into: &mut BTreeMap<String, u64>) {
        V::count_present(self);
        self.counters.take(into);
        V::take_counters(self, into);
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
        V::forget_objects(self, proc, from);
        if let Some(proc) = self.procs.get_mut(proc as usize) {
            proc.handles.forget(from);
        }
    }

    fn connect_advice(&self, tls: Option<&TlsError>) -> &'static str {
        tls.map_or_else(|| V::connect_advice(self), starttls::advice)
    }
}

impl<V: Variant> Core<V> {
    /// Counts a COMMIT that is sent, unless it is one of the mix.
    fn count_commit(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let is_at_end = logical.token == SETTLING && self.counted_in_run.is_some();
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
