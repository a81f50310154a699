//! Reads that return other data than was written: errors, or excused by a restart.
//!
//! Between a restart of the server and the time when the lost writes have been sent again, a
//! read of them may return older data or an early end of file from a correct server. A read of
//! held data requests the verifier with a COMMIT of its own. A read of data that is known to be
//! lost, or that was sent again while the read was under way, is excused at once. No other
//! mismatch is excused.

use super::commit::byte_span;
use super::core::{Core, Span};
use super::counters::Tally;
use super::ops::PendingMismatch;
use super::ranges::RangeList;
use super::reply::CallOutcome;
use super::variant::Variant;
use filermark_engine::driver::{Action, Status, V4Action};
use filermark_onc::nfs3::Verf;

/// Why a read may return older data, or an early end of file.
enum StaleReadReason {
    None,
    /// The server has lost writes in the range.
    Known,
    /// It has lost them if its verifier is not this one any more.
    Unless(Verf),
}

impl<V: Variant> Core<V> {
    /// Judges a read that returned other data than expected, or an early end of file: an
    /// error, excused, or to be decided by the verifier when all of it has been answered.
    pub(super) fn judge_mismatch(&mut self, op: u32, span: Span, status: Status) -> CallOutcome {
        match self.explain_stale_read(op, span) {
            StaleReadReason::None => self.judge_read(false, status),
            StaleReadReason::Known => self.judge_read(true, status),
            StaleReadReason::Unless(verf) => {
                let new = PendingMismatch { status, verf };
                for place in &mut self.ops.get_mut(op).suspects {
                    match place {
                        None => *place = Some(new),
                        Some(known) if known.verf == verf => {
                            // An early end is the more severe of both.
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

    /// Decides on pending mismatches by the server's verifier; `None`: it is not available.
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

    /// At the end of an operation: pending mismatches are errors.
    pub(super) fn end_suspects(&mut self, op: u32) {
        if let CallOutcome::Ends(status) = self.judge_suspects(op, None) {
            self.ops.get_mut(op).fail(status);
        }
    }

    /// Judges what was compared and is no READ of an operation: an error, or excused if the server may have lost
    /// writes in this range of the file.
    pub(super) fn judge_excusable(&mut self, op: u32, span: Span, status: Status) -> CallOutcome {
        let is_lost = !matches!(self.explain_stale_read(op, span), StaleReadReason::None);
        self.judge_read(is_lost, status)
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
        let (Action::Read { object, file, .. }
        | Action::V4(
            V4Action::Seek { object, file, .. }
            | V4Action::Copy { object, file, .. }
            | V4Action::Clone { object, file, .. },
        )) = logical.action
        else {
            return StaleReadReason::None;
        };
        let (proc, sent, span) = (logical.proc, logical.outcome.sent, byte_span(span));
        let was_lost = self
            .uncommitted
            .was_restored(proc, (file, span), sent, u64::MAX);
        if was_lost || self.uncommitted.has_dropped(proc, file) {
            return StaleReadReason::Known;
        }
        let Some(entry) = self.uncommitted.find(proc, object) else {
            return StaleReadReason::None;
        };
        let (ranges, committer) = (entry.ranges, entry.committer());
        let in_span = |list| {
            self.uncommitted
                .ranges
                .iter(list)
                .filter(|h| h.span.overlaps(span))
        };
        let mut sent = RangeList::EMPTY;
        if let Some(committer) = committer {
            let committer = self.ops.get(committer);
            let is_resent = committer.resending && committer.target.span.overlaps(span);
            if is_resent || in_span(committer.lost).next().is_some() {
                return StaleReadReason::Known;
            }
            sent = committer.sent;
        }
        let mut verfs = in_span(ranges).chain(in_span(sent)).map(|h| h.verf);
        match verfs.next() {
            None => StaleReadReason::None,
            Some(first) if verfs.any(|verf| verf != first) => StaleReadReason::Known,
            Some(first) => StaleReadReason::Unless(first),
        }
    }
}
