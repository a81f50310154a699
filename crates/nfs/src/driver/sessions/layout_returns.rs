//! How layouts go: LAYOUTCOMMIT and LAYOUTRETURN (RFC 8881 sections 18.42 and 18.44), alone or with CLOSE,
//! CB_LAYOUTRECALL (section 20.3), and what is lost.

use super::compounds::StateCall;
use super::layout_commits::{layoutcommit, warn_of_refusal};
use super::layouts::{FileLayout, Standing, TransferError};
use super::opens;
use super::results::{Early, Results};
use super::state::{Closing, Left, Sessions};
use crate::driver::core::Core;
use crate::driver::counters::Tally;
use crate::driver::reply::CallOutcome;
use filermark_engine::driver::Status;
use filermark_onc::nfs4::callback::{CbLayoutrecallArgs, Layoutrecall4};
use filermark_onc::nfs4::flexfiles::{FfIoerr4, FfLayoutreturn4};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::{self, Array, DecodeError};

/// `ff_layoutreturn4` without errors and statistics (RFC 8435 section 9.3).
const NOTHING_TO_REPORT: [u8; 8] = [0; 8];

impl Core<Sessions> {
    /// LAYOUTCOMMIT, if it is needed, and LAYOUTRETURN of all layouts of a file, behind its PUTFH.
    pub(super) fn encode_return(
        &self,
        returned: &Closing,
        commits: bool,
        compound: &mut CompoundWriter<'_, Operation>,
    ) {
        let known = returned
            .layout
            .and_then(|place| self.own.layouts.get(place));
        let stateid = match known {
            Some(known) => known.stateid,
            // It came when its file was not open any more.
            None => Some(returned.stateid),
        };
        let Some(stateid) = stateid else {
            return;
        };
        if commits {
            compound.op(&layoutcommit(stateid, known.and_then(|of| of.last_write)));
        }
        let mut report = Vec::new();
        let body = match known.and_then(|known| known.error.as_ref()) {
            None => &NOTHING_TO_REPORT[..],
            Some(error) => {
                append_report(error, stateid, &mut report);
                &report
            }
        };
        compound.op(&LayoutreturnArgs {
            reclaim: false,
            layout_type: layout_type::FLEX_FILES,
            iomode: Layoutiomode4::Any,
            layoutreturn: Layoutreturn4::File(LayoutreturnFile4 {
                offset: 0,
                length: u64::MAX,
                stateid,
                body,
            }),
        });
    }

    /// Begins the LAYOUTRETURN of layouts that were recalled, or whose data server has failed, and that no
    /// call uses. What needs a COMMIT is committed before that; what a data server that has failed has not
    /// committed is written again to the metadata server. `false`: there is no capacity for a call.
    pub(super) fn return_due_layouts(&mut self, conn: u32) -> bool {
        for proc in self.procs_of(conn) {
            let is_due = |(_, layout): &(u32, u32)| {
                let layout = self.own.layouts.get(*layout);
                layout.is_some_and(FileLayout::is_due)
            };
            let due: Vec<(u32, u32)> = self.own.opens[proc].layouts().filter(is_due).collect();
            for (key, layout) in due {
                let place = (proc as u32, key);
                let known = self.own.layouts.get(layout);
                let is_committed_first = known
                    .is_some_and(|of| of.standing == Standing::Recalled && !of.is_unsettled)
                    && self.has_uncommitted(place, layout);
                let is_begun = match is_committed_first {
                    true => opens::object_of(key)
                        .is_none_or(|object| self.settle_file(proc as u32, object)),
                    false => self.return_layout(conn, place, layout),
                };
                if !is_begun {
                    return false;
                }
            }
        }
        true
    }

    /// A file that is being filled is closed by the operation, so that its LAYOUTRETURN is a call of that, too.
    fn return_layout(&mut self, conn: u32, (proc, key): (u32, u32), layout: u32) -> bool {
        let known = self.own.layouts.get(layout);
        let commits = known.is_some_and(|known| known.last_write.is_some());
        let op = opens::fill_of(key);
        let kind = |place| StateCall::ReturnLayout(place, commits);
        self.begin_layout_call(op, conn, (proc, key), kind)
    }

