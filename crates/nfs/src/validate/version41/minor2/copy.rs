//! COPY within the server, and CLONE.

use super::not_offered;
use crate::validate::version41::client::{Opened, Opening};
use crate::validate::version41::ops::{Bench, Check, Outcome, Subject};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, same_bytes};
use filermark_onc::nfs4::*;
use filermark_onc::xdr::Array;

const COPY: Subject = Subject::Op(Operation::Copy);
const CLONE: Subject = Subject::Op(Operation::Clone);

/// Bytes of the source: whole blocks of any usual file system.
const BYTES: usize = 256 << 10;
/// A block of that size.
const BLOCK: u64 = 64 << 10;

checks! { CHECKS: Check =>
    "copy.whole", COPY, "a count of 0 copies up to the end of the source" => whole;
    "copy.part", COPY, "copies a range and leaves the rest of the target" => part;
    "copy.past_end", COPY, "a range that ends behind the source answers NFS4ERR_INVAL" => past_end;
    "copy.same_file", COPY, "within one file is refused with NFS4ERR_INVAL, or copies the range" => same_file;
    "copy.overlap", COPY, "ranges of one file that overlap answer NFS4ERR_INVAL" => overlap;
    "copy.source_mode", COPY, "a source that is open for writing alone answers NFS4ERR_OPENMODE, or is read" => source_mode;
    "copy.target_mode", COPY, "a target that is open for reading alone answers NFS4ERR_OPENMODE" => target_mode;
    "copy.dir", COPY, "to a directory is refused" => to_dir;
    "clone.whole", CLONE, "a count of 0 clones up to the end of the source" => clone_whole;
    "clone.part", CLONE, "clones blocks and leaves the rest of the target" => clone_part;
    "clone.independent", CLONE, "a later WRITE to the source does not change the target" => independent;
    "clone.overlap", CLONE, "ranges of one file that overlap answer NFS4ERR_INVAL" => clone_overlap;
}

/// A range of a source, and where it goes.
#[derive(Clone, Copy)]
struct Range {
    from: u64,
    to: u64,
    count: u64,
}

fn copy_args(source: &Opened, target: &Opened, range: Range) -> CopyArgs<'static> {
    CopyArgs {
        src_stateid: source.stateid,
        dst_stateid: target.stateid,
        src_offset: range.from,
        dst_offset: range.to,
        count: range.count,
        consecutive: true,
        synchronous: true,
        source_server: Array::default(),
    }
}

/// COPY: the bytes that were copied, or why not.
fn try_copy(
    b: &mut Bench<'_>,
    source: &Opened,
    target: &Opened,
    range: Range,
) -> Result<Result<u64, Nfsstat4>, Stop> {
    let args = copy_args(source, target, range);
    let copied = b.either("COPY", |client| {
        client.on_two(&source.file, &target.file, &args, |res| {
            let ok = res.map_err(|failed| failed.status())?;
            Ok((ok.response.count, ok.response.callback_id.is_some()))
        })
    })?;
    match copied {
        Ok((_, true)) => Err(Stop::fail(
            "COPY with ca_synchronous: a reply after the copy",
            "a reply with a callback ID",
        )),
        Ok((count, false)) => Ok(Ok(count)),
        Err(Nfsstat4::Notsupp) => Err(not_offered("COPY")),
        Err(Nfsstat4::OffloadNoReqs) => Err(Stop::skip(
            "the server does not copy before its reply (NFS4ERR_OFFLOAD_NO_REQS)",
        )),
        Err(status) => Ok(Err(status)),
    }
}

/// Copies a range of this many bytes, in one call or several.
fn copies(
    b: &mut Bench<'_>,
    source: &Opened,
    target: &Opened,
    range: Range,
    length: u64,
) -> Outcome {
    let mut done = 0;
    while done < length {
        let rest = Range {
            from: range.from + done,
            to: range.to + done,
            count: range.count.saturating_sub(done),
        };
        match try_copy(b, source, target, rest)? {
            Ok(count) if count > 0 && count <= length - done => done += count,
            Ok(count) => {
                let expected = format!("COPY: 1 to {} bytes", length - done);
                return Err(Stop::fail(expected, count));
            }
            Err(status) => return Err(Stop::fail("COPY: NFS4_OK", status)),
        }
    }
    Ok(())
}

