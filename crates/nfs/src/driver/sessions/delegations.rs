//! Delegations (RFC 8881 section 10): they come with an OPEN, belong to the open file, and are returned
//! with its CLOSE or when the server recalls them. Each file is open on the server all the time, so a
//! return needs no other OPEN: calls that are sent after it use the stateid of the open.

use super::compounds::StateCall;
use super::opens::{self, Delegation, OpenState};
use super::state::{Closing, Sessions};
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use filermark_engine::driver::Action;
use filermark_model::plan::DelegationUse;
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::{
    CompoundRes, GetattrArgs, Nfsstat4, OpenDelegation4, Operation, Stateid4,
    callback::CbGetattrArgs,
};

impl Delegation {
    fn new(stateid: Stateid4, writes: bool, is_recalled: bool) -> Self {
        Self {
            stateid,
            writes,
            is_recalled,
            users: 0,
            change: 0,
            size: 0,
            is_modified: false,
        }
    }

    /// Its stateid for a call that reads or writes up to `end`, if it serves for that.
    pub(super) fn used(&mut self, writes: bool, end: u64) -> Option<Stateid4> {
        if self.is_recalled || (writes && !self.writes) {
            return None;
        }
        if writes {
            self.is_modified = true;
            self.size = self.size.max(end);
        }
        self.users += 1;
        Some(self.stateid)
    }
}

/// The attributes `change` and `size` of a GETATTR among the results that follow.
fn change_and_size(mut compound: CompoundRes<'_, Operation>) -> Option<(u64, u64)> {
    loop {
        let mut at_getattr = compound;
        if let Ok(Ok(found)) = at_getattr.read::<GetattrArgs>() {
            let values = found.obj_attributes.attributes().ok()?;
            return Some((values.change?, values.size?));
        }
        compound.next()?.ok()?;
    }
}

impl Core<Sessions> {
    /// The file that an OPEN was about: the proc and the key of its table.
    fn opened_file(&self, slot: u32) -> (u32, u32) {
        let call = self.calls.get(slot);
        let logical = self.ops.get(call.op);
        let key = match (call.own.kind, logical.action) {
            (Some(StateCall::Open(key)), _) => key,
            (_, Action::Create { object, .. }) => opens::of_object(object),
            _ => opens::of_fill(call.op),
        };
        (logical.proc, key)
    }

