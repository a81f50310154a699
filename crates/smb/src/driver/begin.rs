//! How operations begin, go on and end: which calls an action makes, one after another.
//! What a call is on the wire is the protocols' affair (`one`, `two`).

use super::calls::Kind;
use super::core::{Core, FileId};
use super::counters::Tally;
use super::ops::Step;
use super::status::{self, NO_HANDLE};
use filermark_engine::driver::{Action, Completion, Outcome, PROC_DIR, Request, Status, Submit};
use filermark_engine::session_action::{OpenFor, Place, SessionAction, Setting};
use filermark_model::Nanos;

/// Calls that one operation may have to begin at once.
const CALLS_PER_OP: usize = 64;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// As it should.
    Good,
    /// A file was opened.
    Opened(FileId),
    /// So many bytes were read or written.
    Moved(u32),
    /// The end of the file was met: nothing was read.
    End,
    /// The server refused it.
    Failed(u32),
    /// It ends the operation like this.
    Ends(Status),
}

impl Core {
    /// Takes a request: its first calls wait in the queue of its connection.
    pub(crate) fn submit(&mut self, request: &Request) -> Submit {
        if !self.calls.has_room(CALLS_PER_OP) || !self.ops.has_room() {
            return Submit::Busy;
        }
        let Some((kind, file)) = self.first_call(request) else {
            return Submit::Done(self.refused());
        };
        let op = self.ops.begin(request);
        self.note_in_history(op);
        let conn = self.conn_of(op) as usize;
        let logical = self.ops.get_mut(op);
        logical.file = file;
        logical.epoch = self.epochs[conn];
        match request.action {
            Action::Session(
                SessionAction::Read { offset, length, .. }
                | SessionAction::Write { offset, length, .. },
            ) => {
                logical.step = Step::Data;
                logical.next = offset;
                logical.end = offset.saturating_add(u64::from(length));
                if length == 0 {
                    // Nothing is there to be read: the server may say so itself.
                    self.call(op, kind, offset, 0);
                } else {
                    self.transfer_more(op);
                }
            }
            Action::Session(SessionAction::SetFile {
                setting: Setting::Size(bytes),
                ..
            }) => self.call(op, kind, bytes, 0),
            Action::Session(SessionAction::Lock { offset, length, .. }) => {
                self.call(op, kind, offset, length.min(u64::from(u32::MAX)) as u32);
            }
            _ => self.call(op, kind, 0, 0),
        }
        Submit::Queued
    }

    /// What is written gets a generation of its own, what is read is compared with
    /// what had been written by now.
    fn note_in_history(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        match logical.action {
            Action::Session(SessionAction::Read { .. }) => {
                logical.since = self.history.begin_read();
            }
            Action::Session(SessionAction::Write {
                file,
                offset,
                length,
                ..
            }) => {
                let range = (file, offset, u64::from(length));
                logical.mark = self.history.begin_write(logical.proc, range);
            }
            Action::Fill { .. } => logical.mark = self.history.begin_fill(logical.proc),
            _ => {}
        }
    }

    /// The history of writes learns of one that has ended.
    fn note_written(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let range = match logical.action {
            Action::Session(SessionAction::Write {
                file,
                offset,
                length,
                ..
            }) => (file, offset, u64::from(length)),
            Action::Fill { file, size, .. } => (file, 0, size),
            _ => return,
        };
        let certain = logical.outcome.status == Status::Ok;
        let (proc, mark) = (logical.proc, logical.mark);
        self.history.end_write(proc, mark, range, certain);
    }

