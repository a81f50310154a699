//! The NFS program: counting, faults, the reply cache, and the switch over the procedures.

// The types of the list name their lifetimes; the switches have them in their bodies only.
#![allow(clippy::extra_unused_lifetimes)]

use super::answer::{Fails, PROC_UNAVAIL, Refusal, put, reply};
use super::cache::{CacheDecision, Key};
use super::context::{Caller, Context, Peer, ReplyAction, Service, caller};
use super::null::Request;
use crate::options::ServerOptions;
use filermark_onc::nfs3::*;
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::Decoder;

/// How one procedure is served; implemented for its arguments.
pub(super) trait Served {
    /// It must not be done twice. (A guarded SETATTR fails the second time; an unguarded one might undo a
    /// later one.)
    const ONCE: bool = false;

    /// Does it, and appends the results.
    fn serve(&self, cx: &mut Context<'_>, out: &mut Vec<u8>);

    /// Appends the results of every call that `canned` leaves alone.
    fn prepared(options: &ServerOptions, out: &mut Vec<u8>);

    /// Appends the canned reply to a request whose arguments matter. `false`: they do not, and nothing was
    /// appended.
    #[inline]
    fn canned(_request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
        Ok(false)
    }
}

impl Served for NullArgs {
    fn serve(&self, _: &mut Context<'_>, _: &mut Vec<u8>) {}
    fn prepared(_: &ServerOptions, _: &mut Vec<u8>) {}
}

/// The switches over the procedures, from their list: what is missing does not compile.
macro_rules! switches {
    ($($(#[$meta:meta])* $variant:ident = $number:literal $rfc:literal ($args:ty) -> $res:ty;)*) => {
        fn must_be_done_once<'a>(procedure: Procedure) -> bool {
            match procedure { $(Procedure::$variant => <$args as Served>::ONCE,)* }
        }

        fn serve(cx: &mut Context<'_>, args: &Args<'_>, out: &mut Vec<u8>) {
            match args { $(Args::$variant(args) => args.serve(cx, out),)* }
        }

        /// The results of a failed procedure, with no attributes.
        fn failure<'r>(procedure: Procedure, status: Nfsstat3, out: &mut Vec<u8>) {
            match procedure { $(Procedure::$variant => put(out, &<$res as Fails<Nfsstat3>>::failed(status)),)* }
        }

        /// The canned results of a procedure.
        pub(super) fn prepared<'a>(procedure: Procedure, options: &ServerOptions, out: &mut Vec<u8>) {
            match procedure { $(Procedure::$variant => <$args as Served>::prepared(options, out),)* }
        }

        #[inline]
        fn canned<'a>(procedure: Procedure, request: &mut Request<'_, '_>) -> Result<bool, Refusal> {
            match procedure { $(Procedure::$variant => <$args as Served>::canned(request),)* }
        }
    };
}

filermark_onc::nfs3_procedures!(switches);

impl Service {
    #[inline]
    pub(super) fn nfs(
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
        self.counters.nfs[procedure as usize].add(1);
        if self.shared.options.null {
            if !self.inject_error(procedure, call.xid, out) {
                let replies = self.shared.null_for(peer);
                let mut request = Request {
                    replies,
                    counters: &self.counters,
                    xid: call.xid,
                    args: d,
                    out,
                };
                if !canned(procedure, &mut request)? {
                    replies.append(procedure, call.xid, out);
                }
            }
        } else {
            self.real(record, procedure, call, d, peer, out)?;
        }
        Ok(self.verdict(procedure, peer))
    }

    fn real(
        &mut self,
        record: &[u8],
        procedure: Procedure,
        call: &CallHeader<'_>,
        d: &mut Decoder<'_>,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let caller = caller(call)?;
        let args = Args::decode(procedure, d)?;
        if !must_be_done_once(procedure) {
            if !self.inject_error(procedure, call.xid, out) {
                self.run((procedure, &args), &caller, call.xid, peer, out);
            }
            return Ok(());
        }
        let shared = self.shared.clone();
        let key = Key::new(call.xid, (peer.client, peer.udp_port), record);
        let repeated = shared.cache.serve(key, &peer.session, out, |out| {
            if self.inject_error(procedure, call.xid, out) {
                return CacheDecision::No;
            }
            self.run((procedure, &args), &caller, call.xid, peer, out)
        });
        self.counters.duplicates_answered.add(u64::from(repeated));
        Ok(())
    }

    /// Whether the reply is worth keeping: a call that was refused since it came too early was not executed.
    fn run(
        &mut self,
        (procedure, args): (Procedure, &Args<'_>),
        caller: &Caller,
        xid: u32,
        peer: &Peer,
        out: &mut Vec<u8>,
    ) -> CacheDecision {
        let delegating = self.shared.delegates().then(|| self.shared.clone());
        let undelegated = match &delegating {
            Some(shared) => shared.undelegated3(args, caller),
            None => Ok(None),
        };
        if let Err(status) = undelegated {
            reply(out, xid, |out| failure(procedure, status, out));
            return CacheDecision::No;
        }
        let mut cx = self.context(caller, peer);
        reply(out, xid, |out| serve(&mut cx, args, out));
        CacheDecision::Yes
    }

    /// Whether this call is to be lost, as if it had never come.
    #[inline]
    pub(super) fn loses_call(&self) -> bool {
        let lost = self.shared.faults.swallow_call();
        self.counters.calls_dropped.add(u64::from(lost));
        lost
    }

    /// Appends an error in place of the results, where one is due.
    #[inline]
    fn inject_error(&self, procedure: Procedure, xid: u32, out: &mut Vec<u8>) -> bool {
        let Some(status) = self.shared.faults.error(procedure) else {
            return false;
        };
        self.counters.errors_injected.add(1);
        reply(out, xid, |out| failure(procedure, status, out));
        true
    }

    #[inline]
    pub(super) fn verdict(&self, procedure: Procedure, peer: &Peer) -> ReplyAction {
        let delay_ns = self.shared.faults.delay_ns(procedure);
        self.outcome(delay_ns, procedure != Procedure::Null, peer)
    }

    /// What is to happen with a reply that is to be held back so long. `is_operation`: it takes the
    /// server's time.
    #[inline]
    pub(super) fn outcome(&self, delay_ns: u64, is_operation: bool, peer: &Peer) -> ReplyAction {
        let faults = &self.shared.faults;
        if faults.swallow_reply() {
            self.counters.replies_dropped.add(1);
            peer.session.lost_a_reply();
            return ReplyAction::Lose;
        }
        let late = faults.late_ns();
        match delay_ns.saturating_add(late) {
            0 if faults.has_capacity() && is_operation => ReplyAction::Later(0),
            0 if peer.is_datagram() && faults.repeat_reply() => {
                self.counters.replies_repeated.add(1);
                ReplyAction::SendTwice
            }
            0 => ReplyAction::Send,
            ns => ReplyAction::Later(ns),
        }
    }
}
