//! RENAME.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, Stop};

pub(in crate::validate) fn moved<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let file = b.file_with(b"old", b"content")?;
    let before = b.facts(&file)?;
    b.done("RENAME", |nfs| {
        V::rename(nfs, (&dir, b"old"), (&dir, b"new"))
    })?;
    b.absent(&dir, b"old")?;
    let found = b.find(&dir, b"new")?;
    let after = b.facts(&found)?;
    b.equal("fileid", before.fileid, after.fileid)?;
    b.begins_with(&found, b"content")?;
    if b.either("GETATTR", |nfs| V::getattr(nfs, &file))?.is_err() {
        b.note("RENAME makes the old handle stale");
    }
    Ok(())
}

pub(in crate::validate) fn across<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let (from, to) = (b.mkdir(b"from")?, b.mkdir(b"to")?);
    let file = b.file_in(&from, b"file")?;
    let below = b.mkdir_in(&from, b"dir")?;
    b.file_in(&below, b"inside")?;
    let before = b.facts(&file)?;
    b.done("RENAME", |nfs| {
        V::rename(nfs, (&from, b"file"), (&to, b"file"))
    })?;
    b.done("RENAME of a directory", |nfs| {
        V::rename(nfs, (&from, b"dir"), (&to, b"dir2"))
    })?;
    let left = b.list(&from)?.len();
    b.equal("entries left in the old directory", 0, left)?;
    let found = b.find(&to, b"file")?;
    let after = b.facts(&found)?;
    b.equal("fileid", before.fileid, after.fileid)?;
    let below = b.find(&to, b"dir2")?;
    b.find(&below, b"inside")?;
    // '..' of the moved directory must be its new parent.
    match b.either("LOOKUP of '..'", |nfs| V::lookup(nfs, &below, b".."))? {
        Ok(parent) => {
            let (wanted, is) = (b.facts(&to)?, b.facts(&parent)?);
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

pub(in crate::validate) fn over_file<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let source = b.file_with(b"source", b"new content")?;
    b.file_with(b"target", b"old")?;
    let wanted = b.facts(&source)?.fileid;
    b.done("RENAME over a file", |nfs| {
        V::rename(nfs, (&dir, b"source"), (&dir, b"target"))
    })?;
    b.absent(&dir, b"source")?;
    let found = b.find(&dir, b"target")?;
    let is = b.facts(&found)?;
    b.equal("fileid and size", (wanted, 11), (is.fileid, is.size))?;
    b.begins_with(&found, b"new content")?;
    let entries = b.list(&dir)?.len();
    b.equal("entries", 1, entries)
}

pub(in crate::validate) fn over_empty_dir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let source = b.mkdir(b"source")?;
    b.file_in(&source, b"inside")?;
    b.mkdir(b"target")?;
    b.done("RENAME over an empty directory", |nfs| {
        V::rename(nfs, (&dir, b"source"), (&dir, b"target"))
    })?;
    b.absent(&dir, b"source")?;
    let found = b.find(&dir, b"target")?;
    b.find(&found, b"inside").map(drop)
}

/// RENAME of a directory over one with entries must be refused with one of these.
pub(in crate::validate) fn over_full_dir<V: Common>(
    b: &mut Bench<'_, V>,
    wanted: &[V::Status],
) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"source")?;
    let target = b.mkdir(b"target")?;
    b.file_in(&target, b"inside")?;
    let what = "RENAME of a directory over a full one";
    b.refused(what, wanted, |nfs| {
        V::rename(nfs, (&dir, b"source"), (&dir, b"target"))
    })?;
    b.find(&dir, b"source")?;
    b.find(&target, b"inside").map(drop)
}

/// RENAME must be refused, with the usual status or with the one for an existing name: RFC
/// 1813 specifies that for every incompatible kind of target, and servers of version 2 answer
/// it, too.
pub(in crate::validate) fn refused_target<V: Common>(
    b: &mut Bench<'_, V>,
    what: &str,
    usual: V::Status,
) -> Outcome {
    let (dir, exist) = (b.dir, V::EXIST);
    match b.either(what, |nfs| {
        V::rename(nfs, (&dir, b"source"), (&dir, b"target"))
    })? {
        Err(status) if status == usual || status == exist => {}
        Err(status) => b.note(format!("{what}: {status}; {usual} or {exist} is usual")),
        Ok(_) => {
            return Err(Stop::fail(format!("{what}: {usual} or {exist}"), V::OK));
        }
    }
    b.find(&dir, b"source").map(drop)
}

pub(in crate::validate) fn file_over_dir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    b.file(b"source")?;
    let target = b.mkdir(b"target")?;
    refused_target(b, "RENAME of a file over a directory", V::ISDIR)?;
    b.facts(&target).map(drop)
}

pub(in crate::validate) fn dir_over_file<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    b.mkdir(b"source")?;
    let target = b.file(b"target")?;
    refused_target(b, "RENAME of a directory over a file", V::NOTDIR)?;
    b.facts(&target).map(drop)
}

pub(in crate::validate) fn same_name<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.file_with(b"file", b"content")?;
    b.done("RENAME to the same name", |nfs| {
        V::rename(nfs, (&dir, b"file"), (&dir, b"file"))
    })?;
    let found = b.find(&dir, b"file")?;
    b.begins_with(&found, b"content")
}

pub(in crate::validate) fn noent<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.refused("RENAME of nothing", &[V::NOENT], |nfs| {
        V::rename(nfs, (&dir, b"none"), (&dir, b"new"))
    })?;
    b.absent(&dir, b"new")
}

pub(in crate::validate) fn into_itself<V: Common>(
    b: &mut Bench<'_, V>,
    usual: &[V::Status],
) -> Outcome {
    let dir = b.dir;
    let outer = b.mkdir(b"outer")?;
    let inner = b.mkdir_in(&outer, b"inner")?;
    b.refused_somehow("RENAME of a directory into itself", usual, |nfs| {
        V::rename(nfs, (&dir, b"outer"), (&inner, b"moved"))
    })?;
    b.find(&dir, b"outer").map(drop)
}

pub(in crate::validate) fn dot<V: Common>(b: &mut Bench<'_, V>, usual: &[V::Status]) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    for name in [&b"."[..], b".."] {
        let what = format!("RENAME of '{}'", name.escape_ascii());
        b.refused_somehow(&what, usual, |nfs| {
            V::rename(nfs, (&below, name), (&dir, b"moved"))
        })?;
    }
    b.absent(&dir, b"moved")
}
