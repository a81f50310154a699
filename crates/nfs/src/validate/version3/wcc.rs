//! Weak cache consistency: the attributes before and after a change, if they are returned.

use super::ops::{Bench, Check, Outcome};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::pattern;
use filermark_onc::nfs3::*;

const SECTION: &str = "RFC 1813 section 2.6";

checks! { CHECKS: Check =>
    "wcc.write", Procedure::Write, "attributes before and after a WRITE are right" => write, by SECTION;
    "wcc.setattr", Procedure::Setattr, "attributes before and after a SETATTR are right" => setattr, by SECTION;
    "wcc.create", Procedure::Create, "the directory's attributes around a CREATE are right" => create, by SECTION;
    "wcc.remove", Procedure::Remove, "the directory's attributes around a REMOVE are right" => remove, by SECTION;
    "wcc.failed", Procedure::Mkdir, "a refused MKDIR reports that nothing changed" => failed, by SECTION;
}

/// Compares the attributes in a reply with those of GETATTR before and after the call.
fn agrees(b: &mut Bench<'_>, what: &str, object: &Fh, before: &Fattr3, wcc: &WccData) -> Outcome {
    match wcc.before {
        Some(given) => b.equal(
            &format!("{what}: size, mtime, ctime before"),
            (before.size, before.mtime, before.ctime),
            (given.size, given.mtime, given.ctime),
        )?,
        None => b.note(format!("{what} returns no attributes from before")),
    }
    let now = b.attributes(object)?;
    match wcc.after {
        Some(given) => b.equal(
            &format!("{what}: fileid, size, mtime, ctime after"),
            (now.fileid, now.size, now.mtime, now.ctime),
            (given.fileid, given.size, given.mtime, given.ctime),
        ),
        None => {
            b.note(format!("{what} returns no attributes from after"));
            Ok(())
        }
    }
}

fn write(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 41))?;
    for (offset, stable) in [(1000, StableHow::FileSync), (2000, StableHow::FileSync)] {
        let before = b.attributes(&file)?;
        let data = pattern(1000, 42);
        let wrote = b.done("WRITE", |nfs| nfs.write(&file, offset, stable, &data))?;
        agrees(b, "WRITE", &file, &before, &wrote.file_wcc)?;
    }
    Ok(())
}

fn setattr(b: &mut Bench<'_>) -> Outcome {
    let file = b.file_with(b"file", &pattern(1000, 43))?;
    for what in [Sattr3::size(10), Sattr3::mode(0o600)] {
        let before = b.attributes(&file)?;
        let set = b.done("SETATTR", |nfs| nfs.setattr(&file, what, None))?;
        agrees(b, "SETATTR", &file, &before, &set.obj_wcc)?;
    }
    Ok(())
}

fn create(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let before = b.attributes(&dir)?;
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    let made = b.done("CREATE", |nfs| nfs.create(&dir, b"file", how))?;
    agrees(b, "CREATE", &dir, &before, &made.dir_wcc)
}

fn remove(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let before = b.attributes(&dir)?;
    let removed = b.done("REMOVE", |nfs| nfs.remove(&dir, b"file"))?;
    agrees(b, "REMOVE", &dir, &before, &removed.dir_wcc)
}

fn failed(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"dir")?;
    let before = b.attributes(&dir)?;
    let answer = b.nfs.mkdir(&dir, b"dir", Sattr3::mode(0o755));
    match answer {
        Ok(Err(failed)) => agrees(b, "a refused MKDIR", &dir, &before, &failed.info.dir_wcc),
        Ok(Ok(_)) => b.holds(false, "MKDIR over a directory: NFS3ERR_EXIST", Nfsstat3::Ok),
        Err(error) => Err(crate::validate::text::no_answer("MKDIR", &error)),
    }
}
