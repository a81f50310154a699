//! How operations begin: which first call an action makes, and what must be
//! known for it.

use super::core::{Core, Span};
use super::ops::Step;
use super::status::{NO_HANDLE, NOT_IN_V2};
use filermark_engine::driver::{Action, ObjectId, Outcome, Request, Status, Submit};
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs2::FILE_BYTES_MAX;
use filermark_onc::nfs3::Procedure;

impl Core {
    /// Takes a request: its first calls wait in the queue of its connection.
    pub(crate) fn submit(&mut self, request: &Request) -> Submit {
        if self.calls.free_slots() == 0 || !self.ops.has_room() {
            return Submit::Busy;
        }
        if self.settings.version == NfsVersion::V2 && !is_in_v2(request.action) {
            return Submit::Done(self.refused(NOT_IN_V2));
        }
        if !self.knows_objects(request) {
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
            action => self.call(op, first_call(action), Span::NONE),
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
    fn knows_objects(&self, request: &Request) -> bool {
        let Some(proc) = self.procs.get(request.proc as usize) else {
            return false;
        };
        let known = |object: ObjectId| proc.handles.get(object).is_some();
        match request.action {
            Action::Null
            | Action::Fsstat
            | Action::Fsinfo
            | Action::Pathconf
            | Action::MakeProcDir { .. }
            | Action::RemoveProcDir { .. } => true,
            Action::Getattr { object }
            | Action::Setattr { object, .. }
            | Action::Access { object }
            | Action::Readlink { object }
            | Action::Read { object, .. }
            | Action::Write { object, .. }
            | Action::Commit { object } => known(object),
            Action::Link { object, dir, .. } => known(object) && known(dir),
            Action::Lookup { dir, .. }
            | Action::Create { dir, .. }
            | Action::Mkdir { dir, .. }
            | Action::Symlink { dir, .. }
            | Action::Mknod { dir, .. }
            | Action::Remove { dir, .. }
            | Action::Rmdir { dir, .. }
            | Action::Rename { dir, .. }
            | Action::Readdir { dir, .. }
            | Action::Fill { dir, .. } => known(dir),
            Action::File(_) | Action::Session(_) => false,
        }
    }
}

/// Whether version 2 has a procedure and room for it.
const fn is_in_v2(action: Action) -> bool {
    match action {
        Action::Access { .. }
        | Action::Mknod { .. }
        | Action::Readdir { plus: true, .. }
        | Action::Fsinfo
        | Action::Pathconf
        | Action::Commit { .. } => false,
        Action::Read { offset, length, .. } | Action::Write { offset, length, .. } => {
            offset.saturating_add(length as u64) <= FILE_BYTES_MAX
        }
        Action::Fill { size, .. }
        | Action::Setattr {
            size: Some(size), ..
        } => size <= FILE_BYTES_MAX,
        _ => true,
    }
}

const fn first_call(action: Action) -> Procedure {
    match action {
        // Never sent: `knows_objects` says no to actions of other drivers.
        Action::Null | Action::File(_) | Action::Session(_) => Procedure::Null,
        Action::Getattr { .. } => Procedure::Getattr,
        Action::Setattr { .. } => Procedure::Setattr,
        Action::Lookup { .. } => Procedure::Lookup,
        Action::Access { .. } => Procedure::Access,
        Action::Readlink { .. } => Procedure::Readlink,
        Action::Read { .. } => Procedure::Read,
        Action::Write { .. } => Procedure::Write,
        Action::Commit { .. } => Procedure::Commit,
        Action::Create { .. } | Action::Fill { .. } => Procedure::Create,
        Action::Mkdir { .. } | Action::MakeProcDir { .. } => Procedure::Mkdir,
        Action::Symlink { .. } => Procedure::Symlink,
        Action::Mknod { .. } => Procedure::Mknod,
        Action::Remove { .. } => Procedure::Remove,
        Action::Rmdir { .. } | Action::RemoveProcDir { .. } => Procedure::Rmdir,
        Action::Rename { .. } => Procedure::Rename,
        Action::Link { .. } => Procedure::Link,
        Action::Readdir { plus: false, .. } => Procedure::Readdir,
        Action::Readdir { plus: true, .. } => Procedure::Readdirplus,
        Action::Fsstat => Procedure::Fsstat,
        Action::Fsinfo => Procedure::Fsinfo,
        Action::Pathconf => Procedure::Pathconf,
    }
}
