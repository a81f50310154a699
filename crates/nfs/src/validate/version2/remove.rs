//! REMOVE and RMDIR.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::remove::{
    noent, notdir, rmdir_gone, rmdir_noent, rmdir_notdir, symlink,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "remove.gone", nfs(Procedure::Remove), "removes the name" => gone;
    "remove.noent", nfs(Procedure::Remove), "an unknown name answers NFSERR_NOENT" => noent;
    "remove.symlink", nfs(Procedure::Remove), "removes a link, not its target" => symlink;
    "remove.dir", nfs(Procedure::Remove), "of a directory is refused and does not change it" => dir;
    "remove.notdir", nfs(Procedure::Remove), "in a file answers NFSERR_NOTDIR" => notdir;
    "remove.mtime", nfs(Procedure::Remove), "changes the mtime of the directory" => mtime, by "RFC 1094 section 2.3.5";
    "rmdir.gone", nfs(Procedure::Rmdir), "removes the name" => rmdir_gone;
    "rmdir.noent", nfs(Procedure::Rmdir), "an unknown name answers NFSERR_NOENT" => rmdir_noent;
    "rmdir.notempty", nfs(Procedure::Rmdir), "of a directory with entries answers NFSERR_NOTEMPTY" => notempty;
    "rmdir.notdir", nfs(Procedure::Rmdir), "of a file answers NFSERR_NOTDIR" => rmdir_notdir;
    "rmdir.dot", nfs(Procedure::Rmdir), "'.' and '..' cannot be removed" => dot;
}

fn gone(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    b.file(b"other")?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"file"))?;
    b.absent(&dir, b"file")?;
    b.find(&dir, b"other").map(drop)
}

fn dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file_in(&below, b"inside")?;
    let usual = [Nfsstat::Isdir, Nfsstat::Perm, Nfsstat::Acces];
    b.refused_somehow("REMOVE of a directory", &usual, |nfs| {
        nfs.remove(&dir, b"below")
    })?;
    let found = b.find(&dir, b"below")?;
    b.find(&found, b"inside").map(drop)
}

fn mtime(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file_in(&below, b"file")?;
    let old = Timeval {
        seconds: 1_000_000_000,
        useconds: 0,
    };
    let times = Sattr {
        atime: old,
        mtime: old,
        ..Sattr::NONE
    };
    b.done("SETATTR of a directory", |nfs| nfs.setattr(&below, times))?;
    let before = b.attributes(&below)?.mtime;
    b.done("REMOVE", |nfs| nfs.remove(&below, b"file"))?;
    let after = b.attributes(&below)?.mtime;
    b.holds(
        after > before,
        "an mtime of the directory later than before the REMOVE",
        format!("{after:?}"),
    )?;
    b.find(&dir, b"below").map(drop)
}

fn notempty(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.file_in(&below, b"inside")?;
    b.refused("RMDIR of a full directory", &[Nfsstat::Notempty], |nfs| {
        nfs.rmdir(&dir, b"below")
    })?;
    b.find(&below, b"inside").map(drop)
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    for (name, usual) in [
        (&b"."[..], [Nfsstat::Inval, Nfsstat::Acces, Nfsstat::Perm]),
        (b"..", [Nfsstat::Notempty, Nfsstat::Exist, Nfsstat::Acces]),
    ] {
        let what = format!("RMDIR of '{}'", name.escape_ascii());
        b.refused_somehow(&what, &usual, |nfs| nfs.rmdir(&below, name))?;
    }
    match b.find(&dir, b"below") {
        Ok(_) => Ok(()),
        Err(_) => Err(Stop::fail("the directory still exists", "it does not")),
    }
}
