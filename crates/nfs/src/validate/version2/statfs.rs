//! STATFS.

use super::ops::{Bench, Check, Outcome, nfs};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::pattern;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "statfs.sane", nfs(Procedure::Statfs), "sizes are usable; free space is not more than the total" => sane;
    "statfs.falls", nfs(Procedure::Statfs), "the total stays and the free space decreases while a file grows" => falls;
    "statfs.any_file", nfs(Procedure::Statfs), "a file and a directory return the values of one file system" => any_file;
    "statfs.stale", nfs(Procedure::Statfs), "of a removed file answers NFSERR_STALE" => stale;
}

/// Counts have 32 bits: a server with more blocks reports larger blocks, or fewer of them.
fn sane(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let is = b.done("STATFS", |nfs| nfs.statfs(&dir))?;
    b.holds(is.tsize > 0, "a tsize of 1 byte or more", is.tsize)?;
    b.holds(is.bsize > 0, "a bsize of 1 byte or more", is.bsize)?;
    b.holds(
        is.bavail <= is.bfree && is.bfree <= is.blocks,
        "blocks, bfree and bavail in this order",
        format!(
            "{} blocks, {} free, {} for us",
            is.blocks, is.bfree, is.bavail
        ),
    )?;
    if is.blocks == 0 {
        b.note("STATFS reports 0 blocks");
    }
    if is.tsize > MAXDATA as u32 {
        b.note(format!("a tsize of {}: the maximum is 8192", is.tsize));
    }
    Ok(())
}

fn falls(b: &mut Bench<'_>) -> Outcome {
    const BYTES: usize = 1 << 20;
    let dir = b.dir;
    let before = b.done("STATFS", |nfs| nfs.statfs(&dir))?;
    let file = b.file(b"file")?;
    b.put(&file, 0, &pattern(BYTES, 41))?;
    let after = b.done("STATFS", |nfs| nfs.statfs(&dir))?;
    b.equal(
        "tsize, bsize and blocks before and after a WRITE",
        (before.tsize, before.bsize, before.blocks),
        (after.tsize, after.bsize, after.blocks),
    )?;
    // Other clients may use the file system, so the change of free space is only a note.
    if after.bfree >= before.bfree {
        b.note(format!(
            "1 MiB written, and bfree changes from {} to {}",
            before.bfree, after.bfree
        ));
    }
    Ok(())
}

fn any_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file(b"file")?;
    let one = b.done("STATFS of a directory", |nfs| nfs.statfs(&dir))?;
    let two = b.done("STATFS of a file", |nfs| nfs.statfs(&file))?;
    b.equal(
        "tsize, bsize and blocks",
        (one.tsize, one.bsize, one.blocks),
        (two.tsize, two.bsize, two.blocks),
    )
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("STATFS of a removed file", |nfs| nfs.statfs(&file))
}
