//! WRITE.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::client::{NFS_V2, widen};
use crate::validate::bench::Refusal;
use crate::validate::shared::write::{hole, overwrite};
use crate::validate::text::no_answer;
use crate::validate::wire::own_connection;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Fh;

checks! { CHECKS: Check =>
    "write.seen", nfs(Procedure::Write), "another connection reads the data once the WRITE is answered" => seen;
    "write.attributes", nfs(Procedure::Write), "returns the attributes after the write" => attributes;
    "write.overwrite", nfs(Procedure::Write), "changes the given range only" => overwrite;
    "write.hole", nfs(Procedure::Write), "a hole reads as zeros" => hole;
    "write.unused_fields", nfs(Procedure::Write), "beginoffset and totalcount have no effect" => unused_fields;
    "write.zero_count", nfs(Procedure::Write), "0 bytes succeed and change nothing" => zero_count;
    "write.largest", nfs(Procedure::Write), "8192 bytes are written at once" => largest;
    "write.too_large", nfs(Procedure::Write), "more than 8192 bytes are refused, and nothing is written" => too_large, by "RFC 1094 section 3.5";
    "write.largest_offset", nfs(Procedure::Write), "a write beyond 2 GiB - 1 answers NFSERR_FBIG, or works" => largest_offset, by "RFC 1094 section 2.3.1";
    "write.mtime", nfs(Procedure::Write), "changes the mtime" => mtime, by "RFC 1094 section 2.3.5";
    "write.dir", nfs(Procedure::Write), "to a directory is refused" => to_dir;
    "write.stale", nfs(Procedure::Write), "to a removed file answers NFSERR_STALE" => stale;
}

fn seen(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let mut other = b.target.file_client(b.plan);
    for round in 0..4 {
        let data = pattern(5000 + round * 1000, 11 + round as u64);
        b.put(&file, 0, &data)?;
        let read = other.read(&widen(&file), 0, data.len() as u32);
        let read = read.map_err(|error| no_answer("READ on another connection", &error))?;
        let read = read.map_err(|failed| {
            let status = Nfsstat::from_u32(failed.status.to_u32());
            Stop::fail("READ on another connection: NFS_OK", status)
        })?;
        let wanted = data.get(..read.data.len()).unwrap_or(&data);
        b.holds(!read.data.is_empty(), "data on another connection", "none")?;
        same_bytes(0, wanted, &read.data)?;
    }
    Ok(())
}

fn attributes(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    for (offset, len, size) in [(0, 100, 100), (50, 10, 100), (90, 30, 120)] {
        let data = pattern(len, 12);
        let given = b.done("WRITE", |nfs| nfs.write(&file, offset, &data))?;
        b.equal("size given by WRITE", size, given.size)?;
        b.agrees("WRITE", &file, &given)?;
    }
    Ok(())
}

/// The arguments of a WRITE, encoded here because the codec refuses more than 8192 bytes.
fn raw_args(file: &Fh, unused: u32, offset: u32, data: &[u8]) -> Vec<u8> {
    let mut args = file.as_bytes().to_vec();
    for word in [unused, offset, unused, data.len() as u32] {
        args.extend_from_slice(&word.to_be_bytes());
    }
    args.extend_from_slice(data);
    args.resize(args.len().next_multiple_of(4), 0);
    args
}

fn unused_fields(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(101, 17);
    let file = b.file(b"file")?;
    let args = raw_args(&file, 0x1234_5678, 200, &data);
    let results = own_connection(b.plan, b.target)
        .call_raw(NFS_V2, Procedure::Write.to_u32(), &args)
        .map_err(|error| no_answer("WRITE with unusual beginoffset and totalcount", &error))?
        .first_chunk()
        .map(|word| Nfsstat::from_u32(u32::from_be_bytes(*word)));
    b.equal(
        "status of WRITE with unusual beginoffset and totalcount",
        Some(Nfsstat::Ok),
        results,
    )?;
    let size = b.attributes(&file)?.size;
    b.equal("size", 301, size)?;
    b.contains(&file, 200, &data)
}

