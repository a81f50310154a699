//! The check of COPY and CLONE: what was copied is read back from the scratch file, by READs of the driver
//! itself, and compared with the contents of the file that was read.
//!
//! With `VERIFY=on` all of it, otherwise [`SAMPLE_BYTES`] of one in [`ONE_OF`] copies. Nothing is compared once
//! another operation may have changed the scratch file.

use super::compounds::StateCall;
use super::results::{Early, Results};
use super::scratch::Scratch;
use super::state::Sessions;
use super::work_calls::{Work, WorkState};
use crate::driver::core::{Core, Span};
use crate::driver::counters::Tally;
use crate::driver::ops::INTERNAL;
use crate::driver::reply::CallOutcome;
use filermark_engine::data::VerifyLevel;
use filermark_engine::driver::{Action, ObjectId, Request, Status, V4Action};
use filermark_model::rng::mix64;
use filermark_onc::nfs4::{ReadArgs, Stateid4};

/// Of so many copies one is read back where only samples are compared: our own design.
const ONE_OF: u64 = 16;
/// Bytes that are read back then, at a multiple of this: our own design.
const SAMPLE_BYTES: u32 = 4096;

/// What a COPY or CLONE has copied.
#[derive(Clone, Copy)]
struct Copied {
    target: ObjectId,
    file: u64,
    offset: u64,
    length: u32,
}

impl Copied {
    fn of(action: Action) -> Option<Self> {
        let (target, file, offset, length) = match action {
            Action::V4(V4Action::Copy {
                target,
                file,
                offset,
                length,
                ..
            }) => (target, file, offset, length),
            Action::V4(V4Action::Clone {
                target,
                file,
                offset,
                length,
                bytes,
                ..
            }) => match length {
                0 => (target, file, offset, bytes),
                _ => (target, file, offset, length),
            },
            _ => return None,
        };
        Some(Self {
            target,
            file,
            offset,
            length,
        })
    }
}

impl Core<Sessions> {
    /// The scratch files of a proc.
    pub(super) fn scratch(&mut self, proc: u32) -> &mut Scratch {
        &mut self.own.scratch[proc as usize]
    }

    /// An operation has ended: reads back what it has copied, if it is its turn.
    pub(super) fn check_copy(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let (proc, action, sent) = (logical.proc, logical.action, logical.outcome.sent);
        let is_done = logical.outcome.status == Status::Ok && logical.token != INTERNAL;
        let state = self.own.works[op as usize];
        let Some(copied) = Copied::of(action).filter(|_| is_done && state.is_alone) else {
            return;
        };
        self.own.copies += 1;
        let is_all = match self.history.level() {
            VerifyLevel::Nothing => return,
            VerifyLevel::Sample if !self.own.copies.is_multiple_of(ONE_OF) => return,
            VerifyLevel::Sample => false,
            VerifyLevel::All => true,
        };
        let is_last = self.scratch(proc).is_last(copied.target, state.number);
        let has_space = self.ops.has_free_slot() && self.calls.free_slots() >= 64;
        if !is_last || !has_space || self.state.stop.is_raised() {
            return;
        }
        let places = u64::from(copied.length.div_ceil(SAMPLE_BYTES)).max(1);
        let from = match is_all {
            true => 0,
            false => mix64(self.own.copies) % places * u64::from(SAMPLE_BYTES),
        };
        let back = self.ops.begin(&Request {
            token: INTERNAL,
            proc,
            action,
        });
        // A restart of the server since the COPY may excuse older data.
        self.ops.get_mut(back).outcome.sent = sent;
        *self.work_state(back) = WorkState {
            copied: from,
            number: state.number,
            since: state.since,
            ..WorkState::default()
        };
        let conn = self.procs[proc as usize].conn;
        if self.own_call(conn, Some(back), StateCall::Work(Work::ReadBack)) {
            // The session does not end before it.
            self.own.client(conn).closing += 1;
        } else {
            self.ops.end(back);
        }
    }

    /// All of a copy that is to be has been read back.
    pub(super) fn copy_checked(&mut self, proc: u32) {
        let client = self.own.client(self.procs[proc as usize].conn);
        client.closing = client.closing.saturating_sub(1);
    }

    /// The READ that comes next.
    pub(super) fn read_back_args(&self, op: u32) -> ReadArgs {
        let logical = self.ops.get(op);
        let from = self.own.works[op as usize].copied;
        let length = Copied::of(logical.action).map_or(0, |copied| copied.length);
        let size_max = match self.history.level() {
            VerifyLevel::All => self.file_system(logical.proc).rsize,
            _ => SAMPLE_BYTES,
        };
        let left = u64::from(length).saturating_sub(from);
        ReadArgs {
            stateid: Stateid4::ANONYMOUS,
            offset: from,
            count: left.min(size_max.into()) as u32,
        }
    }

    /// That READ is encoded: its reply is judged by what it asks for.
    pub(super) fn note_asked(&mut self, op: u32) {
        self.own.works[op as usize].asked = self.read_back_args(op).count;
    }

    /// The results of that READ behind PUTFH.
    pub(super) fn read_back(
        &mut self,
        op: u32,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let read = compound.read::<ReadArgs>()??;
        let logical = self.ops.get(op);
        let (proc, action) = (logical.proc, logical.action);
        let state = self.own.works[op as usize];
        let Some(copied) = Copied::of(action) else {
            return Ok(CallOutcome::Ok);
        };
        let count = read.data.len() as u32;
        if count > state.asked {
            return Ok(CallOutcome::Ends(Status::Garbage));
        }
        if !self.scratch(proc).is_last(copied.target, state.number) {
            return Ok(CallOutcome::Ok);
        }
        let offset = copied.offset + state.copied;
        let checked = self
            .history
            .check(state.since, copied.file, offset, read.data);
        self.counters.add_many(Tally::CheckedBytes, checked.bytes);
        self.counters
            .add_many(Tally::UndecidedBytes, checked.undecided_bytes);
        let span = Span {
            offset,
            length: state.asked,
        };
        if !checked.good {
            return Ok(self.judge_excusable(op, span, Status::Corrupt));
        }
        if count < state.asked && read.eof {
            return Ok(self.judge_excusable(op, span, Status::Lost));
        }
        let next = &mut self.own.works[op as usize];
        next.copied += u64::from(count);
        let is_more = next.copied < u64::from(copied.length) && count > 0;
        if is_more && self.history.level() == VerifyLevel::All {
            self.own.works[op as usize].next = Some(Work::ReadBack);
        }
        Ok(CallOutcome::Ok)
    }
}