    /// Whether layouts of the connection's files are to be returned later.
    pub(super) fn has_ended_layouts(&self, conn: u32) -> bool {
        let is_ended = |layout: u32| {
            let layout = self.own.layouts.get(layout);
            layout.is_some_and(|layout| layout.standing != Standing::Good)
        };
        let mut procs = self.procs_of(conn);
        procs.any(|proc| {
            self.own.opens[proc]
                .layouts()
                .any(|(_, layout)| is_ended(layout))
        })
    }

    /// The results of PUTFH, LAYOUTCOMMIT and LAYOUTRETURN; `false`: the layouts were not returned, and
    /// what is behind them in the COMPOUND was not executed.
    pub(super) fn return_results(
        &mut self,
        (place, commits): (u32, bool),
        compound: &mut Results<'_>,
    ) -> Result<bool, Early> {
        match returned(commits, compound)? {
            Ok(()) => {
                self.counters.add(Tally::LayoutsReturned);
                return Ok(true);
            }
            Err((status @ (Nfsstat4::Delay | Nfsstat4::Grace), _)) => return Err(status.into()),
            Err((status, Left::Return)) => {
                warn_of_refusal(status);
                self.own.note_left(place, Left::Return);
            }
            Err((status, left)) => {
                tracing::debug!(%status, "LAYOUTRETURN was refused");
                self.counters.add(Tally::LayoutsLost);
                self.own.note_left(place, left);
            }
        }
        Ok(false)
    }

    /// A call that returns layouts has ended. If one of its operations was refused, begins a call with those
    /// behind it: the server keeps the layout, and the open, until they come.
    pub(super) fn send_left(
        &mut self,
        conn: u32,
        op: u32,
        kind: StateCall,
        outcome: CallOutcome,
    ) -> bool {
        let (place, closes) = match kind {
            StateCall::CloseReturning(place, _) => (place, true),
            StateCall::ReturnLayout(place, _) => (place, false),
            _ => return false,
        };
        let is_unanswered = matches!(
            outcome,
            CallOutcome::Ends(Status::TimedOut | Status::Disconnected)
        );
        let kind = match (self.own.take_left(place), closes) {
            (Left::Return, true) => StateCall::CloseReturning(place, false),
            (Left::Return, false) => StateCall::ReturnLayout(place, false),
            (Left::Close, true) => StateCall::Close(place),
            (Left::Close, false) | (Left::Nothing, _) => return false,
        };
        !is_unanswered && self.own_call(conn, Some(op), kind)
    }

    /// A layout has come for a file that is not open any more as it was asked for: it is returned
    /// (RFC 8881 section 18.44.3), unless the file has got it with its next open.
    pub(super) fn return_late(&mut self, slot: u32, place: u32, stateid: Stateid4) {
        let call = self.calls.get(slot);
        let (op, conn) = (call.op, call.conn);
        let Some(of) = self.own.closing(place) else {
            return;
        };
        let file = self.own.opens[of.proc as usize].get(of.key);
        let layout = file.and_then(|file| self.own.layouts.get(file.layout?));
        let known = layout.and_then(|layout| layout.stateid);
        if known.is_some_and(|known| known.other == stateid.other) {
            return;
        }
        let of = Closing::new(stateid, of.handle, (of.proc, of.key));
        let place = self.own.keep_closing(of);
        if self.own_call(conn, Some(op), StateCall::ReturnLayout(place, false)) {
            self.own.client(conn).closing += 1;
        } else {
            // It is not used: if the server recalls it, there is none (section 12.5.5.1).
            self.own.forget_closing(place);
        }
    }

