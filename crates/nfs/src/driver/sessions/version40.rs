//! What only version 4.0 has: owners of opens that number their operations, OPEN_CONFIRM, calls without a slot
//! (RFC 7530 sections 9.1.7 to 9.1.11 and 16.18).

use super::compounds::{self, StateCall};
use super::opens::OpenState;
use super::owners::Owner;
use super::reply::{Judged, failed};
use super::state::Sessions;
use super::work_calls::Work;
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use filermark_engine::driver::Status;
use filermark_onc::nfs4::{CompoundRes, Nfsstat4, OpenOk, Operation, Stateid4, open_result};

/// The place of OPEN, OPEN_CONFIRM and CLOSE in their COMPOUNDs: behind PUTFH.
const NUMBERED_AT: usize = 1;

impl Core<Sessions> {
    /// A call is about to be encoded: gives an OPEN its owner. `false`: there is no client ID.
    pub(super) fn prepare_without_session(&mut self, slot: u32) -> bool {
        let now = self.state.now;
        let call = self.calls.get_mut(slot);
        let place = self.own.place(call.conn);
        let client = &mut self.own.clients[place];
        if !client.has_session() && !compounds::is_null(call) {
            return false;
        }
        if compounds::renews_lease(call) {
            client.last_call = now;
        }
        // The reply to an earlier transmission may be kept, or the call be executed again.
        call.own.is_repeated |= call.on_wire;
        if compounds::is_open(call) && call.own.owner.is_none() {
            let proc = self.ops.get(call.op).proc;
            call.own.owner = Some(self.own.free_owners[proc as usize].take());
        }
        self.begin_turn(slot);
        true
    }

    /// The owner whose operation a call has.
    fn owner_of(&mut self, slot: u32) -> Option<&mut Option<Owner>> {
        let call = self.calls.get_mut(slot);
        match call.own.kind {
            Some(StateCall::Close(place)) => self.own.closing_owner(place),
            Some(StateCall::Confirm(key)) => {
                let proc = self.ops.get(call.op).proc;
                let file = self.own.opens[proc as usize].find(key)?;
                Some(&mut file.owner)
            }
            Some(StateCall::Work(Work::Confirm | Work::Close)) => {
                Some(&mut self.own.works[call.op as usize].owner)
            }
            _ => Some(&mut call.own.owner),
        }
    }

    /// Counts what the server has executed of the owner's operations.
    pub(super) fn settle_owner(&mut self, slot: u32, compound: &CompoundRes<'_, Operation>) {
        let status = match compound.left() {
            left if left <= NUMBERED_AT => return,
            left if left == NUMBERED_AT + 1 => compound.status,
            _ => Nfsstat4::Ok,
        };
        if self.settle_locks(slot, status) {
            return;
        }
        let is_close = matches!(
            self.calls.get(slot).own.kind,
            Some(StateCall::Close(_) | StateCall::Work(Work::Close))
        );
        let Some(owner) = self.owner_of(slot) else {
            return;
        };
        if let Some(owner) = owner {
            owner.answered(status);
        }
        let is_later = matches!(status, Nfsstat4::Delay | Nfsstat4::Grace);
        let is_refused_close = is_close && status != Nfsstat4::Ok && !is_later;
        if status == Nfsstat4::BadSeqid || is_refused_close {
            // What the server knows of this owner is not what is known here: another one is used.
            *owner = None;
        }
    }

    /// What a status means in version 4.0 beside what it means in all versions; `None`: nothing.
    pub(super) fn judge_without_session(&mut self, slot: u32, status: Nfsstat4) -> Option<Judged> {
        let call = self.calls.get(slot);
        let (conn, kind) = (call.conn, call.own.kind);
        let is_open = compounds::is_open(call);
        match (status, kind) {
            (Nfsstat4::Expired, _) if is_open || kind == Some(StateCall::Renew) => {
                Some(self.session_is_lost(conn, slot, status))
            }
            (Nfsstat4::BadSeqid, _) if is_open && self.may_open_again(slot) => {
                self.send_anew(slot);
                Some(Judged::Requeued)
            }
            // The file is opened again, and locked by another owner.
            (Nfsstat4::BadSeqid, Some(StateCall::Work(Work::Lock)))
                if self.may_open_again(slot) && self.lose_locks(slot, true) =>
            {
                self.stop_using(slot);
                self.send_anew(slot);
                Some(Judged::Requeued)
            }
            (Nfsstat4::BadSeqid, Some(StateCall::Work(Work::Lock | Work::Unlock))) => {
                self.lose_locks(slot, true);
                None
            }
            (
                Nfsstat4::StaleClientid
                | Nfsstat4::StaleStateid
                | Nfsstat4::BadStateid
                | Nfsstat4::OldStateid
                | Nfsstat4::AdminRevoked
                | Nfsstat4::Expired
                | Nfsstat4::BadSeqid,
                Some(StateCall::Confirm(_)),
            ) => Some(Judged::Ended(
                match self.own.client(conn).lose_confirmation() {
                    // What waits for the file opens it again.
                    true => CallOutcome::Ok,
                    false => failed(status),
                },
            )),
            _ => None,
        }
    }

