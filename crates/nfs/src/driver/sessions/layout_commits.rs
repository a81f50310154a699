//! What was written with layouts and is not stable yet, or not known to the metadata server: COMMIT comes before
//! LAYOUTCOMMIT (RFC 8435 section 2.1), and both before the layout is returned (RFC 8881 section 18.44.3) and
//! before the metadata server is asked for what was written (section 12.5.4).

use super::compounds::StateCall;
use super::encode::putfh;
use super::layouts::{Access, PartState, Route, Standing};
use super::opening::Prepared;
use super::opens;
use super::results::{Early, Results};
use super::state::Sessions;
use super::work_calls::Work;
use crate::driver::core::Core;
use crate::driver::ops::LogicalOp;
use crate::driver::reply::CallOutcome;
use filermark_engine::driver::Action;
use filermark_onc::nfs3::{Procedure, Verf};
use filermark_onc::nfs4::*;

/// How often a call waits for COMMIT or LAYOUTCOMMIT of its files before it is sent without that.
const COMMITS_MAX: u8 = 4;

impl Core<Sessions> {
    /// The data server that a file is written to with its layouts, and its latest known write verifier.
    fn written_to(&self, layout: u32) -> Option<(u32, Option<Verf>)> {
        let part = self.own.layouts.get(layout)?.part(Access::Write);
        match part.state {
            PartState::Held(server) => Some((server, self.own.data_servers.known_verf(server))),
            _ => None,
        }
    }

    /// Whether data that was written with these layouts of a file needs a COMMIT.
    pub(super) fn has_uncommitted(&mut self, (proc, key): (u32, u32), layout: u32) -> bool {
        let Some((_, Some(verf))) = self.written_to(layout) else {
            return false;
        };
        let held = opens::object_of(key).and_then(|object| self.uncommitted.find(proc, object));
        if let Some(held) = held {
            let (ranges, is_committed) = (held.ranges, held.committer().is_some());
            let mut held = self.uncommitted.ranges.iter(ranges);
            if is_committed || held.any(|range| range.verf == verf) {
                return true;
            }
        }
        self.ops.any_under_way(|number, op| {
            let is_its_file = match op.action {
                Action::Write { object, .. } => opens::of_object(object) == key,
                Action::Fill { .. } => opens::of_fill(number) == key,
                _ => false,
            };
            let is_unstable = !op.unstable.is_none() && op.verf == verf;
            let has_ranges = !op.sent.is_empty() || !op.lost.is_empty();
            let is_committing = has_ranges && !op.commits_file;
            op.proc == proc && is_its_file && (is_unstable || is_committing)
        })
    }

    /// Where a COMMIT is sent: to the server that has answered the WRITEs which it covers. If both the metadata
    /// server and the data server have answered some, what the one has answered that gets no COMMIT is written
    /// again.
    pub(super) fn route_of_commit(&self, op: u32, layout: u32) -> Route {
        let standing = self.own.layouts.get(layout).map(|of| of.standing);
        let Some((server, verf)) = self.written_to(layout) else {
            return Route::MetadataServer;
        };
        let logical = self.ops.get(op);
        let ranges = self.uncommitted.ranges.iter(logical.sent);
        let suspects = logical.suspects.iter().flatten();
        let mut verfs = ranges
            .map(|range| range.verf)
            .chain(suspects.map(|of| of.verf))
            .peekable();
        let is_empty = verfs.peek().is_none();
        let of_metadata_server = self.verfs[self.procs[logical.proc as usize].file_system as usize];
        let is_elsewhere = |of: Verf| {
            Some(of) != verf && of_metadata_server.number > 0 && of == of_metadata_server.verf
        };
        let at_data_server = match standing {
            Some(Standing::Good) => is_empty || !verfs.all(is_elsewhere),
            Some(Standing::Recalled) => !is_empty && verfs.all(|of| Some(of) == verf),
            Some(Standing::Failed | Standing::Gone) | None => false,
        };
        match at_data_server {
            true => Route::DataServer(server, Access::Write),
            false => Route::MetadataServer,
        }
    }

    /// The files of which a call to the metadata server reads data, or changes the size: their keys.
    fn sized_keys(&self, slot: u32) -> [Option<u32>; 2] {
        let call = self.calls.get(slot);
        let logical: &LogicalOp = self.ops.get(call.op);
        match (call.own.kind, call.procedure) {
            (None, Procedure::Read) => [Some(self.key_of(slot)), None],
            (None, Procedure::Setattr) => match logical.action {
                Action::Setattr {
                    object,
                    size: Some(_),
                } => [Some(opens::of_object(object)), None],
                _ => [None; 2],
            },
            (Some(StateCall::Work(work)), _) if work != Work::Lock => {
                self.keys_of_work(logical, work)
            }
            _ => [None; 2],
        }
    }