    /// What OPEN has returned of delegations. `rest` are the results behind it.
    pub(super) fn note_delegation(
        &mut self,
        slot: u32,
        granted: &OpenDelegation4<'_>,
        rest: CompoundRes<'_, Operation>,
    ) {
        let (mut held, tally) = match granted {
            OpenDelegation4::None | OpenDelegation4::NoneExt(_) => {
                if self.own.delegations == DelegationUse::Keep {
                    self.counters.add(Tally::DelegationsNone);
                }
                return;
            }
            OpenDelegation4::Read(given) => (
                Delegation::new(given.stateid, false, given.recall),
                Tally::DelegationsRead,
            ),
            OpenDelegation4::Write(given) => (
                Delegation::new(given.stateid, true, given.recall),
                Tally::DelegationsWrite,
            ),
        };
        let (proc, key) = self.opened_file(slot);
        let file = self.own.opens[proc as usize].find(key);
        let known = file.and_then(|file| file.delegation);
        if known.is_some_and(|known| known.stateid.other == held.stateid.other) {
            // It has this one already, with its users.
            return;
        }
        self.counters.add(tally);
        let conn = self.calls.get(slot).conn;
        if held.is_recalled {
            self.counters.add(Tally::DelegationsRecalled);
            self.own.client(conn).has_recalls = true;
        }
        (held.change, held.size) = change_and_size(rest).unwrap_or_default();
        if known.is_some() {
            // The object was another file, or the server has granted another one.
            self.return_delegation(None, conn, proc, key);
        }
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.delegation = Some(held);
        }
    }

    /// Begins the DELEGRETURN of a file's delegation; `false`: there is none, or no capacity for a call.
    pub(super) fn return_delegation(
        &mut self,
        op: Option<u32>,
        conn: u32,
        proc: u32,
        key: u32,
    ) -> bool {
        let file = self.own.opens[proc as usize].find(key);
        let Some(held) = file.and_then(|file| file.delegation) else {
            return false;
        };
        if !self.begin_for(op, conn, (proc, key), held.stateid, StateCall::Return) {
            return false;
        }
        if let Some(file) = self.own.opens[proc as usize].find(key) {
            file.delegation = None;
        }
        true
    }

    /// Begins a call about a stateid that the table does not have any more.
    fn begin_for(
        &mut self,
        op: Option<u32>,
        conn: u32,
        (proc, key): (u32, u32),
        stateid: Stateid4,
        kind: fn(u32) -> StateCall,
    ) -> bool {
        let handle = self.handle_of(proc, key);
        let of = Closing::new(stateid, handle, (proc, key));
        let place = self.own.keep_closing(of);
        if !self.own_call(conn, op, kind(place)) {
            self.own.forget_closing(place);
            return false;
        }
        self.own.client(conn).closing += 1;
        true
    }

    /// The procs of a connection's client.
    pub(super) fn procs_of(&self, conn: u32) -> impl Iterator<Item = usize> + use<> {
        let procs = self.procs.iter().map(|proc| proc.conn).enumerate();
        let own: Vec<usize> = procs
            .filter(|(_, of)| self.own.is_same_client(*of, conn))
            .map(|(at, _)| at)
            .collect();
        own.into_iter()
    }

    /// Returns the delegations and layouts that were recalled and that no call uses.
    pub(super) fn return_recalled(&mut self, conn: u32) {
        for proc in self.procs_of(conn) {
            while let Some(key) = self.own.opens[proc].recalled() {
                if !self.return_delegation(None, conn, proc as u32, key) {
                    return;
                }
            }
        }
        if !self.return_due_layouts(conn) {
            return;
        }
        let mut left = self.has_ended_layouts(conn);
        for proc in self.procs_of(conn) {
            let mut held = self.own.opens[proc].delegations();
            left |= held.any(|held| held.is_recalled);
        }
        self.own.client(conn).has_recalls = left;
    }

    /// CB_RECALL.
    pub(super) fn recall(&mut self, conn: u32, stateid: &Stateid4) -> Nfsstat4 {
        for proc in self.procs_of(conn) {
            let opens = &mut self.own.opens[proc];
            let key = opens.delegated(stateid);
            let file = key.and_then(|key| opens.find(key));
            let Some(held) = file.and_then(|file| file.delegation.as_mut()) else {
                continue;
            };
            if !std::mem::replace(&mut held.is_recalled, true) {
                self.counters.add(Tally::DelegationsRecalled);
            }
            self.own.client(conn).has_recalls = true;
            return Nfsstat4::Ok;
        }
        let is_same = |closing: &Closing| closing.stateid.other == stateid.other;
        if self.own.closing.iter().flatten().any(is_same) {
            return Nfsstat4::Ok; // its DELEGRETURN is under way
        }
        // The reply to the OPEN that granted it may not have come (RFC 8881 section 2.10.6.3).
        let is_opening = |proc: usize| self.own.opens[proc].has_opening();
        match self.procs_of(conn).any(is_opening) || self.creates(conn) {
            true => Nfsstat4::Delay,
            false => Nfsstat4::Badhandle,
        }
    }

    /// Whether an operation that creates a file is under way for the client.
    fn creates(&self, conn: u32) -> bool {
        let mut queued = self.queued(conn);
        queued.any(|slot| self.calls.get(slot).procedure == Procedure::Create)
    }

    /// The calls in the queues of a connection's client.
    pub(super) fn queued(&self, conn: u32) -> impl Iterator<Item = u32> {
        let conns = self.own.client_of(conn).conns().iter();
        conns.flat_map(|conn| {
            let first = self.calls.first(*conn);
            std::iter::successors(first, |slot| self.calls.after(*slot))
        })
    }

    /// CB_RECALL_ANY: returns what is beyond the number of delegations that may stay.
    pub(super) fn recall_any(&mut self, conn: u32, keep: u32, (read, write): (bool, bool)) {
        let mut left = keep;
        let mut is_recalled = false;
        for proc in self.procs_of(conn) {
            for held in self.own.opens[proc].delegations() {
                let is_meant = if held.writes { write } else { read };
                if !is_meant || held.is_recalled {
                    continue;
                }
                if left > 0 {
                    left -= 1;
                    continue;
                }
                held.is_recalled = true;
                is_recalled = true;
                self.counters.add(Tally::DelegationsRecalled);
            }
        }
        self.own.client(conn).has_recalls |= is_recalled;
    }

    /// CB_GETATTR: `change` and `size` of a file with a delegation for writing (RFC 8881 section 10.4.3).
    /// WRITEs are sent at once, so `change` is one more than at the grant as soon as there was one.
    pub(super) fn delegated_attributes(
        &self,
        conn: u32,
        args: &CbGetattrArgs<'_>,
    ) -> Option<(u64, u64)> {
        self.procs_of(conn).find_map(|proc| {
            let opens = &self.own.opens[proc];
            let mut held = opens.held_for_writing();
            let found = held.find(|(key, _)| {
                self.handle_of(proc as u32, *key).handle().as_bytes() == args.fh.as_bytes()
            });
            let held = found?.1;
            let change = held.change.wrapping_add(held.is_modified.into());
            Some((change, held.size))
        })
    }

    /// DELEGRETURN has ended.
    pub(super) fn delegreturn_ended(
        &mut self,
        slot: u32,
        place: u32,
        returned: Result<(), Nfsstat4>,
    ) {
        let status = match returned {
            Ok(()) => return self.counters.add(Tally::DelegationsReturned),
            Err(status) => status,
        };
        self.counters.add(Tally::DelegationsRevoked);
        let conn = self.calls.get(slot).conn;
        if status == Nfsstat4::DelegRevoked
            && let Some(of) = self.own.closing(place)
        {
            self.begin_for(None, conn, (of.proc, of.key), of.stateid, StateCall::Free);
        }
    }

    /// A DELEGRETURN or FREE_STATEID has ended, whatever its outcome.
    pub(super) fn returned(&mut self, conn: u32, place: u32) {
        let client = self.own.client(conn);
        client.closing = client.closing.saturating_sub(1);
        self.own.forget_closing(place);
    }

    /// A call with this stateid was refused. If it is that of the file's delegation, that is gone: the
    /// server has revoked or forgotten it. Returns whether it is.
    pub(super) fn lose_delegation(
        &mut self,
        conn: u32,
        (proc, key): (u32, u32),
        stateid: &Stateid4,
        status: Nfsstat4,
    ) -> bool {
        let Some(file) = self.own.opens[proc as usize].find(key) else {
            return false;
        };
        let is_open = matches!(file.state, OpenState::Open(open) if open.other == stateid.other);
        if is_open {
            return false;
        }
        // Another call may have found that out already.
        let lost = file
            .delegation
            .take_if(|held| held.stateid.other == stateid.other);
        match lost.map(|lost| lost.stateid) {
            Some(stateid) if status == Nfsstat4::DelegRevoked => {
                self.counters.add(Tally::DelegationsRevoked);
                self.begin_for(None, conn, (proc, key), stateid, StateCall::Free);
            }
            // Whether the server still has it is known when it is returned.
            Some(stateid) => {
                self.begin_for(None, conn, (proc, key), stateid, StateCall::Return);
            }
            None => {}
        }
        true
    }
}
