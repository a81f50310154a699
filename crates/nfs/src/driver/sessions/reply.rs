//! What a reply says of session and state; which calls are sent again, now or later, and
//! which end.

use super::compounds::{self, StateCall};
use super::opens::{self, OpenState};
use super::setup::lost;
use super::state::Sessions;
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use crate::driver::status::rpc_code;
use crate::version4::SequenceOutcome;
use filermark_driver_kit::sockets::Event;
use filermark_engine::driver::{Action, Status};
use filermark_model::Nanos;
use filermark_onc::nfs3::Nfsstat3;
use filermark_onc::nfs4::{CompoundRes, Nfsstat4, OpenOk, Operation, SequenceArgs};
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

/// What happens to the call of a reply.
pub(super) enum Judged {
    /// It has ended.
    Ended(CallOutcome),
    /// The server is not ready: it is sent again later.
    Later(Nfsstat4),
    /// It is sent again at once, with another slot.
    Again,
    /// It is in the queue again already.
    Requeued,
    /// It is sent again when there is a connection, or session, again.
    Lost(String),
    /// It ends, and the session cannot be used any more.
    EndedAndLost(CallOutcome, String),
}

impl From<DecodeError> for Judged {
    fn from(_: DecodeError) -> Self {
        Self::Ended(CallOutcome::Ends(Status::Garbage))
    }
}

impl Core<Sessions> {
    /// Processes a reply to a call of an operation; returns its event.
    pub(super) fn session_reply(&mut self, conn: u32, record: &[u8], now: Nanos) -> Event {
        let slot = peek_xid(record).and_then(|xid| self.calls.find(xid));
        let slot = slot.filter(|slot| {
            let call = self.calls.get(*slot);
            call.conn == conn && call.on_wire && !call.parked
        });
        let Some(slot) = slot else {
            self.count_unexpected_reply(peek_xid(record));
            return Event::Nothing;
        };
        let judged = match self.judge_session(slot, record) {
            Ok(judged) | Err(judged) => judged,
        };
        match judged {
            Judged::Ended(outcome) => self.end_judged(slot, outcome, now),
            Judged::Later(status) => {
                let tally = match status {
                    Nfsstat4::Grace => Tally::GraceWaits,
                    _ => Tally::JukeboxWaits,
                };
                if !self.park(slot, now, tally) {
                    // A slot that it still has was not used: SEQUENCE itself was refused.
                    self.release_slot(slot);
                    self.end_judged(slot, failed(status), now);
                }
            }
            Judged::Again => self.calls.requeue(slot),
            Judged::Requeued => {}
            Judged::Lost(reason) => return lost(reason),
            Judged::EndedAndLost(outcome, reason) => {
                self.end_judged(slot, outcome, now);
                return lost(reason);
            }
        }
        if self.own.client(conn).has_recalls {
            self.return_recalled(conn);
        }
        self.wake_blocked(conn);
        if self.own.client(conn).lacks_slots() {
            self.give_up_others(conn);
            return lost(
                "no slot of the session is usable: the server has not answered their calls"
                    .to_owned(),
            );
        }
        Event::Replies
    }

    /// Frees the slot of a call that the server has not executed.
    fn release_slot(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        let place = self.own.place(call.conn);
        let client = &mut self.own.clients[place];
        if let Some(taken) = call.own.slot.take()
            && call.own.session == client.number
            && let Some(established) = &mut client.session
        {
            established.session.cancel(taken);
        }
    }

    fn end_judged(&mut self, slot: u32, outcome: CallOutcome, now: Nanos) {
        if outcome == CallOutcome::Ends(Status::Garbage) {
            self.counters.add(Tally::BadReplies);
        }
        self.end_call(slot, outcome, now);
    }

