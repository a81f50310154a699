//! GETATTR.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::Outcome;

pub(in crate::validate) fn fileid_stable<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.dir;
    let (one, two) = (b.file(b"one")?, b.file(b"two")?);
    let (first, other) = (b.facts(&one)?, b.facts(&two)?);
    b.holds(
        first.fileid != other.fileid,
        "two files with two fileids",
        format!("both have {}", first.fileid),
    )?;
    b.equal("fsid of files side by side", first.fsid, other.fsid)?;
    b.put(&one, V::Offset::from(0), b"some data")?;
    b.done("RENAME", |nfs| {
        V::rename(nfs, (&dir, b"one"), (&dir, b"three"))
    })?;
    let found = b.find(&dir, b"three")?;
    let later = b.facts(&found)?;
    b.equal("fileid after WRITE and RENAME", first.fileid, later.fileid)?;
    b.equal("fsid after WRITE and RENAME", first.fsid, later.fsid)
}
