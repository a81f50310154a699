//! Replies: finds the call, judges the results, and continues the operation.
#![deny(clippy::wildcard_enum_match_arm)]

use super::core::{Core, Span, Timer};
use super::counters::Tally;
use super::ops::Step;
use super::status::rpc_code;
use super::variant::Variant;
use filermark_engine::driver::{Action, ObjectId, PROC_DIR, Status};
use filermark_model::Nanos;
use filermark_model::plan::NfsVersion;
use filermark_onc::nfs3::*;
use filermark_onc::nfs4::FileHandle4;
use filermark_onc::rpc::{ReplyHeader, peek_xid};
use filermark_onc::xdr::{Decode, DecodeError, Decoder};

/// Longest wait after NFS3ERR_JUKEBOX; the wait doubles up to this.
pub(super) const JUKEBOX_DELAY_MAX: Nanos = Nanos::from_secs(30);

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// It succeeded.
    Ok,
    /// It succeeded in part: the same procedure must be called again for the rest.
    Retry(Span),
    /// The server refused it.
    Failed(Nfsstat3),
    /// It ends the operation with this status.
    Ends(Status),
}

impl From<DecodeError> for CallOutcome {
    fn from(_: DecodeError) -> Self {
        Self::Ends(Status::Garbage)
    }
}

impl<V: Variant> Core<V> {
    /// Ends a call, and continues or ends its operation.
    pub(crate) fn end_call(&mut self, slot: u32, verdict: CallOutcome, now: Nanos) {
        let call = self.calls.get(slot);
        let (op, procedure, rewrite) = (call.op, call.procedure, call.rewrite);
        let resent = V::is_repeated(call);
        let answered = !matches!(
            verdict,
            CallOutcome::Ends(Status::TimedOut | Status::Disconnected)
        );
        if self.settings.datagrams {
            self.remember(slot, !answered);
        }
        V::ended(self, slot, verdict);
        self.calls.end(slot);
        let logical = self.ops.get_mut(op);
        logical.outstanding -= 1;
        if resent {
            logical.note_resent(procedure);
        }
        let is_failure = matches!(verdict, CallOutcome::Failed(_) | CallOutcome::Ends(_));
        let verdict = match is_failure && logical.is_upkeep(procedure) {
            true => self.upkeep_failed(op, verdict),
            false => verdict,
        };
        let logical = self.ops.get_mut(op);
        match verdict {
            CallOutcome::Ok | CallOutcome::Retry(_) => {}
            CallOutcome::Failed(status) => logical.fail(Status::Refused(status.to_u32())),
            CallOutcome::Ends(status) => logical.fail(status),
        }
        let credited =
            procedure != Procedure::Commit || matches!(logical.action, Action::Commit { .. });
        if answered && credited && !rewrite {
            logical.outcome.physical += 1;
        }
        if let (CallOutcome::Retry(span), Status::Ok) = (verdict, logical.outcome.status) {
            self.call(op, procedure, span);
        }
        self.continue_operation(op, now);
    }

    /// Makes the next calls of an operation, or completes it.
    pub(crate) fn continue_operation(&mut self, op: u32, now: Nanos) {
        let logical = self.ops.get(op);
        if logical.outcome.status == Status::Ok {
            match logical.step {
                Step::Data => self.transfer_more(op),
                Step::FindMade if logical.outstanding == 0 => self.find_made(op),
                Step::FindMade | Step::First | Step::Commit => {}
            }
        }
        if self.ops.get(op).outstanding == 0 {
            V::finish(self, op);
        }
        if self.ops.get(op).outstanding == 0 {
            self.complete(op, now);
        }
    }

    /// The server asks for a call to be sent later (NFS3ERR_JUKEBOX): it waits and is repeated as
    /// a new one, unless it has waited too often. `tally` counts the wait.
    pub(crate) fn park(&mut self, slot: u32, now: Nanos, tally: Tally) -> bool {
        let is_parked = self.park_uncounted(slot, now);
        self.counters.add_many(tally, u64::from(is_parked));
        is_parked
    }

