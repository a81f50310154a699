//! Which open file a call uses, and with what state.

use super::compounds::StateCall;
use super::opens;
use super::state::Sessions;
use super::work_calls::Work;
use crate::driver::core::Core;
use filermark_engine::driver::{Action, ObjectId, PROC_DIR};
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::{Fh4, Stateid4};

impl Core<Sessions> {
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
        if let Some(handle) = self.own.opens[proc as usize].left_handle(key) {
            return *handle;
        }
        let handle = match opens::object_of(key) {
            Some(object) => self.handle(proc, object),
            None => {
                let made = opens::fill_of(key).and_then(|op| self.ops.handle(op));
                made.unwrap_or_else(|| self.handle(proc, PROC_DIR))
            }
        };
        handle.to_fh()
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
}
