//! RENAME.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::rename::{
    self as shared, across, dir_over_file, file_over_dir, moved, noent, over_file, refused_target,
    same_name,
};
use filermark_driver_kit::checks;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "rename.moved", nfs(Procedure::Rename), "moves the file from one name to the other" => moved;
    "rename.across", nfs(Procedure::Rename), "from one directory to another" => across;
    "rename.over_file", nfs(Procedure::Rename), "over a file replaces it" => over_file;
    "rename.over_empty_dir", nfs(Procedure::Rename), "a directory over an empty one replaces it, or is refused" => over_empty_dir;
    "rename.over_full_dir", nfs(Procedure::Rename), "a directory over one with entries is refused" => over_full_dir;
    "rename.file_over_dir", nfs(Procedure::Rename), "a file over a directory is refused" => file_over_dir;
    "rename.dir_over_file", nfs(Procedure::Rename), "a directory over a file is refused" => dir_over_file;
    "rename.same_name", nfs(Procedure::Rename), "to its own name does nothing" => same_name;
    "rename.same_file", nfs(Procedure::Rename), "over another name of the same file loses no data" => same_file;
    "rename.noent", nfs(Procedure::Rename), "an unknown name answers NFSERR_NOENT" => noent;
    "rename.into_itself", nfs(Procedure::Rename), "a directory cannot be moved into itself" => into_itself;
    "rename.dot", nfs(Procedure::Rename), "'.' and '..' cannot be renamed" => dot;
}

/// Unix replaces it; the RFC does not define it, and a server may refuse.
fn over_empty_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let source = b.mkdir(b"source")?;
    b.file_in(&source, b"inside")?;
    b.mkdir(b"target")?;
    let what = "RENAME over an empty directory";
    let renamed = b.either(what, |nfs| nfs.rename((&dir, b"source"), (&dir, b"target")))?;
    let name = match renamed {
        Ok(()) => {
            b.absent(&dir, b"source")?;
            &b"target"[..]
        }
        Err(status) => {
            b.note(format!("{what}: {status}"));
            b"source"
        }
    };
    let found = b.find(&dir, name)?;
    b.find(&found, b"inside").map(drop)
}

fn over_full_dir(b: &mut Bench<'_>) -> Outcome {
    b.mkdir(b"source")?;
    let target = b.mkdir(b"target")?;
    b.file_in(&target, b"inside")?;
    refused_target(
        b,
        "RENAME of a directory over a full one",
        Nfsstat::Notempty,
    )?;
    b.find(&target, b"inside").map(drop)
}

/// Unix does nothing. In any case the file must have a name afterwards.
fn same_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file(b"one")?;
    b.done("LINK", |nfs| nfs.link(&file, &dir, b"two"))?;
    b.done("RENAME over a hard link to the same file", |nfs| {
        nfs.rename((&dir, b"one"), (&dir, b"two"))
    })?;
    b.find(&dir, b"two")?;
    let names = b.list(&dir)?.len();
    let links = b.attributes(&file)?.nlink;
    b.equal("links, by the names listed", names, links as usize)?;
    if names == 1 {
        b.note("RENAME over another name of the same file removes the first");
    }
    Ok(())
}

fn into_itself(b: &mut Bench<'_>) -> Outcome {
    shared::into_itself(b, &[Nfsstat::Inval, Nfsstat::Acces])
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &[Nfsstat::Inval, Nfsstat::Acces, Nfsstat::Perm])
}
