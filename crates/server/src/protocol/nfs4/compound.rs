//! The rules of a COMPOUND (RFC 8881 sections 2.10.6 and 16.2; minor version 0: RFC 7530 section 15.2): SEQUENCE first, one request per slot,
//! the limits of the session, and the end with the first failure.

use super::super::context::Context;
use super::handles::Place;
use super::status;
use crate::faults::DelayDistribution;
use crate::memfs::FsError;
use crate::nfs4::{Back, Begun, Client, Session};
use filermark_onc::nfs3::Procedure;
use filermark_onc::nfs4::*;
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::ReplyHeader;
use std::sync::Arc;

/// The minor versions that are served.
const MINOR_VERSIONS: std::ops::RangeInclusive<u32> = 0..=2;
/// Space for the results of an operation that changes something: it must not be done where its results
/// do not fit.
const RESULT_BYTES: usize = 160;

pub(super) type Results<'o> = CompoundResWriter<'o, Operation>;

/// What is known of a call beside its operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) xid: u32,
    /// The request with its RPC header.
    pub(super) request_bytes: usize,
    pub(super) digest: u64,
}

/// What was done, as far as faults are about it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ServedCompound {
    /// The procedure of version 3 that does the same.
    pub(super) procedure: Option<Procedure>,
    /// The delay of the first of its operations that has one of its own.
    pub(super) delay: Option<DelayDistribution>,
    /// It was executed in a session.
    pub(super) is_operation: bool,
    /// It was a retry: the kept reply was sent.
    pub(super) is_repeated: bool,
}

/// One COMPOUND while it is executed.
pub(super) struct Compound<'a> {
    pub(super) cx: Context<'a>,
    pub(super) minor: u32,
    pub(super) now_ns: u64,
    /// Of the SEQUENCE.
    pub(super) session: Option<Arc<Session>>,
    /// Minor version 0: the client of the present operation, by its client ID or stateid.
    pub(super) client40: Option<Arc<Client>>,
    pub(super) sequence: Option<SequenceArgs>,
    pub(super) current: Option<Place>,
    pub(super) saved: Option<Place>,
    pub(super) served: ServedCompound,
    /// Most bytes of a reply, and where it begins in the buffer.
    pub(super) response_bytes: usize,
    start: usize,
    /// Operations that follow.
    pub(super) left: usize,
}

/// Serves a COMPOUND and appends its reply.
pub(super) fn serve(
    cx: Context<'_>,
    call: Call,
    args: CompoundArgs<'_, Operation>,
    out: &mut Vec<u8>,
) -> ServedCompound {
    let open = OpenRecord::begin(out);
    let start = out.len();
    ReplyHeader::encode_success(out, call.xid);
    let results_at = out.len();
    let now_ns = cx.shared.nfs4.clock.now_ns();
    for file in cx.shared.nfs4.sweep(now_ns) {
        cx.shared.fs.release(file);
    }
    let mut compound = Compound {
        cx,
        minor: args.minorversion,
        now_ns,
        session: None,
        client40: None,
        sequence: None,
        current: None,
        saved: None,
        served: ServedCompound::default(),
        response_bytes: usize::MAX,
        start,
        left: 0,
    };
    compound.run(call, args, results_at, out);
    open.finish(out);
    compound.served
}

/// Whether an operation may be the first one, without SEQUENCE. Then it is the only one.
const fn needs_no_session(args: &Args<'_>) -> bool {
    matches!(
        args,
        Args::ExchangeId(_)
            | Args::CreateSession(_)
            | Args::BindConnToSession(_)
            | Args::DestroySession(_)
            | Args::DestroyClientid(_)
    )
}

/// Whether an operation changes something, so that it must not be executed for a reply that cannot be sent.
const fn changes(operation: Operation) -> bool {
    use Operation as O;
    !matches!(
        operation,
        O::Read
            | O::ReadPlus
            | O::Getxattr
            | O::Listxattrs
            | O::Readdir
            | O::Getattr
            | O::Readlink
            | O::Getfh
            | O::TestStateid
    )
}