    /// Both `Ok` and `Err` hold what happens; `Err` allows `?`.
    fn judge_session(&mut self, slot: u32, record: &[u8]) -> Result<Judged, Judged> {
        let mut d = Decoder::new(record);
        let header = ReplyHeader::decode(&mut d)?;
        if let Err(refusal) = header.check() {
            let outcome = CallOutcome::Ends(Status::Refused(rpc_code(refusal)));
            return Ok(Judged::Ended(outcome));
        }
        let call = self.calls.get(slot);
        if compounds::is_null(call) {
            return Ok(Judged::Ended(CallOutcome::Ok));
        }
        let mut compound = CompoundRes::<Operation>::decode(&mut d)?;
        let (kind, conn) = (call.own.kind, call.conn);
        if !self.own.has_sessions() {
            self.settle_owner(slot, &compound);
            if compound.left() == 0 && compound.status != Nfsstat4::Ok {
                return Ok(match compound.status {
                    status @ Nfsstat4::Delay => Judged::Later(status),
                    status => Judged::Ended(failed(status)),
                });
            }
        }
        let call = self.calls.get(slot);
        if call.own.slot.is_some() {
            if compound.left() == 0 {
                // It failed before SEQUENCE, which has not used its number.
                self.release_slot(slot);
                return Ok(Judged::Ended(failed(compound.status)));
            }
            self.judge_sequence(slot, &mut compound)?;
        }
        let status = compound.status;
        let outcome = self.results(slot, &mut compound)?;
        let is_state = matches!(
            kind,
            Some(StateCall::DestroySession | StateCall::DestroyClientid)
        );
        // An operation behind the one that was asked for may have failed: no call is executed
        // twice for that.
        let is_refused = matches!(outcome, CallOutcome::Failed(_));
        if is_refused
            && !self.own.has_sessions()
            && let Some(judged) = self.judge_without_session(slot, status)
        {
            return Ok(judged);
        }
        Ok(match status {
            Nfsstat4::Delay | Nfsstat4::Grace if is_refused => Judged::Later(status),
            _ if is_state => Judged::Ended(outcome),
            // The server has lost the client between the operations.
            Nfsstat4::StaleClientid if is_refused => self.session_is_lost(conn, slot, status),
            Nfsstat4::BadStateid
            | Nfsstat4::StaleStateid
            | Nfsstat4::OldStateid
            | Nfsstat4::AdminRevoked
            | Nfsstat4::DelegRevoked
            | Nfsstat4::Expired
                if is_refused && self.open_again(slot, status) =>
            {
                // `open_again` has put it back into the queue.
                Judged::Requeued
            }
            _ => Judged::Ended(outcome),
        })
    }

    /// The result of SEQUENCE: `Err` unless the other operations were executed.
    fn judge_sequence(
        &mut self,
        slot: u32,
        compound: &mut CompoundRes<'_, Operation>,
    ) -> Result<(), Judged> {
        let result = compound.read::<SequenceArgs>()?;
        let next = compound.next_status();
        let call = self.calls.get_mut(slot);
        let conn = call.conn;
        let place = self.own.place(conn);
        let client = &mut self.own.clients[place];
        let (Some(taken), Some(established)) = (call.own.slot, &mut client.session) else {
            return Err(Judged::Ended(CallOutcome::Ends(Status::Garbage)));
        };
        if call.own.session != client.number {
            return Err(Judged::Ended(CallOutcome::Ends(Status::Garbage)));
        }
        match established.session.sequence_result(taken, &result, next) {
            SequenceOutcome::Executed { status_flags } => {
                call.own.slot = None;
                client.works();
                self.own.conns[conn as usize].works();
                if status_flags.0 != 0 {
                    self.note_flags(conn, status_flags);
                }
                Ok(())
            }
            SequenceOutcome::Later => Err(Judged::Later(Nfsstat4::Delay)),
            SequenceOutcome::NotBound => {
                let reason = "the connection is not bound to the session".to_owned();
                Err(match self.own.conn(conn).lose_binding() {
                    true => Judged::Lost(reason),
                    false => Judged::EndedAndLost(failed(Nfsstat4::ConnNotBoundToSession), reason),
                })
            }
            SequenceOutcome::SessionLost(status) | SequenceOutcome::ClientLost(status) => {
                Err(self.session_is_lost(conn, slot, status))
            }
            SequenceOutcome::ReplyNotKept => {
                call.own.slot = None;
                // It was executed; what is not repeatable shows that.
                call.own.is_repeated = true;
                self.counters.add(Tally::UncachedReplies);
                Err(Judged::Again)
            }
            SequenceOutcome::Refused(status) => {
                call.own.slot = None;
                Err(match status {
                    Nfsstat4::SeqMisordered | Nfsstat4::SeqFalseRetry | Nfsstat4::Badslot => {
                        client.abandon();
                        self.lose_session(conn);
                        Judged::EndedAndLost(failed(status), status.to_string())
                    }
                    _ => Judged::Ended(failed(status)),
                })
            }
            SequenceOutcome::OtherCall => {
                client.abandon();
                self.lose_session(conn);
                let outcome = CallOutcome::Ends(Status::Garbage);
                let reason = "the answer is that of another call".to_owned();
                Err(Judged::EndedAndLost(outcome, reason))
            }
        }
    }

