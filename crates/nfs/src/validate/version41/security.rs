//! SECINFO and SECINFO_NO_NAME.

use super::client::putfh;
use super::ops::{Bench, Check, Outcome, Subject};
use super::raw::Writer;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_model::plan::MinorVersion;
use filermark_onc::nfs4::*;
use filermark_onc::rpc::AuthFlavor;

const SECINFO: Subject = Subject::Op(Operation::Secinfo);
const NO_NAME: Subject = Subject::Op(Operation::SecinfoNoName);
const CONSUMED: &str = "RFC 8881 section 2.6.3.1.1.8";

checks! { CHECKS: Check =>
    "secinfo.flavors", SECINFO, "lists the flavor in use for a name" => flavors;
    "secinfo.noent", SECINFO, "an unknown name answers NFS4ERR_NOENT" => noent;
    "secinfo.consumes", SECINFO, "leaves no current file handle" => consumes, by CONSUMED, from MinorVersion::V1;
    "secinfo_no_name.flavors", NO_NAME, "lists the flavor in use for directory and parent" => no_name_flavors, from MinorVersion::V1;
    "secinfo_no_name.consumes", NO_NAME, "leaves no current file handle" => no_name_consumes, by CONSUMED, from MinorVersion::V1;
}

fn numbers(ok: SecinfoOk<'_>) -> Vec<u32> {
    ok.iter()
        .map(|flavor| match flavor {
            Secinfo4::Gss(_) => AuthFlavor::RpcsecGss.to_u32(),
            Secinfo4::Flavor(number) => number,
        })
        .collect()
}

fn has_ours(b: &mut Bench<'_>, what: &str, flavors: &[u32]) -> Outcome {
    // As SECINFO has them: all ways of Kerberos are RPCSEC_GSS.
    let ours = match b.plan.security.is_sys() {
        true => AuthFlavor::Sys,
        false => AuthFlavor::RpcsecGss,
    };
    let number = ours.to_u32();
    let expected = format!("{what}: {number} ({ours}) in the list");
    b.holds(flavors.contains(&number), &expected, format!("{flavors:?}"))
}

fn flavors(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let args = SecinfoArgs { name: b"file" };
    let listed = b.done("SECINFO", |client| {
        client.on(&dir, &args, |res| res.map(numbers))
    })?;
    has_ours(b, "SECINFO", &listed)
}

fn noent(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let args = SecinfoArgs { name: b"none" };
    b.refused("SECINFO of nothing", &[Nfsstat4::Noent], |client| {
        client.on(&dir, &args, |res| res.map(numbers))
    })
    .map(drop)
}

/// GETFH behind an operation that consumes the current file handle.
fn consumed(b: &mut Bench<'_>, what: &str, write: impl Fn(&mut Writer<'_>)) -> Outcome {
    let dir = b.dir;
    let answer = b.raw()?.call(what, false, |compound| {
        compound.op(&putfh(&dir));
        write(compound);
        compound.op(&GetfhArgs {});
    })?;
    if answer.count < 4 {
        if answer.status == Nfsstat4::Notsupp {
            return Err(b.unsupported_or_wrong(what, answer.status));
        }
        return Err(Stop::fail(
            format!("{what}: {}", Nfsstat4::Ok),
            answer.status,
        ));
    }
    answer.must_be(&format!("GETFH behind {what}"), &[Nfsstat4::Nofilehandle])
}

fn consumes(b: &mut Bench<'_>) -> Outcome {
    b.file(b"file")?;
    consumed(b, "SECINFO", |compound| {
        compound.op(&SecinfoArgs { name: b"file" });
    })
}

fn no_name_flavors(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    for style in [SecinfoStyle4::CurrentFh, SecinfoStyle4::Parent] {
        let args = SecinfoNoNameArgs { style };
        let listed = b.done_if_supported("SECINFO_NO_NAME", |client| {
            client.on(&dir, &args, |res| res.map(numbers))
        })?;
        has_ours(b, &format!("SECINFO_NO_NAME with {style}"), &listed)?;
    }
    Ok(())
}

fn no_name_consumes(b: &mut Bench<'_>) -> Outcome {
    consumed(b, "SECINFO_NO_NAME", |compound| {
        compound.op(&SecinfoNoNameArgs {
            style: SecinfoStyle4::CurrentFh,
        });
    })
}
