//! When files are opened, also again, and what a call needs of them before it can be sent.

use super::compounds::StateCall;
use super::opens::{self, OpenFile, OpenState};
use super::state::{Released, SessionCall, Sessions};
use crate::driver::core::{Core, Span};
use crate::driver::counters::Tally;
use crate::driver::ops::INTERNAL;
use crate::driver::reply::CallOutcome;
use filermark_engine::driver::{Action, DirRef, ObjectId, Request};
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::{Nfsstat4, Stateid4, share};

/// How often in a row a call's file is opened again because the server has lost the state.
const REOPENED_MAX: u8 = 3;

/// What a call needs of the table before it can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// The file with this key is open for this access.
    Open(u32, u32),
    /// It is not.
    Closed(u32),
    /// Neither its OPEN nor its CLOSE is under way.
    Settled(u32),
    /// No LOCK or LOCKU of another operation is under way.
    Turn(u32),
}

/// Whether a call can be sent, as far as its file is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prepared {
    Ready,
    /// It waits for an OPEN or CLOSE.
    Parked,
    /// There is no capacity for another call: later.
    Blocked,
}

impl Core<Sessions> {
    /// Begins a call of the driver itself: as a part of an operation, or by itself.
    pub(super) fn own_call(&mut self, conn: u32, op: Option<u32>, kind: StateCall) -> bool {
        let own_op = match op {
            Some(op) => op,
            None if !self.ops.has_free_slot() => return false,
            None => {
                let mut procs = self.procs.iter().map(|proc| proc.conn);
                let proc = procs.position(|of| self.own.is_same_client(of, conn));
                let proc = proc.unwrap_or(0) as u32;
                self.ops.begin(&Request {
                    token: INTERNAL,
                    proc,
                    action: Action::Null,
                })
            }
        };
        let own = SessionCall {
            kind: Some(kind),
            ..SessionCall::default()
        };
        let is_begun = self.call_on(own_op, conn, (Procedure::Null, Span::NONE), own);
        if !is_begun && op.is_none() {
            self.ops.end(own_op);
        }
        is_begun
    }

    /// What a call needs before it can be sent.
    pub(super) fn need(&mut self, slot: u32) -> Need {
        let call = self.calls.get(slot);
        let logical = self.ops.get(call.op);
        match call.own.kind {
            None => {}
            Some(StateCall::Work(work)) => {
                let (proc, keys) = (logical.proc, self.keys_of_work(logical, work));
                let opens = &self.own.opens[proc as usize];
                let mut keys = keys.into_iter().flatten();
                let closed = keys.find(|key| !opens.is_open(*key, share::BOTH));
                return match (closed, self.other_turn(slot)) {
                    (Some(key), _) => Need::Open(key, share::BOTH),
                    (None, Some(key)) => Need::Turn(key),
                    (None, None) => Need::Nothing,
                };
            }
            Some(_) => return Need::Nothing,
        }
        match call.procedure {
            Procedure::Read if self.own.delegations == DelegationUse::Keep => {
                Need::Open(self.key_of(slot), share::READ)
            }
            Procedure::Read | Procedure::Write => Need::Open(self.key_of(slot), share::BOTH),
            Procedure::Setattr => {
                let Action::Setattr {
                    object,
                    size: Some(_),
                } = logical.action
                else {
                    return Need::Nothing;
                };
                let key = opens::of_object(object);
                let file = self.own.opens[logical.proc as usize].get(key);
                match file {
                    Some(file) if file.access & share::WRITE == 0 => Need::Open(key, share::BOTH),
                    _ => Need::Nothing,
                }
            }
            Procedure::Remove => {
                let Action::Remove { dir, name } = logical.action else {
                    return Need::Nothing;
                };
                let opens = &self.own.opens[logical.proc as usize];
                let open = match name.kind {
                    // CLEANUP: RUN may have been stopped with files open.
                    NameKind::File => opens.any_open(Some(ObjectId(0))),
                    _ => opens.named(dir, name),
                };
                open.map_or(Need::Nothing, Need::Closed)
            }
            Procedure::Rename => {
                let Action::Rename {
                    object, new_object, ..
                } = logical.action
                else {
                    return Need::Nothing;
                };
                let opens = &mut self.own.opens[logical.proc as usize];
                let keys = [object, new_object].map(opens::of_object);
                let moving = keys.into_iter().find(|key| opens.is_moving(*key));
                moving.map_or(Need::Nothing, Need::Settled)
            }
            _ => Need::Nothing,
        }
    }

    /// Whether the call can be sent as far as its file is concerned; if not, it waits for the
    /// OPEN, CLOSE or LAYOUTGET that is under way or is begun here, or goes to a data server.
    pub(super) fn prepare(&mut self, slot: u32) -> Prepared {
        match self.prepare_open(slot) {
            Prepared::Ready if self.own.uses_layouts() => match self.prepare_layout(slot) {
                Prepared::Ready => self.prepare_size(slot),
                prepared => prepared,
            },
            prepared => prepared,
        }
    }

