//! FSSTAT, FSINFO and PATHCONF.

use super::ops::{Bench, Check, Outcome};
use crate::validate::bench::Refusal;
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "fsstat.sane", Procedure::Fsstat, "free space is not more than the total" => fsstat;
    "fsinfo.sane", Procedure::Fsinfo, "sizes are usable" => fsinfo;
    "fsinfo.properties", Procedure::Fsinfo, "links work if they are announced" => properties;
    "pathconf.name_max", Procedure::Pathconf, "the longest name works, a longer one is refused" => name_max;
    "pathconf.case", Procedure::Pathconf, "upper and lower case are handled as announced" => case;
    "pathconf.links", Procedure::Pathconf, "linkmax and the other values are valid" => links;
}

fn fsstat(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let is = b.done("FSSTAT", |nfs| nfs.fsstat(&dir))?;
    for (what, total, free, ours) in [
        ("bytes", is.tbytes, is.fbytes, is.abytes),
        ("files", is.tfiles, is.ffiles, is.afiles),
    ] {
        let got = format!("{total} total, {free} free, {ours} for us");
        b.holds(
            ours <= free && free <= total,
            &format!("total, free and free-for-us {what} in this order"),
            &got,
        )?;
        if total == 0 {
            b.note(format!("FSSTAT reports 0 {what}"));
        }
    }
    Ok(())
}

fn fsinfo(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let is = b.done("FSINFO", |nfs| nfs.fsinfo(&dir))?;
    for (what, max, pref) in [
        ("READ", is.rtmax, is.rtpref),
        ("WRITE", is.wtmax, is.wtpref),
    ] {
        b.holds(
            max >= 512,
            &format!("a largest {what} of 512 bytes or more"),
            max,
        )?;
        b.holds(
            pref <= max && pref > 0,
            &format!("a preferred {what} of 1 to {max} bytes"),
            pref,
        )?;
    }
    b.holds(
        is.dtpref >= 512,
        "a preferred READDIR of 512 bytes or more",
        is.dtpref,
    )?;
    b.holds(is.maxfilesize > 0, "a largest file", is.maxfilesize)?;
    if is.maxfilesize < 1 << 32 {
        b.note(format!("files end at {} bytes", is.maxfilesize));
    }
    let resolution = is.time_delta;
    b.holds(
        resolution.nseconds < 1_000_000_000,
        "a time_delta with less than a second of nanoseconds",
        resolution.nseconds,
    )?;
    b.equal(
        "the same rtmax as at the mount",
        b.target.fsinfo.rtmax,
        is.rtmax,
    )
}

fn properties(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let announced = b.target.fsinfo.properties;
    let file = b.file(b"file")?;
    let link = b.either("LINK", |nfs| nfs.link(&file, &dir, b"hard"))?;
    let symlink = b.either("SYMLINK", |nfs| nfs.symlink(&dir, b"soft", b"x"))?;
    for (what, bit, result) in [
        ("FSF3_LINK", fsf::LINK, link.err()),
        ("FSF3_SYMLINK", fsf::SYMLINK, symlink.err()),
    ] {
        match result {
            Some(status) if announced & bit != 0 => {
                b.holds(false, &format!("{what} is announced: NFS3_OK"), status)?;
            }
            None if announced & bit == 0 => {
                b.note(format!("{what} is not announced, but it works"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn name_max(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let limits = b.done("PATHCONF", |nfs| nfs.pathconf(&dir))?;
    let name_max = limits.name_max as usize;
    let max = longest_name(b, name_max)?;
    if max != name_max {
        b.note(format!(
            "name_max is {name_max}, but the longest name has {max} bytes"
        ));
    }
    let longer = vec![b'm'; max + 1];
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    let what = format!("CREATE of a name of {} bytes", longer.len());
    match b.either_odd(&what, |nfs| nfs.create(&dir, &longer, how))? {
        Err(Refusal::Status(Nfsstat3::Nametoolong)) => {}
        Err(refusal) => b.note(format!("{what}: {refusal} instead of NFS3ERR_NAMETOOLONG")),
        Ok(_) if limits.no_trunc => {
            return Err(Stop::fail(
                format!("{what}: NFS3ERR_NAMETOOLONG"),
                Nfsstat3::Ok,
            ));
        }
        Ok(_) => b.note(format!("{what} truncates it, as no_trunc announces")),
    }
    let what = format!("LOOKUP of a name of {} bytes", longer.len());
    let usual = [Nfsstat3::Nametoolong, Nfsstat3::Noent];
    if limits.no_trunc {
        b.refused_somehow(&what, &usual, |nfs| nfs.lookup(&dir, &longer))?;
        // A truncated name would be listed here.
        let names: Vec<_> = b.list(&dir)?.into_iter().map(|e| e.name.len()).collect();
        b.equal("lengths of the names listed", vec![max], names)?;
    }
    Ok(())
}

/// Creates a file with the longest name that works: `announced` bytes, or fewer.
fn longest_name(b: &mut Bench<'_>, announced: usize) -> Result<usize, Stop> {
    let dir = b.dir;
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    // All known file systems allow 255 bytes, and none allows more than 1024.
    for len in [announced.min(1024), announced.min(255)] {
        let name = vec![b'n'; len];
        let what = format!("CREATE of a name of {len} bytes");
        match b.either_odd(&what, |nfs| nfs.create(&dir, &name, how))? {
            Ok(made) => {
                let file = b.handle_of(made.obj, &dir, &name)?;
                let found = b.find(&dir, &name)?;
                let (made, found) = (b.attributes(&file)?, b.attributes(&found)?);
                b.equal("fileid of the longest name", made.fileid, found.fileid)?;
                return Ok(len);
            }
            Err(Refusal::Status(Nfsstat3::Nametoolong) | Refusal::GarbageArgs) if len > 255 => {}
            Err(refusal) => return Err(Stop::fail(format!("{what}: NFS3_OK"), refusal)),
        }
    }
    Err(Stop::fail("a name_max of 1 or more", announced))
}

fn case(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let limits = b.done("PATHCONF", |nfs| nfs.pathconf(&dir))?;
    b.file(b"CamelCase")?;
    let other = b.either("LOOKUP of 'camelcase'", |nfs| {
        nfs.lookup(&dir, b"camelcase")
    })?;
    let names: Vec<_> = b.list(&dir)?.into_iter().map(|e| e.name).collect();
    b.equal("case_insensitive", limits.case_insensitive, other.is_ok())?;
    if limits.case_preserving {
        b.equal("the name as created", vec![b"CamelCase".to_vec()], names)?;
    }
    Ok(())
}

fn links(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let limits = b.done("PATHCONF", |nfs| nfs.pathconf(&dir))?;
    b.holds(
        limits.linkmax >= 1,
        "a linkmax of 1 or more",
        limits.linkmax,
    )?;
    b.holds(
        limits.name_max >= 14,
        "a name_max of 14 or more",
        limits.name_max,
    )?;
    let hard = b.target.fsinfo.properties & fsf::LINK != 0;
    if hard && limits.linkmax < 2 {
        b.note("linkmax is 1 although FSINFO announces hard links");
    }
    Ok(())
}
