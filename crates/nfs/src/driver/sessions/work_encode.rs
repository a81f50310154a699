//! The calls of the operations that version 3 does not have: arguments and results.

use super::encode::{GETATTR, putfh};
use super::opens;
use super::owners::OwnerName;
use super::results::{Early, Results, rest};
use super::scratch::Value;
use super::state::{SessionCall, Sessions};
use super::work_calls::Work;
use crate::driver::calls::Call;
use crate::driver::core::{Core, Span};
use crate::driver::counters::Tally;
use crate::driver::encode::ALL_RIGHTS;
use crate::driver::ops::LogicalOp;
use crate::driver::reply::CallOutcome;
use crate::driver::status::{ASYNCHRONOUS_COPY, COPY_LOST};
use filermark_engine::data::VerifyLevel;
use filermark_engine::driver::{Action, Status, V4Action};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Array;

/// Bytes of a range that is locked: our own design.
const LOCKED_BYTES: u64 = 4096;
/// Bytes of the value of an extended attribute: our own design.
const VALUE_BYTES: usize = 64;
/// Bytes of `LISTXATTRS4resok` that are asked for.
const LIST_BYTES: u32 = 4096;

/// What a hole stands for, in pieces.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

type Compound<'c> = CompoundWriter<'c, Operation>;

/// The name of an owner that no other operation under way has: so no operation closes or unlocks what
/// another one has opened or locked.
fn operation_owner(proc: u32, op: u32) -> OwnerName {
    OwnerName::new(proc, Some(op))
}

