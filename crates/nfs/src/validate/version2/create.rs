//! CREATE, MKDIR and SYMLINK.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::create::{
    self as shared, create_notdir, mkdir_exist, mkdir_notdir, mkdir_stale, stale,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::{Stop, pattern};
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "create.made", nfs(Procedure::Create), "creates a file with mode and size" => made;
    "create.existing", nfs(Procedure::Create), "keeps an existing file, and truncates it with size 0" => existing;
    "create.over_dir", nfs(Procedure::Create), "over a directory does not change it" => over_dir;
    "create.notdir", nfs(Procedure::Create), "in a file answers NFSERR_NOTDIR" => create_notdir;
    "create.stale", nfs(Procedure::Create), "in a removed directory answers NFSERR_STALE" => stale;
    "create.dot", nfs(Procedure::Create), "'.' and '..' cannot be created" => dot;
    "create.empty_name", nfs(Procedure::Create), "an empty name is refused" => empty_name;
    "mkdir.made", nfs(Procedure::Mkdir), "creates an empty directory" => dir_made;
    "mkdir.links", nfs(Procedure::Mkdir), "RMDIR restores the parent's link count" => links, by "RFC 1094 section 2.3.5";
    "mkdir.exist", nfs(Procedure::Mkdir), "over an existing name answers NFSERR_EXIST" => mkdir_exist;
    "mkdir.notdir", nfs(Procedure::Mkdir), "in a file answers NFSERR_NOTDIR" => mkdir_notdir;
    "mkdir.stale", nfs(Procedure::Mkdir), "in a removed directory answers NFSERR_STALE" => mkdir_stale;
    "symlink.made", nfs(Procedure::Symlink), "creates a link whose target need not exist" => symlink;
    "symlink.exist", nfs(Procedure::Symlink), "over an existing name answers NFSERR_EXIST" => symlink_exist;
    "symlink.notdir", nfs(Procedure::Symlink), "in a file answers NFSERR_NOTDIR" => symlink_notdir;
}

/// The usual attributes of new files.
const NEW: Sattr = Sattr::mode(0o644);

fn made(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let attributes = Sattr {
        mode: 0o640,
        size: 0,
        ..Sattr::NONE
    };
    let (file, given) = b.done("CREATE", |nfs| nfs.create(&dir, b"file", attributes))?;
    b.agrees("CREATE", &file, &given)?;
    b.equal("type and size", (Ftype::Reg, 0), (given.ftype, given.size))?;
    b.equal("mode (octal 640 is 416)", 0o640, given.mode & 0o7777)?;
    let found = b.find(&dir, b"file")?;
    let found = b.attributes(&found)?;
    b.equal("fileid by LOOKUP", given.fileid, found.fileid)
}

/// The RFC has no flag for "only if it does not exist". Servers accept an existing file; the
/// RFC also allows to refuse it.
fn existing(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let data = pattern(1000, 31);
    let file = b.file_with(b"file", &data)?;
    let before = b.attributes(&file)?;
    let what = "CREATE over a file";
    match b.either(what, |nfs| nfs.create(&dir, b"file", Sattr::NONE))? {
        Ok((_, given)) => b.equal("fileid", before.fileid, given.fileid)?,
        Err(Nfsstat::Exist) => {
            b.note(format!("{what}: {}: clients accept it", Nfsstat::Exist));
            return b.contains(&file, 0, &data);
        }
        Err(status) => return Err(Stop::fail(format!("{what}: NFS_OK"), status)),
    }
    match b.attributes(&file)?.size {
        0 => b.note(format!("{what} truncates it, although no size is given")),
        _ => b.contains(&file, 0, &data)?,
    }
    let cut = Sattr { size: 0, ..NEW };
    b.done("CREATE with size 0 over a file", |nfs| {
        nfs.create(&dir, b"file", cut)
    })?;
    let after = b.attributes(&file)?;
    b.equal(
        "fileid and size after CREATE with size 0",
        (before.fileid, 0),
        (after.fileid, after.size),
    )
}

fn over_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.mkdir(b"dir")?;
    b.file_in(&made, b"inside")?;
    let what = "CREATE over a directory";
    let cut = Sattr { size: 0, ..NEW };
    match b.either(what, |nfs| nfs.create(&dir, b"dir", cut))? {
        Err(Nfsstat::Exist | Nfsstat::Isdir) => {}
        Err(status) => b.note(format!(
            "{what}: {status}; NFSERR_EXIST or NFSERR_ISDIR is usual"
        )),
        Ok(_) => b.note(format!("{what} succeeds and returns the directory")),
    }
    let found = b.find(&dir, b"dir")?;
    let is = b.attributes(&found)?;
    b.equal("type afterwards", Ftype::Dir, is.ftype)?;
    b.find(&found, b"inside").map(drop)
}

/// Usual statuses for names that always exist and are never files.
const DOTS: [Nfsstat; 4] = [
    Nfsstat::Exist,
    Nfsstat::Inval,
    Nfsstat::Isdir,
    Nfsstat::Acces,
];

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &DOTS)
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    shared::empty_name(b, &[Nfsstat::Acces, Nfsstat::Inval])
}

fn dir_made(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let mode = Sattr::mode(0o750);
    let (below, given) = b.done("MKDIR", |nfs| nfs.mkdir(&dir, b"dir", mode))?;
    b.agrees("MKDIR", &below, &given)?;
    b.equal("type", Ftype::Dir, given.ftype)?;
    b.equal("mode (octal 750 is 488)", 0o750, given.mode & 0o777)?;
    let entries = b.list(&below)?.len();
    b.equal("entries", 0, entries)?;
    b.file_in(&below, b"file")?;
    let entries = b.list(&below)?.len();
    b.equal("entries after CREATE", 1, entries)
}

/// '..' is a link to the parent on most file systems; some do not count it.
fn links(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let before = b.attributes(&dir)?.nlink;
    b.mkdir(b"below")?;
    let with = b.attributes(&dir)?.nlink;
    b.holds(
        with == before || with == before + 1,
        &format!(
            "links of the parent after a MKDIR: {before} or {}",
            before + 1
        ),
        with,
    )?;
    if with == before {
        b.note("the link count of a directory does not include its subdirectories");
    }
    b.done("RMDIR", |nfs| nfs.rmdir(&dir, b"below"))?;
    let after = b.attributes(&dir)?.nlink;
    b.equal("links of the parent after the RMDIR", before, after)
}

fn symlink(b: &mut Bench<'_>) -> Outcome {
    // The server must not follow the link.
    let link = b.symlink(b"link", b"/nowhere")?;
    let is = b.attributes(&link)?;
    b.equal("type by LOOKUP", Ftype::Lnk, is.ftype)?;
    let text = b.done("READLINK", |nfs| nfs.readlink(&link))?;
    b.equal("text", b"/nowhere".to_vec(), text)
}

fn symlink_exist(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file_with(b"file", b"content")?;
    b.refused("SYMLINK over a file", &[Nfsstat::Exist], |nfs| {
        nfs.symlink(&dir, b"file", b"x")
    })?;
    b.contains(&file, 0, b"content")
}

fn symlink_notdir(b: &mut Bench<'_>) -> Outcome {
    let file = b.file(b"file")?;
    b.refused("SYMLINK in a file", &[Nfsstat::Notdir], |nfs| {
        nfs.symlink(&file, b"x", b"y")
    })
    .map(drop)
}
