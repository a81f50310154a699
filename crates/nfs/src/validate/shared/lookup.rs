//! LOOKUP and READLINK.

use super::ops::Common;
use crate::validate::bench::Bench;
use crate::validate::text::shown;
use filermark_driver_kit::checks::Outcome;

pub(in crate::validate) fn noent<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.absent(&dir, b"nothing")
}

pub(in crate::validate) fn notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("LOOKUP in a file", &[V::NOTDIR], |nfs| {
        V::lookup(nfs, &file, b"x")
    })
    .map(drop)
}

/// Neither RFC requires these two names: a server may refuse them, but must not return a
/// different directory.
fn alias<V: Common>(
    b: &mut Bench<'_, V>,
    dir: &V::Handle,
    name: &[u8],
    wanted: &V::Handle,
) -> Outcome {
    let what = format!("LOOKUP of {}", shown(name));
    match b.either(&what, |nfs| V::lookup(nfs, dir, name))? {
        Ok(found) => {
            let (wanted, is) = (b.facts(wanted)?, b.facts(&found)?);
            b.equal(&format!("{what}: fileid"), wanted.fileid, is.fileid)
        }
        Err(status) => {
            b.note(format!("{what}: {status}"));
            Ok(())
        }
    }
}

pub(in crate::validate) fn dot<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    alias(b, &dir, b".", &dir)
}

pub(in crate::validate) fn dotdot<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    alias(b, &below, b"..", &dir)
}

pub(in crate::validate) fn stale<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let gone = b.removed_dir()?;
    b.becomes_stale("LOOKUP in a removed directory", |nfs| {
        V::lookup(nfs, &gone, b"x")
    })
}

/// The text of a link must be this.
pub(in crate::validate) fn same_text<V: Common>(
    b: &mut Bench<'_, V>,
    link: &V::Handle,
    text: &[u8],
) -> Outcome {
    let got = b.done("READLINK", |nfs| V::readlink(nfs, link))?;
    b.equal("text", shown(text), shown(&got))?;
    b.equal("length of the text", text.len(), got.len())
}

pub(in crate::validate) fn text<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let long = [b'x'; 200];
    for (name, text) in [
        (&b"plain"[..], &b"target"[..]),
        (b"path", b"../no such/./dir//\xc3\xbc"),
        (b"long", &long[..]),
    ] {
        let link = b.symlink(name, text)?;
        same_text(b, &link, text)?;
        let (size, len) = (b.facts(&link)?.size, text.len());
        if size != len as u64 {
            b.note(format!("the size of a link with {len} bytes is {size}"));
        }
    }
    Ok(())
}