    /// Has a call to the metadata server wait until that knows what was written to the data server.
    pub(super) fn prepare_size(&mut self, slot: u32) -> Prepared {
        let call = self.calls.get(slot);
        if call.on_wire || call.own.slot.is_some() || call.own.commits >= COMMITS_MAX {
            return Prepared::Ready;
        }
        let (op, conn) = (call.op, call.conn);
        let proc = self.ops.get(op).proc;
        for key in self.sized_keys(slot).into_iter().flatten() {
            let file = self.own.opens[proc as usize].get(key);
            let Some((layout, is_asking)) = file.and_then(|of| Some((of.layout?, of.is_asking)))
            else {
                continue;
            };
            let is_known = |of: &super::layouts::FileLayout| {
                let is_reported = of.last_write.is_none() && of.reported.is_none();
                of.stateid.is_none() || is_reported || of.is_commit_refused
            };
            if self.own.layouts.get(layout).is_none_or(is_known) {
                continue;
            }
            if !is_asking && !self.commit_for(op, conn, (proc, key), layout) {
                return Prepared::Blocked;
            }
            self.calls.get_mut(slot).own.commits += 1;
            return self.wait_for(slot, proc, key);
        }
        Prepared::Ready
    }

    /// Begins the COMMIT of a file, or LAYOUTCOMMIT if it needs none; `false`: there is no capacity for a call.
    fn commit_for(&mut self, op: u32, conn: u32, (proc, key): (u32, u32), layout: u32) -> bool {
        if self.has_uncommitted((proc, key), layout) {
            // The server does it for this operation.
            let now = self.state.now;
            self.ops.get_mut(op).stamp_sent(now);
            return opens::object_of(key).is_none_or(|object| self.settle_file(proc, object));
        }
        if !self.begin_layout_call(Some(op), conn, (proc, key), StateCall::CommitLayout) {
            return false;
        }
        if let Some(layout) = self.own.layouts.get_mut(layout) {
            layout.reported = layout.last_write.take();
        }
        true
    }

    /// An operation has ended: calls that wait for its COMMIT go on.
    pub(super) fn wake_after(&mut self, op: u32) {
        if !self.own.uses_layouts() {
            return;
        }
        self.note_unsettled(op);
        if self.own.waiting.is_empty() {
            return;
        }
        let logical = self.ops.get(op);
        let proc = logical.proc;
        let own = match logical.action {
            Action::Write { object, .. } | Action::Commit { object } => Some(object),
            _ => None,
        };
        for object in [own, logical.target.object].into_iter().flatten() {
            self.wake(proc, opens::of_object(object));
        }
    }

    /// Notes that an operation ends without the COMMIT that it was to make.
    fn note_unsettled(&mut self, op: u32) {
        let logical = self.ops.get(op);
        let has_ranges = !logical.sent.is_empty() || !logical.lost.is_empty() || logical.resending;
        let target = logical.target.object;
        let Some(object) = target.filter(|_| logical.commits_file && has_ranges) else {
            return;
        };
        let file = self.own.opens[logical.proc as usize].get(opens::of_object(object));
        if let Some(layout) = file.and_then(|file| file.layout)
            && let Some(layout) = self.own.layouts.get_mut(layout)
        {
            layout.is_unsettled = true;
        }
    }

    pub(super) fn encode_layoutcommit(
        &self,
        place: u32,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let Some(of) = self.own.closing(place) else {
            return;
        };
        let layout = of.layout.and_then(|layout| self.own.layouts.get(layout));
        compound
            .op(&putfh(of.handle.handle()))
            .op(&layoutcommit(of.stateid, layout.and_then(|of| of.reported)));
    }

    pub(super) fn layoutcommit_results(
        &mut self,
        place: u32,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let committed = match compound.read::<PutfhArgs<'_>>()? {
            Ok(()) => compound.read::<LayoutcommitArgs<'_>>()?.map(|_| ()),
            Err(status) => Err(status),
        };
        match committed {
            Ok(()) => {
                let layout = self.own.closing(place).and_then(|of| of.layout);
                if let Some(layout) = layout.and_then(|of| self.own.layouts.get_mut(of)) {
                    layout.reported = None;
                }
            }
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => return Err(status.into()),
            Err(status) => {
                warn_of_refusal(status);
                let layout = self.own.closing(place).and_then(|of| of.layout);
                if let Some(layout) = layout.and_then(|of| self.own.layouts.get_mut(of)) {
                    layout.is_commit_refused = true;
                }
            }
        }
        Ok(CallOutcome::Ok)
    }

    /// LAYOUTCOMMIT has ended, whatever its outcome.
    pub(super) fn layout_committed(&mut self, conn: u32, place: u32) {
        let Some((of, layout)) = self.layout_call_ended(conn, place) else {
            return;
        };
        if let Some(entry) = self.own.layouts.get_mut(layout) {
            // Without success the CLOSE reports it.
            entry.last_write = entry.last_write.max(entry.reported.take());
            let is_good = entry.standing == Standing::Good;
            self.own.client(conn).has_recalls |= !is_good;
        }
        self.end_asking(&of, layout);
    }
}

/// Says what follows from a LAYOUTCOMMIT that was refused.
pub(super) fn warn_of_refusal(status: Nfsstat4) {
    tracing::warn!(
        %status,
        "LAYOUTCOMMIT was refused: the metadata server may not know what was written to a data server, and \
         reads through it may find an earlier end of the file"
    );
}

/// LAYOUTCOMMIT of a whole file that was written up to this byte.
pub(super) fn layoutcommit(
    stateid: Stateid4,
    last_write: Option<u64>,
) -> LayoutcommitArgs<'static> {
    LayoutcommitArgs {
        offset: 0,
        length: u64::MAX,
        reclaim: false,
        stateid,
        last_write_offset: last_write,
        time_modify: None,
        layoutupdate: LayoutContent4 {
            layout_type: layout_type::FLEX_FILES,
            body: &[],
        },
    }
}