    /// The first call of an action, and the file that it is on; `None`: what it
    /// works on is not there, or the action is none of SMB's.
    fn first_call(&mut self, request: &Request) -> Option<(Kind, FileId)> {
        let proc = self.procs.get_mut(request.proc as usize)?;
        let known = |file: Option<FileId>, kind: Kind| file.map(|file| (kind, file));
        let none = |kind: Kind| Some((kind, FileId::NONE));
        match request.action {
            Action::Session(action) => match action {
                SessionAction::Echo => none(Kind::Echo),
                SessionAction::QueryFs => none(Kind::QueryFs),
                SessionAction::Open { place, .. } | SessionAction::Truncate { place, .. } => proc
                    .knows_dir(place.dir)
                    .then_some((Kind::Open, FileId::NONE)),
                SessionAction::QueryPath { place } => proc
                    .knows_dir(place.dir)
                    .then_some((Kind::QueryPath, FileId::NONE)),
                SessionAction::Find { dir } => {
                    proc.knows_dir(dir).then_some((Kind::Find, FileId::NONE))
                }
                SessionAction::Close { handle } => known(proc.file(handle), Kind::Close),
                SessionAction::Read { handle, .. } => known(proc.file(handle), Kind::Read),
                SessionAction::Write { handle, .. } => known(proc.file(handle), Kind::Write),
                SessionAction::Flush { handle } => known(proc.file(handle), Kind::Flush),
                SessionAction::Lock { handle, .. } => known(proc.file(handle), Kind::Lock),
                SessionAction::QueryFile { handle } => known(proc.file(handle), Kind::QueryFile),
                SessionAction::QuerySecurity { handle } => {
                    known(proc.file(handle), Kind::QuerySecurity)
                }
                SessionAction::SetFile { handle, setting } => known(
                    proc.file(handle),
                    match setting {
                        Setting::Times => Kind::SetTimes,
                        Setting::Size(_) => Kind::SetSize,
                        Setting::Delete => Kind::SetDelete,
                    },
                ),
            },
            Action::Null => none(Kind::Echo),
            Action::MakeProcDir { .. } => none(Kind::MakeDir),
            Action::RemoveProcDir { .. } => none(Kind::RemoveDir),
            Action::Mkdir { dir, name, object } => {
                proc.keep_dir(object, name);
                proc.knows_dir(dir).then_some((Kind::MakeDir, FileId::NONE))
            }
            Action::Rmdir { dir, .. } => proc
                .knows_dir(dir)
                .then_some((Kind::RemoveDir, FileId::NONE)),
            Action::Remove { dir, .. } => proc
                .knows_dir(dir)
                .then_some((Kind::RemoveFile, FileId::NONE)),
            Action::Fill { dir, .. } => proc.knows_dir(dir).then_some((Kind::Open, FileId::NONE)),
            _ => None,
        }
    }

    fn refused(&self) -> Outcome {
        Outcome {
            status: Status::Refused(NO_HANDLE),
            sent: self.now,
            done: self.now,
            physical: 0,
            read_bytes: 0,
            written_bytes: 0,
            end: false,
        }
    }

    /// The next transfers of an operation, as many as may be under way at once.
    pub(crate) fn transfer_more(&mut self, op: u32) {
        let conn = self.conn_of(op) as usize;
        let (kind, most, largest) = match self.ops.get(op).action {
            Action::Session(SessionAction::Read { .. }) => {
                (Kind::Read, self.settings.reads_max, self.transfers[conn].0)
            }
            _ => (
                Kind::Write,
                self.settings.writes_max,
                self.transfers[conn].1,
            ),
        };
        loop {
            let logical = self.ops.get_mut(op);
            let left = logical.end - logical.next.min(logical.end);
            if left == 0 || logical.outstanding >= most || logical.outcome.status != Status::Ok {
                return;
            }
            let offset = logical.next;
            let length = left.min(u64::from(largest.max(1))) as u32;
            logical.next += u64::from(length);
            self.call(op, kind, offset, length);
        }
    }

    /// A call is over: ends its operation, or lets it go on. `physical` frames
    /// of it were answered: 1, or 0 where it was never sent or never answered.
    pub(crate) fn end_call(&mut self, slot: u32, verdict: Verdict, physical: u32, now: Nanos) {
        let Some(call) = self.calls.end(slot) else {
            return;
        };
        let op = call.op;
        tracing::trace!(target: "filermark_smb::rpc", conn = self.conn_of(op), call = slot,
            kind = ?call.kind, ?verdict, frames = physical, "ended");
        let verdict = self.forgive(op, call.kind, verdict);
        let logical = self.ops.get_mut(op);
        logical.outstanding -= 1;
        logical.outcome.physical += physical;
        match verdict {
            Verdict::Good => {}
            Verdict::Opened(file) => self.opened(op, file),
            Verdict::Moved(bytes) => self.moved(op, call.kind, call.offset, call.length, bytes),
            Verdict::End => self.met_end(op, call.length),
            Verdict::Failed(status) => logical.fail(Status::Refused(status)),
            Verdict::Ends(status) => logical.fail(status),
        }
        if call.kind == Kind::Close {
            self.closed(op);
        }
        self.go_on(op, now);
    }

    /// Refusals that only say that somebody was there before.
    fn forgive(&self, op: u32, kind: Kind, verdict: Verdict) -> Verdict {
        let Verdict::Failed(status) = verdict else {
            return verdict;
        };
        match (kind, self.ops.get(op).action) {
            (Kind::MakeDir, _) if status == status::OBJECT_NAME_COLLISION => Verdict::Good,
            _ => verdict,
        }
    }

