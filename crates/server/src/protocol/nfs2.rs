//! NFS version 2 (RFC 1094) on the same files: the switch over its procedures, beside version 3's.
//!
//! Version 2 has its own words for handles, attributes and statuses (`convert`); what a procedure does
//! is the file system's. Faults are written in version 3's names and hold for the procedure of version 2
//! that does the same ([`same_in_v3`]).
//!
//! ROOT and WRITECACHE: the RFC calls the one obsolete and the other unused, both without arguments,
//! results and status. They are answered with an empty success, as Linux's server does; there is no
//! status in which to refuse them.

mod change;
mod convert;
mod listing;
mod look;

use super::cache::{Done, Key};
use super::nfs::Context;
use super::{Caller, Peer, Refusal, Service, Verdict, caller, put, reply};
use filermark_onc::nfs2::{
    Args, AttrstatRes, DiropRes, Nfsstat, Procedure, ReadRes, ReaddirRes, ReadlinkRes, StatRes,
    StatfsRes,
};
use filermark_onc::nfs3;
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::Decoder;

pub(super) use convert::{attr, status, widen};
pub(super) use look::statfs_of;

/// Whose rules of `--delay` and `--error` hold for a procedure. ROOT and WRITECACHE do nothing, like NULL.
fn same_in_v3(procedure: Procedure) -> nfs3::Procedure {
    match procedure {
        Procedure::Null | Procedure::Root | Procedure::Writecache => nfs3::Procedure::Null,
        Procedure::Getattr => nfs3::Procedure::Getattr,
        Procedure::Setattr => nfs3::Procedure::Setattr,
        Procedure::Lookup => nfs3::Procedure::Lookup,
        Procedure::Readlink => nfs3::Procedure::Readlink,
        Procedure::Read => nfs3::Procedure::Read,
        Procedure::Write => nfs3::Procedure::Write,
        Procedure::Create => nfs3::Procedure::Create,
        Procedure::Remove => nfs3::Procedure::Remove,
        Procedure::Rename => nfs3::Procedure::Rename,
        Procedure::Link => nfs3::Procedure::Link,
        Procedure::Symlink => nfs3::Procedure::Symlink,
        Procedure::Mkdir => nfs3::Procedure::Mkdir,
        Procedure::Rmdir => nfs3::Procedure::Rmdir,
        Procedure::Readdir => nfs3::Procedure::Readdir,
        Procedure::Statfs => nfs3::Procedure::Fsstat,
    }
}

/// Procedures that must not be done twice. (CREATE cuts an existing file, so its repetition could lose
/// what was written in between.)
fn must_be_done_once(procedure: Procedure) -> bool {
    matches!(
        procedure,
        Procedure::Setattr
            | Procedure::Create
            | Procedure::Remove
            | Procedure::Rename
            | Procedure::Link
            | Procedure::Symlink
            | Procedure::Mkdir
            | Procedure::Rmdir
    )
}

/// What a fault did to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Injected {
    No,
    Answered,
    /// The status has no form in version 2.
    Dropped,
}

