//! COMMIT: when it is called for written data, and what follows from its reply.
//!
//! When the data of a logical write has been answered, there are three cases. The operation
//! ends: the data is stable, or is kept in the [table](super::uncommitted) of held data. It
//! commits its own data. Or it commits a file of the table that has reached a limit with this
//! write: its own file or a different one. What a COMMIT covers is fixed when it is queued:
//! writes that are answered later wait for the next one.
//!
//! The verifier of the reply must be that of every WRITE. Ranges with a different one are
//! lost: their data is generated again from file, offset and generation, is sent within the
//! same operation, and is committed again (RFC 1813 section 3.3.21, RFC 8881 section 18.3.3). Ranges whose
//! COMMIT fails return to the table, until the one at the end fails.

use super::core::{Core, Span};
use super::counters::Tally;
use super::ops::{CommitTarget, SETTLING, Step};
use super::ranges::{ByteSpan, RangeList, UncommittedRange};
use super::reply::CallOutcome;
use super::status::VERIFIER_KEEPS_CHANGING;
use super::uncommitted::ResentRange;
use super::variant::Variant;
use filermark_engine::driver::{Action, ObjectId, Request, Status};
use filermark_model::Nanos;
use filermark_model::benchmark::CommitPolicy;
use filermark_onc::nfs3::{CommitRes, Nfsstat3, Procedure, Verf};

/// How often the data of one operation is sent again because the verifier changed.
pub(super) const REWRITES_MAX: u8 = 32;

impl<V: Variant> Core<V> {
    /// Called when all data of an operation has been answered: commits what is due.
    pub(super) fn data_answered(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        if logical.resending {
            let unstable = std::mem::replace(&mut logical.unstable, ByteSpan::NONE);
            // A later write, or a new size, may have replaced it meanwhile.
            let span = unstable.intersection(logical.target.span);
            if !span.is_empty() {
                let held = UncommittedRange {
                    span,
                    generation: logical.target.generation,
                    verf: logical.verf,
                };
                self.uncommitted.ranges.push(&mut logical.sent, held);
            }
            self.note_restored(op);
        }
        let logical = self.ops.get(op);
        if logical.resending || !logical.lost.is_empty() {
            return self.send_lost(op);
        }
        match logical.action {
            Action::Read { .. } if logical.suspects[0].is_some() => {
                self.call_commit(op, Span::NONE);
            }
            Action::Write { .. } => self.written(op),
            Action::Fill { .. } if !logical.unstable.is_none() => self.commit_own(op, Span::NONE),
            _ => {}
        }
    }

    /// Notes that a lost range of a file of the table was sent again. A read that was sent
    /// before may not have its data, and it may have overwritten a write.
    fn note_restored(&mut self, op: u32) {
        let logical = self.ops.get(op);
        if !logical.commits_file {
            return;
        }
        let restored = ResentRange {
            file: logical.target.file,
            span: logical.target.span,
            generation: logical.target.generation,
            until: self.state.clock.now(),
        };
        self.uncommitted.note_restored(logical.proc, restored);
    }

    /// Called when a logical write has been answered: commits it, holds it, or lets it end.
    fn written(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::Write { offset, length, .. } = logical.action else {
            return;
        };
        let own = Span { offset, length };
        let is_unstable = !logical.unstable.is_none();
        let is_due = is_unstable || logical.is_less_stable;
        let is_first = logical.sent_again == Nanos::ZERO;
        self.counters
            .add_many(Tally::UnstableWrites, u64::from(is_unstable && is_first));
        match self.settings.commit {
            CommitPolicy::PerWrite => self.commit_own(op, own),
            CommitPolicy::Deferred(limits) if limits.writes > 1 => self.hold(op),
            CommitPolicy::Deferred(_) | CommitPolicy::FileSync if is_due => {
                self.commit_own(op, own);
            }
            CommitPolicy::Deferred(_) | CommitPolicy::FileSync => {}
        }
    }

    /// Commits the data that this operation has written.
    fn commit_own(&mut self, op: u32, span: Span) {
        if let Some(held) = self.take_unstable(op) {
            let logical = self.ops.get_mut(op);
            self.uncommitted.ranges.push(&mut logical.sent, held);
        }
        self.call_commit(op, span);
    }

    fn take_unstable(&mut self, op: u32) -> Option<UncommittedRange> {
        let logical = self.ops.get_mut(op);
        let span = std::mem::replace(&mut logical.unstable, ByteSpan::NONE);
        (!span.is_empty()).then_some(UncommittedRange {
            span,
            generation: logical.mark.generation,
            verf: logical.verf,
        })
    }

