//! NULL, and the RPC layer below.

use super::ops::{Bench, Check, Outcome};
use crate::client::{ClientError, NFS_V3, RpcClient};
use crate::validate::shared::rpc::{self as shared, null, prog_unavail};
use crate::validate::text::no_answer;
use crate::validate::wire::{self, refused_by_rpc, refused_version};
use filermark_driver_kit::checks;
use filermark_onc::nfs3::{FileHandle, GetattrArgs, Procedure};
use filermark_onc::xdr;

const ACCEPT: &str = "RFC 5531 section 9";

checks! { CHECKS: Check =>
    "null.answers", Procedure::Null, "returns an empty reply" => null;
    "rpc.fragments", Procedure::Null, "a call in many fragments is accepted" => fragments, by "RFC 5531 section 11";
    "rpc.many_at_once", Procedure::Getattr, "many calls in flight on a connection are all answered" => many_at_once, by "RFC 5531 section 9";
    "rpc.proc_unavail", Procedure::Null, "the number after the last procedure answers PROC_UNAVAIL" => proc_unavail, by ACCEPT;
    "rpc.prog_mismatch", Procedure::Null, "version 9 answers PROG_MISMATCH with a range that has 3" => prog_mismatch, by ACCEPT;
    "rpc.prog_unavail", Procedure::Null, "an unknown program answers PROG_UNAVAIL" => prog_unavail, by ACCEPT;
    "rpc.garbage_args", Procedure::Getattr, "truncated arguments answer GARBAGE_ARGS" => garbage_args, by ACCEPT;
    "rpc.oversized_handle", Procedure::Getattr, "a handle of 65 bytes is refused" => oversized_handle, by "RFC 1813 section 2.3.3";
    "rpc.new_connection", Procedure::Getattr, "handles stay valid on a new connection" => new_connection, by "RFC 1813 section 2.3.3";
}

fn own_connection(b: &Bench<'_>) -> RpcClient {
    wire::own_connection(b.plan, b.target)
}

fn getattr_args(b: &Bench<'_>) -> Vec<u8> {
    let mut args = Vec::new();
    let object = b.dir.handle();
    xdr::append(&mut args, &GetattrArgs { object });
    args
}

fn fragments(b: &mut Bench<'_>) -> Outcome {
    let args = getattr_args(b);
    shared::fragments(b, &args)
}

fn many_at_once(b: &mut Bench<'_>) -> Outcome {
    const CALLS: usize = 128;
    let dir = b.dir;
    let fileid = b.attributes(&dir)?.fileid;
    let args = [GetattrArgs {
        object: dir.handle(),
    }; CALLS];
    let mut right = 0;
    b.nfs
        .rpc()
        .call_many(&args, |_, result| {
            right += usize::from(result.is_ok_and(|ok| ok.obj_attributes.fileid == fileid));
        })
        .map_err(|error| no_answer("128 GETATTR, 32 at a time", &error))?;
    b.equal("answers with the directory's fileid", CALLS, right)
}

fn proc_unavail(b: &mut Bench<'_>) -> Outcome {
    shared::proc_unavail(b, Procedure::COUNT as u32)
}

fn prog_mismatch(b: &mut Bench<'_>) -> Outcome {
    refused_version(&mut own_connection(b), 9)
}

fn garbage_args(b: &mut Bench<'_>) -> Outcome {
    let mut args = getattr_args(b);
    // The length is larger than the bytes that follow.
    args.truncate(8);
    let getattr = Procedure::Getattr.to_u32();
    let what = "GETATTR with a cut-off handle";
    let call = (NFS_V3, getattr, &args[..]);
    refused_by_rpc(&mut own_connection(b), what, call, "GARBAGE_ARGS").map(drop)
}

fn oversized_handle(b: &mut Bench<'_>) -> Outcome {
    let mut args = 65u32.to_be_bytes().to_vec();
    args.resize(4 + 68, 7);
    let mut rpc = own_connection(b);
    match rpc.call_raw(NFS_V3, Procedure::Getattr.to_u32(), &args) {
        Err(ClientError::Refused { .. }) => Ok(()),
        Ok(results) => {
            let status = results.first_chunk().map(|word| u32::from_be_bytes(*word));
            b.holds(
                status != Some(0),
                "GETATTR with 65 bytes of handle: GARBAGE_ARGS or NFS3ERR_BADHANDLE",
                "NFS3_OK",
            )
        }
        Err(error) => Err(no_answer("GETATTR with 65 bytes of handle", &error)),
    }
}

fn new_connection(b: &mut Bench<'_>) -> Outcome {
    let file = shared::new_connection(b)?;
    // A handle is opaque to the client, and the same bytes must stay valid.
    let copy = FileHandle::new(file.as_bytes()).map(FileHandle::to_fh);
    b.equal("handle", Some(file), copy)
}