impl Service {
    pub(super) fn nfs2(
        &mut self,
        record: &[u8],
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Refusal> {
        let procedure = Procedure::from_u32(call.proc).ok_or(super::PROC_UNAVAIL)?;
        if self.loses_call() {
            return Ok(Verdict::Lose);
        }
        self.counters.nfs2[procedure as usize].add(1);
        if self.shared.options.null {
            return self.canned2(procedure, call.xid, d, peer, out);
        }
        let caller = caller(call)?;
        let args = Args::decode(procedure, d)?;
        let mut dropped = false;
        if must_be_done_once(procedure) {
            let shared = self.shared.clone();
            let key = Key::new(call.xid, (peer.client, peer.udp_port), record);
            let repeated = shared.cache.serve(key, &peer.session, out, |out| {
                match self.inject_error2(procedure, call.xid, out) {
                    Injected::No => {
                        self.run2(&args, &caller, call.xid, peer, out);
                        return Done::Yes;
                    }
                    injected => dropped = injected == Injected::Dropped,
                }
                Done::No
            });
            self.counters.duplicates_answered.add(u64::from(repeated));
        } else {
            match self.inject_error2(procedure, call.xid, out) {
                Injected::No => self.run2(&args, &caller, call.xid, peer, out),
                injected => dropped = injected == Injected::Dropped,
            }
        }
        if dropped {
            return Ok(self.dropped2(peer));
        }
        Ok(self.verdict(same_in_v3(procedure), peer))
    }

    fn canned2(
        &self,
        procedure: Procedure,
        xid: u32,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<Verdict, Refusal> {
        match self.inject_error2(procedure, xid, out) {
            Injected::No => {
                let replies = self.shared.null_for(peer);
                replies.append_v2(procedure, xid, d, &self.counters, out)?;
            }
            Injected::Answered => {}
            Injected::Dropped => return Ok(self.dropped2(peer)),
        }
        Ok(self.verdict(same_in_v3(procedure), peer))
    }

    fn dropped2(&self, peer: &Peer) -> Verdict {
        self.counters.replies_dropped.add(1);
        peer.session.lost_a_reply();
        Verdict::Lose
    }

    fn run2(&mut self, args: &Args<'_>, caller: &Caller, xid: u32, peer: &Peer, out: &mut Vec<u8>) {
        let (shared, counters) = (&*self.shared, &*self.counters);
        let mut cx = Context {
            shared,
            counters,
            caller,
            options: shared.options_for(peer),
            scratch: &mut self.scratch,
        };
        reply(out, xid, |out| dispatch(&mut cx, args, out));
    }

    /// Appends an error in place of the results, where one is due. Version 2 has no JUKEBOX ("try again
    /// later"): the request is dropped, as Linux's server does, and its client asks again.
    fn inject_error2(&self, procedure: Procedure, xid: u32, out: &mut Vec<u8>) -> Injected {
        let Some(wanted) = self.shared.faults.error(same_in_v3(procedure)) else {
            return Injected::No;
        };
        self.counters.errors_injected.add(1);
        let Some(status) = convert::status(wanted) else {
            return Injected::Dropped;
        };
        reply(out, xid, |out| failure(procedure, status, out));
        Injected::Answered
    }
}

fn dispatch(cx: &mut Context<'_>, args: &Args<'_>, out: &mut Vec<u8>) {
    match args {
        Args::Null(_) | Args::Root(_) | Args::Writecache(_) => {}
        Args::Getattr(args) => put(out, &look::getattr(cx, args)),
        Args::Setattr(args) => put(out, &change::setattr(cx, args)),
        Args::Lookup(args) => look::lookup(cx, args, out),
        Args::Readlink(args) => look::readlink(cx, args, out),
        Args::Read(args) => look::read(cx, args, out),
        Args::Write(args) => put(out, &change::write(cx, args)),
        Args::Create(args) => change::create(cx, args, out),
        Args::Remove(args) => put(out, &change::remove(cx, &args.what, false)),
        Args::Rename(args) => put(out, &change::rename(cx, args)),
        Args::Link(args) => put(out, &change::link(cx, args)),
        Args::Symlink(args) => put(out, &change::symlink(cx, args)),
        Args::Mkdir(args) => change::mkdir(cx, args, out),
        Args::Rmdir(args) => put(out, &change::remove(cx, &args.what, true)),
        Args::Readdir(args) => listing::readdir(cx, args, out),
        Args::Statfs(args) => put(out, &look::statfs(cx, args)),
    }
}

/// The results of a failed procedure.
fn failure(procedure: Procedure, status: Nfsstat, out: &mut Vec<u8>) {
    match procedure {
        Procedure::Null | Procedure::Root | Procedure::Writecache => {}
        Procedure::Getattr | Procedure::Setattr | Procedure::Write => {
            put(out, &AttrstatRes::Err(status));
        }
        Procedure::Lookup | Procedure::Create | Procedure::Mkdir => {
            put(out, &DiropRes::Err(status));
        }
        Procedure::Readlink => put(out, &ReadlinkRes::Err(status)),
        Procedure::Read => put(out, &ReadRes::Err(status)),
        Procedure::Remove
        | Procedure::Rename
        | Procedure::Link
        | Procedure::Symlink
        | Procedure::Rmdir => put(out, &StatRes::Err(status)),
        Procedure::Readdir => put(out, &ReaddirRes::Err(status)),
        Procedure::Statfs => put(out, &StatfsRes::Err(status)),
    }
}
