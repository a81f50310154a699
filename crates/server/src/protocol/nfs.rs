//! The NFS program: counting, faults, the reply cache, and the switch over the procedures.

use super::cache::{Done, Key};
use super::{
    Caller, Peer, Refusal, Service, Shared, Verdict, caller, change, listing, look, put, reply,
};
use crate::options::ServerOptions;
use crate::stats::Counters;
use filermark_onc::nfs3::{
    AccessRes, Args, CommitRes, CreateRes, Failed, FsinfoRes, FsstatRes, GetattrRes, LinkRes,
    LookupRes, Nfsstat3, PathconfRes, Procedure, ReadRes, ReaddirRes, ReaddirplusRes, ReadlinkRes,
    RemoveRes, RenameRes, SetattrRes, WriteRes,
};
use filermark_onc::rpc::CallHeader;
use filermark_onc::xdr::Decoder;

/// What a procedure works with.
pub(super) struct Context<'a> {
    pub(super) shared: &'a Shared,
    pub(super) counters: &'a Counters,
    pub(super) caller: &'a Caller,
    /// As they hold for the client's transport.
    pub(super) options: &'a ServerOptions,
    pub(super) scratch: &'a mut Vec<u8>,
}

/// Procedures that must not be done twice. (A guarded SETATTR fails the second time; an
/// unguarded one might undo a later one.)
fn must_be_done_once(procedure: Procedure) -> bool {
    matches!(
        procedure,
        Procedure::Setattr
            | Procedure::Create
            | Procedure::Mkdir
            | Procedure::Symlink
            | Procedure::Mknod
            | Procedure::Remove
            | Procedure::Rmdir
            | Procedure::Rename
            | Procedure::Link
    )
}

impl Service {
    #[inline]
    pub(super) fn nfs(
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
        self.counters.nfs[procedure as usize].add(1);
        if self.shared.options.null {
            if !self.inject_error(procedure, call.xid, out) {
                self.shared
                    .null_for(peer)
                    .append(procedure, call.xid, d, &self.counters, out)?;
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
                self.run(&args, &caller, call.xid, peer, out);
            }
            return Ok(());
        }
        let shared = self.shared.clone();
        let key = Key::new(call.xid, (peer.client, peer.udp_port), record);
        let repeated = shared.cache.serve(key, &peer.session, out, |out| {
            if self.inject_error(procedure, call.xid, out) {
                return Done::No;
            }
            self.run(&args, &caller, call.xid, peer, out);
            Done::Yes
        });
        self.counters.duplicates_answered.add(u64::from(repeated));
        Ok(())
    }

    fn run(&mut self, args: &Args<'_>, caller: &Caller, xid: u32, peer: &Peer, out: &mut Vec<u8>) {
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
    pub(super) fn verdict(&self, procedure: Procedure, peer: &Peer) -> Verdict {
        let faults = &self.shared.faults;
        if faults.swallow_reply() {
            self.counters.replies_dropped.add(1);
            peer.session.lost_a_reply();
            return Verdict::Lose;
        }
        let late = faults.late_ns();
        match faults.delay_ns(procedure).saturating_add(late) {
            0 if peer.is_datagram() && faults.repeat_reply() => {
                self.counters.replies_repeated.add(1);
                Verdict::Twice
            }
            0 => Verdict::Send,
            ns => Verdict::Later(ns),
        }
    }
}

fn dispatch(cx: &mut Context<'_>, args: &Args<'_>, out: &mut Vec<u8>) {
    match args {
        Args::Null(_) => {}
        Args::Getattr(args) => put(out, &look::getattr(cx, args)),
        Args::Setattr(args) => put(out, &change::setattr(cx, args)),
        Args::Lookup(args) => look::lookup(cx, args, out),
        Args::Access(args) => put(out, &look::access(cx, args)),
        Args::Readlink(args) => look::readlink(cx, args, out),
        Args::Read(args) => look::read(cx, args, out),
        Args::Write(args) => put(out, &change::write(cx, args)),
        Args::Create(args) => change::create(cx, args, out),
        Args::Mkdir(args) => change::mkdir(cx, args, out),
        Args::Symlink(args) => change::symlink(cx, args, out),
        Args::Mknod(args) => change::mknod(cx, args, out),
        Args::Remove(args) => put(out, &change::remove(cx, &args.object, false)),
        Args::Rmdir(args) => put(out, &change::remove(cx, &args.object, true)),
        Args::Rename(args) => put(out, &change::rename(cx, args)),
        Args::Link(args) => put(out, &change::link(cx, args)),
        Args::Readdir(args) => listing::readdir(cx, args, out),
        Args::Readdirplus(args) => listing::readdirplus(cx, args, out),
        Args::Fsstat(args) => put(out, &look::fsstat(cx, args)),
        Args::Fsinfo(args) => put(out, &look::fsinfo(cx, args)),
        Args::Pathconf(args) => put(out, &look::pathconf(cx, args)),
        Args::Commit(args) => put(out, &change::commit(cx, args)),
    }
}

/// The results of a failed procedure, with no attributes.
fn failure(procedure: Procedure, status: Nfsstat3, out: &mut Vec<u8>) {
    macro_rules! fail {
        ($res:ty) => {
            put(out, &<$res>::Err(Failed::new(status)))
        };
    }
    match procedure {
        Procedure::Null => {}
        Procedure::Getattr => fail!(GetattrRes),
        Procedure::Setattr => fail!(SetattrRes),
        Procedure::Lookup => fail!(LookupRes<'_>),
        Procedure::Access => fail!(AccessRes),
        Procedure::Readlink => fail!(ReadlinkRes<'_>),
        Procedure::Read => fail!(ReadRes<'_>),
        Procedure::Write => fail!(WriteRes),
        Procedure::Create | Procedure::Mkdir | Procedure::Symlink | Procedure::Mknod => {
            fail!(CreateRes<'_>)
        }
        Procedure::Remove | Procedure::Rmdir => fail!(RemoveRes),
        Procedure::Rename => fail!(RenameRes),
        Procedure::Link => fail!(LinkRes),
        Procedure::Readdir => fail!(ReaddirRes<'_>),
        Procedure::Readdirplus => fail!(ReaddirplusRes<'_>),
        Procedure::Fsstat => fail!(FsstatRes),
        Procedure::Fsinfo => fail!(FsinfoRes),
        Procedure::Pathconf => fail!(PathconfRes),
        Procedure::Commit => fail!(CommitRes),
    }
}