fn refused(
    b: &mut Bench<'_>,
    source: &Opened,
    target: &Opened,
    range: Range,
    wanted: Nfsstat4,
) -> Outcome {
    match try_copy(b, source, target, range)? {
        Err(status) if status == wanted => Ok(()),
        Err(status) => Err(Stop::fail(format!("COPY: {wanted}"), status)),
        Ok(count) => Err(Stop::fail(
            format!("COPY: {wanted}"),
            format!("NFS4_OK and {count} bytes"),
        )),
    }
}

/// Source and target, and what the source has.
fn pair(b: &mut Bench<'_>) -> Result<(Opened, Opened, Vec<u8>), Stop> {
    let (source, data) = b.with_pattern(b"source", BYTES, 20)?;
    let target = b.open_new(b"target")?;
    Ok((source, target, data))
}

const ALL: Range = Range {
    from: 0,
    to: 0,
    count: 0,
};

fn whole(b: &mut Bench<'_>) -> Outcome {
    let (source, target, data) = pair(b)?;
    copies(b, &source, &target, ALL, BYTES as u64)?;
    let got = b.gets(&target, 0, BYTES as u32 + 1)?;
    same_bytes(0, &data, &got)
}

fn part(b: &mut Bench<'_>) -> Outcome {
    let (source, data) = b.with_pattern(b"source", BYTES, 21)?;
    let (target, mut before) = b.with_pattern(b"target", 100_000, 22)?;
    let range = Range {
        from: 1_001,
        to: 5_003,
        count: 50_001,
    };
    copies(b, &source, &target, range, range.count)?;
    before[5_003..55_004].copy_from_slice(&data[1_001..51_002]);
    let got = b.gets(&target, 0, 100_001)?;
    same_bytes(0, &before, &got)
}

fn past_end(b: &mut Bench<'_>) -> Outcome {
    let (source, target, _) = pair(b)?;
    let range = Range {
        from: BYTES as u64 - 100,
        to: 0,
        count: 1_000,
    };
    refused(b, &source, &target, range, Nfsstat4::Inval)
}

fn same_file(b: &mut Bench<'_>) -> Outcome {
    let (source, mut data) = b.with_pattern(b"source", BYTES, 23)?;
    let range = Range {
        from: 0,
        to: 2 * BLOCK,
        count: BLOCK,
    };
    match try_copy(b, &source, &source, range)? {
        Err(Nfsstat4::Inval) => return Ok(()),
        Err(status) => return Err(Stop::fail("COPY: NFS4ERR_INVAL or NFS4_OK", status)),
        Ok(count) if count < BLOCK => {
            return Err(Stop::skip(format!(
                "COPY has copied {count} bytes of {BLOCK}"
            )));
        }
        Ok(_) => b.note("COPY copies within one file"),
    }
    let block = BLOCK as usize;
    data.copy_within(..block, 2 * block);
    let got = b.gets(&source, 0, BYTES as u32)?;
    same_bytes(0, &data, &got)
}

fn overlap(b: &mut Bench<'_>) -> Outcome {
    let (source, _) = b.with_pattern(b"source", BYTES, 24)?;
    let range = Range {
        from: 0,
        to: BLOCK / 2,
        count: BLOCK,
    };
    refused(b, &source, &source, range, Nfsstat4::Inval)
}

/// The same file with another access.
fn again(b: &mut Bench<'_>, opened: &Opened, name: &[u8], access: u32) -> Result<Opened, Stop> {
    b.closes(opened)?;
    b.opens(&Opening::of(name, access))
}

