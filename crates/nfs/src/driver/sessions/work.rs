//! The operations that version 3 does not have: which calls they consist of. Two of them have a second
//! call: what OPEN has opened is closed, what LOCK has locked is unlocked. A COPY may copy a part, and the
//! next one copies the rest; what the server has not made stable is committed (RFC 7862 section 15.2.3).

use super::compounds::StateCall;
use super::opens;
use super::scratch::{self, Scratch, Value};
use super::state::Sessions;
use super::work_calls::{Work, WorkState};
use crate::driver::core::Core;
use crate::driver::ops::{INTERNAL, LogicalOp};
use filermark_engine::driver::{Action, Status, V4Action};

impl Core<Sessions> {
    /// Begins an operation that is no transfer.
    pub(super) fn begin_work(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let proc = logical.proc;
        let Action::V4(action) = logical.action else {
            return;
        };
        self.note_work(op, proc, action);
        if let Some(first) = Work::first(action) {
            let conn = self.procs[proc as usize].conn;
            self.own_call(conn, Some(op), StateCall::Work(first));
        }
    }

    pub(super) fn work_state(&mut self, op: u32) -> &mut WorkState {
        let works = &mut self.own.works;
        if works.len() <= op as usize {
            works.resize(op as usize + 1, WorkState::default());
        }
        &mut works[op as usize]
    }

    /// What is known of scratch files and attributes when an operation begins.
    fn note_work(&mut self, op: u32, proc: u32, action: V4Action) {
        if self.own.scratch.is_empty() {
            let procs = self.procs.len();
            self.own.scratch.resize(procs, Scratch::default());
        }
        let mut state = WorkState {
            since: self.history.begin_read(),
            ..WorkState::default()
        };
        if let Some(object) = scratch::changed(action) {
            let scratch = self.scratch(proc);
            state.number = scratch.begin(object);
            state.is_alone = scratch.is_alone(object);
        }
        if let V4Action::Setxattr { attribute, .. } = action {
            state.generation = self.history.next_generation();
            self.scratch(proc).set_value(attribute, Value::Any);
        }
        *self.work_state(op) = state;
    }

    /// The same when it has ended.
    fn note_work_ended(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::V4(action) = logical.action else {
            return;
        };
        let (proc, status, generation) = (
            logical.proc,
            logical.outcome.status,
            self.own.works[op as usize].generation,
        );
        if logical.token == INTERNAL {
            return self.copy_checked(proc);
        }
        // Without a reply the server may still execute it.
        let is_answered = matches!(status, Status::Ok | Status::Refused(_));
        let is_certain = is_answered && !logical.resent;
        if let Some(object) = scratch::changed(action) {
            self.scratch(proc).end(object, is_certain);
        }
        if let V4Action::Setxattr { attribute, .. } = action {
            let value = match status {
                Status::Ok if is_certain => Value::Of(generation),
                _ if is_certain => Value::Any,
                _ => Value::Unsettled,
            };
            self.scratch(proc).set_value(attribute, value);
        }
    }

    /// All calls of an operation have ended: makes its next one.
    pub(super) fn continue_work(&mut self, op: u32) {
        let logical = self.ops.get(op);
        if !matches!(logical.action, Action::V4(_)) {
            return;
        }
        let (proc, status) = (logical.proc, logical.outcome.status);
        let conn = self.procs[proc as usize].conn;
        let next = self.own.works[op as usize].next.take();
        // What is open or locked is given up also after a failure.
        let gives_up = matches!(next, Some(Work::Confirm | Work::Close | Work::Unlock));
        if let Some(next) = next.filter(|_| status == Status::Ok || gives_up) {
            let is_late = next == Work::CopyStatus && !self.may_ask_for_copy(op);
            if !is_late && self.own_call(conn, Some(op), StateCall::Work(next)) {
                if next == Work::CopyStatus {
                    self.wait_for_copy(op);
                }
                return;
            }
            self.ops.get_mut(op).fail(match is_late {
                true => Status::TimedOut,
                false => Status::Disconnected,
            });
        }
        if self.own.works[op as usize].offload.take().is_some() {
            // The server may go on with the copy.
            self.ops.get_mut(op).resent = true;
        }
        self.unpin(op);
        // Version 4.0: the owner of its open opens another file.
        if let Some(owner) = self.own.works[op as usize].owner.take() {
            self.own.free_owners[proc as usize].put_back(owner);
        }
        self.note_work_ended(op);
        self.check_copy(op);
    }

    /// Keeps the file of this call open until the operation has ended.
    pub(super) fn pin(&mut self, slot: u32) {
        let call = self.calls.get(slot);
        let (op, Some(key)) = (call.op, call.own.used) else {
            return;
        };
        let proc = self.ops.get(op).proc;
        let state = &mut self.own.works[op as usize];
        if state.pinned.is_none()
            && let Some(file) = self.own.opens[proc as usize].find(key)
        {
            state.pinned = Some(key);
            file.users += 1;
        }
    }

    fn unpin(&mut self, op: u32) {
        let proc = self.ops.get(op).proc;
        if let Some(key) = self.own.works[op as usize].pinned.take() {
            self.own.opens[proc as usize].stop_using(key);
        }
    }

    /// The files that a call needs open: their keys.
    pub(super) fn keys_of_work(&self, op: &LogicalOp, work: Work) -> [Option<u32>; 2] {
        let Action::V4(action) = op.action else {
            return [None; 2];
        };
        match work.uses_open() {
            true if work == Work::ReadBack => [action.target().map(opens::of_object), None],
            true => {
                [Some(action.object()), action.target()].map(|object| object.map(opens::of_object))
            }
            false => [None; 2],
        }
    }
}
