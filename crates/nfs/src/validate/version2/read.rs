//! READ.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::read::back;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "read.back", nfs(Procedure::Read), "returns the written data, at odd offsets and lengths" => back;
    "read.short", nfs(Procedure::Read), "a read across the end returns the bytes before it" => short;
    "read.past_end", nfs(Procedure::Read), "a read at or after the end returns no bytes" => past_end;
    "read.zero_count", nfs(Procedure::Read), "a count of 0 returns no bytes" => zero_count;
    "read.largest", nfs(Procedure::Read), "8192 bytes are returned at once" => largest;
    "read.too_large", nfs(Procedure::Read), "a count above 8192 returns at most 8192 bytes" => too_large, by "RFC 1094 section 3.5";
    "read.attributes", nfs(Procedure::Read), "the attributes in the reply are the file's" => attributes;
    "read.dir", nfs(Procedure::Read), "of a directory is refused" => of_dir;
    "read.stale", nfs(Procedure::Read), "of a removed file answers NFSERR_STALE" => stale;
}

/// There is no end mark: a client finds the end by the size in the answer.
fn short(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(1000, 4);
    let file = b.file_with(b"file", &data)?;
    for (offset, count) in [(900, 4096), (900, 100), (999, 1), (0, 8192)] {
        let (given, got) = b.read(&file, offset, count)?;
        let wanted = data.get(offset as usize..).unwrap_or_default();
        same_bytes(offset.into(), wanted, &got)?;
        b.equal("size given with the data", 1000, given.size)?;
    }
    Ok(())
}

fn past_end(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 5))?;
    for offset in [1000, 1001, 1 << 20, FILE_BYTES_MAX as u32] {
        let (given, got) = b.done("READ", |nfs| nfs.read(&file, offset, 512))?;
        let what = format!("bytes, and size, at {offset} of a file of 1000 bytes");
        b.equal(&what, (0, 1000), (got.len(), given.size))?;
    }
    Ok(())
}

fn zero_count(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 6))?;
    let (_, got) = b.done("READ of 0 bytes", |nfs| nfs.read(&file, 10, 0))?;
    b.equal("bytes", 0, got.len())
}

fn largest(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(MAXDATA + 100, 8);
    let file = b.file_with(b"file", &data)?;
    let (_, got) = b.read(&file, 0, MAXDATA as u32)?;
    b.holds(
        !got.is_empty(),
        "READ of 8192 bytes of a larger file: data",
        "none",
    )?;
    if got.len() < MAXDATA {
        b.note(format!("READ of 8192 bytes returns {}", got.len()));
    }
    same_bytes(0, data.get(..got.len()).unwrap_or(&data), &got)
}

/// An answer cannot hold more, and servers usually reduce the count.
fn too_large(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(20_000, 9);
    let file = b.file_with(b"file", &data)?;
    for count in [MAXDATA as u32 + 1, 65_536, u32::MAX] {
        let what = format!("READ of {count} bytes");
        match b.either_odd(&what, |nfs| nfs.read(&file, 0, count))? {
            Ok((_, got)) => {
                let expected = format!("{what}: 1 to 8192 bytes");
                let fits = (1..=MAXDATA).contains(&got.len());
                b.holds(fits, &expected, got.len())?;
                same_bytes(0, data.get(..got.len()).unwrap_or(&data), &got)?;
            }
            Err(refusal) => b.note(format!("{what}: {refusal}; 8192 bytes are usual")),
        }
    }
    Ok(())
}

fn attributes(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(5000, 10))?;
    let (given, _) = b.read(&file, 0, 100)?;
    b.agrees("READ", &file, &given)
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let what = "READ of a directory";
    match b.either(what, |nfs| nfs.read(&dir, 0, 512))? {
        Err(Nfsstat::Isdir) => {}
        Err(status) => b.note(format!("{what}: {status}; NFSERR_ISDIR is usual")),
        Ok(_) => return Err(Stop::fail(format!("{what}: NFSERR_ISDIR"), Nfsstat::Ok)),
    }
    Ok(())
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("READ of a removed file", |nfs| nfs.read(&file, 0, 4))
}
