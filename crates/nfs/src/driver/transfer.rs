//! READ and WRITE: one operation as a window of physical calls.
//!
//! If the verifier changes between the WRITEs of one operation, the server may have lost the
//! data that it answered with the earlier one; that data is sent again. What follows when all
//! data has been answered is in [`commit`](super::commit).
#![deny(clippy::wildcard_enum_match_arm)]

use super::commit::REWRITES_MAX;
use super::core::{Core, Span};
use super::counters::Tally;
use super::ranges::ByteSpan;
use super::reply::CallOutcome;
use super::status::{NO_HANDLE, VERIFIER_KEEPS_CHANGING};
use super::variant::Variant;
use filermark_engine::driver::{Action, Status};
use filermark_onc::nfs3::*;

/// WRITEs under way for one file that is being filled.
const FILL_WINDOW: u32 = 16;
/// WRITEs under way over UDP for one file that is being filled. A server drops datagrams that
/// do not fit into its socket buffer, and only timeouts slow the sender down.
const FILL_WINDOW_DATAGRAMS: u32 = 1;

/// How an action moves data.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    procedure: Procedure,
    window: u32,
    size_max: u32,
}

impl<V: Variant> Core<V> {
    /// How an operation moves data; `None` if it moves none.
    pub(super) fn transfer(&self, op: u32) -> Option<Transfer> {
        let settings = &self.settings;
        let op = self.ops.get(op);
        let file_system = self.file_system(op.proc);
        Some(match op.action {
            Action::Read { .. } => Transfer {
                procedure: Procedure::Read,
                window: settings.reads_max,
                size_max: file_system.rsize,
            },
            Action::Write { .. } => Transfer {
                procedure: Procedure::Write,
                window: settings.writes_max,
                size_max: file_system.wsize,
            },
            // COMMIT: lost data is sent again.
            Action::Fill { .. } | Action::Commit { .. } => Transfer {
                procedure: Procedure::Write,
                window: match settings.datagrams {
                    true => FILL_WINDOW_DATAGRAMS,
                    false => FILL_WINDOW,
                },
                size_max: file_system.wsize,
            },
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
            | Action::Readdir { .. }
            | Action::Fsstat
            | Action::Fsinfo
            | Action::Pathconf
            | Action::V4(_)
            | Action::MakeProcDir { .. }
            | Action::RemoveProcDir { .. }
            | Action::File(_)
            | Action::Session(_) => return None,
        })
    }

    /// Fills the window; when all data has been answered, sends the data again that a changed
    /// verifier affects, or continues with the COMMIT.
    pub(crate) fn transfer_more(&mut self, op: u32) {
        let Some(transfer) = self.transfer(op) else {
            return self.ops.get_mut(op).fail(Status::Refused(NO_HANDLE));
        };
        self.fill_window(op, transfer);
        let logical = self.ops.get_mut(op);
        if logical.outstanding > 0 || logical.next < logical.end {
            return;
        }
        if !logical.affected.is_none() {
            self.write_again(op, transfer);
        } else {
            self.data_answered(op);
        }
    }

    /// Sends the data again that a changed verifier affects.
    pub(super) fn write_again(&mut self, op: u32, transfer: Transfer) {
        let logical = self.ops.get_mut(op);
        logical.repeats += 1;
        if logical.repeats > REWRITES_MAX {
            return logical.fail(Status::Refused(VERIFIER_KEEPS_CHANGING));
        }
        logical.next = logical.affected.from;
        logical.end = logical.affected.to;
        logical.affected = ByteSpan::NONE;
        logical.rewrite = true;
        self.fill_window(op, transfer);
    }

    pub(super) fn fill_window(&mut self, op: u32, transfer: Transfer) {
        loop {
            let logical = self.ops.get_mut(op);
            let left = logical.end.saturating_sub(logical.next);
            let window_full = logical.outstanding >= transfer.window;
            // The first call of a window may take the last slot, the others leave some.
            let lacks_slots = logical.outstanding > 0 && self.calls.free_slots() < 64;
            if left == 0 || window_full || lacks_slots {
                return;
            }
            let span = Span {
                offset: logical.next,
                length: left.min(u64::from(transfer.size_max.max(1))) as u32,
            };
            logical.next += u64::from(span.length);
            if logical.rewrite {
                self.counters.add(Tally::Rewrites);
            }
            self.call(op, transfer.procedure, span);
        }
    }

