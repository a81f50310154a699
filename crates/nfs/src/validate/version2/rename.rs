//! RENAME.

use super::ops::{Bench, Check, Outcome, nfs};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "rename.moved", nfs(Procedure::Rename), "the file goes from one name to the other" => moved;
    "rename.across", nfs(Procedure::Rename), "from one directory to another" => across;
    "rename.over_file", nfs(Procedure::Rename), "over a file replaces that" => over_file;
    "rename.over_empty_dir", nfs(Procedure::Rename), "a directory over an empty one replaces that, or stays" => over_empty_dir;
    "rename.over_full_dir", nfs(Procedure::Rename), "a directory over a full one is refused" => over_full_dir;
    "rename.file_over_dir", nfs(Procedure::Rename), "a file over a directory is refused" => file_over_dir;
    "rename.dir_over_file", nfs(Procedure::Rename), "a directory over a file is refused" => dir_over_file;
    "rename.same_name", nfs(Procedure::Rename), "to its own name does nothing" => same_name;
    "rename.same_file", nfs(Procedure::Rename), "over another name of the same file loses nothing" => same_file;
    "rename.noent", nfs(Procedure::Rename), "an unknown name answers NFSERR_NOENT" => noent;
    "rename.into_itself", nfs(Procedure::Rename), "a directory does not go into itself" => into_itself;
    "rename.dot", nfs(Procedure::Rename), "'.' and '..' cannot be renamed" => dot;
}

fn moved(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file_with(b"old", b"content")?;
    let before = b.attributes(&file)?;
    b.done("RENAME", |nfs| nfs.rename((&dir, b"old"), (&dir, b"new")))?;
    b.absent(&dir, b"old")?;
    let found = b.find(&dir, b"new")?;
    let after = b.attributes(&found)?;
    b.equal("fileid", before.fileid, after.fileid)?;
    b.contains(&found, 0, b"content")?;
    if b.either("GETATTR", |nfs| nfs.getattr(&file))?.is_err() {
        b.note("RENAME makes the old handle stale");
    }
    Ok(())
}

fn across(b: &mut Bench<'_>) -> Outcome {
    let (from, to) = (b.mkdir(b"from")?, b.mkdir(b"to")?);
    let file = b.file_in(&from, b"file")?;
    let below = b.mkdir_in(&from, b"dir")?;
    b.file_in(&below, b"inside")?;
    let before = b.attributes(&file)?;
    b.done("RENAME", |nfs| nfs.rename((&from, b"file"), (&to, b"file")))?;
    b.done("RENAME of a directory", |nfs| {
        nfs.rename((&from, b"dir"), (&to, b"dir2"))
    })?;
    let left = b.list(&from)?.len();
    b.equal("entries left in the old directory", 0, left)?;
    let found = b.find(&to, b"file")?;
    let after = b.attributes(&found)?;
    b.equal("fileid", before.fileid, after.fileid)?;
    let below = b.find(&to, b"dir2")?;
    b.find(&below, b"inside")?;
    // The moved directory has to know its new parent.
    match b.either("LOOKUP of '..'", |nfs| nfs.lookup(&below, b".."))? {
        Ok(parent) => {
            let (wanted, is) = (b.attributes(&to)?, b.attributes(&parent.0)?);
            b.equal(
                "fileid of '..' in the moved directory",
                wanted.fileid,
                is.fileid,
            )
        }
        Err(status) => {
            b.note(format!("LOOKUP of '..': {status}"));
            Ok(())
        }
    }
}

fn over_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let source = b.file_with(b"source", b"new content")?;
    b.file_with(b"target", b"old")?;
    let wanted = b.attributes(&source)?.fileid;
    b.done("RENAME over a file", |nfs| {
        nfs.rename((&dir, b"source"), (&dir, b"target"))
    })?;
    b.absent(&dir, b"source")?;
    let found = b.find(&dir, b"target")?;
    let is = b.attributes(&found)?;
    b.equal("fileid and size", (wanted, 11), (is.fileid, is.size))?;
    b.contains(&found, 0, b"new content")?;
    let entries = b.list(&dir)?.len();
    b.equal("entries", 1, entries)
}

/// Unix replaces it; the RFC does not say, and a server may refuse.
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

/// RENAME has to be refused, with the usual status or with NFSERR_EXIST, as servers
/// answer for targets that do not fit.
fn unfit(b: &mut Bench<'_>, what: &str, usual: Nfsstat) -> Outcome {
    let dir = b.dir;
    match b.either(what, |nfs| nfs.rename((&dir, b"source"), (&dir, b"target")))? {
        Err(status) if status == usual || status == Nfsstat::Exist => {}
        Err(status) => b.note(format!(
            "{what}: {status}; {usual} or NFSERR_EXIST is usual"
        )),
        Ok(_) => {
            return Err(Stop::fail(
                format!("{what}: {usual} or NFSERR_EXIST"),
                Nfsstat::Ok,
            ));
        }
    }
    b.find(&dir, b"source").map(drop)
}

fn over_full_dir(b: &mut Bench<'_>) -> Outcome {
    b.mkdir(b"source")?;
    let target = b.mkdir(b"target")?;
    b.file_in(&target, b"inside")?;
    unfit(
        b,
        "RENAME of a directory over a full one",
        Nfsstat::Notempty,
    )?;
    b.find(&target, b"inside").map(drop)
}

fn file_over_dir(b: &mut Bench<'_>) -> Outcome {
    b.file(b"source")?;
    let target = b.mkdir(b"target")?;
    unfit(b, "RENAME of a file over a directory", Nfsstat::Isdir)?;
    b.attributes(&target).map(drop)
}

fn dir_over_file(b: &mut Bench<'_>) -> Outcome {
    b.mkdir(b"source")?;
    let target = b.file(b"target")?;
    unfit(b, "RENAME of a directory over a file", Nfsstat::Notdir)?;
    b.attributes(&target).map(drop)
}

fn same_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file_with(b"file", b"content")?;
    b.done("RENAME to the same name", |nfs| {
        nfs.rename((&dir, b"file"), (&dir, b"file"))
    })?;
    let found = b.find(&dir, b"file")?;
    b.contains(&found, 0, b"content")
}

/// Unix does nothing; whatever is done, the file has to have a name afterwards.
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

fn noent(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("RENAME of nothing", &[Nfsstat::Noent], |nfs| {
        nfs.rename((&dir, b"none"), (&dir, b"new"))
    })?;
    b.absent(&dir, b"new")
}

fn into_itself(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let outer = b.mkdir(b"outer")?;
    let inner = b.mkdir_in(&outer, b"inner")?;
    b.refused_somehow(
        "RENAME of a directory into itself",
        &[Nfsstat::Inval, Nfsstat::Acces],
        |nfs| nfs.rename((&dir, b"outer"), (&inner, b"moved")),
    )?;
    b.find(&dir, b"outer").map(drop)
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    for name in [&b"."[..], b".."] {
        let what = format!("RENAME of '{}'", name.escape_ascii());
        let usual = [Nfsstat::Inval, Nfsstat::Acces, Nfsstat::Perm];
        b.refused_somehow(&what, &usual, |nfs| {
            nfs.rename((&below, name), (&dir, b"moved"))
        })?;
    }
    b.absent(&dir, b"moved")
}
