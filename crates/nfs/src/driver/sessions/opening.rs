//! When files are opened and closed, and the calls that wait for that.

use super::compounds::StateCall;
use super::opens::{self, OpenFile, OpenState};
use super::state::{Closing, Released, SessionCall, Sessions, Waiter};
use super::work_calls::Work;
use crate::driver::core::{Core, Span};
use crate::driver::counters::Tally;
use crate::driver::ops::INTERNAL;
use crate::driver::reply::CallOutcome;
use filermark_engine::driver::{Action, DirRef, ObjectId, PROC_DIR, Request};
use filermark_engine::name::{Name, NameKind};
use filermark_model::Nanos;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::{Fh4, Nfsstat4, Stateid4, share};

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

    /// The key of the file of a transfer.
    pub(super) fn key_of(&self, slot: u32) -> u32 {
        let call = self.calls.get(slot);
        let logical = self.ops.get(call.op);
        if logical.resending
            && let Some(object) = logical.target.object
        {
            return opens::of_object(object);
        }
        match logical.action {
            Action::Fill { .. } => opens::of_fill(call.op),
            Action::Read { object, .. }
            | Action::Write { object, .. }
            | Action::Commit { object } => opens::of_object(object),
            Action::V4(action) => match (call.own.kind, action.target()) {
                (Some(StateCall::Work(Work::ReadBack)), Some(target)) => opens::of_object(target),
                _ => opens::of_object(action.object()),
            },
            _ => opens::of_object(PROC_DIR),
        }
    }

    /// The handle of the file with this key.
    pub(super) fn handle_of(&self, proc: u32, key: u32) -> Fh4 {
        let handle = match opens::object_of(key) {
            Some(object) => self.handle(proc, object),
            None => {
                let made = self.ops.handle(opens::fill_of(key));
                made.unwrap_or_else(|| self.handle(proc, PROC_DIR))
            }
        };
        handle.to_fh()
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

    /// Has a call wait until the file is looked at again. The wait for another operation's call that was sent is
    /// service time, too.
    pub(super) fn wait_for(&mut self, slot: u32, proc: u32, key: u32) -> Prepared {
        let call = self.calls.get(slot);
        let (xid, op, now) = (call.xid, call.op, self.state.now);
        let file = self.own.opens[proc as usize].get(key);
        if file.is_some_and(|file| file.is_sent || file.turn.is_some()) {
            self.ops.get_mut(op).stamp_sent(now);
        }
        self.stop_using(slot);
        let call = self.calls.get(slot);
        if !call.on_wire && !call.own.is_repeated {
            // The OPEN or CLOSE may need the slot.
            self.drop_slot(slot);
        }
        self.calls.park(slot);
        self.own.waiting.push(Waiter { proc, key, xid });
        Prepared::Parked
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

    /// Closes the file that was not used for the longest time, if the proc has too many open. One with data that
    /// needs a COMMIT with its layout stays open.
    pub(super) fn make_space(&mut self, op: u32, conn: u32) {
        let proc = self.ops.get(op).proc;
        let mut staying = Vec::new();
        while let Some((key, layout)) = self.own.opens[proc as usize].surplus(&staying) {
            if layout.is_none_or(|layout| !self.has_uncommitted((proc, key), layout)) {
                self.close(Some(op), conn, proc, key);
                return;
            }
            staying.push(key);
        }
    }

    /// Begins the CLOSE of an open file; `false`: not now.
    pub(super) fn close(&mut self, op: Option<u32>, conn: u32, proc: u32, key: u32) -> bool {
        let handle = self.handle_of(proc, key);
        let Some(file) = self.own.opens[proc as usize].find(key) else {
            return false;
        };
        let OpenState::Open(stateid) = file.state else {
            return false;
        };
        if file.turn.is_some() || file.is_asking {
            return false;
        }
        let lock_owner = file.lock.map(|lock| lock.number);
        let (owner, is_delegated) = (file.owner, file.delegation.is_some());
        let layout = file.layout;
        if is_delegated && !self.return_delegation(op, conn, proc, key) {
            return false;
        }
        let closing = Closing {
            stateid,
            handle,
            proc,
            key,
            owner,
            lock_owner,
            layout,
            is_unclosed: false,
        };
        let place = self.own.keep_closing(closing);
        let granted = layout.and_then(|place| self.own.layouts.get(place));
        let granted = granted.filter(|granted| granted.stateid.is_some());
        let kind = match granted.map(|granted| granted.last_write.is_some()) {
            Some(commits) => StateCall::CloseReturning(place, commits),
            None => StateCall::Close(place),
        };
        if !self.own_call(conn, op, kind) {
            self.own.forget_closing(place);
            return false;
        }
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.state = OpenState::Closing;
            file.is_sent = false;
            file.lock = None;
            file.layout = None;
        }
        self.own.client(conn).closing += 1;
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

    /// A CLOSE has ended, whatever its outcome.
    pub(super) fn closed(&mut self, conn: u32, place: u32) {
        let client = self.own.client(conn);
        client.closing = client.closing.saturating_sub(1);
        let Some(closing) = self.own.forget_closing(place) else {
            return;
        };
        if let Some(place) = closing.layout {
            self.own.layouts.let_go(place);
        }
        let (proc, key) = (closing.proc, closing.key);
        let opens = &mut self.own.opens[proc as usize];
        if opens
            .find(key)
            .is_some_and(|f| f.state == OpenState::Closing)
        {
            opens.remove(key);
        }
        if let Some(number) = closing.lock_owner {
            self.release_owner(Released { conn, proc, number });
        }
        self.wake(proc, key);
    }

    fn next_waiter(&mut self, proc: u32, key: u32) -> Option<u32> {
        loop {
            let mut waiting = self.own.waiting.iter();
            let at = waiting.position(|w| w.proc == proc && w.key == key)?;
            let waiter = self.own.waiting.swap_remove(at);
            let slot = self.calls.find(waiter.xid);
            if let Some(slot) = slot.filter(|slot| self.calls.get(*slot).parked) {
                return Some(slot);
            }
        }
    }

    /// The calls that wait for this file can be looked at again.
    pub(super) fn wake(&mut self, proc: u32, key: u32) {
        let now = self.state.now;
        while let Some(slot) = self.next_waiter(proc, key) {
            self.calls.unpark(slot, now);
            self.queue_first(slot);
            let opens = &mut self.own.opens[proc as usize];
            if let Some(file) = opens.find(key)
                && matches!(file.state, OpenState::Open(_))
            {
                // It is not closed before this call has used it.
                file.users += 1;
                self.calls.get_mut(slot).own.used = Some(key);
            }
        }
    }

    /// The file that calls wait for, if this call is one that they wait for.
    fn waited_for(&self, slot: u32) -> Option<(u32, u32)> {
        let call = self.calls.get(slot);
        match call.own.kind? {
            StateCall::Open(key) | StateCall::Confirm(key) => {
                Some((self.ops.get(call.op).proc, key))
            }
            StateCall::Close(place) | StateCall::CloseReturning(place, _) => {
                self.own.closing(place).map(|c| (c.proc, c.key))
            }
            StateCall::Layoutget(place, _)
            | StateCall::CommitLayout(place)
            | StateCall::ReturnLayout(place, _) => {
                let of = self.own.closing(place)?;
                let opens = &self.own.opens[of.proc as usize];
                Some((of.proc, opens.with_layout(of.layout?)?))
            }
            _ => None,
        }
    }

    /// A call that others wait for is sent: the service time of their operations begins.
    pub(super) fn state_call_sent(&mut self, slot: u32) {
        let place = self.waited_for(slot);
        let Some((proc, key)) = place else {
            return;
        };
        let now = self.state.now;
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.is_sent = true;
        }
        for waiter in &self.own.waiting {
            if (waiter.proc, waiter.key) == (proc, key)
                && let Some(slot) = self.calls.find(waiter.xid)
            {
                let op = self.calls.get(slot).op;
                self.ops.get_mut(op).stamp_sent(now);
            }
        }
    }

    /// The call uses the open of its file from now on.
    pub(super) fn use_open(&mut self, slot: u32) -> Stateid4 {
        let key = self.key_of(slot);
        let call = self.calls.get(slot);
        let (sent, proc) = (call.own.stateid, self.ops.get(call.op).proc);
        if call.on_wire && call.own.used == Some(key) {
            // A call that is sent again has the same arguments, also if its delegation was recalled.
            let held = self.own.opens[proc as usize]
                .find(key)
                .and_then(|f| f.delegation);
            if held.is_some_and(|held| held.stateid.other == sent.other) {
                return sent;
            }
        }
        self.stop_using(slot);
        self.own.uses += 1;
        let uses = self.own.uses;
        let call = self.calls.get(slot);
        let end = call.offset.saturating_add(call.length.into());
        // Other calls have the state of the open: LOCK needs it (RFC 8881 section 18.10), and a delegation
        // for reading allows no change.
        let transfer = match (call.own.kind, call.procedure) {
            (None, Procedure::Read) => Some(false),
            (None, Procedure::Write) => Some(true),
            _ => None,
        };
        let opens = &mut self.own.opens[proc as usize];
        let Some(mut stateid) = opens.used(key, uses) else {
            return Stateid4::ANONYMOUS;
        };
        if let Some(file) = opens.find(key) {
            file.users += 1;
            if let (Some(held), Some(writes)) = (&mut file.delegation, transfer) {
                stateid = held.used(writes, end).unwrap_or(stateid);
            }
        }
        let call = self.calls.get_mut(slot);
        call.own.used = Some(key);
        call.own.stateid = stateid;
        self.use_second(slot, uses);
        stateid
    }

    /// The call uses the open of its second file, too.
    fn use_second(&mut self, slot: u32, uses: u64) {
        let call = self.calls.get(slot);
        let logical = self.ops.get(call.op);
        let Action::V4(action) = logical.action else {
            return;
        };
        if call.own.kind == Some(StateCall::Work(Work::ReadBack)) {
            return;
        }
        let Some(key) = action.target().map(opens::of_object) else {
            return;
        };
        let opens = &mut self.own.opens[logical.proc as usize];
        let Some(stateid) = opens.used(key, uses) else {
            return;
        };
        if let Some(file) = opens.find(key) {
            file.users += 1;
        }
        self.calls.get_mut(slot).own.second = Some((key, stateid));
    }

    /// The call does not use the open any more.
    pub(super) fn stop_using(&mut self, slot: u32) {
        let call = self.calls.get_mut(slot);
        let used = [
            call.own.used.take(),
            call.own.second.take().map(|(key, _)| key),
        ];
        let (op, stateid) = (call.op, call.own.stateid);
        for key in used.into_iter().flatten() {
            let proc = self.ops.get(op).proc;
            let opens = &mut self.own.opens[proc as usize];
            opens.stop_using(key);
            if let Some(file) = opens.find(key)
                && let Some(held) = &mut file.delegation
                && held.stateid.other == stateid.other
            {
                held.users = held.users.saturating_sub(1);
            }
        }
        // What waits for an OPEN uses nothing.
        let own = &mut self.calls.get_mut(slot).own;
        own.stateid = Stateid4::ANONYMOUS;
        if let Some((layout, _)) = own.layout.take()
            && self.own.layouts.release(layout)
        {
            let conn = self.procs[self.ops.get(op).proc as usize].conn;
            self.own.client(conn).has_recalls = true;
        }
    }

    /// The stateid of an object's open, if it is open.
    pub(super) fn stateid_of(&mut self, proc: u32, object: ObjectId) -> Stateid4 {
        let uses = self.own.uses;
        let known = self.own.opens[proc as usize].used(opens::of_object(object), uses);
        known.unwrap_or(Stateid4::ANONYMOUS)
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

    /// All calls of an operation that fills a file have ended: the file is closed.
    pub(super) fn close_filled(&mut self, op: u32) {
        let logical = self.ops.get(op);
        if let Action::Fill { .. } = logical.action {
            let (proc, key) = (logical.proc, opens::of_fill(op));
            let conn = self.procs[proc as usize].conn;
            if !self.close(Some(op), conn, proc, key) {
                self.own.opens[proc as usize].remove(key);
            }
        }
    }

    /// Closes what is open and not in use; whether a file is open still.
    pub(super) fn close_idle(&mut self) -> bool {
        self.release_owners();
        for proc in 0..self.procs.len() as u32 {
            self.close_from(proc, ObjectId(0));
        }
        !self.own.opens.iter().all(opens::ProcOpens::is_empty)
    }

    /// Closes the files of objects from `from` on that are not in use.
    pub(super) fn close_from(&mut self, proc: u32, from: ObjectId) {
        let Some(conn) = self.procs.get(proc as usize).map(|p| p.conn) else {
            return;
        };
        while let Some(key) = self.own.opens[proc as usize].idle(from) {
            if !self.close(None, conn, proc, key) {
                return;
            }
        }
    }

    /// What was open as one object is open as another one, after a RENAME.
    pub(super) fn rename_open(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::Rename {
            dir,
            object,
            new_name,
            new_object,
            ..
        } = logical.action
        else {
            return;
        };
        let proc = logical.proc;
        let (from, to) = (opens::of_object(object), opens::of_object(new_object));
        let opens = &mut self.own.opens[proc as usize];
        if opens.is_moving(from) {
            // An OPEN that was begun during the RENAME: its end finds the file by its key.
            let conn = self.procs[proc as usize].conn;
            self.close(None, conn, proc, to);
            return;
        }
        if from == to || opens.find(to).is_none() {
            return opens.rename(from, to, Some((dir, new_name)));
        }
        let conn = self.procs[proc as usize].conn;
        for key in [from, to] {
            self.close(None, conn, proc, key);
        }
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
