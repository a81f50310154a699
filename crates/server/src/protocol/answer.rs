//! Replies: how one is put around results, and the ways to refuse a call.

use filermark_onc::nfs2::Nfsstat;
use filermark_onc::nfs3::{Failed, Nfsstat3, Res};
use filermark_onc::record::OpenRecord;
use filermark_onc::rpc::{AcceptStat, AuthStat, ReplyHeader};
use filermark_onc::xdr::{self, Encode};

/// A refusal on the RPC level.
pub(super) enum Refusal {
    Accept(AcceptStat),
    Auth(AuthStat),
}

impl From<xdr::DecodeError> for Refusal {
    fn from(_: xdr::DecodeError) -> Refusal {
        Refusal::Accept(AcceptStat::GarbageArgs)
    }
}

pub(super) const PROC_UNAVAIL: Refusal = Refusal::Accept(AcceptStat::ProcUnavail);

pub(super) fn mismatch(low: u32, high: u32) -> Refusal {
    Refusal::Accept(AcceptStat::ProgMismatch { low, high })
}

pub(super) fn put<T: Encode + ?Sized>(out: &mut Vec<u8>, value: &T) {
    xdr::append(out, value);
}

/// Appends a successful reply around what `results` appends.
pub(super) fn reply(out: &mut Vec<u8>, xid: u32, results: impl FnOnce(&mut Vec<u8>)) {
    let open = OpenRecord::begin(out);
    ReplyHeader::encode_success(out, xid);
    results(out);
    open.finish(out);
}

/// Results that can be a failure with nothing beside its status.
pub(super) trait Fails<S>: Encode {
    fn failed(status: S) -> Self;
}

/// NULL and its like have no status to fail with.
impl<S> Fails<S> for () {
    fn failed(_: S) {}
}

impl<O: Encode, F: Encode + Default> Fails<Nfsstat3> for Res<O, F>
where
    Res<O, F>: Encode,
{
    fn failed(status: Nfsstat3) -> Self {
        Err(Failed::new(status))
    }
}

impl<O> Fails<Nfsstat> for Result<O, Nfsstat>
where
    Result<O, Nfsstat>: Encode,
{
    fn failed(status: Nfsstat) -> Self {
        Err(status)
    }
}
