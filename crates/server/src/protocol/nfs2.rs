//! NFS version 2 (RFC 1094) on the same files: the switch over its procedures, beside version 3's.
//!
//! Version 2 has its own formats of handles, attributes and statuses (`convert`); the work of a
//! procedure is the file system's. Faults are written in version 3's names and hold for the procedure of version 2
//! that does the same ([`Served::IN_V3`]).
//!
//! ROOT and WRITECACHE: the RFC calls the one obsolete and the other unused, both without arguments,
//! results and status. They are answered with an empty success, as Linux's server does; there is no
//! status in which to refuse them.

// The types of the list name their lifetimes; the switches have them in their bodies only.
#![allow(clippy::extra_unused_lifetimes)]

mod change;
mod convert;
mod listing;
mod read_attributes;

use super::answer::{Fails, PROC_UNAVAIL, Refusal, put, reply};
use super::cache::{CacheDecision, Key};
use super::context::{Caller, Context, Peer, ReplyAction, Service, caller};
use super::null::Replies;
use crate::stats::Counters;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Procedure as Procedure3;
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::Decoder;

pub(super) use convert::{attr, status, widen};

/// How one procedure is served; implemented for its arguments.
trait Served {
    /// Whose rules of `--delay` and `--error` hold for it. ROOT and WRITECACHE do nothing, like NULL.
    const IN_V3: Procedure3;
    /// It must not be done twice. (CREATE cuts an existing file, so its repetition could lose what was
    /// written in between.)
    const ONCE: bool = false;

    /// Does it, and appends the results.
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>);

    /// Appends the results of the canned server.
    fn canned(&self, replies: &Replies, counters: &Counters, out: &mut Vec<u8>);
}

/// Without arguments, results and effect.
macro_rules! nothing {
    ($($args:ty),*) => {$(
        impl Served for $args {
            const IN_V3: Procedure3 = Procedure3::Null;
            fn serve(&self, _: &mut Context<'_>, _: &mut Vec<u8>) {}
            fn canned(&self, _: &Replies, _: &Counters, _: &mut Vec<u8>) {}
        }
    )*};
}

nothing!(NullArgs, RootArgs, WritecacheArgs);

/// The switches over the procedures, from their list: what is missing does not compile.
macro_rules! switches {
    ($($(#[$meta:meta])* $variant:ident = $number:literal $rfc:literal ($args:ty) -> $res:ty;)*) => {
        fn same_in_v3<'a>(procedure: Procedure) -> Procedure3 {
            match procedure { $(Procedure::$variant => <$args as Served>::IN_V3,)* }
        }

        fn must_be_done_once<'a>(procedure: Procedure) -> bool {
            match procedure { $(Procedure::$variant => <$args as Served>::ONCE,)* }
        }

        fn serve(cx: &mut Context<'_>, args: &Args<'_>, out: &mut Vec<u8>) {
            match args { $(Args::$variant(args) => args.serve(cx, out),)* }
        }

        fn canned(args: &Args<'_>, replies: &Replies, counters: &Counters, out: &mut Vec<u8>) {
            match args { $(Args::$variant(args) => args.canned(replies, counters, out),)* }
        }

        /// The results of a failed procedure.
        fn failure<'r>(procedure: Procedure, status: Nfsstat, out: &mut Vec<u8>) {
            match procedure { $(Procedure::$variant => put(out, &<$res as Fails<Nfsstat>>::failed(status)),)* }
        }
    };
}

filermark_onc::nfs2_procedures!(switches);

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
    ) -> Result<ReplyAction, Refusal> {
        let procedure = Procedure::from_u32(call.proc).ok_or(PROC_UNAVAIL)?;
        if self.loses_call() {
            return Ok(ReplyAction::Lose);
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
                        return CacheDecision::Yes;
                    }
                    injected => dropped = injected == Injected::Dropped,
                }
                CacheDecision::No
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
    ) -> Result<ReplyAction, Refusal> {
        match self.inject_error2(procedure, xid, out) {
            Injected::No => {
                let (args, replies) = (Args::decode(procedure, d)?, self.shared.null_for(peer));
                reply(out, xid, |out| canned(&args, replies, &self.counters, out));
            }
            Injected::Answered => {}
            Injected::Dropped => return Ok(self.dropped2(peer)),
        }
        Ok(self.verdict(same_in_v3(procedure), peer))
    }

    fn dropped2(&self, peer: &Peer) -> ReplyAction {
        self.counters.replies_dropped.add(1);
        peer.session.lost_a_reply();
        ReplyAction::Lose
    }

    fn run2(&mut self, args: &Args<'_>, caller: &Caller, xid: u32, peer: &Peer, out: &mut Vec<u8>) {
        let mut cx = self.context(caller, peer);
        reply(out, xid, |out| serve(&mut cx, args, out));
    }

    /// Appends an error in place of the results, where one is due. Version 2 has no JUKEBOX ("try again
    /// later"): the request is dropped, as Linux's server does, and its client sends it again.
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