impl Compound<'_> {
    fn run(
        &mut self,
        call: Call,
        mut ops: CompoundArgs<'_, Operation>,
        results_at: usize,
        out: &mut Vec<u8>,
    ) {
        let mut results = Results::begin(out, ops.tag);
        if !MINOR_VERSIONS.contains(&ops.minorversion) {
            results.finish_as(Nfsstat4::MinorVersMismatch);
            return;
        }
        if self.minor == 0 {
            return self.without_session(ops, results);
        }
        let first = ops.next();
        self.left = ops.left();
        match first {
            None => {}
            Some(Err(error)) => {
                results.fail(error.resop(), error.status());
            }
            Some(Ok(Args::Sequence(args))) => {
                return self.in_session(&args, call, ops, results_at, results);
            }
            Some(Ok(args)) => {
                let operation = args.operation();
                self.cx.counters.count4(operation);
                if !needs_no_session(&args) {
                    results.fail(operation, Nfsstat4::OpNotInSession);
                } else if self.left > 0 {
                    results.fail(operation, Nfsstat4::NotOnlyOp);
                } else if self.cx.options.not_offered.contains(&operation) {
                    results.fail(operation, Nfsstat4::Notsupp);
                } else {
                    self.execute(&args, &mut results);
                }
            }
        }
        results.finish();
    }

    /// The session of a SEQUENCE, if the COMPOUND keeps to its limits.
    fn session_of(
        &self,
        args: &SequenceArgs,
        call: Call,
        operations: usize,
    ) -> Result<Arc<Session>, Nfsstat4> {
        let session = self.cx.shared.nfs4.clients.session(&args.sessionid)?;
        if call.request_bytes > session.limits.request_bytes as usize {
            return Err(Nfsstat4::ReqTooBig);
        }
        if operations > session.limits.operations as usize {
            return Err(Nfsstat4::TooManyOps);
        }
        Ok(session)
    }

    fn in_session(
        &mut self,
        args: &SequenceArgs,
        call: Call,
        ops: CompoundArgs<'_, Operation>,
        results_at: usize,
        mut results: Results<'_>,
    ) {
        self.cx.counters.count4(Operation::Sequence);
        let session = match self.session_of(args, call, ops.left() + 1) {
            Ok(session) => session,
            Err(status) => {
                results.fail(Operation::Sequence, status);
                results.finish();
                return;
            }
        };
        let mut slot = match session.begin(args, call.digest) {
            Ok(Begun::New(slot)) => slot,
            Ok(Begun::Retry(slot)) => {
                session.client.renew(self.now_ns);
                self.served.is_repeated = true;
                match slot.kept() {
                    Some(reply) => results.replace(results_at, reply),
                    None => not_kept(&session, args, ops, results),
                }
                return;
            }
            Err(status) => {
                results.fail(Operation::Sequence, status);
                results.finish();
                return;
            }
        };
        session.client.renew(self.now_ns);
        slot.start(args.sequenceid, call.digest);
        results.result::<SequenceArgs>(&Ok(sequenced(&session, args)));
        self.session = Some(session.clone());
        self.sequence = Some(*args);
        self.response_bytes = session.limits.response_bytes as usize;
        if args.cachethis {
            let cached = session.limits.cached_bytes as usize;
            self.response_bytes = self.response_bytes.min(cached);
        }
        let too_big = match self.response_bytes < session.limits.response_bytes as usize {
            true => Nfsstat4::RepTooBigToCache,
            false => Nfsstat4::RepTooBig,
        };
        self.rest(ops, too_big, &mut results);
        let reply = results.finish_from(results_at);
        if args.cachethis {
            slot.keep(reply);
        }
    }

    /// The operations behind SEQUENCE.
    pub(super) fn rest(
        &mut self,
        mut ops: CompoundArgs<'_, Operation>,
        too_big: Nfsstat4,
        results: &mut Results<'_>,
    ) {
        while let Some(next) = ops.next() {
            self.left = ops.left();
            let status = match next {
                Err(error) => results.fail(error.resop(), error.status()),
                Ok(args) => self.operation(&args, too_big, results),
            };
            if status != Nfsstat4::Ok {
                return;
            }
        }
    }

    /// Bytes that the reply may still grow by.
    pub(super) fn space_left(&self, results: &Results<'_>) -> usize {
        let len = results.len().saturating_sub(self.start);
        self.response_bytes.saturating_sub(len)
    }

    fn operation(
        &mut self,
        args: &Args<'_>,
        too_big: Nfsstat4,
        results: &mut Results<'_>,
    ) -> Nfsstat4 {
        let operation = args.operation();
        self.cx.counters.count4(operation);
        self.served.is_operation = true;
        if changes(operation) && self.space_left(results) < RESULT_BYTES {
            return results.fail(operation, too_big);
        }
        if self.cx.options.not_offered.contains(&operation) {
            return results.fail(operation, Nfsstat4::Notsupp);
        }
        let mark = results.mark();
        let done = match self.injected(args) {
            Some(status) => results.fail(operation, status),
            None if self.minor == 0 => self.execute40(args, results),
            None => self.execute(args, results),
        };
        if results.len().saturating_sub(self.start) > self.response_bytes {
            results.reset(mark);
            return results.fail(operation, too_big);
        }
        done
    }

    /// The client of the session; in minor version 0 that of the operation.
    pub(super) fn client(&self) -> Result<&Arc<Client>, Nfsstat4> {
        let session = self.session.as_ref();
        session
            .map(|session| &session.client)
            .or(self.client40.as_ref())
            .ok_or(match self.minor {
                0 => Nfsstat4::BadStateid,
                _ => Nfsstat4::OpNotInSession,
            })
    }

    /// The result of an operation on the file system.
    pub(super) fn of_fs<T>(result: Result<T, FsError>) -> Res<T> {
        result.map_err(status)
    }
}

/// What the client is to know of its session (RFC 8881 section 18.46.3).
fn status_flags(session: &Session) -> u32 {
    let revoked = match session.client.has_revoked() {
        true => seq4_status::RECALLABLE_STATE_REVOKED,
        false => 0,
    };
    revoked | session.back.as_ref().map_or(0, Back::status)
}

fn sequenced(session: &Session, args: &SequenceArgs) -> SequenceOk {
    SequenceOk {
        sessionid: args.sessionid,
        sequenceid: args.sequenceid,
        slotid: args.slotid,
        highest_slotid: session.highest_slotid(),
        target_highest_slotid: session.highest_slotid(),
        status_flags: status_flags(session),
    }
}

/// The reply to a retry whose first reply was not kept: SEQUENCE succeeds, and the next operation has the
/// reason.
fn not_kept(
    session: &Session,
    args: &SequenceArgs,
    mut ops: CompoundArgs<'_, Operation>,
    mut results: Results<'_>,
) {
    results.result::<SequenceArgs>(&Ok(sequenced(session, args)));
    match ops.next() {
        None => {}
        Some(Ok(next)) => {
            results.fail(next.operation(), Nfsstat4::RetryUncachedRep);
        }
        Some(Err(error)) => {
            results.fail(error.resop(), error.status());
        }
    }
    results.finish();
}
