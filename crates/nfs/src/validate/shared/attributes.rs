//! GETATTR.

use super::ops::Common;
use crate::validate::bench::Bench;
use filermark_driver_kit::checks::{Outcome, Stop, pattern};

/// The bits of a mode that SETATTR sets.
pub(in crate::validate) const MODE_BITS: u32 = 0o7777;

pub(in crate::validate) fn file<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.file(b"file")?;
    let attributes = b.attributes(&file)?;
    let is = V::facts(&attributes);
    b.equal("type", V::REG, V::kind(&attributes))?;
    b.equal("mode (octal 644 is 420)", 0o644, is.mode & MODE_BITS)?;
    b.equal("size", 0, is.size)?;
    b.equal("links", 1, is.nlink)?;
    if is.uid != b.plan.uid {
        let (uid, ours) = (is.uid, b.plan.uid);
        b.note(format!(
            "a new file of uid {ours} belongs to uid {uid}: identities are mapped"
        ));
    }
    Ok(())
}

pub(in crate::validate) fn dir<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let dir = b.mkdir(b"dir")?;
    let attributes = b.attributes(&dir)?;
    let is = V::facts(&attributes);
    b.equal("type", V::DIR, V::kind(&attributes))?;
    b.equal("mode (octal 755 is 493)", 0o755, is.mode & 0o777)?;
    b.holds(is.nlink >= 1, "1 link or more", is.nlink)
}

/// The size after each of several writes. Returns the last attributes of the file.
pub(in crate::validate) fn size_after_writes<V: Common>(
    b: &mut Bench<'_, V>,
) -> Result<V::Attributes, Stop> {
    let file = b.file(b"file")?;
    for (offset, len, wanted) in [(0u32, 100, 100), (50, 25, 100), (100, 4000, 4100)] {
        b.put(&file, V::Offset::from(offset), &pattern(len, offset.into()))?;
        let is = b.facts(&file)?;
        b.equal("size after WRITE", wanted, is.size)?;
    }
    b.attributes(&file)
}

pub(in crate::validate) fn stale<V: Common>(b: &mut Bench<'_, V>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("GETATTR of a removed file", |nfs| V::getattr(nfs, &file))
}

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
