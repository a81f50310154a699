//! READ, WRITE and COMMIT.

use super::client::Opened;
use super::ops::{Bench, Check, Outcome, Subject};
use crate::validate::shared::read::back;
use crate::validate::shared::write::{hole, overwrite};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs4::*;

const READ: Subject = Subject::Op(Operation::Read);
const WRITE: Subject = Subject::Op(Operation::Write);
const COMMIT: Subject = Subject::Op(Operation::Commit);

checks! { CHECKS: Check =>
    "read.back", READ, "returns the written data, at odd offsets and lengths" => back;
    "read.eof", READ, "eof is set at the end of the file and nowhere else" => eof;
    "read.past_end", READ, "a read after the end returns no bytes and eof" => past_end;
    "read.zero_count", READ, "a count of 0 returns no bytes" => zero_count;
    "read.anonymous", READ, "the anonymous stateid reads a file that is not open" => anonymous;
    "read.beyond_4gib", READ, "offsets have 64 bits" => beyond_4gib;
    "read.dir", READ, "of a directory answers NFS4ERR_ISDIR" => of_dir;
    "read.symlink", READ, "of a symbolic link is refused" => of_symlink;
    "write.stable", WRITE, "data is as safe as requested, or safer" => stable;
    "write.verifier", WRITE, "the verifier does not change while the server runs" => verifier;
    "write.overwrite", WRITE, "changes the given range only" => overwrite;
    "write.hole", WRITE, "a hole reads as zeros" => hole;
    "write.zero_count", WRITE, "0 bytes succeed and change nothing" => write_nothing;
    "write.dir", WRITE, "to a directory answers NFS4ERR_ISDIR" => to_dir;
    "commit.verifier", COMMIT, "returns the verifier of WRITE" => commit;
    "commit.dir", COMMIT, "of a directory answers NFS4ERR_ISDIR" => commit_dir;
}

/// A new file with these contents, which stays open.
fn filled(b: &mut Bench<'_>, data: &[u8]) -> Result<Opened, Stop> {
    let opened = b.open_new(b"file")?;
    b.writes(&opened, data)?;
    Ok(opened)
}

fn read(
    b: &mut Bench<'_>,
    opened: &Opened,
    offset: u64,
    count: u32,
) -> Result<(bool, Vec<u8>), Stop> {
    let what = format!("READ of {count} bytes at {offset}");
    let Opened { file, stateid, .. } = *opened;
    b.done(&what, |client| client.read(&file, stateid, offset, count))
}

fn eof(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(1000, 4);
    let opened = filled(b, &data)?;
    let (is_end, _) = read(b, &opened, 100, 500)?;
    b.equal("eof in the middle", false, is_end)?;
    for count in [4096, 100] {
        let (is_end, got) = read(b, &opened, 900, count)?;
        same_bytes(900, data.get(900..).unwrap_or_default(), &got)?;
        b.equal("eof of a read up to the end", true, is_end)?;
    }
    Ok(())
}

fn past_end(b: &mut Bench<'_>) -> Outcome {
    let opened = filled(b, &pattern(1000, 5))?;
    for offset in [1000, 1001, 1 << 20, 5 << 30] {
        let (is_end, data) = read(b, &opened, offset, 512)?;
        let what = format!("bytes and eof at {offset} of a file of 1000 bytes");
        b.equal(&what, (0, true), (data.len(), is_end))?;
    }
    Ok(())
}

fn zero_count(b: &mut Bench<'_>) -> Outcome {
    let opened = filled(b, &pattern(1000, 6))?;
    let (_, data) = read(b, &opened, 10, 0)?;
    b.equal("bytes", 0, data.len())
}

fn anonymous(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    for stateid in [Stateid4::ANONYMOUS, Stateid4::READ_BYPASS] {
        let (_, data) = b.done("READ without an open", |client| {
            client.read(&file, stateid, 0, 4)
        })?;
        b.equal("data", &b"data"[..], &data[..])?;
    }
    Ok(())
}

