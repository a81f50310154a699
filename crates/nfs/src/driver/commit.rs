//! COMMIT: when it is called for what was written, and what follows from its reply.
//!
//! A logical write whose data has been answered goes one of three ways: it is over (stable,
//! or in the [table](super::held) of what gathers), it commits its own data, or it commits
//! the file that its coming has made due, its own or another one. What is committed is
//! fixed when the COMMIT is queued: writes that are answered later wait for the next one.
//! The verifier of the reply must be that of every WRITE: what has another one is lost,
//! is made anew from its file, place and generation, goes again inside of the same
//! operation, and is committed again.
//!
//! Between the loss and that, a read may show older data, or the end of the file too early,
//! and the server be sound. Such a read asks for the verifier, by a COMMIT of its own.

use super::core::{Core, Span};
use super::counters::Tally;
use super::held::{Held, List};
use super::ops::{Reach, SETTLING, Step, Target};
use super::reply::Verdict;
use super::status::VERIFIER_RESTLESS;
use filermark_engine::driver::{Action, ObjectId, Request, Status};
use filermark_model::benchmark::{CommitPolicy, Deferral};
use filermark_onc::nfs3::{CommitRes, Nfsstat3, Procedure, Verf};

/// How often the data of one operation goes again because the verifier changed.
pub(super) const REWRITES_MAX: u8 = 32;

/// Why a read may show what should be there no more.
enum Excuse {
    None,
    /// The server has lost writes there.
    Known,
    /// It has if its verifier is not this one any more.
    Unless(Verf),
}

impl Core {
    /// All data of an operation has been answered: commits what is to be committed now.
    pub(super) fn data_answered(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        if logical.resending {
            let reach = std::mem::replace(&mut logical.unstable, Reach::NONE);
            if !reach.is_empty() {
                let held = Held {
                    reach,
                    generation: logical.target.generation,
                    verf: logical.verf,
                };
                self.gather.ranges.push(&mut logical.sent, held);
            }
            // A read that went out before may still show that it was not there.
            self.gather.note_lost_until(logical.proc, self.clock.now());
        }
        if logical.resending || !logical.lost.is_empty() {
            return self.send_lost(op);
        }
        match logical.action {
            Action::Read { .. } if logical.suspect.is_some() => self.call_commit(op, Span::NONE),
            Action::Write { .. } => self.written(op),
            Action::Fill { .. } if !logical.unstable.is_none() => self.commit_own(op, Span::NONE),
            _ => {}
        }
    }

    /// A logical write is on the server.
    fn written(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let Action::Write { offset, length, .. } = logical.action else {
            return;
        };
        let own = Span { offset, length };
        let is_unstable = !logical.unstable.is_none();
        match self.settings.commit {
            CommitPolicy::PerWrite => self.commit_own(op, own),
            CommitPolicy::Deferred(limits) if limits.writes > 1 => self.hold(op, limits),
            CommitPolicy::Deferred(_) | CommitPolicy::FileSync if is_unstable => {
                self.commit_own(op, own);
            }
            CommitPolicy::Deferred(_) | CommitPolicy::FileSync => {}
        }
    }

    /// Commits what this operation has written itself.
    fn commit_own(&mut self, op: u32, span: Span) {
        if let Some(held) = self.take_unstable(op) {
            let logical = self.ops.get_mut(op);
            self.gather.ranges.push(&mut logical.sent, held);
        }
        self.call_commit(op, span);
    }

    fn take_unstable(&mut self, op: u32) -> Option<Held> {
        let logical = self.ops.get_mut(op);
        let reach = std::mem::replace(&mut logical.unstable, Reach::NONE);
        (!reach.is_empty()).then_some(Held {
            reach,
            generation: logical.mark.generation,
            verf: logical.verf,
        })
    }

    /// Lets a logical write gather, and commits the file that is due by that.
    fn hold(&mut self, op: u32, limits: Deferral) {
        let logical = self.ops.get(op);
        let Action::Write {
            object,
            file,
            offset,
            length,
        } = logical.action
        else {
            return;
        };
        let (proc, generation) = (logical.proc, logical.mark.generation);
        let reach = Reach {
            from: offset,
            to: offset.saturating_add(u64::from(length)),
        };
        self.cut_held(proc, object, reach, generation);
        let Some(held) = self.take_unstable(op) else {
            self.gather.drop_empty(proc, object);
            return;
        };
        if let Some(due) = self.gather.add(proc, (object, file), held, limits) {
            self.commit_file(op, due);
        }
    }

