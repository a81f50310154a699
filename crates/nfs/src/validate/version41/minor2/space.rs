//! ALLOCATE, DEALLOCATE, SEEK and READ_PLUS.

use crate::validate::version41::client::{Opened, Opening};
use crate::validate::version41::ops::{Bench, Check, Outcome, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same_bytes};
use filermark_onc::nfs4::*;

const ALLOCATE: Subject = Subject::Op(Operation::Allocate);
const DEALLOCATE: Subject = Subject::Op(Operation::Deallocate);
const SEEK: Subject = Subject::Op(Operation::Seek);
const READ_PLUS: Subject = Subject::Op(Operation::ReadPlus);

/// Bytes of a file with a hole, and where it is: whole blocks of any usual file system.
const BYTES: usize = 512 << 10;
const HOLE: std::ops::Range<usize> = 128 << 10..384 << 10;

checks! { CHECKS: Check =>
    "allocate.keeps_data", ALLOCATE, "reserves space of data without changing it" => keeps_data;
    "allocate.grows", ALLOCATE, "a range behind the end makes the file longer, with zeros" => grows;
    "allocate.openmode", ALLOCATE, "a stateid for reading answers NFS4ERR_OPENMODE" => allocate_openmode;
    "allocate.dir", ALLOCATE, "of a directory is refused" => allocate_dir;
    "deallocate.zeros", DEALLOCATE, "the range reads as zeros; data beside it and the size stay" => zeros;
    "deallocate.blocks", DEALLOCATE, "whole blocks read as zeros, with the data beside them" => blocks;
    "deallocate.openmode", DEALLOCATE, "a stateid for reading answers NFS4ERR_OPENMODE" => deallocate_openmode;
    "seek.data", SEEK, "finds data at the offset itself" => seek_data;
    "seek.virtual_hole", SEEK, "finds the hole at the end of a file without holes" => virtual_hole;
    "seek.hole", SEEK, "finds a hole that DEALLOCATE has made, and the data behind it" => seek_hole;
    "seek.past_end", SEEK, "behind the end answers NFS4ERR_NXIO" => past_end;
    "read_plus.back", READ_PLUS, "returns the written data, at odd offsets and lengths" => back;
    "read_plus.hole", READ_PLUS, "a hole reads as zeros, with the data beside it" => read_hole;
    "read_plus.eof", READ_PLUS, "eof is set at the end of the file and nowhere else" => eof;
    "read_plus.past_end", READ_PLUS, "a read after the end returns no bytes and eof" => read_past_end;
}

fn allocate(b: &mut Bench<'_>, opened: &Opened, offset: u64, length: u64) -> Outcome {
    let Opened { file, stateid, .. } = *opened;
    let args = AllocateArgs {
        stateid,
        offset,
        length,
    };
    b.offered("ALLOCATE", |client| client.on(&file, &args, |res| res))
}

fn deallocate(b: &mut Bench<'_>, opened: &Opened, offset: u64, length: u64) -> Outcome {
    let Opened { file, stateid, .. } = *opened;
    let args = DeallocateArgs {
        stateid,
        offset,
        length,
    };
    b.offered("DEALLOCATE", |client| client.on(&file, &args, |res| res))
}

fn seek(
    b: &mut Bench<'_>,
    opened: &Opened,
    offset: u64,
    what: DataContent4,
) -> Result<SeekOk, Stop> {
    let Opened { file, stateid, .. } = *opened;
    let args = SeekArgs {
        stateid,
        offset,
        what,
    };
    let text = format!("SEEK of {what} at {offset}");
    b.offered(&text, |client| client.on(&file, &args, |res| res))
}

/// The contents of a range by READ_PLUS, in one call or several, and whether its end was that of the file.
fn read_plus(
    b: &mut Bench<'_>,
    opened: &Opened,
    offset: u64,
    count: u32,
) -> Result<(bool, Vec<u8>), Stop> {
    let Opened { file, stateid, .. } = *opened;
    let mut all = Vec::new();
    loop {
        let at = offset + all.len() as u64;
        let left = count - all.len() as u32;
        let args = ReadPlusArgs {
            stateid,
            offset: at,
            count: left,
        };
        let what = format!("READ_PLUS of {left} bytes at {at}");
        let read = b.offered(&what, |client| {
            client.on(&file, &args, |res| {
                res.map(|ok| (ok.eof, parts(&ok, at, left)))
            })
        })?;
        let (eof, part) = read;
        let part = part.map_err(|got| Stop::fail(format!("{what}: parts side by side"), got))?;
        let is_last = eof || part.is_empty();
        all.extend(part);
        if is_last || all.len() >= count as usize {
            return Ok((eof, all));
        }
    }
}

