//! How layouts go: LAYOUTCOMMIT and LAYOUTRETURN (RFC 8881 sections 18.42 and 18.44), alone or with CLOSE,
//! CB_LAYOUTRECALL (section 20.3), and what is lost.

use super::compounds::StateCall;
use super::layout_commits::layoutcommit;
use super::layouts::{FileLayout, Standing, TransferError};
use super::opens;
use super::results::{Early, Results};
use super::state::{Closing, Sessions};
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
        let Some((layout, stateid)) = known.and_then(|known| Some((known, known.stateid?))) else {
            return;
        };
        if commits {
            compound.op(&layoutcommit(stateid, layout.last_write));
        }
        let mut report = Vec::new();
        let body = match &layout.error {
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
                let standing = self.own.layouts.get(layout).map(|of| of.standing);
                let is_begun = match standing == Some(Standing::Recalled)
                    && self.has_uncommitted(place, layout)
                {
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
        let op = match opens::object_of(key) {
            Some(_) => None,
            None => Some(opens::fill_of(key)),
        };
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

    /// The results of LAYOUTCOMMIT and LAYOUTRETURN; `Err`: why the layouts were not returned.
    pub(super) fn return_results(
        &mut self,
        commits: bool,
        compound: &mut Results<'_>,
    ) -> Result<Result<(), Nfsstat4>, DecodeError> {
        if commits && let Err(status) = compound.read::<LayoutcommitArgs<'_>>()? {
            return Ok(Err(status));
        }
        if let Err(status) = compound.read::<LayoutreturnArgs<'_>>()? {
            return Ok(Err(status));
        }
        self.counters.add(Tally::LayoutsReturned);
        Ok(Ok(()))
    }

    /// The results of a CLOSE behind the LAYOUTRETURN of the file's layouts: if the server does not know
    /// those, the CLOSE alone follows.
    pub(super) fn close_returning_results(
        &mut self,
        (place, commits): (u32, bool),
        compound: &mut Results<'_>,
    ) -> Result<bool, Early> {
        let returned = match compound.read::<PutfhArgs<'_>>()? {
            Ok(()) => self.return_results(commits, compound)?,
            Err(status) => Err(status),
        };
        match returned {
            Ok(()) => Ok(true),
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => Err(status.into()),
            Err(status) => {
                tracing::debug!(%status, "LAYOUTRETURN was refused");
                self.counters.add(Tally::LayoutsLost);
                self.own.set_unclosed(place, true);
                Ok(false)
            }
        }
    }

    /// A CLOSE with LAYOUTRETURN has ended: begins the CLOSE alone, if that was not executed.
    pub(super) fn close_alone(
        &mut self,
        conn: u32,
        op: u32,
        place: u32,
        outcome: CallOutcome,
    ) -> bool {
        let is_unanswered = matches!(
            outcome,
            CallOutcome::Ends(Status::TimedOut | Status::Disconnected)
        );
        let is_unclosed = self.own.set_unclosed(place, false);
        is_unclosed && !is_unanswered && self.own_call(conn, Some(op), StateCall::Close(place))
    }

    pub(super) fn return_layout_results(
        &mut self,
        commits: bool,
        compound: &mut Results<'_>,
    ) -> Result<CallOutcome, Early> {
        let returned = match compound.read::<PutfhArgs<'_>>()? {
            Ok(()) => self.return_results(commits, compound)?,
            Err(status) => Err(status),
        };
        match returned {
            Ok(()) => {}
            Err(status @ (Nfsstat4::Delay | Nfsstat4::Grace)) => return Err(status.into()),
            Err(_) => self.counters.add(Tally::LayoutsLost),
        }
        Ok(CallOutcome::Ok)
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
