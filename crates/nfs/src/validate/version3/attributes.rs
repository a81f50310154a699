//! GETATTR and SETATTR.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::attributes::{
    MODE_BITS, dir, file, fileid_stable, size_after_writes, stale,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern, same_bytes};
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "getattr.file", Procedure::Getattr, "type, mode, size and links of a new file" => file;
    "getattr.dir", Procedure::Getattr, "type and mode of a new directory" => dir;
    "getattr.size", Procedure::Getattr, "the size follows writes" => size;
    "getattr.fileid_stable", Procedure::Getattr, "fileid and fsid are stable, and no two files share a fileid" => fileid_stable, by "RFC 1813 section 2.6";
    "getattr.stale", Procedure::Getattr, "the handle of a removed file is stale" => stale;
    "getattr.bad_handle", Procedure::Getattr, "an invalid handle is refused" => bad_handle;
    "setattr.mode", Procedure::Setattr, "sets the mode" => mode;
    "setattr.truncate", Procedure::Setattr, "a smaller size truncates the file" => truncate;
    "setattr.extend", Procedure::Setattr, "a larger size extends the file with zeros" => extend;
    "setattr.guard", Procedure::Setattr, "a guarded call with the right ctime succeeds" => guard;
    "setattr.not_sync", Procedure::Setattr, "a guarded call with a wrong ctime answers NFS3ERR_NOT_SYNC and changes nothing" => not_sync;
    "setattr.client_time", Procedure::Setattr, "sets the client's times" => client_time;
    "setattr.server_time", Procedure::Setattr, "sets the server's own time" => server_time;
    "setattr.stale", Procedure::Setattr, "a removed file is stale" => setattr_stale;
}

fn size(b: &mut Bench<'_>) -> Outcome {
    size_after_writes(b).map(drop)
}

fn bad_handle(b: &mut Bench<'_>) -> Outcome {
    let Some(invented) = Fh::new(&[0xa5; 32]) else {
        return Ok(());
    };
    let wanted = [Nfsstat3::Badhandle, Nfsstat3::Stale];
    let status = b.refused("GETATTR of an invented handle", &wanted, |nfs| {
        nfs.getattr(&invented)
    })?;
    if status == Nfsstat3::Stale {
        b.note("NFS3ERR_STALE; NFS3ERR_BADHANDLE is usual for a handle that was never valid");
    }
    Ok(())
}

fn set(b: &mut Bench<'_>, file: &Fh, what: Sattr3) -> Outcome {
    b.done("SETATTR", |nfs| nfs.setattr(file, what, None))
        .map(drop)
}

fn mode(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    for wanted in [0o600, 0o444, 0o751] {
        set(b, &file, Sattr3::mode(wanted))?;
        let is = b.attributes(&file)?;
        b.equal("mode after SETATTR", wanted, is.mode & MODE_BITS)?;
    }
    Ok(())
}

fn truncate(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(10_000, 1);
    let file = b.file_with(b"file", &data)?;
    set(b, &file, Sattr3::size(4321))?;
    let is = b.attributes(&file)?;
    b.equal("size after SETATTR", 4321, is.size)?;
    let got = b.get(&file, 0, 10_000)?;
    same_bytes(0, data.get(..4321).unwrap_or_default(), &got)?;
    set(b, &file, Sattr3::size(0))?;
    let is = b.attributes(&file)?;
    b.equal("size after SETATTR", 0, is.size)
}

fn extend(b: &mut Bench<'_>) -> Outcome {
    let data = pattern(9000, 2);
    let file = b.file_with(b"file", &data)?;
    // The truncated data must not come back.
    set(b, &file, Sattr3::size(5000))?;
    set(b, &file, Sattr3::size(9000))?;
    let is = b.attributes(&file)?;
    b.equal("size after SETATTR", 9000, is.size)?;
    let mut wanted = data;
    wanted.iter_mut().skip(5000).for_each(|byte| *byte = 0);
    b.contains(&file, 0, &wanted)
}

fn guard(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let ctime = b.attributes(&file)?.ctime;
    b.done("SETATTR guarded by the ctime", |nfs| {
        nfs.setattr(&file, Sattr3::mode(0o600), Some(ctime))
    })?;
    let is = b.attributes(&file)?;
    b.equal("mode after the guarded SETATTR", 0o600, is.mode & MODE_BITS)
}

fn not_sync(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    let mut ctime = b.attributes(&file)?.ctime;
    ctime.seconds = ctime.seconds.wrapping_sub(1000);
    b.refused(
        "SETATTR guarded by an old ctime",
        &[Nfsstat3::NotSync],
        |nfs| nfs.setattr(&file, Sattr3::mode(0o600), Some(ctime)),
    )?;
    let is = b.attributes(&file)?;
    b.equal("mode after the refused SETATTR", 0o644, is.mode & MODE_BITS)
}

fn can_set_time(b: &Bench<'_>) -> Outcome {
    if b.target.fsinfo.properties & fsf::CANSETTIME == 0 {
        return Err(Stop::Skip("FSINFO: the server cannot set times".to_owned()));
    }
    Ok(())
}

const LONG_AGO: u32 = 1_000_000_000;

fn client_time(b: &mut Bench<'_>) -> Outcome {
    can_set_time(b)?;
    let file = b.file(b"file")?;
    let time = |seconds| Nfstime3 {
        seconds,
        nseconds: 500_000_000,
    };
    let (atime, mtime) = (time(LONG_AGO), time(LONG_AGO + 7));
    let times = Sattr3 {
        atime: SetTime::ClientTime(atime),
        mtime: SetTime::ClientTime(mtime),
        ..Sattr3::default()
    };
    set(b, &file, times)?;
    let is = b.attributes(&file)?;
    b.equal("seconds of atime", atime.seconds, is.atime.seconds)?;
    b.equal("seconds of mtime", mtime.seconds, is.mtime.seconds)?;
    if is.mtime.nseconds != mtime.nseconds {
        b.note(format!(
            "500000000 ns of mtime became {} ns",
            is.mtime.nseconds
        ));
    }
    Ok(())
}

fn server_time(b: &mut Bench<'_>) -> Outcome {
    can_set_time(b)?;
    let file = b.file(b"file")?;
    let born = b.attributes(&file)?.mtime;
    let to = |time| Sattr3 {
        atime: time,
        mtime: time,
        ..Sattr3::default()
    };
    let long_ago = Nfstime3 {
        seconds: LONG_AGO,
        nseconds: 0,
    };
    set(b, &file, to(SetTime::ClientTime(long_ago)))?;
    set(b, &file, to(SetTime::ServerTime))?;
    let is = b.attributes(&file)?;
    // The server's clock may be coarse, and two clocks may differ a little.
    let around = born.seconds.saturating_sub(2)..=born.seconds.saturating_add(300);
    let expected = format!(
        "an mtime about {} s, when the file was created",
        born.seconds
    );
    b.holds(
        around.contains(&is.mtime.seconds),
        &expected,
        is.mtime.seconds,
    )
}

fn setattr_stale(b: &mut Bench<'_>) -> Outcome {
    let file = b.removed_file()?;
    b.becomes_stale("SETATTR of a removed file", |nfs| {
        nfs.setattr(&file, Sattr3::mode(0o600), None)
    })
}