/// The bytes of the parts; or the part that is not where the one before ends, or too long.
fn parts(read: &ReadPlusOk<'_>, offset: u64, count: u32) -> Result<Vec<u8>, String> {
    let (mut all, end) = (Vec::new(), offset + u64::from(count));
    for content in read.contents.iter() {
        let at = offset + all.len() as u64;
        match content {
            ReadPlusContent4::Data(part) => {
                let length = part.data.len();
                if part.offset != at || at + length as u64 > end {
                    return Err(format!("{length} bytes of data at {}", part.offset));
                }
                all.extend(part.data);
            }
            ReadPlusContent4::Hole(hole) => {
                let to = hole.offset.saturating_add(hole.length).min(end);
                if hole.offset > at || to < at {
                    return Err(format!(
                        "a hole of {} bytes at {}",
                        hole.length, hole.offset
                    ));
                }
                all.resize(all.len() + (to - at) as usize, 0);
            }
        }
    }
    Ok(all)
}

/// The same file, open for reading alone.
fn for_reading(b: &mut Bench<'_>) -> Result<Opened, Stop> {
    let file = b.open_new(b"file")?;
    b.writes(&file, b"data")?;
    b.closes(&file)?;
    b.opens(&Opening::of(b"file", share::READ))
}

fn keeps_data(b: &mut Bench<'_>) -> Outcome {
    let (opened, data) = b.with_pattern(b"file", 10_000, 1)?;
    allocate(b, &opened, 1_000, 5_000)?;
    let got = b.gets(&opened, 0, 10_000)?;
    same_bytes(0, &data, &got)?;
    let size = b.facts(&opened.file)?.size;
    b.equal("size", 10_000, size)
}

fn grows(b: &mut Bench<'_>) -> Outcome {
    let (opened, mut data) = b.with_pattern(b"file", 1_000, 2)?;
    allocate(b, &opened, 4_096, 8_192)?;
    let size = b.facts(&opened.file)?.size;
    b.equal("size", 12_288, size)?;
    data.resize(12_288, 0);
    let got = b.gets(&opened, 0, 12_288)?;
    same_bytes(0, &data, &got)
}

fn allocate_openmode(b: &mut Bench<'_>) -> Outcome {
    let Opened { file, stateid, .. } = for_reading(b)?;
    let args = AllocateArgs {
        stateid,
        offset: 0,
        length: 4,
    };
    b.refused_if_offered("ALLOCATE", &[Nfsstat4::Openmode], |client| {
        client.on(&file, &args, |res| res)
    })
}

fn allocate_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let args = AllocateArgs {
        stateid: Stateid4::ANONYMOUS,
        offset: 0,
        length: 4,
    };
    let usual = [Nfsstat4::WrongType];
    b.refused_somehow("ALLOCATE of a directory", &usual, |client| {
        client.on(&dir, &args, |res| res)
    })
}

fn zeros(b: &mut Bench<'_>) -> Outcome {
    let (opened, mut data) = b.with_pattern(b"file", 20_000, 3)?;
    deallocate(b, &opened, 5_000, 8_000)?;
    data[5_000..13_000].fill(0);
    let got = b.gets(&opened, 0, 20_000)?;
    same_bytes(0, &data, &got)?;
    deallocate(b, &opened, 19_000, 5_000)?;
    data[19_000..].fill(0);
    let got = b.gets(&opened, 0, 20_000)?;
    same_bytes(0, &data, &got)?;
    let size = b.facts(&opened.file)?.size;
    b.equal("size", 20_000, size)
}

fn blocks(b: &mut Bench<'_>) -> Outcome {
    let (opened, data) = with_hole(b)?;
    let got = b.gets(&opened, 0, BYTES as u32)?;
    same_bytes(0, &data, &got)
}