    /// Keeps a logical write in the table, and commits the file that is due.
    fn hold(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::Write { object, file, .. } = logical.action else {
            return;
        };
        let (proc, generation) = (logical.proc, logical.mark.generation);
        let since = logical.outcome.sent.max(logical.sent_again);
        let span = logical.write_span();
        let is_overwritten = self
            .uncommitted
            .was_restored(proc, (file, span), since, generation);
        if is_overwritten {
            return self.write_all_again(op);
        }
        self.cut_held(proc, object, span, generation);
        if let Some(committer) = self.overwriting(op) {
            // It is sent again after the older data, and is committed with it.
            self.ops.get_mut(op).unstable = ByteSpan::NONE;
            let committer = self.ops.get_mut(committer);
            let held = UncommittedRange {
                span,
                generation,
                verf: committer.target.verf,
            };
            self.uncommitted.ranges.push(&mut committer.lost, held);
        } else if let Some(held) = self.take_unstable(op) {
            if let Some(due) = self.uncommitted.add(proc, (object, file), held) {
                self.commit_file(op, due);
            }
        } else {
            self.uncommitted.drop_empty(proc, object);
        }
        self.ops.get_mut(op).is_held = true;
    }

    /// The operation that is sending older data again in the range of this write.
    fn overwriting(&mut self, op: u32) -> Option<u32> {
        let logical = self.ops.get(op);
        let Action::Write { object, .. } = logical.action else {
            return None;
        };
        let (span, generation) = (logical.write_span(), logical.mark.generation);
        let committer = self.uncommitted.find(logical.proc, object)?.committer()?;
        let other = self.ops.get(committer);
        let is_older = other.target.generation < generation;
        (other.resending && is_older && other.target.span.overlaps(span)).then_some(committer)
    }

    /// Sends a write again that older data may have overwritten: it was sent again while the
    /// write was under way.
    fn write_all_again(&mut self, op: u32) {
        let now = self.state.clock.now();
        let Some(transfer) = self.transfer(op) else {
            return;
        };
        let logical = self.ops.get_mut(op);
        logical.affected = logical.write_span();
        logical.unstable = ByteSpan::NONE;
        logical.sent_again = now;
        self.write_again(op, transfer);
    }

    /// Commits the held data of a file, if there is any and no operation commits it.
    pub(super) fn commit_file(&mut self, op: u32, object: ObjectId) {
        let logical = self.ops.get_mut(op);
        let Some((file, ranges)) = self.uncommitted.take(logical.proc, object, op) else {
            return;
        };
        logical.sent = ranges;
        logical.commits_file = true;
        logical.target = CommitTarget {
            object: Some(object),
            file,
            ..CommitTarget::default()
        };
        self.call_commit(op, Span::NONE);
    }

    fn call_commit(&mut self, op: u32, span: Span) {
        self.ops.get_mut(op).step = Step::Commit;
        self.call(op, Procedure::Commit, span);
    }

    /// Notes the verifier of a COMMIT reply, or of a WRITE that was answered UNSTABLE.
    ///
    /// The order of replies may differ from that of the server's restarts, because of several
    /// connections and server threads. A call that began when the current verifier was known
    /// was executed under that verifier or a newer one; any other call may have been executed
    /// before, and shows no change. Thus no restart is counted twice.
    pub(super) fn note_verf(&mut self, slot: u32, verf: Verf) {
        let verf_number = self.calls.get(slot).verf_number;
        let known = V::known_verf(self, slot);
        let is_first = known.number == 0;
        if verf_number != known.number || (known.verf == verf && !is_first) {
            return;
        }
        known.verf = verf;
        known.number = known.number.wrapping_add(1).max(1);
        let is_change = u64::from(!is_first);
        self.counters.add_many(Tally::VerifierChanges, is_change);
    }

    /// Processes a COMMIT reply: separates stable from lost ranges.
    pub(crate) fn has_committed(&mut self, slot: u32, results: CommitRes) -> CallOutcome {
        let op = self.calls.get(slot).op;
        let verf = match results {
            Ok(committed) => committed.verf,
            Err(failed) => return CallOutcome::Failed(failed.status),
        };
        self.note_verf(slot, verf);
        if self.ops.get(op).suspects[0].is_some() {
            return self.judge_suspects(op, Some(verf));
        }
        let logical = self.ops.get_mut(op);
        let ranges = &mut self.uncommitted.ranges;
        let (count, oldest) = ranges.settle(&mut logical.sent, &mut logical.lost, verf);
        if count == 0 {
            return CallOutcome::Ok;
        }
        logical.step = Step::Data;
        logical.repeats += 1;
        self.counters.add_many(Tally::LostWrites, count);
        if logical.repeats > REWRITES_MAX {
            return CallOutcome::Ends(Status::Refused(VERIFIER_KEEPS_CHANGING));
        }
        let proc = logical.proc;
        if logical.commits_file && !std::mem::replace(&mut logical.again, true) {
            // The older data that is sent again may replace that of writes under way.
            self.history.begin_again(proc, oldest);
            self.ops.lower_marks(proc, oldest);
        }
        CallOutcome::Ok
    }