/// The name of an attribute, without "user." (RFC 8276 section 8.1).
fn attribute_name(attribute: u16) -> [u8; 14] {
    let mut name = *b"filermark-0000";
    let mut rest = attribute;
    for digit in name[10..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name
}

/// The value that a SETXATTR gives an attribute: its generation, and bytes that follow from both.
fn attribute_value(attribute: u16, generation: u64) -> [u8; VALUE_BYTES] {
    let first = generation.to_le_bytes();
    std::array::from_fn(|at| match first.get(at) {
        Some(byte) => *byte,
        None => {
            let of_place = (at as u16).wrapping_mul(7).wrapping_add(attribute) as u8;
            of_place ^ first[at % first.len()]
        }
    })
}

/// Whether an attribute may have this value.
fn is_value(attribute: u16, known: Value, value: &[u8]) -> bool {
    let Some((first, _)) = value.split_first_chunk() else {
        return false;
    };
    let generation = u64::from_le_bytes(*first);
    let is_expected = match known {
        Value::Any | Value::Unsettled => true,
        Value::Of(expected) => expected == generation,
    };
    is_expected && value == attribute_value(attribute, generation)
}

impl Core<Sessions> {
    /// The operations of a call behind SEQUENCE.
    pub(super) fn encode_work(
        &self,
        work: Work,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        stateid: Stateid4,
        compound: &mut Compound<'_>,
    ) {
        let Action::V4(action) = op.action else {
            return;
        };
        let state = self.own.works[call.op as usize];
        let mut held = state.stateid;
        if self.own.has_sessions() {
            // The latest state (RFC 8881 section 8.2.2).
            held.seqid = 0;
        }
        match work {
            Work::Open => {
                let place = self.place(op);
                let (owner, access) = match self.own.has_sessions() {
                    true => (
                        operation_owner(self.own.owners[op.proc as usize], call.op),
                        share::BOTH | share::WANT_NO_DELEG,
                    ),
                    false => (self.owner_name(call, op.proc), share::BOTH),
                };
                let open = OpenArgs {
                    claim: OpenClaim4::Null(place.text.as_bytes()),
                    ..self.open_args(call, access, &owner, Openflag4::NoCreate)
                };
                compound
                    .op(&putfh(place.dir))
                    .op(&open)
                    .op(&GetfhArgs {})
                    .op(&AccessArgs { access: ALL_RIGHTS })
                    .op(&GETATTR);
                return;
            }
            Work::CommitCopy => {
                let file = action.target().unwrap_or(action.object());
                compound
                    .op(&putfh(self.handle(op.proc, file)))
                    .op(&CommitArgs {
                        offset: 0,
                        count: 0,
                    });
                return;
            }
            Work::CopyStatus => {
                compound.op(&OffloadStatusArgs {
                    stateid: state.offload.map_or(Stateid4::ANONYMOUS, |of| of.stateid),
                });
                return;
            }
            Work::ReadBack => {
                let file = action.target().unwrap_or(action.object());
                compound
                    .op(&putfh(self.handle(op.proc, file)))
                    .op(&ReadArgs {
                        stateid,
                        ..self.read_back_args(call.op)
                    });
                return;
            }
            Work::Copy | Work::Clone => {
                return self.encode_copy(action, call, op, (stateid, state.copied), compound);
            }
            _ => {}
        }
        compound.op(&putfh(self.object(op)));
        match work {
            Work::Close => {
                compound.op(&CloseArgs {
                    seqid: state.owner.map_or(0, |owner| owner.seqid),
                    open_stateid: held,
                });
            }
            Work::Confirm => {
                compound.op(&OpenConfirmArgs {
                    open_stateid: held,
                    seqid: state.owner.map_or(0, |owner| owner.seqid),
                });
            }
            Work::Lock => {
                let owner = operation_owner(self.own.owners[op.proc as usize], call.op);
                let args = lock(call.op, stateid, owner.as_bytes());
                match self.own.has_sessions() {
                    true => {
                        compound.op(&args);
                    }
                    false => {
                        let key = opens::of_object(action.object());
                        self.encode_lock(call, op.proc, key, args, compound);
                    }
                }
            }
            Work::Unlock if !self.own.has_sessions() => {
                let (lock_stateid, seqid) = self.unlocked_state(call, (op.proc, op.action), held);
                compound.op(&LockuArgs {
                    seqid,
                    ..unlock(call.op, lock_stateid)
                });
            }
            Work::Unlock => {
                compound
                    .op(&unlock(call.op, held))
                    .op(&FreeStateidArgs { stateid: held });
            }
            _ => encode_on_file(action, (stateid, state.generation), compound),
        }
    }

    /// COPY and CLONE: from the saved to the current file handle.
    fn encode_copy(
        &self,
        action: V4Action,
        call: &Call<SessionCall>,
        op: &LogicalOp,
        (src_stateid, copied): (Stateid4, u64),
        compound: &mut Compound<'_>,
    ) {
        let to = action.target().unwrap_or(action.object());
        let dst_stateid = call.own.second.map_or(Stateid4::ANONYMOUS, |(_, of)| of);
        let dst_stateid = Stateid4 {
            seqid: 0,
            ..dst_stateid
        };
        compound
            .op(&putfh(self.object(op)))
            .op(&SavefhArgs {})
            .op(&putfh(self.handle(op.proc, to)));
        if let V4Action::Copy { offset, length, .. } = action {
            compound.op(&CopyArgs {
                src_stateid,
                dst_stateid,
                src_offset: offset + copied,
                dst_offset: copied,
                count: u64::from(length).saturating_sub(copied),
                consecutive: true,
                synchronous: !self.may_go_on(op.proc, u64::from(length).saturating_sub(copied)),
                source_server: Array::default(),
            });
        } else if let V4Action::Clone { offset, length, .. } = action {
            let args = CloneArgs {
                src_stateid,
                dst_stateid,
                src_offset: offset,
                dst_offset: 0,
                count: length.into(),
            };
            compound.op(&args).op(&GETATTR);
        }
    }

    /// Judges the results behind SEQUENCE.
    pub(super) fn work_results(
        &mut self,
        slot: u32,
        work: Work,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let op = self.calls.get(slot).op;
        let Action::V4(action) = self.ops.get(op).action else {
            return Ok(CallOutcome::Ends(Status::Garbage));
        };
        if work == Work::CopyStatus {
            return self.copy_status(op, action, compound);
        }
        compound.read::<PutfhArgs<'_>>()??;
        match work {
            Work::Open => {
                let open = compound.read::<OpenArgs<'_>>()??;
                let call = self.calls.get_mut(slot);
                let state = &mut self.own.works[op as usize];
                state.stateid = open.stateid;
                state.owner = call.own.owner.take();
                let is_to_be_confirmed = open.rflags & open_result::CONFIRM != 0;
                state.next = match state.owner.is_some() && is_to_be_confirmed {
                    true => Some(Work::Confirm),
                    false => Some(Work::Close),
                };
            }
            Work::Confirm => {
                let confirmed = compound.read::<OpenConfirmArgs>()?;
                if let Ok(open) = &confirmed {
                    let state = &mut self.own.works[op as usize];
                    state.stateid = open.open_stateid;
                    state.next = Some(Work::Close);
                }
                return self.given_up(confirmed.map(|_| ()), compound);
            }
            Work::Close => {
                let closed = compound.read::<CloseArgs>()?;
                return self.given_up(closed.map(|_| ()), compound);
            }
            Work::Lock => {
                let locked = compound.read::<LockArgs<'_>>()?;
                let stateid = locked.map_err(|failed| failed.status())?.lock_stateid;
                let state = &mut self.own.works[op as usize];
                state.stateid = stateid;
                state.next = Some(Work::Unlock);
                self.note_locks(slot, stateid);
                self.pin(slot);
            }
            Work::Unlock => {
                let unlocked = compound.read::<LockuArgs>()?;
                if let Ok(unlocked) = &unlocked {
                    self.note_locks(slot, unlocked.lock_stateid);
                }
                return self.given_up(unlocked.map(|_| ()), compound);
            }
            Work::Allocate => compound.read::<AllocateArgs>()??,
            Work::Deallocate => compound.read::<DeallocateArgs>()??,
            Work::Seek => {
                let found = compound.read::<SeekArgs>()??;
                return Ok(self.sought(op, action, &found));
            }
            Work::Copy | Work::Clone => {
                compound.read::<SavefhArgs>()??;
                compound.read::<PutfhArgs<'_>>()??;
                if work == Work::Copy {
                    let copied = compound.read::<CopyArgs<'_>>()?;
                    let copied = copied.map_err(|failed| failed.status())?;
                    return Ok(self.copied(op, action, &copied.response));
                }
                compound.read::<CloneArgs>()??;
            }
            Work::CommitCopy => {
                let committed = compound.read::<CommitArgs>()??;
                if self.own.works[op as usize].verf != Some(committed.writeverf) {
                    return Ok(CallOutcome::Ends(Status::Refused(COPY_LOST)));
                }
            }
            Work::CopyStatus => {}
            Work::ReadBack => return self.read_back(op, compound),
            Work::Getxattr => {
                let value = compound.read::<GetxattrArgs<'_>>()??.value;
                let proc = self.ops.get(op).proc;
                if let V4Action::Getxattr { attribute, .. } = action
                    && self.history.level() != VerifyLevel::Nothing
                    && !is_value(attribute, self.scratch(proc).value(attribute), value)
                {
                    return Ok(self.judge_read(false, Status::Corrupt));
                }
            }
            Work::Setxattr => {
                compound.read::<SetxattrArgs<'_>>()??;
            }
            Work::Listxattrs => {
                compound.read::<ListxattrsArgs>()??;
            }
            Work::Removexattr => {
                compound.read::<RemovexattrArgs<'_>>()??;
            }
        }
        rest(compound)
    }

    /// SEEK in a file without holes (RFC 7862 section 15.11): data is where it was looked for, and the first hole
    /// is the end of the file.
    fn sought(&mut self, op: u32, action: V4Action, found: &SeekOk) -> CallOutcome {
        let V4Action::Seek {
            offset,
            bytes,
            is_hole,
            ..
        } = action
        else {
            return CallOutcome::Ends(Status::Garbage);
        };
        let bytes = u64::from(bytes);
        let is_right = match is_hole {
            true => found.offset >= bytes,
            false => found.offset == offset && !found.eof,
        };
        if is_right || self.history.level() == VerifyLevel::Nothing {
            return CallOutcome::Ok;
        }
        let span = Span {
            offset,
            length: bytes.saturating_sub(offset) as u32,
        };
        self.judge_excusable(op, span, Status::Corrupt)
    }

    /// What an operation had opened or locked is given up. A server that does not know it any more has
    /// restarted, or has dropped the client.
    fn given_up(
        &mut self,
        result: Result<(), Nfsstat4>,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        match result {
            Ok(()) => rest(compound),
            Err(
                Nfsstat4::BadStateid
                | Nfsstat4::StaleStateid
                | Nfsstat4::OldStateid
                | Nfsstat4::Expired
                | Nfsstat4::AdminRevoked,
            ) => {
                self.counters.add(Tally::LostOpens);
                Ok(CallOutcome::Ok)
            }
            Err(status) => Err(status.into()),
        }
    }

    /// READ_PLUS: the parts follow each other from the place that was asked for. A hole may be longer than
    /// what was asked for (RFC 7862 section 15.10.3), and stands for zeros.
    pub(super) fn has_read_plus(&mut self, slot: u32, read: &ReadPlusOk<'_>) -> CallOutcome {
        let call = self.calls.get(slot);
        let (op, offset, asked) = (call.op, call.offset, call.length);
        let end = offset + u64::from(asked);
        let (mut at, mut is_right) = (offset, true);
        for content in read.contents.iter() {
            match content {
                ReadPlusContent4::Data(part) => {
                    let to = at.saturating_add(part.data.len() as u64);
                    if part.offset != at || to > end {
                        return CallOutcome::Ends(Status::Garbage);
                    }
                    is_right &= self.is_right(op, at, part.data);
                    at = to;
                }
                ReadPlusContent4::Hole(hole) => {
                    let to = hole.offset.saturating_add(hole.length).min(end);
                    if hole.offset > at || to < at {
                        return CallOutcome::Ends(Status::Garbage);
                    }
                    while at < to {
                        let length = (to - at).min(ZEROS.len() as u64);
                        is_right &= self.is_right(op, at, &ZEROS[..length as usize]);
                        at += length;
                    }
                }
            }
        }
        let count = (at - offset) as u32;
        if count == 0 && asked > 0 && !read.eof {
            return CallOutcome::Ends(Status::Garbage);
        }
        let outcome = &mut self.ops.get_mut(op).outcome;
        outcome.read_bytes = outcome.read_bytes.saturating_add(u64::from(count));
        outcome.end |= read.eof;
        if !is_right {
            let span = Span {
                offset,
                length: asked,
            };
            let verdict = self.judge_mismatch(op, span, Status::Corrupt);
            if verdict != CallOutcome::Ok {
                return verdict;
            }
        }
        let lost = read.eof && count < asked;
        self.read_ended(op, (offset, asked, count), lost)
    }

    /// A part of a COPY, or all of it, was copied.
    pub(super) fn copied(
        &mut self,
        op: u32,
        action: V4Action,
        response: &WriteResponse4,
    ) -> CallOutcome {
        let V4Action::Copy { length, .. } = action else {
            return CallOutcome::Ends(Status::Garbage);
        };
        let left = u64::from(length).saturating_sub(self.own.works[op as usize].copied);
        if let Some(stateid) = response.callback_id {
            let proc = self.ops.get(op).proc;
            return match self.may_go_on(proc, left) {
                true => self.copy_goes_on(op, stateid, response.writeverf),
                false => CallOutcome::Ends(Status::Refused(ASYNCHRONOUS_COPY)),
            };
        }
        let state = &mut self.own.works[op as usize];
        if response.count == 0 || response.count > left {
            return CallOutcome::Ends(Status::Garbage);
        }
        state.copied += response.count;
        if response.committed == StableHow::Unstable {
            let verf = response.writeverf;
            if state.verf.is_some_and(|earlier| earlier != verf) {
                return CallOutcome::Ends(Status::Refused(COPY_LOST));
            }
            state.verf = Some(verf);
        }
        state.next = match (response.count < left, state.verf) {
            (true, _) => Some(Work::Copy),
            (false, Some(_)) => Some(Work::CommitCopy),
            (false, None) => None,
        };
        CallOutcome::Ok
    }
}

/// The range that an operation locks is its own: no operation of the proc waits for another one.
const fn locked_offset(op: u32) -> u64 {
    op as u64 * LOCKED_BYTES
}

const fn lock(op: u32, open_stateid: Stateid4, owner: &[u8]) -> LockArgs<'_> {
    LockArgs {
        locktype: NfsLockType4::Write,
        reclaim: false,
        offset: locked_offset(op),
        length: LOCKED_BYTES,
        locker: Locker4::New(OpenToLockOwner4 {
            open_seqid: 0,
            open_stateid,
            lock_seqid: 0,
            lock_owner: StateOwner4 { clientid: 0, owner },
        }),
    }
}