    fn prepare_open(&mut self, slot: u32) -> Prepared {
        let (key, access) = match self.need(slot) {
            Need::Nothing => return Prepared::Ready,
            Need::Open(key, access) => (key, access),
            Need::Closed(key) | Need::Settled(key) | Need::Turn(key) => (key, 0),
        };
        let is_to_be_open = access != 0;
        let call = self.calls.get(slot);
        let (op, conn) = (call.op, call.conn);
        let proc = self.ops.get(op).proc;
        let file = self.own.opens[proc as usize].get(key);
        let lacks = |file: &OpenFile| access & !file.access != 0;
        let lacks_access = file.is_some_and(lacks);
        let has_turn = file.is_some_and(|file| file.turn.is_some());
        let is_asking = file.is_some_and(|file| file.is_asking);
        let is_begun = match (file.map(|file| file.state), is_to_be_open) {
            (Some(OpenState::Open(_)), true) if lacks_access && is_asking => true,
            (Some(OpenState::Open(_)), true) if lacks_access => self.open(op, conn, key, access),
            (Some(OpenState::Open(_)), true) | (None, false) => return Prepared::Ready,
            (Some(OpenState::Open(_)), false) if is_asking => true,
            (Some(OpenState::Opening | OpenState::Confirming(_) | OpenState::Closing), _) => true,
            (None, true) => {
                self.make_space(op, conn);
                self.open(op, conn, key, access)
            }
            (Some(OpenState::Open(_)), false) if has_turn => true,
            (Some(OpenState::Open(_)), false) => self.close(Some(op), conn, proc, key),
        };
        match is_begun {
            true => self.wait_for(slot, proc, key),
            false => Prepared::Blocked,
        }
    }

    /// Begins an OPEN for an operation: of a file that is not open, or not for this access.
    fn open(&mut self, op: u32, conn: u32, key: u32, access: u32) -> bool {
        let proc = self.ops.get(op).proc;
        if !self.own_call(conn, Some(op), StateCall::Open(key)) {
            return false;
        }
        let uses = self.own.uses;
        let file = self.own.opens[proc as usize].set(key, OpenState::Opening, uses);
        file.access = access;
        true
    }

    /// A file was opened, or created open.
    pub(super) fn opened(
        &mut self,
        proc: u32,
        key: u32,
        stateid: Stateid4,
        name: Option<(ObjectId, Name)>,
    ) {
        self.own.uses += 1;
        let uses = self.own.uses;
        let file = self.own.opens[proc as usize].set(key, OpenState::Open(stateid), uses);
        if name.is_some() {
            file.name = name;
        }
        self.wake(proc, key);
    }

    /// An OPEN has failed: what waits for it ends with it.
    pub(super) fn not_opened(&mut self, proc: u32, key: u32, outcome: CallOutcome, now: Nanos) {
        let opens = &mut self.own.opens[proc as usize];
        if let Some(file) = opens.find(key)
            && file.state == OpenState::Opening
        {
            match file.earlier.take() {
                Some(stateid) => {
                    file.state = OpenState::Open(stateid);
                    file.access = share::READ;
                }
                None => opens.remove(key),
            }
        }
        while let Some(slot) = self.next_waiter(proc, key) {
            self.end_call(slot, outcome, now);
        }
    }

    /// The server does not know the state of a call's file: it is opened again. Returns
    /// whether the call is sent again after that.
    pub(super) fn open_again(&mut self, slot: u32, status: Nfsstat4) -> bool {
        let call = self.calls.get_mut(slot);
        let Some(key) = call.own.used else {
            return false;
        };
        if !self.may_open_again(slot) {
            return false;
        }
        let call = self.calls.get(slot);
        let (op, conn, stateid) = (call.op, call.conn, call.own.stateid);
        // Of two files it is not known which one is meant.
        let lost = [Some((key, stateid)), call.own.second];
        self.stop_using(slot);
        let proc = self.ops.get(op).proc;
        // Without the delegation it is sent again with the stateid of the open.
        if !self.lose_delegation(conn, (proc, key), &stateid, status) {
            for (key, stateid) in lost.into_iter().flatten() {
                // Another call may have opened it again already.
                let lost = OpenState::Open(stateid);
                let opens = &mut self.own.opens[proc as usize];
                if opens.find(key).is_some_and(|f| f.state == lost) {
                    let layout = self.own.opens[proc as usize].find(key);
                    if let Some(place) = layout.and_then(|file| file.layout.take()) {
                        self.lose_layout(place);
                    }
                    self.return_delegation(None, conn, proc, key);
                    let lost = self.own.opens[proc as usize].get(key);
                    let lock = lost.and_then(|file| file.lock);
                    self.own.opens[proc as usize].remove(key);
                    if let Some(number) = lock.map(|lock| lock.number) {
                        self.release_owner(Released { conn, proc, number });
                    }
                    self.counters.add(Tally::LostOpens);
                }
            }
        }
        match self.own.has_sessions() {
            true => self.calls.requeue(slot),
            false => self.send_anew(slot),
        }
        true
    }

    /// Counts that a call's file is opened again; `false`: too often.
    pub(super) fn may_open_again(&mut self, slot: u32) -> bool {
        let call = self.calls.get_mut(slot);
        let again = call.own.reopened < REOPENED_MAX;
        call.own.reopened += u8::from(again);
        again
    }

    /// The client is another one: nothing of its procs is open any more.
    pub(super) fn lose_opens(&mut self, conn: u32) {
        for proc in self.procs_of(conn) {
            self.lose_layouts(proc);
            let lost = self.own.opens[proc].lose_all();
            self.counters.add_many(Tally::LostOpens, lost);
        }
        // Device IDs belong to the client ID (RFC 8881 section 12.2.10).
        self.own.client(conn).forget_devices();
    }

    /// The directory and name that an operation creates a file with.
    pub(super) fn created_name(&self, op: u32) -> Option<(ObjectId, Name)> {
        let subject = self.ops.get(op).action.subject()?;
        match subject.name? {
            (DirRef::Object(dir), name) => Some((dir, name)),
            (DirRef::RunDir, _) => None,
        }
    }
}