fn beyond_4gib(b: &mut Bench<'_>) -> Outcome {
    const OFFSET: u64 = (5 << 30) + 17;
    let data = pattern(1000, 7);
    let max = b.target.fsinfo.maxfilesize;
    if max < OFFSET + 1000 {
        return Err(Stop::skip(format!("maxfilesize: files end at {max} bytes")));
    }
    let opened = b.open_new(b"file")?;
    let Opened { file, stateid, .. } = opened;
    let what = format!("WRITE at {OFFSET}");
    match b.either(&what, |client| {
        client.write(&file, stateid, OFFSET, &data, StableHow::FileSync)
    })? {
        Ok(ok) => b.wrote_all(&what, data.len(), ok.count)?,
        Err(status @ (Nfsstat4::Nospc | Nfsstat4::Dquot)) => {
            return Err(Stop::skip(format!("{what}: {status}")));
        }
        // The server does not state a limit.
        Err(status @ Nfsstat4::Fbig) if max == u64::MAX => {
            return Err(Stop::skip(format!("{what}: {status}")));
        }
        Err(status) => return Err(Stop::fail(format!("{what}: {}", Nfsstat4::Ok), status)),
    }
    let (_, got) = read(b, &opened, OFFSET, 1000)?;
    same_bytes(OFFSET, &data, &got)?;
    // An offset truncated to 32 bits would read or write the data here.
    let (_, got) = read(b, &opened, OFFSET & 0xffff_ffff, 1000)?;
    same_bytes(OFFSET & 0xffff_ffff, &[0; 1000], &got)
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("READ of a directory", &[Nfsstat4::Isdir], |client| {
        client.read(&dir, Stateid4::ANONYMOUS, 0, 512)
    })
    .map(drop)
}

fn of_symlink(b: &mut Bench<'_>) -> Outcome {
    let link = b.symlink(b"link", b"target")?;
    let usual = [Nfsstat4::Symlink, Nfsstat4::WrongType, Nfsstat4::Inval];
    b.refused_somehow("READ of a symbolic link", &usual, |client| {
        client.read(&link, Stateid4::ANONYMOUS, 0, 512)
    })
}

fn write(b: &mut Bench<'_>, opened: &Opened, data: &[u8], how: StableHow) -> Result<WriteOk, Stop> {
    let Opened { file, stateid, .. } = *opened;
    let what = format!("WRITE with {how}");
    let ok = b.done(&what, |client| client.write(&file, stateid, 0, data, how))?;
    b.wrote_all(&what, data.len(), ok.count)?;
    Ok(ok)
}

const HOW: [StableHow; 3] = [
    StableHow::Unstable,
    StableHow::DataSync,
    StableHow::FileSync,
];

fn stable(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    for (seed, how) in (30..).zip(HOW) {
        let data = pattern(5000, seed);
        let committed = write(b, &opened, &data, how)?.committed;
        let expected = format!("committed: {how} or safer");
        b.holds(committed.to_u32() >= how.to_u32(), &expected, committed)?;
        let (_, got) = read(b, &opened, 0, 5000)?;
        same_bytes(0, &data, &got)?;
    }
    Ok(())
}

fn verifier(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let first = write(b, &opened, b"data", StableHow::Unstable)?.writeverf;
    let other = b.open_new(b"other")?;
    for (opened, how) in [
        (opened, StableHow::Unstable),
        (opened, StableHow::FileSync),
        (other, StableHow::Unstable),
    ] {
        let again = write(b, &opened, b"data", how)?.writeverf;
        b.equal("verifier", first, again)?;
    }
    Ok(())
}

fn write_nothing(b: &mut Bench<'_>) -> Outcome {
    let opened = filled(b, b"data")?;
    let Opened { file, stateid, .. } = opened;
    let ok = b.done("WRITE of 0 bytes", |client| {
        client.write(&file, stateid, 100, &[], StableHow::FileSync)
    })?;
    b.equal("count", 0, ok.count)?;
    let size = b.facts(&file)?.size;
    b.equal("size", 4, size)
}

fn to_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.refused("WRITE to a directory", &[Nfsstat4::Isdir], |client| {
        client.write(&dir, Stateid4::ANONYMOUS, 0, b"data", StableHow::FileSync)
    })
    .map(drop)
}

fn commits(b: &mut Bench<'_>, file: &Fh4, offset: u64, count: u32) -> Result<Verf, Stop> {
    let args = CommitArgs { offset, count };
    b.done("COMMIT", |client| {
        client.on(file, &args, |res| res.map(|ok| ok.writeverf))
    })
}

fn commit(b: &mut Bench<'_>) -> Outcome {
    let opened = b.open_new(b"file")?;
    let data = pattern(5000, 40);
    let wrote = write(b, &opened, &data, StableHow::Unstable)?.writeverf;
    for (offset, count) in [(0, 0), (0, 5000), (100, 10)] {
        let verf = commits(b, &opened.file, offset, count)?;
        b.equal("verifier", wrote, verf)?;
    }
    let (_, got) = read(b, &opened, 0, 5000)?;
    same_bytes(0, &data, &got)
}

fn commit_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let args = CommitArgs {
        offset: 0,
        count: 0,
    };
    b.refused("COMMIT of a directory", &[Nfsstat4::Isdir], |client| {
        client.on(&dir, &args, |res| res)
    })
    .map(drop)
}