    fn opened(&mut self, op: u32, file: FileId) {
        let conn = self.conn_of(op) as usize;
        let logical = self.ops.get_mut(op);
        match logical.action {
            Action::Session(SessionAction::Open { handle, .. }) => {
                let proc = logical.proc as usize;
                self.procs[proc].set_file(handle, file);
            }
            _ => {
                logical.file = file;
                logical.epoch = self.epochs[conn];
                logical.owns_file = true;
            }
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

    fn moved(&mut self, op: u32, kind: Kind, offset: u64, asked: u32, bytes: u32) {
        let logical = self.ops.get_mut(op);
        if bytes > asked || (bytes == 0 && asked > 0) {
            return logical.fail(Status::Garbage);
        }
        let count = u64::from(bytes);
        let outcome = &mut logical.outcome;
        match kind {
            Kind::Read => outcome.read_bytes = outcome.read_bytes.saturating_add(count),
            _ => outcome.written_bytes = outcome.written_bytes.saturating_add(count),
        }
        if bytes < asked {
            self.counters.add(match kind {
                Kind::Read => Tally::ShortReads,
                _ => Tally::ShortWrites,
            });
            self.call(op, kind, offset + count, asked - bytes);
        }
    }

    /// Only what has been written is asked for: an end before it is lost data.
    fn met_end(&mut self, op: u32, asked: u32) {
        let logical = self.ops.get_mut(op);
        logical.outcome.end = true;
        logical.next = logical.end;
        if asked > 0 {
            self.counters.add(Tally::EarlyEofs);
            logical.fail(Status::Lost);
        }
    }

    /// Makes the next calls of an operation, or completes it.
    fn go_on(&mut self, op: u32, now: Nanos) {
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
        let (token, outcome) = self.ops.end(op, now);
        self.done.push(Completion { token, outcome });
    }

    /// What comes next for an operation with a file of its own; whatever happens, the
    /// file is closed.
    fn next_step(&self, op: u32, worked: bool) -> Option<Step> {
        let logical = self.ops.get(op);
        let writes = matches!(logical.action, Action::Fill { size: 1.., .. });
        let cuts = matches!(
            logical.action,
            Action::Session(SessionAction::Truncate { .. })
        );
        match logical.step {
            Step::Close => None,
            _ if !worked => Some(Step::Close),
            Step::First if writes => Some(Step::Data),
            Step::First if cuts => Some(Step::Size),
            Step::Data => Some(Step::Flush),
            _ => Some(Step::Close),
        }
    }

    fn take_step(&mut self, op: u32, step: Step) {
        let logical = self.ops.get_mut(op);
        logical.step = step;
        match (step, logical.action) {
            (Step::Data, Action::Fill { size, .. }) => {
                logical.next = 0;
                logical.end = size;
                self.transfer_more(op);
            }
            (Step::Size, Action::Session(SessionAction::Truncate { size, .. })) => {
                self.call(op, Kind::SetSize, size, 0);
            }
            (Step::Flush, _) => self.call(op, Kind::Flush, 0, 0),
            _ => {
                logical.step = Step::Close;
                self.call(op, Kind::Close, 0, 0);
            }
        }
    }

    /// The place that a call on a path is about.
    pub(crate) fn place_of(&self, op: u32) -> Place {
        let own = Place {
            dir: PROC_DIR,
            name: None,
        };
        match self.ops.get(op).action {
            Action::Session(
                SessionAction::Open { place, .. }
                | SessionAction::QueryPath { place }
                | SessionAction::Truncate { place, .. },
            ) => place,
            Action::Session(SessionAction::Find { dir }) => Place { dir, name: None },
            Action::Mkdir { dir, name, .. }
            | Action::Rmdir { dir, name }
            | Action::Remove { dir, name }
            | Action::Fill { dir, name, .. } => Place {
                dir,
                name: Some(name),
            },
            _ => own,
        }
    }

    /// What a file is opened for; `None`: to be filled, or cut, by an operation of
    /// its own.
    pub(crate) fn open_for(&self, op: u32) -> Option<OpenFor> {
        match self.ops.get(op).action {
            Action::Session(SessionAction::Open { how, .. }) => Some(how),
            _ => None,
        }
    }

    /// Whether the operation makes its file anew.
    pub(crate) fn fills(&self, op: u32) -> bool {
        matches!(self.ops.get(op).action, Action::Fill { .. })
    }

    /// The number by which the contents of the file of a transfer are known.
    pub(crate) fn contents_of(&self, op: u32) -> u64 {
        match self.ops.get(op).action {
            Action::Session(
                SessionAction::Read { file, .. } | SessionAction::Write { file, .. },
            )
            | Action::Fill { file, .. } => file,
            _ => 0,
        }
    }

    /// Whether a lock is given back.
    pub(crate) fn unlocks(&self, op: u32) -> bool {
        matches!(
            self.ops.get(op).action,
            Action::Session(SessionAction::Lock { unlock: true, .. })
        )
    }

    /// A file's data came: whether it is what had been written.
    pub(crate) fn check(&mut self, op: u32, offset: u64, data: &[u8]) -> Verdict {
        let file = self.contents_of(op);
        let since = self.ops.get(op).since;
        let checked = self.history.check(since, file, offset, data);
        self.counters.add_many(Tally::CheckedBytes, checked.bytes);
        self.counters
            .add_many(Tally::UndecidedBytes, checked.undecided_bytes);
        if !checked.good {
            self.counters.add(Tally::VerifyErrors);
            if self.history.fails_reads() {
                return Verdict::Ends(Status::Corrupt);
            }
        }
        Verdict::Moved(data.len() as u32)
    }
}