fn source_mode(b: &mut Bench<'_>) -> Outcome {
    let (source, target, _) = pair(b)?;
    let source = again(b, &source, b"source", share::WRITE)?;
    match try_copy(b, &source, &target, ALL)? {
        Err(Nfsstat4::Openmode) => Ok(()),
        // As READ (RFC 8881 section 18.22.3).
        Ok(_) => {
            b.note("a source that is open for writing can be copied");
            Ok(())
        }
        Err(status) => Err(Stop::fail("COPY: NFS4ERR_OPENMODE or NFS4_OK", status)),
    }
}

fn target_mode(b: &mut Bench<'_>) -> Outcome {
    let (source, target, _) = pair(b)?;
    let target = again(b, &target, b"target", share::READ)?;
    refused(b, &source, &target, ALL, Nfsstat4::Openmode)
}

fn to_dir(b: &mut Bench<'_>) -> Outcome {
    let (source, _) = b.with_pattern(b"source", 1_000, 25)?;
    let dir = b.dir;
    let args = CopyArgs {
        dst_stateid: Stateid4::ANONYMOUS,
        ..copy_args(&source, &source, ALL)
    };
    let usual = [Nfsstat4::WrongType, Nfsstat4::Isdir];
    b.refused_somehow("COPY to a directory", &usual, |client| {
        client.on_two(&source.file, &dir, &args, |res| {
            res.map(drop).map_err(|failed| failed.status())
        })
    })
}

fn try_clone(
    b: &mut Bench<'_>,
    source: &Opened,
    target: &Opened,
    range: Range,
) -> Result<Result<(), Nfsstat4>, Stop> {
    let args = CloneArgs {
        src_stateid: source.stateid,
        dst_stateid: target.stateid,
        src_offset: range.from,
        dst_offset: range.to,
        count: range.count,
    };
    let cloned = b.either("CLONE", |client| {
        client.on_two(&source.file, &target.file, &args, |res| res)
    })?;
    match cloned {
        Err(Nfsstat4::Notsupp) => Err(not_offered("CLONE")),
        other => Ok(other),
    }
}

fn clones(b: &mut Bench<'_>, source: &Opened, target: &Opened, range: Range) -> Outcome {
    let cloned = try_clone(b, source, target, range)?;
    cloned.map_err(|status| Stop::fail("CLONE: NFS4_OK", status))
}

fn clone_whole(b: &mut Bench<'_>) -> Outcome {
    let (source, target, data) = pair(b)?;
    clones(b, &source, &target, ALL)?;
    let got = b.gets(&target, 0, BYTES as u32 + 1)?;
    same_bytes(0, &data, &got)
}

fn clone_part(b: &mut Bench<'_>) -> Outcome {
    let (source, data) = b.with_pattern(b"source", BYTES, 26)?;
    let (target, mut before) = b.with_pattern(b"target", BYTES, 27)?;
    let range = Range {
        from: BLOCK,
        to: 2 * BLOCK,
        count: BLOCK,
    };
    clones(b, &source, &target, range)?;
    let block = BLOCK as usize;
    before[2 * block..3 * block].copy_from_slice(&data[block..2 * block]);
    let got = b.gets(&target, 0, BYTES as u32)?;
    same_bytes(0, &before, &got)
}

fn independent(b: &mut Bench<'_>) -> Outcome {
    let (source, target, data) = pair(b)?;
    clones(b, &source, &target, ALL)?;
    b.writes(&source, b"other data")?;
    let got = b.gets(&target, 0, BYTES as u32)?;
    same_bytes(0, &data, &got)
}

fn clone_overlap(b: &mut Bench<'_>) -> Outcome {
    let (source, _) = b.with_pattern(b"source", BYTES, 28)?;
    let range = Range {
        from: 0,
        to: BLOCK,
        count: 2 * BLOCK,
    };
    match try_clone(b, &source, &source, range)? {
        Err(Nfsstat4::Inval) => Ok(()),
        other => Err(Stop::fail(
            "CLONE: NFS4ERR_INVAL",
            other.err().unwrap_or(Nfsstat4::Ok),
        )),
    }
}