    /// The same without a count.
    pub(crate) fn park_uncounted(&mut self, slot: u32, now: Nanos) -> bool {
        let waits = self.calls.get(slot).waits;
        if self.state.stop.is_raised() {
            return false;
        }
        let Some(delay) = V::delay(self, waits) else {
            return false;
        };
        let call = self.calls.get_mut(slot);
        call.waits = waits.saturating_add(1);
        let xid = call.xid;
        if self.settings.datagrams {
            self.remember(slot, false);
        }
        V::parked(self, slot);
        self.calls.park(slot);
        self.start_timer(now + delay, Timer::Jukebox { xid });
        true
    }

    /// Accepts a refusal that only shows that an earlier transmission of the same call was
    /// executed.
    pub(crate) fn accept_replay(
        &mut self,
        slot: u32,
        verdict: CallOutcome,
        replayed: Nfsstat3,
    ) -> CallOutcome {
        let is_repeated = V::is_repeated(self.calls.get(slot));
        if verdict == CallOutcome::Failed(replayed) && is_repeated {
            self.counters.add(Tally::ReplaysAccepted);
            return CallOutcome::Ok;
        }
        verdict
    }

    /// SETATTR: drops the held ranges beyond a new end of a file.
    pub(crate) fn resized(&mut self, slot: u32, verdict: CallOutcome) -> CallOutcome {
        let logical = self.ops.get(self.calls.get(slot).op);
        if let (
            CallOutcome::Ok,
            Action::Setattr {
                object,
                size: Some(from),
            },
        ) = (verdict, logical.action)
        {
            self.cut_at(logical.proc, object, from);
        }
        verdict
    }

    /// LOOKUP: keeps the handle.
    pub(crate) fn found(
        &mut self,
        slot: u32,
        results: Result<FileHandle4<'_>, Nfsstat3>,
    ) -> CallOutcome {
        match results {
            Ok(object) => {
                let op = self.calls.get(slot).op;
                self.keep_made(op, object);
                CallOutcome::Ok
            }
            Err(status) => CallOutcome::Failed(status),
        }
    }

    /// CREATE, MKDIR, SYMLINK, MKNOD: keeps the handle, or looks it up.
    pub(crate) fn made(
        &mut self,
        slot: u32,
        results: Result<Option<FileHandle4<'_>>, Nfsstat3>,
    ) -> CallOutcome {
        let op = self.calls.get(slot).op;
        let verdict = match results {
            Ok(Some(object)) => {
                self.keep_made(op, object);
                return CallOutcome::Ok;
            }
            Ok(None) => CallOutcome::Ok,
            // A directory of the file set may exist already, with files of other programs in
            // it; the claim has checked its owner file.
            Err(Nfsstat3::Exist) if self.ops.get(op).action.makes_dir() => CallOutcome::Ok,
            Err(status) => self.accept_replay(slot, CallOutcome::Failed(status), Nfsstat3::Exist),
        };
        if verdict == CallOutcome::Ok {
            self.ops.get_mut(op).step = Step::FindMade;
        }
        verdict
    }

    fn find_made(&mut self, op: u32) {
        self.ops.get_mut(op).step = Step::First;
        self.call(op, Procedure::Lookup, Span::NONE);
    }

    /// Keeps the handle of the object that an operation created or found.
    fn keep_made(&mut self, op: u32, handle: FileHandle4<'_>) {
        let logical = self.ops.get_mut(op);
        let object = match logical.action {
            Action::Lookup { object, .. }
            | Action::Create { object, .. }
            | Action::Mkdir { object, .. }
            | Action::Symlink { object, .. }
            | Action::Mknod { object, .. } => Some(object),
            Action::MakeProcDir { .. } => Some(PROC_DIR),
            Action::Fill { object, size, .. } => {
                logical.step = Step::Data;
                logical.end = size;
                self.ops.set_handle(op, handle);
                object
            }
            // None of these creates or looks up a name.
            Action::Null
            | Action::Getattr { .. }
            | Action::Setattr { .. }
            | Action::Access { .. }
            | Action::Readlink { .. }
            | Action::Read { .. }
            | Action::Write { .. }
            | Action::Commit { .. }
            | Action::Remove { .. }
            | Action::Rmdir { .. }
            | Action::Rename { .. }
            | Action::Link { .. }
            | Action::Readdir { .. }
            | Action::Fsstat
            | Action::Fsinfo
            | Action::Pathconf
            | Action::V4(_)
            | Action::RemoveProcDir { .. }
            | Action::File(_)
            | Action::Session(_) => None,
        };
        if let Some(object) = object {
            let logical = self.ops.get(op);
            // The object number is now a new file.
            if matches!(logical.action, Action::Create { .. } | Action::Fill { .. }) {
                self.forget_held(logical.proc, object);
            }
            self.proc_of(op).handles.set(object, handle.as_bytes());
            V::named(self, op);
        }
    }

