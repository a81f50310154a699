//! How operations begin: the first call of an action, and the handles that it requires.
#![deny(clippy::wildcard_enum_match_arm)]

use super::core::{Core, Span};
use super::ops::Step;
use super::request::first_call;
use super::status::NO_HANDLE;
use super::variant::Variant;
use filermark_engine::driver::{
    Action, DirRef, ObjectId, Outcome, Request, Status, Subject, Submit, V4Action,
};
use filermark_onc::nfs3::Procedure;

impl<V: Variant> Core<V> {
    /// Takes a request: its first calls wait in the queue of its connection.
    pub(crate) fn submit(&mut self, request: &Request) -> Submit {
        if self.calls.free_slots() == 0 || !self.ops.has_free_slot() {
            return Submit::Busy;
        }
        let Some(subject) = request.action.subject() else {
            return Submit::Done(self.refused(NO_HANDLE));
        };
        if let Some(code) = V::refusal(self, subject.op, request.action) {
            return Submit::Done(self.refused(code));
        }
        if !self.has_handles(request.proc, &subject) {
            return Submit::Done(self.refused(NO_HANDLE));
        }
        let op = self.ops.begin(request);
        let logical = self.ops.get_mut(op);
        if let Action::V4(V4Action::ReadPlus {
            object,
            file,
            offset,
            length,
        }) = request.action
        {
            logical.is_plus = true;
            logical.action = Action::Read {
                object,
                file,
                offset,
                length,
            };
        }
        let action = logical.action;
        self.note_in_history(op);
        match action {
            Action::Read { offset, length, .. } | Action::Write { offset, length, .. } => {
                let logical = self.ops.get_mut(op);
                logical.step = Step::Data;
                logical.next = offset;
                logical.end = offset.saturating_add(u64::from(length));
                match length {
                    0 => self.call(op, first_call(subject.op), Span { offset, length }),
                    _ => self.transfer_more(op),
                }
            }
            Action::Commit { object } => {
                self.commit_file(op, object);
                if self.ops.get(op).outstanding == 0 {
                    self.ops.get_mut(op).step = Step::Commit;
                    self.call(op, Procedure::Commit, Span::NONE);
                }
            }
            Action::Readdir { dir, plus } => self.list(op, dir, plus),
            Action::V4(_) => V::begin_work(self, op),
            Action::Null
            | Action::Getattr { .. }
            | Action::Setattr { .. }
            | Action::Lookup { .. }
            | Action::Access { .. }
            | Action::Readlink { .. }
            | Action::Create { .. }
            | Action::Mkdir { .. }
            | Action::Symlink { .. }
            | Action::Mknod { .. }
            | Action::Remove { .. }
            | Action::Rmdir { .. }
            | Action::Rename { .. }
            | Action::Link { .. }
            | Action::Fsstat
            | Action::Fsinfo
            | Action::Pathconf
            | Action::MakeProcDir { .. }
            | Action::Fill { .. }
            | Action::RemoveProcDir { .. }
            // These two have no subject and were refused above.
            | Action::File(_)
            | Action::Session(_) => self.call(op, first_call(subject.op), Span::NONE),
        }
        Submit::Queued
    }

    /// A write gets its own generation; a read is compared with what was written before it
    /// began.
    fn note_in_history(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        if let Action::Read { .. } = logical.action {
            logical.since = self.history.begin_read();
        } else if let Action::Write {
            file,
            offset,
            length,
            ..
        } = logical.action
        {
            let range = (file, offset, u64::from(length));
            logical.mark = self.history.begin_write(logical.proc, range);
        } else if let Action::Fill { .. } = logical.action {
            logical.mark = self.history.begin_fill(logical.proc);
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

    /// Whether the proc has a handle for every object of the action.
    fn has_handles(&self, proc: u32, subject: &Subject) -> bool {
        let Some(proc) = self.procs.get(proc as usize) else {
            return false;
        };
        let known = |object: ObjectId| proc.handles.get(object).is_some();
        let dir_known = match subject.name {
            Some((DirRef::Object(dir), _)) => known(dir),
            Some((DirRef::RunDir, _)) | None => true,
        };
        let objects = [subject.object, subject.target];
        dir_known && objects.into_iter().flatten().all(known)
    }
}