fn zero_count(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(100, 17);
    let file = b.file_with(b"file", &data)?;
    b.done("WRITE of 0 bytes", |nfs| nfs.write(&file, 5000, &[]))?;
    let size = b.attributes(&file)?.size;
    b.equal("size after a WRITE of 0 bytes", 100, size)?;
    b.contains(&file, 0, &data)
}

fn largest(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(MAXDATA, 18);
    let file = b.file(b"file")?;
    let what = "WRITE of 8192 bytes";
    let given = b.done(what, |nfs| nfs.write(&file, 0, &data))?;
    b.equal(&format!("{what}: size"), MAXDATA as u32, given.size)?;
    b.contains(&file, 0, &data)
}

/// A server may accept them; then it must write them all.
fn too_large(b: &mut Bench<'_>) -> Outcome {
    const LEN: usize = 2 * MAXDATA;
    let what = format!("WRITE of {LEN} bytes");
    let data = pattern(LEN, 19);
    let file = b.file(b"file")?;
    let args = raw_args(&file, 0, 0, &data);
    let mut rpc = own_connection(b.plan, b.target);
    match rpc.call_raw(NFS_V2, Procedure::Write.to_u32(), &args) {
        Ok([0, 0, 0, 0, ..]) => {
            b.note(format!(
                "{what} succeeds: the limit of 8192 is not enforced"
            ));
            return b.contains(&file, 0, &data);
        }
        Ok(_) => {}
        Err(error) if error.refusal().is_some() => {}
        Err(error) => return Err(no_answer(&what, &error)),
    }
    let size = b.attributes(&file)?.size;
    b.equal(&format!("size after the refused {what}"), 0, size)
}

/// Offsets have 32 bits, and many servers and clients use them as signed numbers.
fn largest_offset(b: &mut Bench<'_>) -> Outcome {
    const LAST: u32 = FILE_BYTES_MAX as u32;
    let full = [Nfsstat::Nospc, Nfsstat::Dquot];
    let file = b.file(b"file")?;
    for (offset, byte) in [(LAST - 1, b'a'), (LAST, b'b')] {
        let what = format!("WRITE of 1 byte at {offset}");
        let wrote = b.either_odd(&what, |nfs| nfs.write(&file, offset, &[byte]))?;
        match wrote {
            Ok(given) => {
                b.equal(&format!("{what}: size"), offset + 1, given.size)?;
                b.contains(&file, offset, &[byte])?;
                b.contains(&file, 0, &[0; 512])?;
                if offset == LAST {
                    b.note("files may be larger than 2 GiB - 1: offsets are unsigned");
                }
            }
            Err(Refusal::Status(Nfsstat::Fbig)) => {
                b.note(format!("{what}: NFSERR_FBIG"));
            }
            Err(Refusal::Status(status)) if full.contains(&status) => {
                return Err(Stop::Skip(format!("{what}: {status}")));
            }
            Err(refusal) => b.note(format!("{what}: {refusal}; NFSERR_FBIG is usual")),
        }
        let size = b.attributes(&file)?.size;
        b.holds(
            size == 0 || size >= LAST,
            &format!("{what}: all of it or nothing"),
            format!("a size of {size}"),
        )?;
    }
    Ok(())
}

fn mtime(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let old = Timeval {
        seconds: 1_000_000_000,
        useconds: 0,
    };
    let times = Sattr {
        atime: old,
        mtime: old,
        ..Sattr::NONE
    };
    b.done("SETATTR", |nfs| nfs.setattr(&file, times))?;
    let before = b.attributes(&file)?;
    b.put(&file, 0, b"data")?;
    let after = b.attributes(&file)?;
    b.holds(
        after.mtime > before.mtime,
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
    let what = "WRITE to a directory";
    match b.either(what, |nfs| nfs.write(&dir, 0, b"x"))? {
        Err(Nfsstat::Isdir) => {}
        Err(status) => b.note(format!("{what}: {status}; NFSERR_ISDIR is usual")),
        Ok(_) => return Err(Stop::fail(format!("{what}: NFSERR_ISDIR"), Nfsstat::Ok)),
    }
    Ok(())
}

fn stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("WRITE to a removed file", |nfs| nfs.write(&file, 0, b"x"))
}
