//! GETATTR and SETATTR.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::attributes::{
    MODE_BITS, dir, file, fileid_stable, size_after_writes, stale,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Fh;

/// `fattr`: the kind of a file is in `type` and in `mode`.
const FATTR: &str = "RFC 1094 section 2.3.5";
/// `sattr`: -1 leaves a field as it is.
const SATTR: &str = "RFC 1094 section 2.3.6";

checks! { CHECKS: Check =>
    "getattr.file", nfs(Procedure::Getattr), "type, mode, size and links of a new file" => file;
    "getattr.dir", nfs(Procedure::Getattr), "type and mode of a new directory" => dir;
    "getattr.type_in_mode", nfs(Procedure::Getattr), "the mode has the bits of the type" => type_in_mode, by FATTR;
    "getattr.size", nfs(Procedure::Getattr), "the size follows writes" => size;
    "getattr.fileid_stable", nfs(Procedure::Getattr), "fileid and fsid are stable, and no two files share a fileid" => fileid_stable, by FATTR;
    "getattr.times", nfs(Procedure::Getattr), "the microseconds of times are below one second" => times, by "RFC 1094 section 2.3.4";
    "getattr.stale", nfs(Procedure::Getattr), "the handle of a removed file is stale" => stale;
    "getattr.bad_handle", nfs(Procedure::Getattr), "an invalid handle is stale" => bad_handle;
    "setattr.nothing", nfs(Procedure::Setattr), "-1 in all fields changes nothing" => nothing, by SATTR;
    "setattr.mode", nfs(Procedure::Setattr), "sets the mode and nothing else" => mode;
    "setattr.truncate", nfs(Procedure::Setattr), "a smaller size truncates the file" => truncate;
    "setattr.extend", nfs(Procedure::Setattr), "a larger size extends the file with zeros" => extend;
    "setattr.client_time", nfs(Procedure::Setattr), "sets the client's times" => client_time;
    "setattr.ctime", nfs(Procedure::Setattr), "changes the ctime" => ctime, by FATTR;
    "setattr.stale", nfs(Procedure::Setattr), "a removed file is stale" => setattr_stale;
}

const TYPE_BITS: u32 = 0o170_000;

fn type_in_mode(b: &mut Bench<'_>) -> Outcome {
    let (file, dir) = (b.file(b"file")?, b.mkdir(b"dir")?);
    let link = b.symlink(b"link", b"nowhere")?;
    for (what, object, kind, bits) in [
        ("a file", file, Ftype::Reg, 0o100_000),
        ("a directory", dir, Ftype::Dir, 0o040_000),
        ("a symbolic link", link, Ftype::Lnk, 0o120_000),
    ] {
        let is = b.attributes(&object)?;
        b.equal(&format!("type of {what}"), kind, is.ftype)?;
        let got = is.mode & TYPE_BITS;
        let expected = format!("the mode of {what}: type bits {bits:06o} (octal)");
        b.holds(got == bits, &expected, format!("{got:06o}"))?;
    }
    Ok(())
}

fn size(b: &mut Bench<'_>) -> Outcome {
    if size_after_writes(b)?.blocks == 0 {
        b.note("a file of 4100 bytes takes 0 blocks");
    }
    Ok(())
}

fn times(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"data")?;
    let is = b.attributes(&file)?;
    for (name, time) in [
        ("atime", is.atime),
        ("mtime", is.mtime),
        ("ctime", is.ctime),
    ] {
        b.holds(
            time.useconds < 1_000_000,
            &format!("{name}: less than 1000000 microseconds"),
            time.useconds,
        )?;
    }
    // Both are from the server's clock, and the file is new.
    let apart = is.mtime.seconds.abs_diff(is.ctime.seconds);
    b.holds(
        apart <= 60,
        "mtime and ctime of a new file within a minute",
        format!("{apart} s apart"),
    )
}

fn bad_handle(b: &mut Bench<'_>) -> Outcome {
    let Some(invented) = Fh::new(&[0xa5; FHSIZE]) else {
        return Ok(());
    };
    b.refused("GETATTR of an invented handle", &[Nfsstat::Stale], |nfs| {
        nfs.getattr(&invented)
    })
    .map(drop)
}

