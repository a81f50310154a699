//! READ.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::read::back;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "read.back", Procedure::Read, "returns the written data, at odd offsets and lengths" => back;
    "read.eof", Procedure::Read, "eof is set at the end of the file and nowhere else" => eof;
    "read.past_end", Procedure::Read, "a read after the end returns no bytes and eof" => past_end;
    "read.zero_count", Procedure::Read, "a count of 0 returns no bytes" => zero_count;
    "read.beyond_4gib", Procedure::Read, "offsets have 64 bits" => beyond_4gib;
    "read.largest", Procedure::Read, "the largest transfer works" => largest;
    "read.dir", Procedure::Read, "of a directory is refused" => of_dir;
    "read.stale", Procedure::Read, "of a removed file answers NFS3ERR_STALE" => stale;
}

fn eof(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(1000, 4);
    let file = b.file_with(b"file", &data)?;
    let middle = b.done("READ", |nfs| nfs.read(&file, 100, 500))?;
    b.equal("eof in the middle", false, middle.eof)?;
    let across = b.done("READ", |nfs| nfs.read(&file, 900, 4096))?;
    same_bytes(900, data.get(900..).unwrap_or_default(), &across.data)?;
    b.equal("eof of a read across the end", true, across.eof)?;
    let exact = b.done("READ", |nfs| nfs.read(&file, 900, 100))?;
    b.equal("count of a read up to the end", 100, exact.count)?;
    b.equal("eof of a read up to the end", true, exact.eof)
}

fn past_end(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 5))?;
    for offset in [1000, 1001, 1 << 20, 5 << 30] {
        let read = b.done("READ", |nfs| nfs.read(&file, offset, 512))?;
        let what = format!("count, data, eof at {offset} of a file of 1000 bytes");
        b.equal(&what, (0, 0, true), (read.count, read.data.len(), read.eof))?;
    }
    Ok(())
}

fn zero_count(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 6))?;
    let read = b.done("READ of 0 bytes", |nfs| nfs.read(&file, 10, 0))?;
    b.equal("count and data", (0, 0), (read.count, read.data.len()))
}

/// A sparse file with `data` at `offset`. Skips the check if files cannot be that large or the
/// disk is full.
pub(super) fn large_file(b: &mut Bench<'_>, offset: u64, data: &[u8]) -> Result<Fh, Stop> {
    let max = b.target.fsinfo.maxfilesize;
    if max < offset + data.len() as u64 {
        return Err(Stop::Skip(format!("FSINFO: files end at {max} bytes")));
    }
    let file = b.file(b"large")?;
    let what = format!("WRITE of {} bytes at {offset}", data.len());
    let wrote = b.either(&what, |nfs| {
        nfs.write(&file, offset, StableHow::FileSync, data)
    })?;
    match wrote {
        Ok(wrote) => {
            b.equal(&format!("{what}: count"), data.len() as u32, wrote.count)?;
            Ok(file)
        }
        Err(status @ (Nfsstat3::Nospc | Nfsstat3::Dquot)) => {
            Err(Stop::Skip(format!("{what}: {status}")))
        }
        Err(status) => Err(Stop::fail(format!("{what}: NFS3_OK"), status)),
    }
}

fn beyond_4gib(b: &mut Bench<'_>) -> Outcome {
    const OFFSET: u64 = (5 << 30) + 17;
    let data = pattern(1000, 7);
    let file = large_file(b, OFFSET, &data)?;
    b.contains(&file, OFFSET, &data)?;
    // An offset truncated to 32 bits would read or write the data here.
    b.contains(&file, OFFSET & 0xffff_ffff, &[0; 1000])
}

fn largest(b: &mut Bench<'_>) -> Outcome {
    let size = b.target.rsize;
    let data = pattern(size as usize + 100, 8);
    let file = b.file_with(b"file", &data)?;
    let what = format!("READ of {size} bytes (rsize)");
    let read = b.done(&what, |nfs| nfs.read(&file, 0, size))?;
    b.holds(read.count > 0, &format!("{what}: data"), "none")?;
    if read.count < size {
        b.note(format!("{what} returns {} bytes", read.count));
    }
    let wanted = data.get(..read.data.len()).unwrap_or(&data);
    same_bytes(0, wanted, &read.data)
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let wanted = [Nfsstat3::Isdir, Nfsstat3::Inval];
    b.refused("READ of a directory", &wanted, |nfs| nfs.read(&dir, 0, 512))
        .map(drop)
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file_with(b"gone", b"data")?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"gone"))?;
    b.becomes_stale("READ of a removed file", |nfs| nfs.read(&file, 0, 4))
}
