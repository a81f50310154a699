//! REMOVE and RMDIR.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::remove::{
    noent, notdir, rmdir_gone, rmdir_noent, rmdir_notdir, symlink,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "remove.gone", Procedure::Remove, "removes the name" => gone;
    "remove.noent", Procedure::Remove, "an unknown name answers NFS3ERR_NOENT" => noent;
    "remove.symlink", Procedure::Remove, "removes a link, not its target" => symlink;
    "remove.dir", Procedure::Remove, "of a directory does not change it" => dir;
    "remove.notdir", Procedure::Remove, "in a file answers NFS3ERR_NOTDIR" => notdir;
    "remove.dot", Procedure::Remove, "'.' and '..' cannot be removed" => dot;
    "rmdir.gone", Procedure::Rmdir, "removes the name" => rmdir_gone;
    "rmdir.noent", Procedure::Rmdir, "an unknown name answers NFS3ERR_NOENT" => rmdir_noent;
    "rmdir.notempty", Procedure::Rmdir, "of a directory with entries answers NFS3ERR_NOTEMPTY" => notempty;
    "rmdir.notdir", Procedure::Rmdir, "of a file answers NFS3ERR_NOTDIR" => rmdir_notdir;
    "rmdir.dot", Procedure::Rmdir, "'.' and '..' cannot be removed" => rmdir_dot;
}

fn gone(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    b.file(b"other")?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"file"))?;
    b.absent(&dir, b"file")?;
    b.find(&dir, b"other")?;
    let names: Vec<_> = b.list(&dir)?.into_iter().map(|e| e.name).collect();
    b.equal("names that are left", vec![b"other".to_vec()], names)
}

/// A server may remove an empty directory with REMOVE; a directory with entries must stay.
fn dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let full = b.mkdir(b"full")?;
    b.file_in(&full, b"file")?;
    let removed = b.either("REMOVE of a directory", |nfs| nfs.remove(&dir, b"full"))?;
    match removed {
        Err(Nfsstat3::Isdir) => {}
        Err(status) => b.note(format!(
            "REMOVE of a directory: {status}; NFS3ERR_ISDIR is usual"
        )),
        Ok(_) => {
            return Err(Stop::fail(
                "REMOVE of a directory with a file in it: refused",
                Nfsstat3::Ok,
            ));
        }
    }
    b.find(&full, b"file").map(drop)
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    let below = b.mkdir(b"below")?;
    for name in [&b"."[..], b".."] {
        let what = format!("REMOVE of '{}'", name.escape_ascii());
        let usual = [
            Nfsstat3::Isdir,
            Nfsstat3::Inval,
            Nfsstat3::Exist,
            Nfsstat3::Acces,
        ];
        b.refused_somehow(&what, &usual, |nfs| nfs.remove(&below, name))?;
    }
    Ok(())
}

fn notempty(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let full = b.mkdir(b"full")?;
    b.file_in(&full, b"file")?;
    match b.either("RMDIR of a full directory", |nfs| nfs.rmdir(&dir, b"full"))? {
        Err(Nfsstat3::Notempty) => b.find(&full, b"file").map(drop),
        Err(Nfsstat3::Exist) => {
            b.note("RMDIR of a full directory: NFS3ERR_EXIST instead of NFS3ERR_NOTEMPTY");
            b.find(&full, b"file").map(drop)
        }
        Err(status) => Err(Stop::fail(
            "RMDIR of a full directory: NFS3ERR_NOTEMPTY",
            status,
        )),
        Ok(_) => Err(Stop::fail(
            "RMDIR of a full directory: NFS3ERR_NOTEMPTY",
            Nfsstat3::Ok,
        )),
    }
}

/// All servers must refuse it; the status differs (RFC 1813 section 3.3.13).
fn rmdir_dot(b: &mut Bench<'_>) -> Outcome {
    let below = b.mkdir(b"below")?;
    for (name, usual) in [(&b"."[..], Nfsstat3::Inval), (b"..", Nfsstat3::Exist)] {
        let what = format!("RMDIR of '{}'", name.escape_ascii());
        b.refused_somehow(&what, &[usual], |nfs| nfs.rmdir(&below, name))?;
    }
    b.attributes(&below).map(drop)
}