    /// Commits what is held of a file, if anything is and nobody does so already.
    pub(super) fn commit_file(&mut self, op: u32, object: ObjectId) {
        let logical = self.ops.get_mut(op);
        let Some((file, ranges)) = self.gather.take(logical.proc, object, op) else {
            return;
        };
        logical.sent = ranges;
        logical.commits_file = true;
        logical.target = Target {
            object: Some(object),
            file,
            generation: 0,
        };
        self.call_commit(op, Span::NONE);
    }

    fn call_commit(&mut self, op: u32, span: Span) {
        self.ops.get_mut(op).step = Step::Commit;
        self.call(op, Procedure::Commit, span);
    }

    /// COMMIT was answered: parts what is stable from what is lost.
    pub(crate) fn has_committed(&mut self, slot: u32, results: CommitRes) -> Verdict {
        let op = self.calls.get(slot).op;
        let logical = self.ops.get_mut(op);
        let verf = match results {
            Ok(committed) => committed.verf,
            // A file that is gone has nothing to lose.
            Err(failed) if is_gone(failed.status) && logical.commits_other() => {
                let count = self.gather.ranges.clear(&mut logical.sent);
                self.counters.add_many(Tally::UncommittedWrites, count);
                return Verdict::Good;
            }
            Err(failed) => return Verdict::Failed(failed.status),
        };
        if let Some(status) = logical.suspect.take() {
            let is_lost = verf != logical.verf;
            return self.judge_read(is_lost, status);
        }
        let ranges = &mut self.gather.ranges;
        let (count, oldest) = ranges.settle(&mut logical.sent, &mut logical.lost, verf);
        if count == 0 {
            return Verdict::Good;
        }
        logical.step = Step::Data;
        logical.repeats += 1;
        let (repeats, proc) = (logical.repeats, logical.proc);
        let is_first = logical.commits_file && !std::mem::replace(&mut logical.again, true);
        self.counters.add(Tally::VerifierChanges);
        self.counters.add_many(Tally::LostWrites, count);
        if repeats > REWRITES_MAX {
            return Verdict::Ends(Status::Refused(VERIFIER_RESTLESS));
        }
        if is_first {
            // Writes under way may be overtaken by the older data that goes again.
            self.history.begin_again(proc, oldest);
            self.ops.lower_marks(proc, oldest);
        }
        Verdict::Good
    }

    /// Sends the next lost range again; commits once more when all have been answered.
    fn send_lost(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        let next = self.gather.ranges.pop(&mut logical.lost);
        logical.resending = next.is_some();
        match next {
            Some(held) => {
                logical.target.generation = held.generation;
                (logical.next, logical.end) = (held.reach.from, held.reach.to);
                logical.rewrite = true;
                logical.step = Step::Data;
                self.fill_window(op, self.transfer(op));
            }
            None if !logical.sent.is_empty() => self.call_commit(op, Span::NONE),
            None => logical.step = Step::Commit,
        }
    }

    /// The end of an operation: what it was to commit is stable, or is counted.
    pub(super) fn end_commit(&mut self, op: u32) {
        let logical = self.ops.get_mut(op);
        let ranges = &mut self.gather.ranges;
        let mut left = ranges.clear(&mut logical.sent) + ranges.clear(&mut logical.lost);
        left += u64::from(std::mem::take(&mut logical.resending));
        if !std::mem::take(&mut logical.commits_file) {
            return;
        }
        let (proc, target, certain) = (logical.proc, logical.target, !logical.resent);
        self.counters.add_many(Tally::UncommittedWrites, left);
        if std::mem::take(&mut self.ops.get_mut(op).again) {
            self.history.end_again(proc, certain);
        }
        if let Some(object) = target.object {
            self.gather.give_back(proc, object);
        }
    }

    /// A later write, or a new size, takes the place of what is held of a file.
    fn cut_held(&mut self, proc: u32, object: ObjectId, reach: Reach, before: u64) {
        let Some(entry) = self.gather.find(proc, object) else {
            return;
        };
        let (mut ranges, committer) = (entry.ranges, entry.committer());
        self.gather.ranges.cut(&mut ranges, reach, before);
        if let Some(entry) = self.gather.find(proc, object) {
            entry.ranges = ranges;
        }
        if let Some(op) = committer {
            let logical = self.ops.get_mut(op);
            self.gather.ranges.cut(&mut logical.sent, reach, before);
            self.gather.ranges.cut(&mut logical.lost, reach, before);
        }
    }

    /// What is held of a file behind a new end is gone.
    pub(super) fn cut_at(&mut self, proc: u32, object: ObjectId, end: u64) {
        let reach = Reach {
            from: end,
            to: u64::MAX,
        };
        self.cut_held(proc, object, reach, u64::MAX);
        self.gather.drop_empty(proc, object);
    }