    /// Sends the next lost range again; commits once more when all have been answered.
    fn send_lost(&mut self, op: u32) {
        let Some(transfer) = self.transfer(op) else {
            return;
        };
        let logical = self.ops.get_mut(op);
        let next = self.uncommitted.ranges.pop(&mut logical.lost);
        logical.resending = next.is_some();
        match next {
            Some(held) => {
                let target = &mut logical.target;
                (target.generation, target.span) = (held.generation, held.span);
                target.verf = held.verf;
                (logical.next, logical.end) = (held.span.from, held.span.to);
                logical.rewrite = true;
                logical.step = Step::Data;
                self.fill_window(op, transfer);
            }
            None if !logical.sent.is_empty() => self.call_commit(op, Span::NONE),
            None => logical.step = Step::Commit,
        }
    }

    /// The outcome for an operation whose COMMIT, or WRITE of lost data, was refused or not
    /// answered: it fails only if the file is its own.
    pub(super) fn upkeep_failed(&mut self, op: u32, verdict: CallOutcome) -> CallOutcome {
        if self.ops.get(op).suspects[0].is_some() {
            // Without the verifier no mismatch is excused.
            return self.judge_suspects(op, None);
        }
        self.counters.add(Tally::CommitFailures);
        let logical = self.ops.get_mut(op);
        if logical.resending && is_unanswered(verdict) {
            // It may still be executed.
            logical.note_resent(Procedure::Write);
        }
        let is_resending = logical.resending && logical.commits_file;
        let is_other = logical.commits_other();
        if is_other {
            logical.step = Step::Commit;
        }
        if is_resending {
            self.note_restored(op);
        }
        match verdict {
            _ if !is_other => verdict,
            // The file does not exist any more.
            CallOutcome::Failed(Nfsstat3::Stale | Nfsstat3::Noent) => {
                self.drop_unconfirmed(op);
                CallOutcome::Ok
            }
            _ => CallOutcome::Ok,
        }
    }

    /// Drops and counts what an operation was to commit. Calls under way continue; no more are
    /// made.
    fn drop_unconfirmed(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        logical.next = logical.end;
        let mut left = self.take_unconfirmed(op);
        let count = self.uncommitted.ranges.clear(&mut left);
        self.counters.add_many(Tally::UncommittedWrites, count);
    }

    /// Takes what an operation was to commit and has not, the oldest first. `resending` stays
    /// set: retransmissions of calls under way are encoded by it.
    fn take_unconfirmed(&mut self, op: u32) -> RangeList {
        let logical = self.ops.get_mut(op);
        let ranges = &mut self.uncommitted.ranges;
        let mut left = std::mem::replace(&mut logical.sent, RangeList::EMPTY);
        let target = logical.target;
        logical.target.span = ByteSpan::NONE;
        if logical.resending && !target.span.is_empty() {
            let held = UncommittedRange {
                span: target.span,
                generation: target.generation,
                verf: target.verf,
            };
            ranges.push(&mut left, held);
        }
        ranges.append(&mut left, &mut logical.lost);
        left
    }

    /// At the end of an operation: what it has not committed is held again, or counted.
    pub(super) fn end_commit(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        let proc = logical.proc;
        let certain = !logical.is_target_resent;
        let of_table = logical.target.object.filter(|_| logical.commits_file);
        // A COMMIT that the driver has begun during RUN is one like others. At the end there is no further one.
        let is_kept = logical.token != SETTLING || self.counted_in_run.is_none();
        if std::mem::take(&mut logical.again) {
            self.history.end_again(proc, certain);
        }
        match of_table {
            Some(object) if is_kept => {
                let left = self.take_unconfirmed(op);
                let count = self.uncommitted.put_back(proc, (object, op), left);
                self.counters.add_many(Tally::UncommittedWrites, count);
            }
            _ => self.drop_unconfirmed(op),
        }
        if let Some(object) = of_table {
            self.uncommitted.end_commit(proc, (object, op));
        }
        let logical = self.ops.get_mut(op);
        (logical.commits_file, logical.resending) = (false, false);
    }