    pub(crate) fn has_read(&mut self, slot: u32, results: ReadRes<'_>) -> CallOutcome {
        let read = match results {
            Ok(read) => read,
            Err(failed) => return CallOutcome::Failed(failed.status),
        };
        let call = self.calls.get(slot);
        let (op, offset, length) = (call.op, call.offset, call.length);
        let asked = length;
        let logical = self.ops.get_mut(op);
        let count = read.count;
        let endless = count == 0 && asked > 0 && !read.eof;
        if read.data.len() != count as usize || count > asked || endless {
            return CallOutcome::Ends(Status::Garbage);
        }
        logical.outcome.read_bytes = logical.outcome.read_bytes.saturating_add(u64::from(count));
        // Only written ranges are read: an earlier end of file means lost data.
        let lost = read.eof && count < asked;
        logical.outcome.end |= read.eof;
        if !self.is_right(op, offset, read.data) {
            let verdict = self.judge_mismatch(op, Span { offset, length }, Status::Corrupt);
            if verdict != CallOutcome::Ok {
                return verdict;
            }
        }
        self.read_ended(op, (offset, asked, count), lost)
    }

    /// Whether what was read is what was written, as far as it is compared.
    pub(crate) fn is_right(&mut self, op: u32, offset: u64, data: &[u8]) -> bool {
        let logical = self.ops.get(op);
        let Action::Read { file, .. } = logical.action else {
            return true;
        };
        let checked = self.history.check(logical.since, file, offset, data);
        self.counters.add_many(Tally::CheckedBytes, checked.bytes);
        self.counters
            .add_many(Tally::UndecidedBytes, checked.undecided_bytes);
        checked.good
    }

    /// A READ of `asked` bytes has returned `count`. `lost`: the file ends before what was written.
    pub(crate) fn read_ended(
        &mut self,
        op: u32,
        (offset, asked, count): (u64, u32, u32),
        lost: bool,
    ) -> CallOutcome {
        if lost {
            let length = asked;
            return self.judge_mismatch(op, Span { offset, length }, Status::Lost);
        }
        if count < asked {
            self.counters.add(Tally::ShortReads);
            return CallOutcome::Retry(rest(offset, asked, count));
        }
        CallOutcome::Ok
    }

    pub(crate) fn has_written(&mut self, slot: u32, results: WriteRes) -> CallOutcome {
        let written = match results {
            Ok(written) => written,
            Err(failed) => return CallOutcome::Failed(failed.status),
        };
        let call = self.calls.get(slot);
        let (op, offset, asked) = (call.op, call.offset, call.length);
        let logical = self.ops.get_mut(op);
        let count = written.count;
        if count > asked || (count == 0 && asked > 0) {
            return CallOutcome::Ends(Status::Garbage);
        }
        if !call.rewrite {
            logical.outcome.written_bytes = logical
                .outcome
                .written_bytes
                .saturating_add(u64::from(count));
        }
        let is_unstable = written.committed == StableHow::Unstable;
        if is_unstable {
            if !logical.unstable.is_none() && logical.verf != written.verf {
                logical.affected = logical.affected.hull(logical.unstable);
                logical.unstable = ByteSpan::NONE;
            }
            logical.unstable = logical.unstable.hull(ByteSpan {
                from: offset,
                to: offset + u64::from(count),
            });
            logical.verf = written.verf;
            self.note_verf(slot, written.verf);
        }
        let asked_for = self.asked_stability(self.calls.get(slot));
        if written.committed.to_u32() < asked_for.to_u32() {
            self.counters.add(Tally::LessStable);
            self.ops.get_mut(op).is_less_stable = true;
        }
        if count < asked {
            self.counters.add(Tally::ShortWrites);
            return CallOutcome::Retry(rest(offset, asked, count));
        }
        CallOutcome::Ok
    }
}

/// The remaining span when `done` of `asked` bytes at `offset` are done.
fn rest(offset: u64, asked: u32, done: u32) -> Span {
    Span {
        offset: offset + u64::from(done),
        length: asked - done,
    }
}
