//! NULL, ROOT and WRITECACHE, and the RPC layer below.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::client::{ClientError, NFS_V2, RpcClient};
use crate::validate::shared::rpc::{self as shared, null, prog_unavail};
use crate::validate::text::no_answer;
use crate::validate::wire::{self, refused_by_rpc, refused_version};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::{Fhandle, GetattrArgs, Procedure};
use filermark_onc::nfs3::Fh;
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use filermark_onc::xdr;

const ACCEPT: &str = "RFC 5531 section 9";

checks! { CHECKS: Check =>
    "null.answers", nfs(Procedure::Null), "returns an empty reply" => null;
    "root.void", nfs(Procedure::Root), "obsolete: an empty reply, or PROC_UNAVAIL" => root;
    "writecache.void", nfs(Procedure::Writecache), "unused: an empty reply, or PROC_UNAVAIL" => writecache;
    "rpc.fragments", nfs(Procedure::Null), "a call in many fragments is accepted" => fragments, by "RFC 5531 section 11";
    "rpc.many_at_once", nfs(Procedure::Getattr), "many calls in flight on a connection are all answered" => many_at_once, by ACCEPT;
    "rpc.proc_unavail", nfs(Procedure::Null), "procedure 18 answers PROC_UNAVAIL" => proc_unavail, by ACCEPT;
    "rpc.prog_mismatch", nfs(Procedure::Null), "version 1 answers PROG_MISMATCH with a range that has 2" => prog_mismatch, by ACCEPT;
    "rpc.prog_unavail", nfs(Procedure::Null), "an unknown program answers PROG_UNAVAIL" => prog_unavail, by ACCEPT;
    "rpc.garbage_args", nfs(Procedure::Getattr), "arguments of a wrong length answer GARBAGE_ARGS" => garbage_args, by ACCEPT;
    "rpc.new_connection", nfs(Procedure::Getattr), "handles stay valid on a new connection" => new_connection, by "RFC 1094 section 2.3.3";
}

fn own_connection(b: &Bench<'_>) -> RpcClient {
    wire::own_connection(b.plan, b.target)
}

/// The RFC defines no arguments, results or status for it, so a server may implement it (it
/// does nothing) or not.
fn void(b: &mut Bench<'_>, procedure: Procedure) -> Outcome {
    let what = procedure.name();
    let outcome = own_connection(b)
        .call_raw(NFS_V2, procedure.to_u32(), &[])
        .map(<[u8]>::len);
    match outcome {
        Ok(0) => {}
        Ok(bytes) => {
            return Err(Stop::fail(
                format!("{what}: no results, or PROC_UNAVAIL"),
                format!("{bytes} bytes of results"),
            ));
        }
        Err(ClientError::Refused {
            refusal: RpcRefusal::Accepted(AcceptStat::ProcUnavail),
            ..
        }) => b.note(format!("{what}: PROC_UNAVAIL")),
        Err(ClientError::Refused { refusal, .. }) => {
            b.note(format!("{what}: {refusal}; PROC_UNAVAIL is usual"));
        }
        Err(error) => return Err(no_answer(what, &error)),
    }
    Ok(())
}

fn root(b: &mut Bench<'_>) -> Outcome {
    void(b, Procedure::Root)
}

fn writecache(b: &mut Bench<'_>) -> Outcome {
    void(b, Procedure::Writecache)
}

/// A handle in the form of version 2.
pub(super) fn wire_handle(handle: &Fh) -> Result<Fhandle<'_>, Stop> {
    Fhandle::from_slice(handle.as_bytes())
        .ok_or_else(|| Stop::Skip("the handle has no 32 bytes".to_owned()))
}

fn getattr_args(b: &Bench<'_>) -> Result<Vec<u8>, Stop> {
    let mut args = Vec::new();
    let file = wire_handle(&b.dir)?;
    xdr::append(&mut args, &GetattrArgs { file });
    Ok(args)
}

fn fragments(b: &mut Bench<'_>) -> Outcome {
    let args = getattr_args(b)?;
    shared::fragments(b, &args)
}

fn many_at_once(b: &mut Bench<'_>) -> Outcome {
    const CALLS: usize = 128;
    let dir = b.dir;
    let fileid = b.attributes(&dir)?.fileid;
    let file = wire_handle(&dir)?;
    let args = [GetattrArgs { file }; CALLS];
    let mut right = 0;
    b.nfs
        .rpc()
        .call_many(&args, |_, result| {
            right += usize::from(result.is_ok_and(|ok| ok.attributes.fileid == fileid));
        })
        .map_err(|error| no_answer("128 GETATTR, 32 at a time", &error))?;
    b.equal("answers with the directory's fileid", CALLS, right)
}

fn proc_unavail(b: &mut Bench<'_>) -> Outcome {
    shared::proc_unavail(b, 18)
}

fn prog_mismatch(b: &mut Bench<'_>) -> Outcome {
    refused_version(&mut own_connection(b), 1)
}

fn garbage_args(b: &mut Bench<'_>) -> Outcome {
    const GARBAGE: &str = "GARBAGE_ARGS";
    let handle = getattr_args(b)?;
    let cut = handle.get(..28).unwrap_or_default();
    let getattr = (NFS_V2, Procedure::Getattr.to_u32(), cut);
    let what = "GETATTR with 28 bytes of handle";
    refused_by_rpc(&mut own_connection(b), what, getattr, GARBAGE)?;
    // The length of the name is larger than the bytes that follow.
    let name = [&handle[..], &100u32.to_be_bytes(), b"only"].concat();
    let lookup = (NFS_V2, Procedure::Lookup.to_u32(), &name[..]);
    let what = "LOOKUP with 4 of 100 bytes of name";
    refused_by_rpc(&mut own_connection(b), what, lookup, GARBAGE)?;
    let setattr = (NFS_V2, Procedure::Setattr.to_u32(), &handle[..]);
    let what = "SETATTR without attributes";
    refused_by_rpc(&mut own_connection(b), what, setattr, GARBAGE).map(drop)
}

fn new_connection(b: &mut Bench<'_>) -> Outcome {
    shared::new_connection(b).map(drop)
}