    /// LAYOUTRETURN has ended, whatever its outcome.
    pub(super) fn layout_returned(&mut self, conn: u32, place: u32) {
        let Some((returned, layout)) = self.layout_call_ended(conn, place) else {
            return;
        };
        if let Some(layout) = self.own.layouts.get_mut(layout)
            && layout.standing != Standing::Gone
        {
            layout.reset();
        }
        self.end_asking(&returned, layout);
    }

    /// CB_LAYOUTRECALL: layouts are returned when no call uses them. The layouts of a file are returned
    /// together, whatever access was recalled.
    pub(super) fn recall_layouts(&mut self, conn: u32, args: &CbLayoutrecallArgs<'_>) -> Nfsstat4 {
        if args.layout_type != layout_type::FLEX_FILES {
            return Nfsstat4::NomatchingLayout;
        }
        let mut found = false;
        let mut is_asking = false;
        for proc in self.procs_of(conn) {
            let opens = &self.own.opens[proc];
            is_asking |= opens.asking().next().is_some();
            let layouts: Vec<(u32, u32)> = opens.layouts().collect();
            for (key, place) in layouts {
                let is_meant = match &args.recall {
                    Layoutrecall4::File(of) => {
                        self.handle_of(proc as u32, key).as_bytes() == of.fh.as_bytes()
                    }
                    Layoutrecall4::Fsid(_) | Layoutrecall4::All => true,
                };
                let layout = self.own.layouts.get_mut(place);
                let Some(layout) = layout.filter(|of| is_meant && of.stateid.is_some()) else {
                    continue;
                };
                found = true;
                if layout.standing == Standing::Good {
                    layout.standing = Standing::Recalled;
                    layout.is_unsettled = false;
                    self.counters.add(Tally::LayoutsRecalled);
                }
            }
        }
        self.own.client(conn).has_recalls |= found;
        match (found, is_asking) {
            (true, _) => Nfsstat4::Ok,
            // The reply to the LAYOUTGET may not have come (RFC 8881 section 12.5.5.2).
            (false, true) => Nfsstat4::Delay,
            (false, false) => Nfsstat4::NomatchingLayout,
        }
    }

    /// The server has lost the client: no file of this proc has a layout any more.
    pub(super) fn lose_layouts(&mut self, proc: usize) {
        for place in self.own.opens[proc].take_layouts() {
            self.lose_layout(place);
        }
    }

    pub(super) fn lose_layout(&mut self, place: u32) {
        let was_granted = self.own.layouts.lose(place);
        self.counters
            .add_many(Tally::LayoutsLost, u64::from(was_granted));
    }
}

/// What a COMPOUND that returns layouts says of PUTFH, LAYOUTCOMMIT and LAYOUTRETURN: the first refusal, and what
/// was not executed because of it.
fn returned(
    commits: bool,
    compound: &mut Results<'_>,
) -> Result<Result<(), (Nfsstat4, Left)>, DecodeError> {
    if let Err(status) = compound.read::<PutfhArgs<'_>>()? {
        return Ok(Err((status, Left::Close)));
    }
    if commits && let Err(status) = compound.read::<LayoutcommitArgs<'_>>()? {
        return Ok(Err((status, Left::Return)));
    }
    let returned = compound.read::<LayoutreturnArgs<'_>>()?;
    Ok(returned.map(|_| ()).map_err(|status| (status, Left::Close)))
}

/// `ff_layoutreturn4` with an error (RFC 8435 section 9.3).
fn append_report(error: &TransferError, stateid: Stateid4, out: &mut Vec<u8>) {
    let errors = [DeviceError4 {
        device_id: error.device,
        status: error.status,
        opnum: error.operation.to_u32(),
    }];
    let reports = [FfIoerr4 {
        offset: error.offset,
        length: error.length,
        stateid,
        errors: Array::new(&errors).unwrap_or_default(),
    }];
    let report = FfLayoutreturn4 {
        ioerr_report: Array::new(&reports).unwrap_or_default(),
        iostats_report: Array::EMPTY,
    };
    xdr::append(out, &report);
}
