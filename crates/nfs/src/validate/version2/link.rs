//! LINK.

use super::ops::{Bench, Check, Outcome, nfs};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs2::*;
use filermark_onc::nfs3::Fh;

checks! { CHECKS: Check =>
    "link.same_file", nfs(Procedure::Link), "one file with two names and 2 links" => same_file;
    "link.remove", nfs(Procedure::Link), "the file lives until its last name goes" => remove;
    "link.exist", nfs(Procedure::Link), "over a name that is there answers NFSERR_EXIST" => exist;
    "link.notdir", nfs(Procedure::Link), "in a file answers NFSERR_NOTDIR" => notdir;
    "link.of_dir", nfs(Procedure::Link), "a directory gets a second name or not, as answered" => of_dir;
    "link.across", nfs(Procedure::Link), "in another directory" => across;
}

/// A file with the two names "one" and "two".
fn linked(b: &mut Bench<'_>) -> Result<Fh, Stop> {
    let dir = b.dir;
    let file = b.file_with(b"one", b"content")?;
    b.done("LINK", |nfs| nfs.link(&file, &dir, b"two"))?;
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
    b.refused("LINK over a name", &[Nfsstat::Exist], |nfs| {
        nfs.link(&file, &dir, b"two")
    })
    .map(drop)
}

fn notdir(b: &mut Bench<'_>) -> Outcome {
    let file = linked(b)?;
    b.refused("LINK in a file", &[Nfsstat::Notdir], |nfs| {
        nfs.link(&file, &file, b"x")
    })
    .map(drop)
}

/// Whether directories may have two names is the server's business; a name that is
/// refused must not be there.
fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    let what = "LINK of a directory";
    match b.either(what, |nfs| nfs.link(&below, &dir, b"second"))? {
        Err(status) => {
            use Nfsstat::{Acces, Inval, Isdir, Perm};
            if ![Isdir, Inval, Perm, Acces].contains(&status) {
                b.note(format!("{what}: {status}; NFSERR_ISDIR is usual"));
            }
            b.absent(&dir, b"second")
        }
        Ok(()) => {
            b.note("a directory may have two names");
            b.done("REMOVE of a directory's second name", |nfs| {
                nfs.remove(&dir, b"second")
            })
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
