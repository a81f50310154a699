//! The logical operations that are under way.

use super::ranges::{ByteSpan, RangeList};
use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::{self, OpBase};
use filermark_engine::driver::{Action, ObjectId, Request, Status};
use filermark_model::Nanos;
use filermark_onc::nfs3::{Fh, FileHandle, Procedure, Verf};

/// The token of operations of the driver's own, of which nobody is told.
pub(crate) const SETTLING: u32 = u32::MAX;

/// Where an operation of several steps is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its one call, or the one that makes the object.
    First,
    /// LOOKUP of what was made, because no handle came with it.
    FindMade,
    /// READs or WRITEs.
    Data,
    /// COMMIT.
    Commit,
}

/// Whose data goes again, and what is committed, where it is not the operation's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitTarget {
    pub(crate) object: Option<ObjectId>,
    /// Its number, for its contents.
    pub(crate) file: u64,
    /// The range that goes again, what its data was made with, and the verifier under which
    /// it was lost.
    pub(crate) reach: ByteSpan,
    pub(crate) generation: u64,
    pub(crate) verf: Verf,
}

impl Default for CommitTarget {
    fn default() -> Self {
        Self {
            object: None,
            file: 0,
            reach: ByteSpan::NONE,
            generation: 0,
            verf: Verf::default(),
        }
    }
}

/// Something wrong in what was read, as long as it is not known whether a restart excuses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingMismatch {
    /// How the read ends if nothing excuses it.
    pub(crate) status: Status,
    /// The verifier of what was written there: another one now excuses it.
    pub(crate) verf: Verf,
}

/// An operation under way.
#[derive(Clone, Debug)]
pub(crate) struct LogicalOp {
    base: OpBase,
    pub(crate) step: Step,
    /// WRITE: the verifier of the unstable data so far. READDIR: the cookie's.
    pub(crate) verf: Verf,
    /// WRITE: what was answered UNSTABLE with this verifier.
    pub(crate) unstable: ByteSpan,
    /// WRITE: what was answered UNSTABLE with an earlier one and must go again.
    pub(crate) affected: ByteSpan,
    /// WRITE: data goes again.
    pub(crate) rewrite: bool,
    /// How often it went again, or READDIR was begun anew.
    pub(crate) repeats: u8,
    /// WRITE: a call of it other than COMMIT went twice; the server may execute it again at
    /// any time.
    pub(crate) resent: bool,
    /// The same of a WRITE of what `target` has lost.
    pub(crate) is_target_resent: bool,
    /// WRITE: a reply was less stable than asked for.
    pub(crate) is_less_stable: bool,
    /// WRITE: all of its data has been answered, and is kept until it is stable.
    pub(crate) is_held: bool,
    /// WRITE: when all of it was sent again.
    pub(crate) sent_again: Nanos,
    /// READ: what is wrong with it, unless the server's verifier excuses it. One for each
    /// verifier, the first place first.
    pub(crate) suspects: [Option<PendingMismatch>; 2],
    /// COMMIT: what it covers, and what of that was lost and has to go again.
    pub(crate) sent: RangeList,
    pub(crate) lost: RangeList,
    /// A range of `target` goes again.
    pub(crate) resending: bool,
    /// `sent` and `lost` are of a file of the table, `target`.
    pub(crate) commits_file: bool,
    /// Data of acknowledged writes went again.
    pub(crate) again: bool,
    pub(crate) target: CommitTarget,
}

extends!(LogicalOp, OpBase);

impl From<OpBase> for LogicalOp {
    fn from(base: OpBase) -> Self {
        Self {
            base,
            step: Step::First,
            verf: Verf::default(),
            unstable: ByteSpan::NONE,
            affected: ByteSpan::NONE,
            rewrite: false,
            repeats: 0,
            resent: false,
            is_target_resent: false,
            is_less_stable: false,
            is_held: false,
            sent_again: Nanos::ZERO,
            suspects: [None; 2],
            sent: RangeList::EMPTY,
            lost: RangeList::EMPTY,
            resending: false,
            commits_file: false,
            again: false,
            target: CommitTarget::default(),
        }
    }
}

impl LogicalOp {
    /// A call of it went twice, or may still be executed.
    pub(crate) fn note_resent(&mut self, procedure: Procedure) {
        match procedure {
            Procedure::Commit => {}
            Procedure::Write if self.resending && self.commits_file => {
                self.is_target_resent = true;
            }
            _ => self.resent = true,
        }
    }

    /// WRITE: what it is to write.
    pub(crate) fn reach(&self) -> ByteSpan {
        match self.action {
            Action::Write { offset, length, .. } => ByteSpan {
                from: offset,
                to: offset.saturating_add(u64::from(length)),
            },
            _ => ByteSpan::NONE,
        }
    }

    /// Whether a call of it makes something stable that was written, or asks for the verifier:
    /// not the COMMIT that the mix asks for.
    pub(crate) fn is_upkeep(&self, procedure: Procedure) -> bool {
        let is_asked_for = matches!(self.action, Action::Commit { .. }) && self.token != SETTLING;
        let is_first = is_asked_for && self.repeats == 0;
        self.resending || (procedure == Procedure::Commit && !is_first)
    }

    /// Whether it commits a file of the table that it does not work on itself.
    pub(crate) fn commits_other(&self) -> bool {
        let is_own = match self.action {
            Action::Write { object, .. } => Some(object) == self.target.object,
            Action::Commit { .. } => self.token != SETTLING,
            _ => false,
        };
        self.commits_file && !is_own
    }
}

/// The operations of a shard, by slot.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    base: sockets::Ops<LogicalOp>,
    /// Handles of files that are being filled.
    handles: Vec<Option<Fh>>,
}

extends!(Ops, sockets::Ops<LogicalOp>);

impl Ops {
    pub(crate) fn begin(&mut self, request: &Request) -> u32 {
        let op = self.base.begin(request);
        if self.handles.len() <= op as usize {
            self.handles.resize(op as usize + 1, None);
        }
        op
    }

    /// Writes of this proc that are under way may be overtaken by data of this generation.
    pub(crate) fn lower_marks(&mut self, proc: u32, generation: u64) {
        for op in self.base.iter_mut().filter(|op| op.proc == proc) {
            op.mark.lower(generation);
        }
    }

    /// The handle of the file that this operation fills.
    pub(crate) fn handle(&self, op: u32) -> Option<FileHandle<'_>> {
        self.handles[op as usize].as_ref().map(Fh::handle)
    }

    pub(crate) fn set_handle(&mut self, op: u32, handle: FileHandle<'_>) {
        self.handles[op as usize] = Some(handle.to_fh());
    }

    pub(super) fn end(&mut self, op: u32) {
        self.handles[op as usize] = None;
        self.base.end(op);
    }
}