    /// The server does not know the session, or the client, any more.
    pub(super) fn session_is_lost(&mut self, conn: u32, slot: u32, status: Nfsstat4) -> Judged {
        let again = self.lose_session(conn);
        // It was not executed; the slot went with the session.
        let call = self.calls.get_mut(slot);
        call.own.slot = None;
        // An earlier transmission may have been.
        call.own.is_repeated |= call.retransmitted;
        match again {
            true => Judged::Lost(status.to_string()),
            false => Judged::EndedAndLost(failed(status), status.to_string()),
        }
    }

    /// A call has ended: drops its slot, and what its end means for the state.
    pub(super) fn state_call_ended(&mut self, slot: u32, outcome: CallOutcome) {
        let call = self.calls.get(slot);
        let (conn, op, kind) = (call.conn, call.op, call.own.kind);
        match kind {
            None | Some(StateCall::Work(_)) => {}
            Some(StateCall::Open(key)) => {
                let proc = self.ops.get(op).proc;
                let known = self.own.opens[proc as usize].find(key);
                if known.is_some_and(|file| file.state == OpenState::Opening) {
                    let outcome = match outcome {
                        CallOutcome::Ok | CallOutcome::Retry(_) => {
                            CallOutcome::Ends(Status::Garbage)
                        }
                        failed => failed,
                    };
                    self.not_opened(proc, key, outcome, self.state.now);
                } else {
                    self.wake(proc, key);
                }
            }
            Some(StateCall::Confirm(key)) => {
                let proc = self.ops.get(op).proc;
                self.confirm_ended(proc, key, outcome);
            }
            Some(StateCall::Close(place)) => self.closed(conn, place),
            Some(StateCall::Return(place) | StateCall::Free(place)) => self.returned(conn, place),
            Some(StateCall::ReleaseOwner { .. }) => {
                let client = self.own.client(conn);
                client.closing = client.closing.saturating_sub(1);
            }
            Some(StateCall::Layoutget(place, access)) => self.layout_asked(conn, place, access),
            Some(StateCall::Getdeviceinfo(device)) => self.device_asked(conn, device),
            Some(StateCall::CommitLayout(place)) => self.layout_committed(conn, place),
            Some(kind @ (StateCall::ReturnLayout(..) | StateCall::CloseReturning(..)))
                if self.send_left(conn, op, kind, outcome) => {}
            Some(StateCall::ReturnLayout(place, _)) => self.layout_returned(conn, place),
            Some(StateCall::CloseReturning(place, _)) => self.closed(conn, place),
            Some(StateCall::Renew) => self.own.client(conn).renewed(),
            Some(StateCall::DestroySession) => self.session_ended(conn),
            Some(StateCall::DestroyClientid) => self.client_ended(conn, outcome),
        }
    }

    /// A call that has ended gives its slot back. Without a reply the server may still
    /// execute it, so the slot is not used again in this session.
    pub(super) fn drop_slot(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        let Some(taken) = call.own.slot.take() else {
            return;
        };
        let conn = call.conn;
        let place = self.own.place(conn);
        let client = &mut self.own.clients[place];
        if call.own.session != client.number {
            return;
        }
        match &mut client.session {
            Some(established) if !call.on_wire => {
                established.session.cancel(taken);
                self.wake_blocked(conn);
            }
            _ => {
                client.lose_slot();
                if client.lacks_slots() {
                    self.give_up_others(conn);
                }
            }
        }
    }

    /// What OPEN has returned: the file is open.
    pub(super) fn note_open(&mut self, slot: u32, open: &OpenOk<'_>) {
        let stateid = open.stateid;
        let call = self.calls.get(slot);
        let (op, conn, kind) = (call.op, call.conn, call.own.kind);
        let proc = self.ops.get(op).proc;
        if let Some(StateCall::Open(key)) = kind {
            self.opened(proc, key, stateid, None);
            return self.keep_owner(slot, key, open);
        }
        let action = self.ops.get(op).action;
        let (key, name) = match action {
            Action::Create { object, .. } => (opens::of_object(object), self.created_name(op)),
            _ => (opens::of_fill(op), None),
        };
        let file = self.own.opens[proc as usize].find(key);
        if let Some(OpenState::Open(earlier)) = file.map(|f| f.state)
            && earlier.other != stateid.other
        {
            // The object was another file.
            self.close_replaced(conn, proc, key);
        }
        self.opened(proc, key, stateid, name);
        self.keep_owner(slot, key, open);
    }
}

/// A status as the shared code has it: the numbers are those of version 3 where both have one.
pub(super) fn failed(status: Nfsstat4) -> CallOutcome {
    CallOutcome::Failed(Nfsstat3::from_u32(status.to_u32()))
}
