//! How operations begin, continue and end: the calls of an action, in order. Their encoding
//! is in `wire`.
#![deny(clippy::wildcard_enum_match_arm)]

use super::action::first_call;
use super::calls::{CallOutcome, FileId, Kind};
use super::core::Core;
use super::counters::Tally;
use super::ops::Step;
use super::status::{self, NO_HANDLE};
use filermark_engine::driver::{Action, Completion, Outcome, Request, Status, Submit};
use filermark_engine::session_action::SessionAction;
use filermark_model::Nanos;

/// Calls that one operation may have to begin at once.
const CALLS_PER_OP: u32 = 64;

impl Core {
    /// Takes a request: its first calls wait in the queue of its connection.
    pub(crate) fn submit(&mut self, request: &Request) -> Submit {
        if self.calls.free_slots() < CALLS_PER_OP || !self.ops.has_free_slot() {
            return Submit::Busy;
        }
        let proc = self.procs.get_mut(request.proc as usize);
        let Some(first) = proc.and_then(|proc| first_call(proc, request.action)) else {
            return Submit::Done(self.refused());
        };
        let op = self.ops.begin(request);
        self.note_in_history(op);
        let conn = self.conn_of(op) as usize;
        let logical = self.ops.get_mut(op);
        logical.file = first.file;
        logical.epoch = self.epochs[conn];
        let is_transfer = matches!(first.kind, Kind::Read | Kind::Write);
        if is_transfer {
            logical.step = Step::Data;
            logical.next = first.offset;
            logical.end = first.offset.saturating_add(first.length);
        }
        match is_transfer && first.length > 0 {
            true => self.transfer_more(op),
            // Also a transfer of 0 bytes is sent: the server answers it.
            false => {
                let length = first.length.min(u64::from(u32::MAX)) as u32;
                self.call(op, first.kind, first.offset, length);
            }
        }
        Submit::Queued
    }

    /// A write gets its own generation; a read is compared with what was written before it
    /// began.
    fn note_in_history(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        if let Action::Session(SessionAction::Read { .. }) = logical.action {
            logical.since = self.history.begin_read();
        } else if let Action::Session(SessionAction::Write {
            file,
            offset,
            length,
            ..
        }) = logical.action
        {
            let range = (file, offset, u64::from(length));
            logical.mark = self.history.begin_write(logical.proc, range);
        } else if let Action::Fill { .. } = logical.action {
            logical.mark = self.history.begin_fill(logical.proc);
        }
    }

    /// Notes in the history of writes that this one has ended.
    fn note_written(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let range = if let Action::Session(SessionAction::Write {
            file,
            offset,
            length,
            ..
        }) = logical.action
        {
            (file, offset, u64::from(length))
        } else if let Action::Fill { file, size, .. } = logical.action {
            (file, 0, size)
        } else {
            return;
        };
        let certain = logical.outcome.status == Status::Ok;
        let (proc, mark) = (logical.proc, logical.mark);
        self.history.end_write(proc, mark, range, certain);
    }

    fn refused(&self) -> Outcome {
        Outcome {
            status: Status::Refused(NO_HANDLE),
            sent: self.state.now,
            done: self.state.now,
            physical: 0,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        }
    }

    /// Makes the next transfers of an operation, as many as may be under way at once.
    pub(crate) fn transfer_more(&mut self, op: u32) {
        let conn = self.conn_of(op) as usize;
        let (read_max, write_max) = self.transfers[conn];
        let action = &self.ops.get(op).action;
        let (kind, most, largest) = if let Action::Session(SessionAction::Read { .. }) = action {
            (Kind::Read, self.settings.reads_max, read_max)
        } else if let Action::Session(SessionAction::Write { .. }) | Action::Fill { .. } = action {
            (Kind::Write, self.settings.writes_max, write_max)
        } else {
            return;
        };
        loop {
            let logical = self.ops.get_mut(op);
            let left = logical.end - logical.next.min(logical.end);
            // The first call of a window may take the last slot, the others leave some.
            let lacks_slots = logical.outstanding > 0 && self.calls.free_slots() < CALLS_PER_OP;
            let is_full = logical.outstanding >= most || lacks_slots;
            if left == 0 || is_full || logical.outcome.status != Status::Ok {
                return;
            }
            let offset = logical.next;
            let length = left.min(u64::from(largest.max(1))) as u32;
            logical.next += u64::from(length);
            self.call(op, kind, offset, length);
        }
    }

    /// Ends a call, and continues or ends its operation. `physical`: frames of it that were
    /// answered; 1, or 0 if it was not sent or not answered.
    pub(crate) fn end_call(&mut self, slot: u32, verdict: CallOutcome, physical: u32, now: Nanos) {
        if !self.calls.is_used(slot) {
            return;
        }
        let call = *self.calls.get(slot);
        self.calls.end(slot);
        let op = call.op;
        tracing::trace!(target: "filermark_smb::rpc", conn = call.conn, call = slot,
            kind = ?call.kind, ?verdict, frames = physical, "ended");
        if physical > 0 {
            let mut transferred = 0;
            if let CallOutcome::Transferred(bytes) = verdict {
                transferred = bytes;
            }
            self.channels.count(call.conn, transferred);
        }
        let verdict = accept_existing(call.kind, verdict);
        let logical = self.ops.get_mut(op);
        logical.outstanding -= 1;
        logical.outcome.physical += physical;
        match verdict {
            CallOutcome::Ok => {}
            CallOutcome::Opened(file) => self.opened(op, file),
            CallOutcome::Transferred(bytes) => {
                self.transferred(op, call.kind, call.offset, call.length, bytes);
            }
            CallOutcome::End => self.reached_end(op, call.length),
            CallOutcome::Failed(status) => logical.fail(Status::Refused(status)),
            CallOutcome::Ends(status) => logical.fail(status),
        }
        if call.kind == Kind::Close {
            self.closed(op);
        }
        self.continue_operation(op, now);
    }

