//! LINK.

use super::ops::{Bench, Check, Outcome};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "link.same_file", Procedure::Link, "one file with two names and 2 links" => same_file;
    "link.remove", Procedure::Link, "the file lives until its last name goes" => remove;
    "link.exist", Procedure::Link, "over a name that is there answers NFS3ERR_EXIST" => exist;
    "link.notdir", Procedure::Link, "in a file answers NFS3ERR_NOTDIR" => notdir;
    "link.of_dir", Procedure::Link, "a directory gets no second name" => of_dir;
    "link.across", Procedure::Link, "in another directory" => across;
}

/// A file with the two names "one" and "two".
fn linked(b: &mut Bench<'_>) -> Result<Fh, Stop> {
    let dir = b.dir;
    let file = b.file_with(b"one", b"content")?;
    let link = b.done_if_supported("LINK", |nfs| nfs.link(&file, &dir, b"two"));
    if matches!(link, Err(Stop::Skip(_))) && b.target.fsinfo.properties & fsf::LINK != 0 {
        return Err(Stop::fail(
            "LINK to work, as FSINFO's FSF3_LINK says",
            Nfsstat3::Notsupp,
        ));
    }
    link?;
    Ok(file)
}

fn same_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    let other = b.find(&dir, b"two")?;
    let (one, two) = (b.attributes(&file)?, b.attributes(&other)?);
    b.equal("fileid", one.fileid, two.fileid)?;
    b.equal("links by either name", (2, 2), (one.nlink, two.nlink))?;
    b.put(&other, 0, b"CONTENT and more")?;
    b.contains(&file, 0, b"CONTENT and more")
}

fn remove(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"one"))?;
    let is = b.attributes(&file)?;
    b.equal("links after one REMOVE", 1, is.nlink)?;
    b.contains(&file, 0, b"content")?;
    b.done("REMOVE", |nfs| nfs.remove(&dir, b"two"))?;
    b.becomes_stale("GETATTR after the last REMOVE", |nfs| nfs.getattr(&file))
}

fn exist(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    b.refused("LINK over a name", &[Nfsstat3::Exist], |nfs| {
        nfs.link(&file, &dir, b"two")
    })
    .map(drop)
}

fn notdir(b: &mut Bench<'_>) -> Outcome {
    let file = linked(b)?;
    b.refused("LINK in a file", &[Nfsstat3::Notdir], |nfs| {
        nfs.link(&file, &file, b"x")
    })
    .map(drop)
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    match b.either("LINK of a directory", |nfs| {
        nfs.link(&below, &dir, b"second")
    })? {
        Err(Nfsstat3::Isdir | Nfsstat3::Inval | Nfsstat3::Perm | Nfsstat3::Notsupp) => Ok(()),
        Err(status) => {
            b.note(format!("LINK of a directory: {status}"));
            Ok(())
        }
        Ok(_) => {
            b.note("a directory may have two names");
            b.done("REMOVE of a directory's second name", |nfs| {
                nfs.remove(&dir, b"second")
            })
            .map(drop)
        }
    }
}

fn across(b: &mut Bench<'_>) -> Outcome {
    let file = linked(b)?;
    let below = b.mkdir(b"below")?;
    b.done("LINK in another directory", |nfs| {
        nfs.link(&file, &below, b"three")
    })?;
    let found = b.find(&below, b"three")?;
    let (one, three) = (b.attributes(&file)?, b.attributes(&found)?);
    b.equal("fileid", one.fileid, three.fileid)?;
    b.equal("links", 3, three.nlink)
}
