//! The logical operations under way.

use super::ranges::{ByteSpan, RangeList};
use filermark_driver_kit::extends;
use filermark_driver_kit::sockets::{self, OpBase};
use filermark_engine::driver::{Action, ObjectId, Request, Status};
use filermark_model::Nanos;
use filermark_onc::nfs3::{Procedure, Verf};
use filermark_onc::nfs4::{Fh4, FileHandle4};

/// The token of operations that the driver itself begins; their completion is not reported.
pub(crate) const SETTLING: u32 = u32::MAX;

/// The token of operations of the driver that no proc waits for.
pub(crate) const INTERNAL: u32 = u32::MAX - 1;

/// The current step of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Its only call, or the one that creates the object.
    First,
    /// LOOKUP of the created object, because the reply had no handle.
    FindMade,
    /// READs or WRITEs.
    Data,
    /// COMMIT.
    Commit,
}

/// The file that is committed, and the range of it that is sent again, where it is not the
/// operation's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitTarget {
    pub(crate) object: Option<ObjectId>,
    /// Its number, for its contents.
    pub(crate) file: u64,
    /// The range that is sent again, the generation of its data, and the verifier under which
    /// it was lost.
    pub(crate) span: ByteSpan,
    pub(crate) generation: u64,
    pub(crate) verf: Verf,
}

impl Default for CommitTarget {
    fn default() -> Self {
        Self {
            object: None,
            file: 0,
            span: ByteSpan::NONE,
            generation: 0,
            verf: Verf::default(),
        }
    }
}

/// A mismatch in a read, until it is known whether a restart of the server excuses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingMismatch {
    /// How the read ends if nothing excuses it.
    pub(crate) status: Status,
    /// The verifier under which the range was written: a different one now excuses it.
    pub(crate) verf: Verf,
}

/// An operation under way.
#[derive(Clone, Debug)]
pub(crate) struct LogicalOp {
    base: OpBase,
    pub(crate) step: Step,
    /// READ: by READ_PLUS.
    pub(crate) is_plus: bool,
    /// WRITE: the verifier of the unstable data so far. READDIR: the cookie verifier.
    pub(crate) verf: Verf,
    /// WRITE: what was answered UNSTABLE with this verifier.
    pub(crate) unstable: ByteSpan,
    /// WRITE: what was answered UNSTABLE with an earlier one and must be sent again.
    pub(crate) affected: ByteSpan,
    /// WRITE: data is sent again.
    pub(crate) rewrite: bool,
    /// How often data was sent again, or READDIR was restarted.
    pub(crate) repeats: u8,
    /// WRITE: a call of it other than COMMIT was retransmitted; the server may execute it
    /// again at any time.
    pub(crate) resent: bool,
    /// A WRITE of lost data of `target` was retransmitted.
    pub(crate) is_target_resent: bool,
    /// WRITE: a reply was less stable than requested.
    pub(crate) is_less_stable: bool,
    /// WRITE: all of its data has been answered, and is kept until it is stable.
    pub(crate) is_held: bool,
    /// WRITE: when all of it was sent again.
    pub(crate) sent_again: Nanos,
    /// READ: mismatches that the server's verifier may excuse, one for each verifier, in the
    /// order in which they were found.
    pub(crate) suspects: [Option<PendingMismatch>; 2],
    /// COMMIT: what it covers, and what of that was lost and must be sent again.
    pub(crate) sent: RangeList,
    pub(crate) lost: RangeList,
    /// A range of `target` is being sent again.
    pub(crate) resending: bool,
    /// `sent` and `lost` are of a file of the table, `target`.
    pub(crate) commits_file: bool,
    /// Data of acknowledged writes was sent again.
    pub(crate) again: bool,
    pub(crate) target: CommitTarget,
}

extends!(LogicalOp, OpBase);

impl From<OpBase> for LogicalOp {
    fn from(base: OpBase) -> Self {
        Self {
            base,
            step: Step::First,
            is_plus: false,
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
    /// Notes that a call of it was retransmitted, or may still be executed.
    pub(crate) fn note_resent(&mut self, procedure: Procedure) {
        match procedure {
            Procedure::Commit => {}
            Procedure::Write if self.resending && self.commits_file => {
                self.is_target_resent = true;
            }
            _ => self.resent = true,
        }
    }

    /// The range of a logical WRITE.
    pub(crate) fn write_span(&self) -> ByteSpan {
        match self.action {
            Action::Write { offset, length, .. } => ByteSpan {
                from: offset,
                to: offset.saturating_add(u64::from(length)),
            },
            _ => ByteSpan::NONE,
        }
    }

    /// Whether a call of it makes written data stable or requests the verifier; false for the
    /// COMMIT of the mix.
    pub(crate) fn is_upkeep(&self, procedure: Procedure) -> bool {
        let is_of_mix = matches!(self.action, Action::Commit { .. }) && self.token != SETTLING;
        let is_first = is_of_mix && self.repeats == 0;
        self.resending || (procedure == Procedure::Commit && !is_first)
    }

    /// Whether it commits a file of the table that is not its own.
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
    handles: Vec<Option<Fh4>>,
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

    /// Data of this generation may replace that of writes of this proc that are under way.
    pub(crate) fn lower_marks(&mut self, proc: u32, generation: u64) {
        for op in self.base.iter_mut().filter(|op| op.proc == proc) {
            op.mark.lower(generation);
        }
    }

    /// Whether this is so of an operation with calls under way; it gets their numbers, too.
    pub(crate) fn any_under_way(&mut self, mut is_so: impl FnMut(u32, &LogicalOp) -> bool) -> bool {
        let mut all = (0..).zip(self.base.iter_mut());
        all.any(|(number, op)| op.outstanding > 0 && is_so(number, op))
    }

    /// The handle of the file that this operation fills.
    pub(crate) fn handle(&self, op: u32) -> Option<FileHandle4<'_>> {
        self.handles[op as usize].as_ref().map(Fh4::handle)
    }

    pub(crate) fn set_handle(&mut self, op: u32, handle: FileHandle4<'_>) {
        self.handles[op as usize] = Some(handle.to_fh());
    }

    pub(super) fn end(&mut self, op: u32) {
        self.handles[op as usize] = None;
        self.base.end(op);
    }
}
