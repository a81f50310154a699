//! NULL, and the RPC layer below.

use super::ops::Common;
use crate::client::nfs_program;
use crate::validate::bench::Bench;
use crate::validate::text::no_answer;
use crate::validate::wire::{UNKNOWN_PROGRAM, needs_tcp, own_connection, refused_by_rpc};
use filermark_driver_kit::checks::{Outcome, Stop};
use filermark_onc::nfs3::Procedure;

pub(in crate::validate) fn null<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    V::null(&mut b.nfs).map_err(|error| no_answer("NULL", &error))
}

pub(in crate::validate) fn prog_unavail<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let call = (UNKNOWN_PROGRAM, 0, &[][..]);
    let what = "an unknown program";
    refused_by_rpc(
        &mut own_connection(b.plan, b.target),
        what,
        call,
        "PROG_UNAVAIL",
    )
    .map(drop)
}

/// The program has no procedure of this number.
pub(in crate::validate) fn proc_unavail<V: Common>(b: &mut Bench<'_, V>, number: u32) -> Outcome {
    let call = (nfs_program(b.plan.version), number, &[][..]);
    let what = format!("procedure {number}");
    let mut rpc = own_connection(b.plan, b.target);
    refused_by_rpc(&mut rpc, &what, call, "PROC_UNAVAIL").map(drop)
}

/// GETATTR with these arguments in fragments. Its number is the same in versions 2 and 3.
pub(in crate::validate) fn fragments<V: Common>(b: &mut Bench<'_, V>, args: &[u8]) -> Outcome {
    needs_tcp(b.plan)?;
    let mut rpc = own_connection(b.plan, b.target);
    rpc.set_fragment_bytes(Some(20));
    let program = nfs_program(b.plan.version);
    let results = rpc
        .call_raw(program, Procedure::Getattr.to_u32(), args)
        .map_err(|error| no_answer("GETATTR in fragments of 20 bytes", &error))?;
    b.equal(
        "GETATTR in fragments: status",
        &[0u8; 4][..],
        results.get(..4).unwrap_or_default(),
    )
}

/// A handle on a new connection; returns it.
pub(in crate::validate) fn new_connection<V: Common>(
    b: &mut Bench<'_, V>,
) -> Result<V::Handle, Stop> {
    let file = b.file(b"file")?;
    let before = b.facts(&file)?;
    V::rpc(&mut b.nfs).disconnect();
    let after = b.facts(&file)?;
    b.equal("fileid on a new connection", before.fileid, after.fileid)?;
    Ok(file)
}