fn deallocate_openmode(b: &mut Bench<'_>) -> Outcome {
    let Opened { file, stateid, .. } = for_reading(b)?;
    let args = DeallocateArgs {
        stateid,
        offset: 0,
        length: 4,
    };
    b.refused_if_offered("DEALLOCATE", &[Nfsstat4::Openmode], |client| {
        client.on(&file, &args, |res| res)
    })
}

fn seek_data(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = b.with_pattern(b"file", 10_000, 4)?;
    for offset in [0, 100, 9_999] {
        let found = seek(b, &opened, offset, DataContent4::Data)?;
        b.equal("eof and offset", (false, offset), (found.eof, found.offset))?;
    }
    Ok(())
}

fn virtual_hole(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = b.with_pattern(b"file", 10_000, 5)?;
    for offset in [0, 5_000] {
        let found = seek(b, &opened, offset, DataContent4::Hole)?;
        b.equal("eof and offset", (true, 10_000), (found.eof, found.offset))?;
    }
    Ok(())
}

/// A file with a hole, or none if the server stores none.
fn with_hole(b: &mut Bench<'_>) -> Result<(Opened, Vec<u8>), Stop> {
    let (opened, mut data) = b.with_pattern(b"file", BYTES, 6)?;
    deallocate(b, &opened, HOLE.start as u64, HOLE.len() as u64)?;
    data[HOLE].fill(0);
    Ok((opened, data))
}

fn seek_hole(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = with_hole(b)?;
    let (start, end) = (HOLE.start as u64, HOLE.end as u64);
    let hole = seek(b, &opened, 0, DataContent4::Hole)?;
    if hole.offset == BYTES as u64 {
        b.note("SEEK finds no hole after DEALLOCATE");
        return Ok(());
    }
    let is_within = (start..end).contains(&hole.offset);
    b.holds(
        is_within,
        "the offset of the hole that was made",
        hole.offset,
    )?;
    let data = seek(b, &opened, hole.offset, DataContent4::Data)?;
    let is_behind = data.offset > hole.offset && data.offset <= end;
    b.holds(
        is_behind,
        "the offset of the data behind the hole",
        data.offset,
    )
}

fn past_end(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = b.with_pattern(b"file", 1_000, 7)?;
    let Opened { file, stateid, .. } = opened;
    for what in [DataContent4::Data, DataContent4::Hole] {
        let args = SeekArgs {
            stateid,
            offset: 2_000,
            what,
        };
        b.refused_if_offered("SEEK behind the end", &[Nfsstat4::Nxio], |client| {
            client.on(&file, &args, |res| res)
        })?;
    }
    Ok(())
}

fn back(b: &mut Bench<'_>) -> Outcome {
    let (opened, data) = b.with_pattern(b"file", 50_000, 8)?;
    for (offset, count) in [(0, 50_000), (1, 4_095), (4_097, 30_001), (49_999, 1)] {
        let (_, got) = read_plus(b, &opened, offset as u64, count as u32)?;
        let wanted = data.get(offset..offset + count).unwrap_or_default();
        same_bytes(offset as u64, wanted, &got)?;
    }
    Ok(())
}

fn read_hole(b: &mut Bench<'_>) -> Outcome {
    let (opened, data) = with_hole(b)?;
    let from = HOLE.start - 1_000;
    let (_, got) = read_plus(b, &opened, from as u64, (HOLE.len() + 2_000) as u32)?;
    let wanted = data.get(from..HOLE.end + 1_000).unwrap_or_default();
    same_bytes(from as u64, wanted, &got)
}

fn eof(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = b.with_pattern(b"file", 1_000, 9)?;
    let (is_end, _) = read_plus(b, &opened, 100, 500)?;
    b.equal("eof in the middle", false, is_end)?;
    for count in [4_096, 100] {
        let (is_end, got) = read_plus(b, &opened, 900, count)?;
        b.equal(
            "eof and bytes up to the end",
            (true, 100),
            (is_end, got.len()),
        )?;
    }
    Ok(())
}

fn read_past_end(b: &mut Bench<'_>) -> Outcome {
    let (opened, _) = b.with_pattern(b"file", 1_000, 10)?;
    let (is_end, got) = read_plus(b, &opened, 2_000, 100)?;
    b.equal("eof and bytes", (true, 0), (is_end, got.len()))
}
