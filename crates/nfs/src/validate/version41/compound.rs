//! NULL, COMPOUND and the RPC layer below.

use super::client::putfh;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::{send, written};
use crate::validate::shared::rpc::{new_connection, null, proc_unavail, prog_unavail};
use crate::validate::wire::{own_connection, refused_version};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;

const RPC: &str = "RFC 5531 section 9";
const NO_LONGER: &str = "RFC 8881 section 17";
const CURRENT: &str = "RFC 8881 section 16.2.3.1.1";

checks! { CHECKS: Check =>
    "null.answers", Subject::Null, "returns an empty reply" => null;
    "rpc.proc_unavail", Subject::Null, "procedure 2 answers PROC_UNAVAIL" => no_procedure, by RPC;
    "rpc.prog_mismatch", Subject::Null, "version 9 answers PROG_MISMATCH with a range that has 4" => no_version, by RPC;
    "rpc.prog_unavail", Subject::Null, "an unknown program answers PROG_UNAVAIL" => prog_unavail, by RPC;
    "rpc.new_connection", Subject::Compound, "handles stay valid on a new connection" => same_handles;
    "compound.minor_version", Subject::Compound, "minor version 99 answers NFS4ERR_MINOR_VERS_MISMATCH and no results" => minor_version;
    "compound.tag", Subject::Compound, "the tag is returned" => tag;
    "compound.first_failure", Subject::Compound, "ends with the first operation that fails" => first_failure;
    "compound.illegal", Subject::Op(Operation::Illegal), "an operation that does not exist answers NFS4ERR_OP_ILLEGAL" => illegal;
    "compound.removed", Subject::Compound, "RENEW of version 4.0 answers NFS4ERR_NOTSUPP" => removed, by NO_LONGER, from MinorVersion::V1;
    "compound.no_filehandle", Subject::Op(Operation::Getattr), "GETATTR without a current file handle answers NFS4ERR_NOFILEHANDLE" => no_filehandle, by CURRENT;
    "compound.no_saved", Subject::Op(Operation::Restorefh), "RESTOREFH without a saved file handle is refused" => no_saved;
    "compound.saved", Subject::Op(Operation::Restorefh), "RESTOREFH returns to the file handle of SAVEFH" => saved;
}

fn no_procedure(b: &mut Bench<'_>) -> Outcome {
    proc_unavail(b, 2)
}

fn no_version(b: &mut Bench<'_>) -> Outcome {
    refused_version(&mut own_connection(b.plan, b.target), 9)
}

fn same_handles(b: &mut Bench<'_>) -> Outcome {
    new_connection(b).map(drop)
}

fn minor_version(b: &mut Bench<'_>) -> Outcome {
    let what = "minor version 99";
    let args = written(99, |compound| {
        compound.op(&PutrootfhArgs {});
    });
    let answer = send(&mut own_connection(b.plan, b.target), what, &args)?;
    answer.must_be(what, &[Nfsstat4::MinorVersMismatch])?;
    b.equal("results", 0, answer.count)
}

fn tag(b: &mut Bench<'_>) -> Outcome {
    const TAG: &[u8] = b"filermark validate";
    let raw = b.raw()?;
    let mut args = Vec::new();
    let mut compound = CompoundWriter::begin(&mut args, TAG, b.minor());
    raw.begins(&mut compound, false);
    compound.op(&PutrootfhArgs {});
    compound.finish();
    let answer = { raw }.call_written("a COMPOUND with a tag", &args)?;
    // Behind the status, and in front of the results.
    let wanted = [&(TAG.len() as u32).to_be_bytes(), TAG].concat();
    let got = answer.body.get(4..4 + wanted.len()).unwrap_or_default();
    b.equal(
        "tag",
        wanted.escape_ascii().to_string(),
        got.escape_ascii().to_string(),
    )
}

fn first_failure(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let answer = b.raw()?.call("LOOKUP of nothing", false, |compound| {
        compound
            .op(&putfh(&dir))
            .op(&LookupArgs { objname: b"none" });
        compound.op(&GetfhArgs {});
    })?;
    answer.must_be("LOOKUP of nothing", &[Nfsstat4::Noent])?;
    let first = b.first_index();
    b.equal(
        "results of PUTFH, LOOKUP, GETFH",
        2,
        answer.count.saturating_sub(first),
    )
}

fn illegal(b: &mut Bench<'_>) -> Outcome {
    let what = "operation 10044";
    let answer = b.raw()?.call(what, false, |compound| {
        compound.op(&IllegalArgs {});
    })?;
    answer.must_be(what, &[Nfsstat4::OpIllegal])?;
    let result = answer.result::<IllegalArgs, _>(b.first_index(), |result| result.err());
    b.equal(
        "the result of the operation ILLEGAL",
        Some(Nfsstat4::OpIllegal),
        result,
    )
}

fn removed(b: &mut Bench<'_>) -> Outcome {
    let mut raw = b.raw()?;
    let clientid = raw.clientid;
    let answer = raw.call("RENEW", false, |compound| {
        compound.op(&RenewArgs { clientid });
    })?;
    answer.must_be("RENEW", &[Nfsstat4::Notsupp])
}

fn no_filehandle(b: &mut Bench<'_>) -> Outcome {
    let what = "GETATTR behind SEQUENCE";
    let answer = b.raw()?.call(what, false, |compound| {
        compound.op(&GetattrArgs {
            attr_request: Bitmap4::of(&[Attribute::Type]),
        });
    })?;
    answer.must_be(what, &[Nfsstat4::Nofilehandle])
}

fn no_saved(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let what = "RESTOREFH without SAVEFH";
    let answer = b.raw()?.call(what, false, |compound| {
        compound.op(&putfh(&dir)).op(&RestorefhArgs {});
    })?;
    if b.minor() == 0 {
        return answer.must_be(what, &[Nfsstat4::Restorefh]);
    }
    if answer.status == Nfsstat4::Restorefh {
        b.note(format!(
            "{what}: {}, the status of version 4.0",
            answer.status
        ));
        return Ok(());
    }
    answer.must_be(what, &[Nfsstat4::Nofilehandle])
}

fn saved(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let answer = b
        .raw()?
        .call("SAVEFH, PUTROOTFH, RESTOREFH", false, |compound| {
            compound.op(&putfh(&dir)).op(&SavefhArgs {});
            compound.op(&PutrootfhArgs {}).op(&RestorefhArgs {});
            compound.op(&GetfhArgs {});
        })?;
    answer.must_be("SAVEFH, PUTROOTFH, RESTOREFH, GETFH", &[Nfsstat4::Ok])?;
    let handle = answer.result::<GetfhArgs, _>(b.first_index() + 4, |result| {
        Some(result.ok()?.object.to_fh())
    });
    match handle {
        Some(handle) => b.same_object("GETFH after RESTOREFH", &dir, &handle),
        None => Err(Stop::fail("GETFH: its results", "none")),
    }
}
