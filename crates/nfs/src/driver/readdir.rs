//! READDIR and READDIRPLUS: lists a directory in parts.

use super::core::{Core, Cursor, Span};
use super::counters::Tally;
use super::reply::CallOutcome;
use super::variant::Variant;
use crate::version2;
use filermark_engine::driver::{Action, ObjectId, Status};
use filermark_onc::nfs2;
use filermark_onc::nfs3::*;
use filermark_onc::xdr::{Decode, DecodeError};

/// What the driver uses of a listing reply.
pub(crate) struct ListingPart {
    pub(crate) cookie: Option<u64>,
    pub(crate) eof: bool,
}

impl<V: Variant> Core<V> {
    /// Continues this proc's listing of `dir`, or begins it.
    pub(crate) fn list(&mut self, op: u32, dir: ObjectId, plus: bool) {
        let logical = self.ops.get_mut(op);
        let key = (logical.proc, dir, plus);
        let cursor = self.cursors.get(&key).copied().unwrap_or(Cursor::START);
        logical.verf = cursor.verf;
        let procedure = match plus {
            true => Procedure::Readdirplus,
            false => Procedure::Readdir,
        };
        let span = Span {
            offset: cursor.cookie,
            length: 0,
        };
        self.call(op, procedure, span);
    }

    pub(crate) fn listed(
        &mut self,
        slot: u32,
        verf: Verf,
        part: Result<ListingPart, DecodeError>,
    ) -> CallOutcome {
        let op = self.calls.get(slot).op;
        let logical = self.ops.get_mut(op);
        let Action::Readdir { dir, plus } = logical.action else {
            return CallOutcome::Ends(Status::Garbage);
        };
        let key = (logical.proc, dir, plus);
        match part {
            Ok(ListingPart { eof: true, .. }) => {
                logical.outcome.end = true;
                self.cursors.remove(&key);
                CallOutcome::Ok
            }
            Ok(ListingPart {
                cookie: Some(cookie),
                ..
            }) => {
                self.cursors.insert(key, Cursor { cookie, verf });
                CallOutcome::Ok
            }
            // Neither entries nor the end: a continued listing would never end.
            Ok(ListingPart { cookie: None, .. }) | Err(_) => {
                self.cursors.remove(&key);
                CallOutcome::Ends(Status::Garbage)
            }
        }
    }

    /// If the cookie has become stale, restarts the listing once.
    pub(crate) fn not_listed(&mut self, slot: u32, status: Nfsstat3) -> CallOutcome {
        let call = self.calls.get(slot);
        let logical = self.ops.get_mut(call.op);
        if let Action::Readdir { dir, plus } = logical.action {
            let stale = matches!(status, Nfsstat3::BadCookie | Nfsstat3::NotSync);
            if stale {
                self.cursors.remove(&(logical.proc, dir, plus));
            }
            if stale && call.offset != 0 && logical.repeats == 0 {
                logical.repeats = 1;
                logical.verf = Verf::default();
                self.counters.add(Tally::ReaddirRestarts);
                return CallOutcome::Retry(Span::NONE);
            }
        }
        CallOutcome::Failed(status)
    }
}

impl Core {
    pub(crate) fn has_listed(&mut self, slot: u32, results: ReaddirRes<'_>) -> CallOutcome {
        match results {
            Ok(ok) => self.listed(slot, ok.cookieverf, part(&ok.reply, |e| e.cookie)),
            Err(failed) => self.not_listed(slot, failed.status),
        }
    }

    pub(crate) fn has_listed_plus(
        &mut self,
        slot: u32,
        results: ReaddirplusRes<'_>,
    ) -> CallOutcome {
        match results {
            Ok(ok) => self.listed(slot, ok.cookieverf, part(&ok.reply, |e| e.cookie)),
            Err(failed) => self.not_listed(slot, failed.status),
        }
    }

    /// Version 2 has no verifier.
    pub(crate) fn has_listed_v2(
        &mut self,
        slot: u32,
        results: nfs2::ReaddirRes<'_>,
    ) -> CallOutcome {
        match results {
            Ok(ok) => {
                let part = part(&ok.reply, |e| e.cookie.into());
                self.listed(slot, Verf::default(), part)
            }
            Err(status) => self.not_listed(slot, version2::status(status)),
        }
    }
}

fn part<'a, E: Decode<'a>>(
    list: &DirList<'a, E>,
    cookie_of: impl Fn(&E) -> u64,
) -> Result<ListingPart, DecodeError> {
    let mut entries = list.iter();
    let mut cookie = None;
    for entry in &mut entries {
        cookie = Some(cookie_of(&entry?));
    }
    Ok(ListingPart {
        cookie,
        eof: entries.eof() == Some(true),
    })
}