    /// A file is made anew, or another one has its number now: what is held of it counts no
    /// more.
    pub(super) fn forget_held(&mut self, proc: u32, object: ObjectId) {
        self.cut_at(proc, object, 0);
    }

    /// The same for all objects from `from` on.
    pub(super) fn forget_all_held(&mut self, proc: u32, from: ObjectId) {
        while let Some(object) = self.gather.any_from(proc, from) {
            self.forget_held(proc, object);
            self.gather.remove(proc, object);
        }
    }

    /// A read shows other data than it should, or an early end: whether it is wrong, is
    /// excused, or is to be asked about when all of it has come.
    pub(super) fn doubt(&mut self, op: u32, span: Span, status: Status) -> Verdict {
        match self.excuse(op, span) {
            Excuse::None => self.judge_read(false, status),
            Excuse::Known => self.judge_read(true, status),
            Excuse::Unless(verf) => {
                let logical = self.ops.get_mut(op);
                if logical.suspect.is_none() {
                    (logical.suspect, logical.verf) = (Some(status), verf);
                }
                Verdict::Good
            }
        }
    }

    fn judge_read(&mut self, is_lost: bool, status: Status) -> Verdict {
        let tally = match status {
            _ if is_lost => Tally::ExcusedReads,
            Status::Lost => Tally::EarlyEofs,
            _ => Tally::VerifyErrors,
        };
        self.counters.add(tally);
        match is_lost || (status == Status::Corrupt && !self.history.fails_reads()) {
            true => Verdict::Good,
            false => Verdict::Ends(status),
        }
    }

    fn excuse(&mut self, op: u32, span: Span) -> Excuse {
        let logical = self.ops.get(op);
        let Action::Read { object, .. } = logical.action else {
            return Excuse::None;
        };
        let (proc, sent) = (logical.proc, logical.outcome.sent);
        if sent < self.gather.lost_until(proc) {
            return Excuse::Known;
        }
        let Some(entry) = self.gather.find(proc, object) else {
            return Excuse::None;
        };
        let (ranges, committer) = (entry.ranges, entry.committer());
        let mut sent = List::EMPTY;
        if let Some(committer) = committer {
            let committer = self.ops.get(committer);
            if committer.resending || !committer.lost.is_empty() {
                return Excuse::Known;
            }
            sent = committer.sent;
        }
        let reach = Reach {
            from: span.offset,
            to: span.offset.saturating_add(u64::from(span.length)),
        };
        let all = (self.gather.ranges.iter(ranges)).chain(self.gather.ranges.iter(sent));
        let mut verfs = all.filter(|h| h.reach.meets(reach)).map(|h| h.verf);
        match verfs.next() {
            None => Excuse::None,
            Some(first) if verfs.any(|verf| verf != first) => Excuse::Known,
            Some(first) => Excuse::Unless(first),
        }
    }

    /// Commits one held file of each proc where none is being committed; says whether
    /// anything is still held.
    pub(super) fn settle(&mut self) -> bool {
        for proc in 0..self.procs.len() as u32 {
            let is_free = !self.procs[proc as usize].settling;
            let Some(object) = self.gather.idle(proc).filter(|_| is_free) else {
                continue;
            };
            if self.calls.room() == 0 || !self.ops.has_room() {
                break;
            }
            self.procs[proc as usize].settling = true;
            let op = self.ops.begin(&Request {
                token: SETTLING,
                proc,
                action: Action::Commit { object },
            });
            self.commit_file(op, object);
            if self.ops.get(op).outstanding == 0 {
                self.complete(op, self.now);
            }
        }
        !self.gather.is_empty()
    }

    /// Counts what is still held, and forgets it.
    pub(super) fn give_up_held(&mut self) {
        for proc in 0..self.procs.len() as u32 {
            while let Some(object) = self.gather.any_from(proc, ObjectId(0)) {
                let Some(mut file) = self.gather.remove(proc, object) else {
                    break;
                };
                let ranges = &mut self.gather.ranges;
                let mut left = ranges.clear(&mut file.ranges);
                if let Some(op) = file.committer() {
                    let logical = self.ops.get_mut(op);
                    left += ranges.clear(&mut logical.sent) + ranges.clear(&mut logical.lost);
                    left += u64::from(logical.resending);
                    logical.commits_file = false;
                }
                self.counters.add_many(Tally::UncommittedWrites, left);
            }
        }
    }
}

fn is_gone(status: Nfsstat3) -> bool {
    matches!(status, Nfsstat3::Stale | Nfsstat3::Noent)
}
