//! Reads that show something else than was written: wrong, or excused by a restart.
//!
//! Between a restart of the server and the time at which the lost writes have gone again, a
//! read of them may show older data, or the end of the file too early, and the server be
//! sound. A read of what is held asks for the verifier, by a COMMIT of its own. A read of what
//! is known to be lost, or was sent again while the read was under way, is excused at once.
//! Only those ranges are: anything else that is wrong is wrong.

use super::commit::span_reach;
use super::core::{Core, Span};
use super::counters::Tally;
use super::ops::PendingMismatch;
use super::ranges::RangeList;
use super::reply::CallOutcome;
use filermark_engine::driver::{Action, Status};
use filermark_onc::nfs3::Verf;

/// Why a read may show older data, or an early end.
enum StaleReadReason {
    None,
    /// The server has lost writes there.
    Known,
    /// It has lost them if its verifier has changed from this one.
    Unless(Verf),
}

impl Core {
    /// A read shows other data than it should, or an early end: whether it is wrong, is
    /// excused, or is to be asked about when all of it has come.
    pub(super) fn doubt(&mut self, op: u32, span: Span, status: Status) -> CallOutcome {
        match self.explain_stale_read(op, span) {
            StaleReadReason::None => self.judge_read(false, status),
            StaleReadReason::Known => self.judge_read(true, status),
            StaleReadReason::Unless(verf) => {
                let new = PendingMismatch { status, verf };
                for place in &mut self.ops.get_mut(op).suspects {
                    match place {
                        None => *place = Some(new),
                        Some(known) if known.verf == verf => {
                            // An early end is the worse of both.
                            if status == Status::Lost {
                                known.status = status;
                            }
                        }
                        Some(_) => continue,
                    }
                    return CallOutcome::Ok;
                }
                // A third verifier.
                self.judge_read(false, status)
            }
        }
    }

    /// The server's verifier is known, or is not to be had: decides on what was in doubt.
    pub(super) fn judge_suspects(&mut self, op: u32, now: Option<Verf>) -> CallOutcome {
        let suspects = std::mem::take(&mut self.ops.get_mut(op).suspects);
        let mut worst = CallOutcome::Ok;
        for suspect in suspects.into_iter().flatten() {
            let is_lost = now.is_some_and(|verf| verf != suspect.verf);
            let verdict = self.judge_read(is_lost, suspect.status);
            if worst == CallOutcome::Ok {
                worst = verdict;
            }
        }
        worst
    }

    /// The end of an operation: nothing excuses what is still in doubt.
    pub(super) fn end_suspects(&mut self, op: u32) {
        if let CallOutcome::Ends(status) = self.judge_suspects(op, None) {
            self.ops.get_mut(op).fail(status);
        }
    }

    pub(super) fn judge_read(&mut self, is_lost: bool, status: Status) -> CallOutcome {
        let tally = match status {
            _ if is_lost => Tally::ExcusedReads,
            Status::Lost => Tally::EarlyEofs,
            _ => Tally::VerifyErrors,
        };
        self.counters.add(tally);
        match is_lost || (status == Status::Corrupt && !self.history.fails_reads()) {
            true => CallOutcome::Ok,
            false => CallOutcome::Ends(status),
        }
    }

    fn explain_stale_read(&mut self, op: u32, span: Span) -> StaleReadReason {
        let logical = self.ops.get(op);
        let Action::Read { object, file, .. } = logical.action else {
            return StaleReadReason::None;
        };
        let (proc, sent, reach) = (logical.proc, logical.outcome.sent, span_reach(span));
        let was_lost = self
            .gather
            .was_restored(proc, (file, reach), sent, u64::MAX);
        if was_lost || self.gather.has_dropped(proc, file) {
            return StaleReadReason::Known;
        }
        let Some(entry) = self.gather.find(proc, object) else {
            return StaleReadReason::None;
        };
        let (ranges, committer) = (entry.ranges, entry.committer());
        let in_reach = |list| {
            self.gather
                .ranges
                .iter(list)
                .filter(|h| h.reach.meets(reach))
        };
        let mut sent = RangeList::EMPTY;
        if let Some(committer) = committer {
            let committer = self.ops.get(committer);
            let is_resent = committer.resending && committer.target.reach.meets(reach);
            if is_resent || in_reach(committer.lost).next().is_some() {
                return StaleReadReason::Known;
            }
            sent = committer.sent;
        }
        let mut verfs = in_reach(ranges).chain(in_reach(sent)).map(|h| h.verf);
        match verfs.next() {
            None => StaleReadReason::None,
            Some(first) if verfs.any(|verf| verf != first) => StaleReadReason::Known,
            Some(first) => StaleReadReason::Unless(first),
        }
    }
}