    /// Removes a range from the held data of a file: a later write, or a new size, replaces it.
    fn cut_held(&mut self, proc: u32, object: ObjectId, span: ByteSpan, before: u64) {
        let Some(entry) = self.uncommitted.find(proc, object) else {
            return;
        };
        let (mut ranges, committer) = (entry.ranges, entry.committer());
        self.uncommitted.ranges.cut(&mut ranges, span, before);
        if let Some(entry) = self.uncommitted.find(proc, object) {
            entry.ranges = ranges;
        }
        if let Some(op) = committer {
            let logical = self.ops.get_mut(op);
            self.uncommitted.ranges.cut(&mut logical.sent, span, before);
            self.uncommitted.ranges.cut(&mut logical.lost, span, before);
            let target = &mut logical.target;
            if logical.resending && span.to == u64::MAX {
                target.span.to = target.span.to.min(span.from);
            }
        }
    }

    /// Removes the held data of a file beyond a new end.
    pub(super) fn cut_at(&mut self, proc: u32, object: ObjectId, end: u64) {
        let span = ByteSpan {
            from: end,
            to: u64::MAX,
        };
        self.cut_held(proc, object, span, u64::MAX);
        self.uncommitted.drop_empty(proc, object);
    }

    /// Drops the held data of a file that was created again, or whose number now belongs to a
    /// different file.
    pub(super) fn forget_held(&mut self, proc: u32, object: ObjectId) {
        self.cut_at(proc, object, 0);
        self.uncommitted.forget_dropped(proc, |of| of == object);
    }

    /// Drops the held data of all objects from `from` on.
    pub(super) fn forget_all_held(&mut self, proc: u32, from: ObjectId) {
        while let Some(object) = self.uncommitted.any_from(proc, from) {
            self.forget_held(proc, object);
            self.uncommitted.remove(proc, object);
        }
        self.uncommitted
            .forget_dropped(proc, |object| object >= from);
    }

    /// Commits one held file of each proc that does not commit one; returns whether any data
    /// is still held.
    pub(super) fn settle(&mut self) -> bool {
        for proc in 0..self.procs.len() as u32 {
            let is_free = self.procs[proc as usize].settling == 0;
            let Some(object) = self.uncommitted.idle(proc).filter(|_| is_free) else {
                continue;
            };
            if !self.settle_file(proc, object) {
                break;
            }
        }
        !self.uncommitted.is_empty()
    }

    /// Commits a held file, unless an operation commits it already; `false`: there is no capacity for that.
    pub(super) fn settle_file(&mut self, proc: u32, object: ObjectId) -> bool {
        if self.calls.free_slots() == 0 || !self.ops.has_free_slot() {
            return false;
        }
        self.procs[proc as usize].settling += 1;
        let op = self.ops.begin(&Request {
            token: SETTLING,
            proc,
            action: Action::Commit { object },
        });
        self.commit_file(op, object);
        if self.ops.get(op).outstanding == 0 {
            self.complete(op, self.state.now);
        }
        true
    }

    /// Gives up the COMMIT of an operation: it ends with its calls, without success if the file
    /// is its own.
    fn give_up_commit(&mut self, op: u32) {
        self.drop_unconfirmed(op);
        let logical = self.ops.get_mut(op);
        logical.step = Step::Commit;
        if !logical.commits_other() {
            logical.fail(Status::TimedOut);
        }
    }

    /// Counts and drops all held data.
    pub(super) fn give_up_held(&mut self) {
        for proc in 0..self.procs.len() as u32 {
            while let Some(object) = self.uncommitted.any_from(proc, ObjectId(0)) {
                let Some(mut file) = self.uncommitted.remove(proc, object) else {
                    break;
                };
                let left = self.uncommitted.ranges.clear(&mut file.ranges);
                self.counters.add_many(Tally::UncommittedWrites, left);
                if let Some(op) = file.committer() {
                    self.give_up_commit(op);
                }
            }
        }
    }
}

/// The bytes that a call transfers, as a span.
pub(super) fn byte_span(span: Span) -> ByteSpan {
    ByteSpan {
        from: span.offset,
        to: span.offset.saturating_add(u64::from(span.length)),
    }
}

fn is_unanswered(verdict: CallOutcome) -> bool {
    matches!(
        verdict,
        CallOutcome::Ends(Status::TimedOut | Status::Disconnected)
    )
}
