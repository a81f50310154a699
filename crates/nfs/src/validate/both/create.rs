//! MKDIR.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::Outcome;

pub(in crate::validate) fn mkdir_exist<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"dir")?;
    b.file(b"file")?;
    for name in [&b"dir"[..], b"file"] {
        b.refused("MKDIR over a name", &[V::EXIST], |nfs| {
            V::mkdir(nfs, &dir, name)
        })?;
    }
    Ok(())
}

pub(in crate::validate) fn mkdir_notdir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("MKDIR in a file", &[V::NOTDIR], |nfs| {
        V::mkdir(nfs, &file, b"x")
    })
    .map(drop)
}
