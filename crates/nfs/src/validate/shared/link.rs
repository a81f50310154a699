//! LINK.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, Stop};
use filermark_onc::nfs3::fsf;

/// A file with the two names "one" and "two".
pub(in crate::validate) fn linked<V: Common>(b: &mut Bench<'_, V>) -> Result<V::Handle, Stop> {
    let dir = b.dir;
    let file = b.file_with(b"one", b"content")?;
    let is_promised = b.target.fsinfo.properties & fsf::LINK != 0;
    match b.either("LINK", |nfs| V::link(nfs, &file, &dir, b"two"))? {
        Ok(()) => Ok(file),
        Err(_) if V::lacks(b.target, fsf::LINK) => Err(b.stated_to_lack("LINK")),
        Err(status) if V::NOTSUPP == Some(status) && is_promised => {
            let stated = "LINK works, since the server states that it supports hard links";
            Err(Stop::fail(stated, status))
        }
        Err(status) => Err(b.unsupported_or_wrong("LINK", status)),
    }
}

pub(in crate::validate) fn same_file<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    let other = b.find(&dir, b"two")?;
    let (one, two) = (b.facts(&file)?, b.facts(&other)?);
    b.equal("fileid", one.fileid, two.fileid)?;
    b.equal("links by either name", (2, 2), (one.nlink, two.nlink))?;
    b.put(&other, V::Offset::from(0), b"CONTENT and more")?;
    b.begins_with(&file, b"CONTENT and more")
}

pub(in crate::validate) fn remove<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    b.done("REMOVE", |nfs| V::remove(nfs, &dir, b"one"))?;
    let is = b.facts(&file)?;
    b.equal("links after one REMOVE", 1, is.nlink)?;
    b.begins_with(&file, b"content")?;
    b.done("REMOVE", |nfs| V::remove(nfs, &dir, b"two"))?;
    b.becomes_stale("GETATTR after the last REMOVE", |nfs| {
        V::getattr(nfs, &file)
    })
}

pub(in crate::validate) fn exist<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    b.refused("LINK over a name", &[V::EXIST], |nfs| {
        V::link(nfs, &file, &dir, b"two")
    })
    .map(drop)
}

pub(in crate::validate) fn notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = linked(b)?;
    b.refused("LINK in a file", &[V::NOTDIR], |nfs| {
        V::link(nfs, &file, &file, b"x")
    })
    .map(drop)
}

pub(in crate::validate) fn across<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = linked(b)?;
    let below = b.mkdir(b"below")?;
    b.done("LINK in another directory", |nfs| {
        V::link(nfs, &file, &below, b"three")
    })?;
    let found = b.find(&below, b"three")?;
    let (one, three) = (b.facts(&file)?, b.facts(&found)?);
    b.equal("fileid", one.fileid, three.fileid)?;
    b.equal("links", 3, three.nlink)
}
