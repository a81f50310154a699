//! How operations begin: which first call an action makes, and what must be
//! known for it.

use super::core::{Core, Span};
use super::ops::Step;
use super::request::{first_call, in_version2};
use super::status::{NO_HANDLE, NOT_IN_V2};
use filermark_engine::driver::{
    Action, DirRef, ObjectId, Outcome, Request, Status, Subject, Submit,
};
use filermark_model::NfsOp;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs2::FILE_BYTES_MAX;
use filermark_onc::nfs3::Procedure;

impl Core {
    /// Takes a request: its first calls wait in the queue of its connection.
    pub(crate) fn submit(&mut self, request: &Request) -> Submit {
        if self.calls.free_slots() == 0 || !self.ops.has_free_slot() {
            return Submit::Busy;
        }
        let Some(subject) = request.action.subject() else {
            return Submit::Done(self.refused(NO_HANDLE));
        };
        if self.settings.version == NfsVersion::V2 && !is_in_v2(subject.op, request.action) {
            return Submit::Done(self.refused(NOT_IN_V2));
        }
        if !self.knows_objects(request.proc, &subject) {
            return Submit::Done(self.refused(NO_HANDLE));
        }
        let op = self.ops.begin(request);
        self.note_in_history(op);
        match request.action {
            Action::Read { offset, length, .. } | Action::Write { offset, length, .. } => {
                let logical = self.ops.get_mut(op);
                logical.step = Step::Data;
                logical.next = offset;
                logical.end = offset.saturating_add(u64::from(length));
                self.transfer_more(op);
            }
            Action::Commit { object } => {
                self.commit_file(op, object);
                if self.ops.get(op).outstanding == 0 {
                    self.ops.get_mut(op).step = Step::Commit;
                    self.call(op, Procedure::Commit, Span::NONE);
                }
            }
            Action::Readdir { dir, plus } => self.list(op, dir, plus),
            _ => self.call(op, first_call(subject.op), Span::NONE),
        }
        Submit::Queued
    }

    /// What is written gets a generation of its own, what is read is compared with
    /// what had been written by now.
    fn note_in_history(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        match logical.action {
            Action::Read { .. } => logical.since = self.history.begin_read(),
            Action::Write {
                file,
                offset,
                length,
                ..
            } => {
                let range = (file, offset, u64::from(length));
                logical.mark = self.history.begin_write(logical.proc, range);
            }
            Action::Fill { .. } => logical.mark = self.history.begin_fill(logical.proc),
            _ => {}
        }
    }

    fn refused(&self, code: u32) -> Outcome {
        Outcome {
            status: Status::Refused(code),
            sent: self.state.now,
            done: self.state.now,
            physical: 0,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        }
    }

    /// Whether there is a handle for everything that the action works on.
    fn knows_objects(&self, proc: u32, subject: &Subject) -> bool {
        let Some(proc) = self.procs.get(proc as usize) else {
            return false;
        };
        let known = |object: ObjectId| proc.handles.get(object).is_some();
        let dir_known = match subject.name {
            Some((DirRef::Object(dir), _)) => known(dir),
            Some((DirRef::RunDir, _)) | None => true,
        };
        dir_known && subject.object.is_none_or(known)
    }
}

/// Whether version 2 has a procedure and room for it.
const fn is_in_v2(op: NfsOp, action: Action) -> bool {
    let end = match action {
        Action::Read { offset, length, .. } | Action::Write { offset, length, .. } => {
            offset.saturating_add(length as u64)
        }
        Action::Fill { size, .. }
        | Action::Setattr {
            size: Some(size), ..
        } => size,
        _ => 0,
    };
    in_version2(first_call(op)).is_some() && end <= FILE_BYTES_MAX
}
