//! NULL, and the manners of the RPC layer underneath.

use super::{Bench, Check, Outcome};
use crate::client::{ClientError, NFS_V3, Program, RpcClient};
use crate::target::{credential, nfs_options};
use crate::validate::bench::{Stop, no_answer};
use filermark_model::plan::Transport;
use filermark_onc::nfs3::{FileHandle, GetattrArgs, Procedure};
use filermark_onc::rpc::{AcceptStat, RpcRefusal};
use filermark_onc::xdr;

const ACCEPT: &str = "RFC 5531 section 9";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "null.answers",
        Procedure::Null,
        "does nothing, and says so",
        null,
    ),
    Check::new(
        "rpc.fragments",
        Procedure::Null,
        "a call may come in many fragments",
        fragments,
    )
    .by("RFC 5531 section 11"),
    Check::new(
        "rpc.many_at_once",
        Procedure::Getattr,
        "many calls at once on a connection are all answered",
        many_at_once,
    )
    .by("RFC 5531 section 9"),
    Check::new(
        "rpc.proc_unavail",
        Procedure::Null,
        "procedure 22 answers PROC_UNAVAIL",
        proc_unavail,
    )
    .by(ACCEPT),
    Check::new(
        "rpc.prog_mismatch",
        Procedure::Null,
        "version 9 answers PROG_MISMATCH with a range that has 3",
        prog_mismatch,
    )
    .by(ACCEPT),
    Check::new(
        "rpc.prog_unavail",
        Procedure::Null,
        "an unknown program answers PROG_UNAVAIL",
        prog_unavail,
    )
    .by(ACCEPT),
    Check::new(
        "rpc.garbage_args",
        Procedure::Getattr,
        "cut-off arguments answer GARBAGE_ARGS",
        garbage_args,
    )
    .by(ACCEPT),
    Check::new(
        "rpc.oversized_handle",
        Procedure::Getattr,
        "a handle of 65 bytes is refused",
        oversized_handle,
    )
    .by("RFC 1813 section 2.3.3"),
    Check::new(
        "rpc.new_connection",
        Procedure::Getattr,
        "handles outlive the connection",
        new_connection,
    )
    .by("RFC 1813 section 2.3.3"),
];

fn null(b: &mut Bench<'_>) -> Outcome {
    b.nfs.null().map_err(|error| no_answer("NULL", &error))
}

/// A connection of its own: what is odd here may make a server close it.
fn own_connection(b: &Bench<'_>) -> RpcClient {
    let options = nfs_options(b.plan);
    RpcClient::new(b.target.nfs_address, NFS_V3, credential(b.plan), options)
}

fn getattr_args(b: &Bench<'_>) -> Vec<u8> {
    let mut args = Vec::new();
    let object = b.dir.handle();
    xdr::append(&mut args, &GetattrArgs { object });
    args
}

fn fragments(b: &mut Bench<'_>) -> Outcome {
    if b.plan.transport == Transport::Udp {
        return Err(Stop::Skip(
            "record marking is for streams: over UDP a call is one datagram".to_owned(),
        ));
    }
    let args = getattr_args(b);
    let mut rpc = own_connection(b);
    rpc.set_fragment_bytes(Some(20));
    let results = rpc
        .call_raw(NFS_V3, Procedure::Getattr.to_u32(), &args)
        .map_err(|error| no_answer("GETATTR in fragments of 20 bytes", &error))?;
    b.equal(
        "GETATTR in fragments: status",
        &[0u8; 4][..],
        results.get(..4).unwrap_or_default(),
    )
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
        .map_err(|error| no_answer("128 GETATTR, many at a time", &error))?;
    b.equal("answers with the directory's fileid", CALLS, right)
}

/// The call has to be accepted and not executed, in the way that `wanted` names.
fn refused_by_rpc(
    b: &mut Bench<'_>,
    what: &str,
    call: (Program, u32, &[u8]),
    wanted: &str,
) -> Result<AcceptStat, Stop> {
    let mut rpc = own_connection(b);
    let (program, procedure, args) = call;
    match rpc.call_raw(program, procedure, args) {
        Err(ClientError::Refused {
            refusal: RpcRefusal::Accepted(stat),
            ..
        }) if stat.name() == wanted => Ok(stat),
        Err(error) => Err(Stop::fail(format!("{what}: {wanted}"), error)),
        Ok(_) => Err(Stop::fail(format!("{what}: {wanted}"), "SUCCESS")),
    }
}

fn proc_unavail(b: &mut Bench<'_>) -> Outcome {
    refused_by_rpc(b, "procedure 22", (NFS_V3, 22, &[]), "PROC_UNAVAIL").map(drop)
}

fn prog_mismatch(b: &mut Bench<'_>) -> Outcome {
    let program = Program { vers: 9, ..NFS_V3 };
    let stat = refused_by_rpc(b, "NFS version 9", (program, 0, &[]), "PROG_MISMATCH")?;
    let AcceptStat::ProgMismatch { low, high } = stat else {
        return Ok(());
    };
    let fits = low <= 3 && (3..9).contains(&high);
    b.holds(
        fits,
        "a range with 3 and without 9 in it",
        format!("{low} to {high}"),
    )
}

fn prog_unavail(b: &mut Bench<'_>) -> Outcome {
    // From the range for private use (RFC 5531 section 8.3).
    let program = Program {
        prog: 0x2fff_f0f0,
        vers: 1,
    };
    refused_by_rpc(b, "an unknown program", (program, 0, &[]), "PROG_UNAVAIL").map(drop)
}

fn garbage_args(b: &mut Bench<'_>) -> Outcome {
    let mut args = getattr_args(b);
    // The length says more than there is.
    args.truncate(8);
    let getattr = Procedure::Getattr.to_u32();
    let what = "GETATTR with a cut-off handle";
    refused_by_rpc(b, what, (NFS_V3, getattr, &args), "GARBAGE_ARGS").map(drop)
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
    let file = b.file(b"file")?;
    let before = b.attributes(&file)?;
    b.nfs.rpc().disconnect();
    let after = b.attributes(&file)?;
    b.equal("fileid on a new connection", before.fileid, after.fileid)?;
    // A handle is bytes to the client, and the same bytes have to work for ever.
    let copy = FileHandle::new(file.as_bytes()).map(FileHandle::to_fh);
    b.equal("handle", Some(file), copy)
}
