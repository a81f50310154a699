//! Copies that go on after the reply to COPY (RFC 7862 sections 4.4, 15.2 and 15.9): the operation ends with
//! CB_OFFLOAD. Should that be lost, the server is asked from time to time, by a call that waits until then.

use super::compounds::StateCall;
use super::results::{Early, Results};
use super::state::{SessionCall, Sessions};
use super::work_calls::{Offload, Work};
use crate::driver::calls::Call;
use crate::driver::core::Core;
use crate::driver::reply::CallOutcome;
use crate::driver::variant::Variant;
use filermark_engine::driver::{Action, Status, V4Action};
use filermark_onc::nfs4::callback::CbOffloadArgs;
use filermark_onc::nfs4::*;

/// A copy of more than so many transfers may go on after the reply, as other clients allow (Linux).
const TRANSFERS: u64 = 2;
/// How often a range is copied again because the server does not know the copy any more.
const RESTARTS_MAX: u8 = 3;

impl Core<Sessions> {
    /// Whether the server may copy so many bytes after its reply.
    pub(super) fn may_go_on(&self, proc: u32, bytes: u64) -> bool {
        bytes > TRANSFERS * u64::from(self.file_system(proc).rsize)
    }

    /// The server copies after its reply to COPY.
    pub(super) fn copy_goes_on(&mut self, op: u32, stateid: Stateid4, verf: Verf) -> CallOutcome {
        let state = &mut self.own.works[op as usize];
        state.offload = Some(Offload {
            stateid,
            verf,
            asked: 0,
            call: u32::MAX,
        });
        state.next = Some(Work::CopyStatus);
        CallOutcome::Ok
    }

    /// The call that asks for a copy was begun: it waits some time before it is sent.
    pub(super) fn wait_for_copy(&mut self, op: u32) {
        let now = self.state.now;
        let conn = self.procs[self.ops.get(op).proc as usize].conn;
        let found = self.queued(conn).find(|slot| self.asks_for_copy(*slot, op));
        let (Some(slot), Some(offload)) = (found, &mut self.own.works[op as usize].offload) else {
            return;
        };
        offload.call = slot;
        self.calls.get_mut(slot).waits = offload.asked;
        offload.asked = offload.asked.saturating_add(1);
        self.park_uncounted(slot, now);
    }

    /// Whether the server may be asked for the copy of an operation once more, after a wait.
    pub(super) fn may_ask_for_copy(&self, op: u32) -> bool {
        let offload = self.own.works[op as usize].offload;
        let delay = offload.and_then(|of| <Sessions as Variant>::delay(self, of.asked));
        delay.is_some() && !self.state.stop.is_raised()
    }

    /// Whether a call in this slot asks for the copy of this operation.
    fn asks_for_copy(&self, slot: u32, op: u32) -> bool {
        let is_it = |call: &Call<SessionCall>| {
            call.op == op && call.own.kind == Some(StateCall::Work(Work::CopyStatus))
        };
        self.calls.is_used(slot) && is_it(self.calls.get(slot))
    }

    /// Whether a COPY is under way for the client.
    fn copies(&self, conn: u32) -> bool {
        let mut queued = self.queued(conn);
        queued.any(|slot| self.calls.get(slot).own.kind == Some(StateCall::Work(Work::Copy)))
    }

    /// What OFFLOAD_STATUS says. A server that does not know the copy has restarted, or its CB_OFFLOAD was lost: the
    /// range is copied again.
    pub(super) fn copy_status(
        &mut self,
        op: u32,
        action: V4Action,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let status = compound.read::<OffloadStatusArgs>()?;
        let Some(offload) = self.own.works[op as usize].offload else {
            // CB_OFFLOAD was faster.
            return Ok(CallOutcome::Ok);
        };
        let ended = match status {
            Ok(status) => match status.complete {
                None => {
                    self.own.works[op as usize].next = Some(Work::CopyStatus);
                    return Ok(CallOutcome::Ok);
                }
                Some(Nfsstat4::Ok) => Ok(WriteResponse4 {
                    callback_id: None,
                    count: status.count,
                    // How safe it is, it does not say.
                    committed: StableHow::Unstable,
                    writeverf: offload.verf,
                }),
                Some(status) => Err(status),
            },
            Err(Nfsstat4::BadStateid | Nfsstat4::StaleStateid) => {
                let state = &mut self.own.works[op as usize];
                state.offload = None;
                state.restarts = state.restarts.saturating_add(1);
                if state.restarts > RESTARTS_MAX {
                    return Err(Nfsstat4::BadStateid.into());
                }
                state.next = Some(Work::Copy);
                return Ok(CallOutcome::Ok);
            }
            Err(status) => return Err(status.into()),
        };
        Ok(self.copy_ended(op, action, ended))
    }

    fn copy_ended(
        &mut self,
        op: u32,
        action: V4Action,
        ended: Result<WriteResponse4, Nfsstat4>,
    ) -> CallOutcome {
        self.own.works[op as usize].offload = None;
        match ended {
            Ok(response) => self.copied(op, action, &response),
            Err(status) => super::reply::failed(status),
        }
    }

    /// CB_OFFLOAD: a copy has ended. It may come before the reply to its COPY.
    pub(super) fn offload_ended(&mut self, conn: u32, args: &CbOffloadArgs<'_>) -> Nfsstat4 {
        let is_it = |offload: Option<Offload>| offload.is_some_and(|of| of.stateid == args.stateid);
        let found = self.own.works.iter().position(|work| is_it(work.offload));
        let Some(op) = found.map(|op| op as u32) else {
            return match self.copies(conn) {
                true => Nfsstat4::Delay,
                false => Nfsstat4::BadStateid,
            };
        };
        let logical = self.ops.get(op);
        let of = self.procs[logical.proc as usize].conn;
        let Action::V4(action) = logical.action else {
            return Nfsstat4::BadStateid;
        };
        if !self.own.is_same_client(of, conn) {
            return Nfsstat4::BadStateid;
        }
        let asking = self.own.works[op as usize].offload.map(|of| of.call);
        let ended = args.offload_info.map_err(|failed| failed.status);
        let outcome = self.copy_ended(op, action, ended);
        let Some(slot) = asking.filter(|slot| self.asks_for_copy(*slot, op)) else {
            return Nfsstat4::Ok;
        };
        if self.calls.get(slot).on_wire {
            // Its answer goes on with the operation.
            match outcome {
                CallOutcome::Failed(status) => {
                    self.ops.get_mut(op).fail(Status::Refused(status.to_u32()));
                }
                CallOutcome::Ends(status) => self.ops.get_mut(op).fail(status),
                CallOutcome::Ok | CallOutcome::Retry(_) => {}
            }
        } else {
            // It was not sent, and is no physical operation.
            self.calls.get_mut(slot).rewrite = true;
            self.end_call(slot, outcome, self.state.now);
        }
        Nfsstat4::Ok
    }
}