    /// Puts a call back into the queue, as a new one: the server may have kept the reply to it.
    pub(super) fn send_anew(&mut self, slot: u32) {
        let now = self.state.now;
        self.end_turn(slot);
        self.calls.park(slot);
        self.calls.unpark(slot, now);
    }

    /// OPEN has succeeded: its owner belongs to the file. If the server asks for OPEN_CONFIRM, that is begun,
    /// and the file is open after it.
    pub(super) fn keep_owner(&mut self, slot: u32, key: u32, open: &OpenOk<'_>) {
        let call = self.calls.get_mut(slot);
        let (op, conn) = (call.op, call.conn);
        let Some(owner) = call.own.owner.take() else {
            return;
        };
        let proc = self.ops.get(op).proc;
        let Some(file) = self.own.opens[proc as usize].find(key) else {
            return;
        };
        file.owner = Some(owner);
        file.lock = None;
        file.turn = None;
        if open.rflags & open_result::CONFIRM == 0 {
            self.own.client(conn).works();
            return;
        }
        file.state = OpenState::Confirming(open.stateid);
        if !self.own_call(conn, Some(op), StateCall::Confirm(key)) {
            // There is no capacity: the server drops an open that is not confirmed.
            self.lose_unconfirmed(proc, key);
        }
    }

    /// The state of an open that is to be confirmed.
    pub(super) fn unconfirmed(&self, proc: u32, key: u32) -> (Stateid4, u32) {
        let file = self.own.opens[proc as usize].get(key);
        match file.map(|file| (file.state, file.owner)) {
            Some((OpenState::Confirming(stateid), Some(owner))) => (stateid, owner.seqid),
            _ => (Stateid4::ANONYMOUS, 0),
        }
    }

    /// OPEN_CONFIRM has succeeded.
    pub(super) fn confirmed(&mut self, slot: u32, key: u32, stateid: Stateid4) {
        let call = self.calls.get(slot);
        let (op, conn) = (call.op, call.conn);
        let proc = self.ops.get(op).proc;
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.state = OpenState::Open(stateid);
        }
        self.own.client(conn).works();
    }

    /// OPEN_CONFIRM has ended: what waits for the file goes on, or ends as it did.
    pub(super) fn confirm_ended(&mut self, proc: u32, key: u32, outcome: CallOutcome) {
        let file = self.own.opens[proc as usize].get(key);
        let is_confirmed = file.is_some_and(|f| !matches!(f.state, OpenState::Confirming(_)));
        if is_confirmed {
            self.wake(proc, key);
        } else if outcome == CallOutcome::Ok {
            self.lose_unconfirmed(proc, key);
        } else {
            self.own.opens[proc as usize].remove(key);
            self.not_opened(proc, key, outcome, self.state.now);
        }
    }

    fn lose_unconfirmed(&mut self, proc: u32, key: u32) {
        self.own.opens[proc as usize].remove(key);
        self.counters.add(Tally::LostOpens);
        self.wake(proc, key);
    }

    /// A call has ended: an owner without an open file can open another one, if the server's answer has shown
    /// which number it expects next.
    pub(super) fn give_back_owner(&mut self, slot: u32, outcome: CallOutcome) {
        let call = self.calls.get(slot);
        if matches!(call.own.kind, Some(StateCall::Confirm(_))) || self.own.has_sessions() {
            return;
        }
        let was_sent = call.on_wire;
        let is_unanswered = matches!(
            outcome,
            CallOutcome::Ends(Status::TimedOut | Status::Disconnected | Status::Garbage)
        );
        match call.own.kind {
            Some(StateCall::Work(Work::Lock | Work::Unlock)) if is_unanswered && was_sent => {
                self.lose_locks(slot, false);
                return;
            }
            // The owner stays with the operation.
            Some(StateCall::Work(Work::Confirm | Work::Close)) => {
                if is_unanswered && was_sent {
                    self.own.works[call.op as usize].owner = None;
                }
                return;
            }
            _ => {}
        }
        // A CLOSE by itself is no call of an operation of the proc.
        let proc = match call.own.kind {
            Some(StateCall::Close(place)) => self.own.closing(place).map(|closing| closing.proc),
            _ => Some(self.ops.get(call.op).proc),
        };
        let Some(proc) = proc else {
            return;
        };
        let owner = self.owner_of(slot).and_then(Option::take);
        if let Some(owner) = owner.filter(|_| !(is_unanswered && was_sent)) {
            self.own.free_owners[proc as usize].put_back(owner);
        }
    }
}