    fn opened(&mut self, op: u32, file: FileId) {
        let conn = self.conn_of(op) as usize;
        let logical = self.ops.get_mut(op);
        if let Action::Session(SessionAction::Open { handle, .. }) = logical.action {
            let proc = logical.proc as usize;
            self.procs[proc].set_file(handle, file);
        } else {
            logical.file = file;
            logical.epoch = self.epochs[conn];
            logical.owns_file = true;
        }
    }

    fn closed(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        logical.owns_file = false;
        if let Action::Session(SessionAction::Close { handle }) = logical.action {
            let proc = logical.proc as usize;
            self.procs[proc].set_file(handle, FileId::NONE);
        }
    }

    fn transferred(&mut self, op: u32, kind: Kind, offset: u64, asked: u32, bytes: u32) {
        let logical = self.ops.get_mut(op);
        if bytes > asked || (bytes == 0 && asked > 0) {
            return logical.fail(Status::Garbage);
        }
        let count = u64::from(bytes);
        let outcome = &mut logical.outcome;
        let (total, short) = match kind {
            Kind::Read => (&mut outcome.read_bytes, Tally::ShortReads),
            Kind::Write => (&mut outcome.written_bytes, Tally::ShortWrites),
            Kind::Echo
            | Kind::Open
            | Kind::Close
            | Kind::Flush
            | Kind::Lock
            | Kind::QueryFile
            | Kind::QuerySecurity
            | Kind::SetTimes
            | Kind::SetSize
            | Kind::SetDelete
            | Kind::QueryPath
            | Kind::QueryFs
            | Kind::Find
            | Kind::MakeDir
            | Kind::RemoveFile
            | Kind::RemoveDir => return logical.fail(Status::Garbage),
        };
        *total = total.saturating_add(count);
        if bytes < asked {
            self.counters.add(short);
            self.call(op, kind, offset + count, asked - bytes);
        }
    }

    /// Only written ranges are read: an earlier end of file means lost data.
    fn reached_end(&mut self, op: u32, asked: u32) {
        let logical = self.ops.get_mut(op);
        logical.outcome.end = true;
        logical.next = logical.end;
        if asked > 0 {
            self.counters.add(Tally::EarlyEofs);
            logical.fail(Status::Lost);
        }
    }

    /// Makes the next calls of an operation, or completes it.
    fn continue_operation(&mut self, op: u32, now: Nanos) {
        let logical = self.ops.get(op);
        let worked = logical.outcome.status == Status::Ok;
        if logical.step == Step::Data && worked {
            self.transfer_more(op);
        }
        let logical = self.ops.get(op);
        if logical.outstanding > 0 {
            return;
        }
        if logical.owns_file
            && let Some(step) = self.next_step(op, worked)
        {
            return self.take_step(op, step);
        }
        self.note_written(op);
        let ended = self.ops.get_mut(op);
        ended.note_done(now);
        self.state.done.push(Completion {
            token: ended.token,
            outcome: ended.outcome,
        });
        self.ops.end(op);
    }

    /// The next step of an operation with a file of its own. The file is always closed.
    fn next_step(&self, op: u32, worked: bool) -> Option<Step> {
        let logical = self.ops.get(op);
        let writes = matches!(logical.action, Action::Fill { size: 1.., .. });
        let cuts = matches!(
            logical.action,
            Action::Session(SessionAction::Truncate { .. })
        );
        match logical.step {
            Step::Close => None,
            Step::First if worked && writes => Some(Step::Data),
            Step::First if worked && cuts => Some(Step::Size),
            Step::Data if worked => Some(Step::Flush),
            Step::First | Step::Data | Step::Size | Step::Flush => Some(Step::Close),
        }
    }

    fn take_step(&mut self, op: u32, step: Step) {
        let logical = self.ops.get_mut(op);
        logical.step = step;
        if let (Step::Data, Action::Fill { size, .. }) = (step, logical.action) {
            logical.next = 0;
            logical.end = size;
            return self.transfer_more(op);
        }
        if let (Step::Size, Action::Session(SessionAction::Truncate { size, .. })) =
            (step, logical.action)
        {
            return self.call(op, Kind::SetSize, size, 0);
        }
        if step == Step::Flush {
            return self.call(op, Kind::Flush, 0, 0);
        }
        logical.step = Step::Close;
        self.call(op, Kind::Close, 0, 0);
    }

    /// Compares the data of a READ with what was written.
    pub(crate) fn check(&mut self, op: u32, offset: u64, data: &[u8]) -> CallOutcome {
        let file = self.contents_of(op);
        let since = self.ops.get(op).since;
        let checked = self.history.check(since, file, offset, data);
        self.counters.add_many(Tally::CheckedBytes, checked.bytes);
        self.counters
            .add_many(Tally::UndecidedBytes, checked.undecided_bytes);
        if !checked.good {
            self.counters.add(Tally::VerifyErrors);
            if self.history.fails_reads() {
                return CallOutcome::Ends(Status::Corrupt);
            }
        }
        CallOutcome::Transferred(data.len() as u32)
    }
}

/// Accepts the refusal of a MKDIR whose directory exists.
fn accept_existing(kind: Kind, verdict: CallOutcome) -> CallOutcome {
    let exists = CallOutcome::Failed(status::OBJECT_NAME_COLLISION);
    match kind == Kind::MakeDir && verdict == exists {
        true => CallOutcome::Ok,
        false => verdict,
    }
}
