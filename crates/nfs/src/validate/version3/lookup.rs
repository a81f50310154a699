//! LOOKUP, ACCESS and READLINK.

use super::ops::{Bench, Check, Outcome};
use crate::client::Nfs3Client;
use crate::validate::shared::lookup::{dot, dotdot, noent, notdir, stale, text};
use crate::validate::text::no_answer;
use crate::validate::wire::other_user;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "lookup.found", Procedure::Lookup, "finds the right file, with its attributes" => found;
    "lookup.noent", Procedure::Lookup, "an unknown name answers NFS3ERR_NOENT" => noent;
    "lookup.notdir", Procedure::Lookup, "in a file answers NFS3ERR_NOTDIR" => notdir;
    "lookup.dot", Procedure::Lookup, "'.' is the directory itself" => dot, by "RFC 1813 section 3.2";
    "lookup.dotdot", Procedure::Lookup, "'..' is its parent" => dotdot, by "RFC 1813 section 3.2";
    "lookup.stale", Procedure::Lookup, "in a removed directory answers NFS3ERR_STALE" => stale;
    "access.owner", Procedure::Access, "the owner has rights on a file and a directory" => owner;
    "access.subset", Procedure::Access, "grants no right that was not requested" => subset;
    "access.others", Procedure::Access, "mode 600 denies access to other users" => others, by "RFC 1813 section 4.4";
    "readlink.text", Procedure::Readlink, "returns the text that the link was created with" => text;
    "readlink.inval", Procedure::Readlink, "of a file answers NFS3ERR_INVAL" => not_a_link;
}

fn found(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.file_with(b"file", b"twelve bytes")?;
    let wanted = b.attributes(&made)?;
    let found = b.done("LOOKUP", |nfs| nfs.lookup(&dir, b"file"))?;
    let is = b.attributes(&found.object)?;
    b.equal("fileid of the returned handle", wanted.fileid, is.fileid)?;
    match found.obj_attributes {
        Some(given) => b.equal(
            "fileid, type and size given with the handle",
            (wanted.fileid, wanted.ftype, wanted.size),
            (given.fileid, given.ftype, given.size),
        )?,
        None => b.note("LOOKUP returns no attributes of the object"),
    }
    let own = b.attributes(&dir)?.fileid;
    match found.dir_attributes {
        Some(given) => b.equal("fileid of the directory", own, given.fileid),
        None => {
            b.note("LOOKUP returns no attributes of the directory");
            Ok(())
        }
    }
}

const DIR_RIGHTS: u32 = access::READ | access::LOOKUP | access::MODIFY | access::EXTEND;
const FILE_RIGHTS: u32 = access::READ | access::MODIFY | access::EXTEND;

fn owner(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file(b"file")?;
    for (what, object, rights) in [("directory", dir, DIR_RIGHTS), ("file", file, FILE_RIGHTS)] {
        let granted = b.done("ACCESS", |nfs| nfs.access(&object, rights))?.access;
        b.equal(&format!("rights on our own {what}"), rights, granted)?;
    }
    let none = b.done("ACCESS", |nfs| nfs.access(&file, access::EXECUTE))?;
    if none.access != 0 {
        b.note("the right to execute a file of mode 644 is granted");
    }
    Ok(())
}

fn subset(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    for asked in [0, access::READ, access::LOOKUP | access::DELETE] {
        let granted = b.done("ACCESS", |nfs| nfs.access(&dir, asked))?.access;
        let expected = format!("rights within those requested ({asked:#x})");
        b.holds(granted & !asked == 0, &expected, format!("{granted:#x}"))?;
    }
    Ok(())
}

/// The server decides on permissions (RFC 1813 section 4.4), and some map all users to one:
/// granted access is a note, not a failure.
fn others(b: &mut Bench<'_>) -> Outcome {
    if b.plan.security.is_kerberos() {
        return Err(Stop::skip("the ticket is that of one user"));
    }
    let file = b.file_with(b"private", b"mine")?;
    b.done("SETATTR", |nfs| {
        nfs.setattr(&file, Sattr3::mode(0o600), None)
    })?;
    let (uid, other) = other_user(b.plan);
    let mut nfs = Nfs3Client::new(b.target.nfs_address, other, b.target.nfs_options(b.plan));
    let read = nfs
        .read(&file, 0, 4)
        .map_err(|error| no_answer("READ by another user", &error))?;
    match read {
        Err(failed) if failed.status == Nfsstat3::Acces => {}
        Err(failed) => b.note(format!("READ by uid {uid}: {}", failed.status)),
        Ok(_) => b.note(format!("uid {uid} may READ a file of mode 600")),
    }
    let granted = nfs
        .access(&file, access::READ)
        .map_err(|error| no_answer("ACCESS by another user", &error))?;
    if granted.is_ok_and(|ok| ok.access & access::READ != 0) && read.is_err() {
        return Err(Stop::fail(
            "ACCESS agrees with READ: no right to read",
            "ACCESS grants what READ refuses",
        ));
    }
    Ok(())
}

fn not_a_link(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("READLINK of a file", &[Nfsstat3::Inval], |nfs| {
        nfs.readlink(&file)
    })
    .map(drop)
}
