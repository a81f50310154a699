//! WRITE.

use super::ops::{Bench, Check, Outcome};
use super::read::large_file;
use crate::validate::shared::write::{hole, overwrite};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::pattern;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "write.file_sync", Procedure::Write, "FILE_SYNC is answered FILE_SYNC" => file_sync;
    "write.data_sync", Procedure::Write, "DATA_SYNC is answered DATA_SYNC or FILE_SYNC" => data_sync;
    "write.unstable", Procedure::Write, "UNSTABLE data can be read at once" => unstable;
    "write.overwrite", Procedure::Write, "changes the given range only" => overwrite;
    "write.hole", Procedure::Write, "a hole reads as zeros" => hole;
    "write.zero_count", Procedure::Write, "0 bytes succeed and change nothing" => zero_count;
    "write.largest", Procedure::Write, "the largest transfer works" => largest;
    "write.beyond_4gib", Procedure::Write, "offsets and sizes have 64 bits" => beyond_4gib;
    "write.mtime", Procedure::Write, "changes the mtime" => mtime, by "RFC 1813 section 2.6";
    "write.dir", Procedure::Write, "to a directory is refused" => to_dir;
    "write.stale", Procedure::Write, "to a removed file answers NFS3ERR_STALE" => stale;
}

/// A single WRITE. Its answer must have the requested stability and the right count.
fn write(b: &mut Bench<'_>, file: &Fh, stable: StableHow, data: &[u8]) -> Outcome {
    let what = format!("WRITE {stable}");
    let wrote = b.done(&what, |nfs| nfs.write(file, 0, stable, data))?;
    let expected = format!("{what}: committed {stable} or better");
    b.holds(wrote.committed >= stable, &expected, wrote.committed)?;
    b.equal(&format!("{what}: count"), data.len() as u32, wrote.count)?;
    b.contains(file, 0, data)?;
    let size = b.attributes(file)?.size;
    b.equal("size by GETATTR", data.len() as u64, size)
}

fn file_sync(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    write(b, &file, StableHow::FileSync, &pattern(5000, 11))
}

fn data_sync(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    write(b, &file, StableHow::DataSync, &pattern(5000, 12))
}

fn unstable(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    write(b, &file, StableHow::Unstable, &pattern(5000, 13))
}

fn zero_count(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(100, 17);
    let file = b.file_with(b"file", &data)?;
    let wrote = b.done("WRITE of 0 bytes", |nfs| {
        nfs.write(&file, 5000, StableHow::FileSync, &[])
    })?;
    b.equal("count", 0, wrote.count)?;
    let size = b.attributes(&file)?.size;
    b.equal("size after a WRITE of 0 bytes", 100, size)
}

fn largest(b: &mut Bench<'_>) -> Outcome {
    let size = b.target.wsize;
    let data = pattern(size as usize, 18);
    let file = b.file(b"file")?;
    let what = format!("WRITE of {size} bytes (wsize)");
    let wrote = b.done(&what, |nfs| nfs.write(&file, 0, StableHow::FileSync, &data))?;
    let count = wrote.count;
    b.holds(
        (1..=size).contains(&count),
        &format!("{what}: 1 to {size}"),
        count,
    )?;
    if count < size {
        b.note(format!("{what} writes {count} bytes"));
    }
    b.contains(&file, 0, data.get(..count as usize).unwrap_or(&data))
}

fn beyond_4gib(b: &mut Bench<'_>) -> Outcome {
    const OFFSET: u64 = 6 << 30;
    let data = pattern(100, 19);
    let file = large_file(b, OFFSET, &data)?;
    let is = b.attributes(&file)?;
    b.equal("size", OFFSET + 100, is.size)?;
    if is.used > 1 << 30 {
        b.note(format!("the sparse file uses {} bytes: no holes", is.used));
    }
    b.done("SETATTR", |nfs| {
        nfs.setattr(&file, Sattr3::size(OFFSET + 1), None)
    })?;
    let size = b.attributes(&file)?.size;
    b.equal("size after SETATTR", OFFSET + 1, size)
}

fn mtime(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let old = Nfstime3 {
        seconds: 1_000_000_000,
        nseconds: 0,
    };
    let set = Sattr3 {
        mtime: SetTime::ClientTime(old),
        ..Sattr3::default()
    };
    // If times cannot be set, the time of creation is the old one.
    b.either("SETATTR", |nfs| nfs.setattr(&file, set, None))?
        .ok();
    let before = b.attributes(&file)?;
    b.put(&file, 0, b"data")?;
    let after = b.attributes(&file)?;
    let moved = after.mtime > before.mtime || before.mtime != old && after.mtime == before.mtime;
    b.holds(
        moved,
        "an mtime later than before the WRITE",
        format!("{:?}", after.mtime),
    )?;
    b.holds(
        after.ctime >= before.ctime,
        "a ctime not before the one before the WRITE",
        format!("{:?}", after.ctime),
    )
}

fn to_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let wanted = [Nfsstat3::Isdir, Nfsstat3::Inval];
    b.refused("WRITE to a directory", &wanted, |nfs| {
        nfs.write(&dir, 0, StableHow::FileSync, b"x")
    })
    .map(drop)
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("WRITE to a removed file", |nfs| {
        nfs.write(&file, 0, StableHow::FileSync, b"x")
    })
}
