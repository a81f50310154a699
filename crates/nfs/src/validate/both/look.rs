//! LOOKUP.

use super::ops::Common;
use crate::validate::bench::Bench;
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