const fn unlock(op: u32, lock_stateid: Stateid4) -> LockuArgs {
    LockuArgs {
        locktype: NfsLockType4::Write,
        seqid: 0,
        lock_stateid,
        offset: locked_offset(op),
        length: LOCKED_BYTES,
    }
}

/// The operation on the current file, and GETATTR behind what changes it.
fn encode_on_file(
    action: V4Action,
    (stateid, generation): (Stateid4, u64),
    compound: &mut Compound<'_>,
) {
    match action {
        V4Action::Allocate { offset, length, .. } => {
            let length = length.into();
            let args = AllocateArgs {
                stateid,
                offset,
                length,
            };
            compound.op(&args).op(&GETATTR);
        }
        V4Action::Deallocate { offset, length, .. } => {
            let length = length.into();
            let args = DeallocateArgs {
                stateid,
                offset,
                length,
            };
            compound.op(&args).op(&GETATTR);
        }
        V4Action::Seek {
            offset, is_hole, ..
        } => {
            let what = match is_hole {
                true => DataContent4::Hole,
                false => DataContent4::Data,
            };
            compound.op(&SeekArgs {
                stateid,
                offset,
                what,
            });
        }
        V4Action::Getxattr { attribute, .. } => {
            let name = attribute_name(attribute);
            compound.op(&GetxattrArgs { name: &name });
        }
        V4Action::Setxattr { attribute, .. } => {
            let name = attribute_name(attribute);
            let value = attribute_value(attribute, generation);
            let args = SetxattrArgs {
                option: SetxattrOption4::Either,
                name: &name,
                value: &value,
            };
            compound.op(&args).op(&GETATTR);
        }
        V4Action::Listxattrs { .. } => {
            compound.op(&ListxattrsArgs {
                cookie: 0,
                maxcount: LIST_BYTES,
            });
        }
        V4Action::Removexattr { attribute, .. } => {
            let name = attribute_name(attribute);
            compound.op(&RemovexattrArgs { name: &name }).op(&GETATTR);
        }
        // Encoded above.
        V4Action::Open { .. }
        | V4Action::Lock { .. }
        | V4Action::ReadPlus { .. }
        | V4Action::Copy { .. }
        | V4Action::Clone { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_of_attributes_differ() {
        assert_eq!(&attribute_name(15), b"filermark-0015");
        assert_ne!(attribute_value(1, 9), attribute_value(2, 9));
        let value = attribute_value(3, 9);
        for known in [Value::Any, Value::Of(9), Value::Unsettled] {
            assert!(is_value(3, known, &value));
            assert!(!is_value(2, known, &value), "that of another attribute");
            assert!(!is_value(3, known, &value[1..]) && !is_value(3, known, &[]));
        }
        assert!(!is_value(3, Value::Of(8), &value));
    }

    #[test]
    fn operations_under_way_have_owners_and_ranges_of_their_own() {
        let name = |proc, op| operation_owner(proc, op).as_bytes().to_vec();
        assert_ne!(name(1, 2), name(2, 1));
        assert!(name(1, 2).starts_with(OwnerName::new(1, None).as_bytes()));
        assert!(locked_offset(2) >= locked_offset(1) + LOCKED_BYTES);
    }
}