/// SETATTR. Its answer must agree with a later GETATTR.
fn set(b: &mut Bench<'_>, file: &Fh, what: Sattr) -> Result<Fattr, Stop> {
    let given = b.done("SETATTR", |nfs| nfs.setattr(file, what))?;
    b.agrees("SETATTR", file, &given)?;
    Ok(given)
}

/// The attributes that SETATTR may change, without the ctime.
fn settable(a: &Fattr) -> (u32, u32, u32, u32, Timeval, Timeval) {
    (a.mode, a.uid, a.gid, a.size, a.atime, a.mtime)
}

fn nothing(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 1))?;
    let before = b.attributes(&file)?;
    set(b, &file, Sattr::NONE)?;
    let after = b.attributes(&file)?;
    b.equal(
        "mode, uid, gid, size, atime and mtime after SETATTR of nothing",
        settable(&before),
        settable(&after),
    )?;
    b.contains(&file, 0, &pattern(1000, 1))
}

fn mode(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", b"content")?;
    let before = b.attributes(&file)?;
    for wanted in [0o600, 0o444, 0o751] {
        set(b, &file, Sattr::mode(wanted))?;
        let is = b.attributes(&file)?;
        b.equal("mode after SETATTR", wanted, is.mode & MODE_BITS)?;
        b.equal("type after SETATTR", Ftype::Reg, is.ftype)?;
        b.equal(
            "uid, gid, size and mtime after SETATTR of the mode",
            (before.uid, before.gid, before.size, before.mtime),
            (is.uid, is.gid, is.size, is.mtime),
        )?;
    }
    Ok(())
}

fn truncate(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(10_000, 1);
    let file = b.file_with(b"file", &data)?;
    let is = set(b, &file, Sattr::size(4321))?;
    b.equal("size given by SETATTR", 4321, is.size)?;
    b.equal("mode after SETATTR of the size", 0o644, is.mode & MODE_BITS)?;
    let got = b.get(&file, 0, 10_000)?;
    same_bytes(0, data.get(..4321).unwrap_or_default(), &got)?;
    let is = set(b, &file, Sattr::size(0))?;
    b.equal("size given by SETATTR", 0, is.size)
}

fn extend(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(9000, 2);
    let file = b.file_with(b"file", &data)?;
    // The truncated data must not come back.
    set(b, &file, Sattr::size(5000))?;
    let is = set(b, &file, Sattr::size(9000))?;
    b.equal("size given by SETATTR", 9000, is.size)?;
    let mut wanted = data;
    wanted.iter_mut().skip(5000).for_each(|byte| *byte = 0);
    b.contains(&file, 0, &wanted)
}

fn client_time(b: &mut Bench<'_>) -> Outcome {
    const LONG_AGO: u32 = 1_000_000_000;
    let file = b.file_with(b"file", b"data")?;
    let time = |seconds| Timeval {
        seconds,
        useconds: 500_000,
    };
    let times = Sattr {
        atime: time(LONG_AGO),
        mtime: time(LONG_AGO + 7),
        ..Sattr::NONE
    };
    set(b, &file, times)?;
    let is = b.attributes(&file)?;
    b.equal(
        "seconds of atime and mtime",
        (LONG_AGO, LONG_AGO + 7),
        (is.atime.seconds, is.mtime.seconds),
    )?;
    b.equal("size and mode", (4, 0o644), (is.size, is.mode & MODE_BITS))?;
    if is.mtime.useconds != 500_000 {
        let got = is.mtime.useconds;
        b.note(format!("500000 us of mtime became {got} us"));
    }
    Ok(())
}

fn ctime(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let before = b.attributes(&file)?.ctime;
    let mut last = before;
    // The server's clock may be coarse.
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        set(b, &file, Sattr::mode(0o600))?;
        last = b.attributes(&file)?.ctime;
        if last > before {
            return Ok(());
        }
    }
    Err(Stop::fail(
        format!("a ctime after {before:?} within 2 s of SETATTR"),
        format!("{last:?}"),
    ))
}

fn setattr_stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("SETATTR of a removed file", |nfs| {
        nfs.setattr(&file, Sattr::mode(0o600))
    })
}
