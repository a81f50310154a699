//! REMOVE and RMDIR.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::Outcome;

pub(in crate::validate) fn noent<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.refused("REMOVE of nothing", &[V::NOENT], |nfs| {
        V::remove(nfs, &dir, b"none")
    })
    .map(drop)
}

pub(in crate::validate) fn notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("REMOVE in a file", &[V::NOTDIR], |nfs| {
        V::remove(nfs, &file, b"x")
    })
    .map(drop)
}

pub(in crate::validate) fn rmdir_gone<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.done("RMDIR", |nfs| V::rmdir(nfs, &dir, b"below"))?;
    b.absent(&dir, b"below")?;
    b.becomes_stale("GETATTR of a removed directory", |nfs| {
        V::getattr(nfs, &below)
    })
}

pub(in crate::validate) fn rmdir_noent<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.refused("RMDIR of nothing", &[V::NOENT], |nfs| {
        V::rmdir(nfs, &dir, b"none")
    })
    .map(drop)
}

pub(in crate::validate) fn rmdir_notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    b.refused("RMDIR of a file", &[V::NOTDIR], |nfs| {
        V::rmdir(nfs, &dir, b"file")
    })?;
    b.find(&dir, b"file").map(drop)
}

pub(in crate::validate) fn symlink<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    b.symlink(b"link", b"file")?;
    b.done("REMOVE of a symbolic link", |nfs| {
        V::remove(nfs, &dir, b"link")
    })?;
    b.absent(&dir, b"link")?;
    b.find(&dir, b"file").map(drop)
}