    pub(crate) fn renamed(&mut self, slot: u32, verdict: CallOutcome) -> CallOutcome {
        let verdict = self.accept_replay(slot, verdict, Nfsstat3::Noent);
        let op = self.calls.get(slot).op;
        if let (
            CallOutcome::Ok,
            Action::Rename {
                object, new_object, ..
            },
        ) = (verdict, self.ops.get(op).action)
        {
            V::renamed(self, op);
            self.copy_handle(op, object, new_object);
            if object != new_object {
                let proc = self.ops.get(op).proc;
                self.forget_held(proc, new_object);
                self.uncommitted.rename(proc, object, new_object);
                self.proc_of(op).handles.clear(object);
            }
        }
        verdict
    }

    pub(crate) fn linked(&mut self, slot: u32, verdict: CallOutcome) -> CallOutcome {
        let verdict = self.accept_replay(slot, verdict, Nfsstat3::Exist);
        let op = self.calls.get(slot).op;
        if let (
            CallOutcome::Ok,
            Action::Link {
                object, new_object, ..
            },
        ) = (verdict, self.ops.get(op).action)
        {
            self.copy_handle(op, object, new_object);
            V::named(self, op);
        }
        verdict
    }

    fn copy_handle(&mut self, op: u32, from: ObjectId, to: ObjectId) {
        let handles = &mut self.proc_of(op).handles;
        if let Some(handle) = handles.get(from).map(FileHandle4::to_fh) {
            handles.set(to, handle.as_bytes());
        }
    }
}

impl Core {
    /// Processes a whole reply that was received on `conn` at `now`.
    pub(crate) fn reply(&mut self, conn: u32, record: &[u8], now: Nanos) {
        let slot = peek_xid(record).and_then(|xid| self.calls.find(xid));
        // A reply to a call that was not sent is not valid.
        let slot = slot.filter(|slot| {
            let call = self.calls.get(*slot);
            call.conn == conn && call.on_wire && !call.parked
        });
        let Some(slot) = slot else {
            return self.count_unexpected_reply(peek_xid(record));
        };
        let verdict = match self.judge(slot, record) {
            Ok(verdict) | Err(verdict) => verdict,
        };
        let xid = self.calls.get(slot).xid;
        tracing::trace!(target: "filermark_nfs::rpc", conn, xid, ?verdict, bytes = record.len(), "answered");
        if verdict == CallOutcome::Failed(Nfsstat3::Jukebox)
            && self.park(slot, now, Tally::JukeboxWaits)
        {
            return;
        }
        if verdict == CallOutcome::Ends(Status::Garbage) {
            self.counters.add(Tally::BadReplies);
        }
        self.end_call(slot, verdict, now);
    }

    /// Both `Ok` and `Err` hold the outcome; `Err` allows `?` on decoding errors.
    fn judge(&mut self, slot: u32, record: &[u8]) -> Result<CallOutcome, CallOutcome> {
        let mut d = Decoder::new(record);
        let header = ReplyHeader::decode(&mut d)?;
        if let Err(refusal) = header.check() {
            return Err(CallOutcome::Ends(Status::Refused(rpc_code(refusal))));
        }
        let d = &mut d;
        if self.settings.version == NfsVersion::V2 {
            return Ok(self.judge_v2(slot, d)?);
        }
        Ok(self.judge_v3(slot, d)?)
    }
}

/// The verdict on results of which only the status matters.
#[inline]
pub(crate) fn verdict<T, F>(results: &Res<T, F>) -> CallOutcome {
    match results {
        Ok(_) => CallOutcome::Ok,
        Err(failed) => CallOutcome::Failed(failed.status),
    }
}
