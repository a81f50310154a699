//! CREATE, MKDIR, SYMLINK and MKNOD.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::create::{
    self as shared, create_notdir, mkdir_exist, mkdir_notdir, stale,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::pattern;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "create.unchecked", Procedure::Create, "UNCHECKED creates a file with mode and size 0" => unchecked;
    "create.existing", Procedure::Create, "UNCHECKED accepts an existing file" => existing;
    "create.guarded", Procedure::Create, "GUARDED answers NFS3ERR_EXIST for an existing name" => guarded;
    "create.exclusive", Procedure::Create, "EXCLUSIVE calls are distinguished by their verifiers" => exclusive;
    "create.over_dir", Procedure::Create, "over a directory is refused" => over_dir;
    "create.notdir", Procedure::Create, "in a file answers NFS3ERR_NOTDIR" => create_notdir;
    "create.stale", Procedure::Create, "in a removed directory answers NFS3ERR_STALE" => stale;
    "create.dot", Procedure::Create, "'.' and '..' cannot be created" => dot;
    "create.empty_name", Procedure::Create, "an empty name is refused" => empty_name;
    "mkdir.made", Procedure::Mkdir, "creates an empty directory" => made;
    "mkdir.exist", Procedure::Mkdir, "over an existing name answers NFS3ERR_EXIST" => mkdir_exist;
    "mkdir.notdir", Procedure::Mkdir, "in a file answers NFS3ERR_NOTDIR" => mkdir_notdir;
    "symlink.made", Procedure::Symlink, "creates a link whose target need not exist" => symlink;
    "symlink.exist", Procedure::Symlink, "over an existing name answers NFS3ERR_EXIST" => symlink_exist;
    "mknod.fifo", Procedure::Mknod, "creates a named pipe" => fifo;
    "mknod.socket", Procedure::Mknod, "creates a socket" => socket;
    "mknod.exist", Procedure::Mknod, "over an existing name answers NFS3ERR_EXIST" => mknod_exist;
    "mknod.badtype", Procedure::Mknod, "cannot create a regular file" => badtype;
}

fn unchecked(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let how = Createhow3::Unchecked(Sattr3 {
        mode: Some(0o640),
        size: Some(0),
        ..Sattr3::default()
    });
    let made = b.done("CREATE UNCHECKED", |nfs| nfs.create(&dir, b"file", how))?;
    if made.obj.is_none() {
        b.note("CREATE returns no handle: clients need a LOOKUP");
    }
    let file = b.handle_of(made.obj, &dir, b"file")?;
    let is = b.attributes(&file)?;
    b.equal("type and size", (Ftype3::Reg, 0), (is.ftype, is.size))?;
    b.equal("mode (octal 640 is 416)", 0o640, is.mode & 0o7777)?;
    match made.obj_attributes {
        Some(given) => b.equal("fileid given by CREATE", is.fileid, given.fileid)?,
        None => b.note("CREATE returns no attributes"),
    }
    let found = b.find(&dir, b"file")?;
    let found = b.attributes(&found)?;
    b.equal("fileid by LOOKUP", is.fileid, found.fileid)
}

fn existing(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let data = pattern(1000, 31);
    let file = b.file_with(b"file", &data)?;
    let before = b.attributes(&file)?;
    let how = Createhow3::Unchecked(Sattr3::default());
    b.done("CREATE UNCHECKED over a file", |nfs| {
        nfs.create(&dir, b"file", how)
    })?;
    let after = b.find(&dir, b"file")?;
    let after = b.attributes(&after)?;
    b.equal("fileid", before.fileid, after.fileid)?;
    if after.size != before.size {
        b.note("CREATE UNCHECKED without a size truncates an existing file");
    }
    let how = Createhow3::Unchecked(Sattr3::size(0));
    b.done("CREATE UNCHECKED with size 0 over a file", |nfs| {
        nfs.create(&dir, b"file", how)
    })?;
    let size = b.attributes(&file)?.size;
    b.equal("size after CREATE UNCHECKED with size 0", 0, size)
}

fn guarded(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let data = pattern(1000, 32);
    let file = b.file_with(b"file", &data)?;
    let how = Createhow3::Guarded(Sattr3::size(0));
    b.refused("CREATE GUARDED over a file", &[Nfsstat3::Exist], |nfs| {
        nfs.create(&dir, b"file", how)
    })?;
    b.contains(&file, 0, &data)
}

fn exclusive(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let (ours, other) = (*b"\x01verify\x02", *b"\x03others\x04");
    let create = |verf| Createhow3::Exclusive(verf);
    let made = b.done_if_supported("CREATE EXCLUSIVE", |nfs| {
        nfs.create(&dir, b"file", create(ours))
    })?;
    let file = b.handle_of(made.obj, &dir, b"file")?;
    let first = b.attributes(&file)?;
    // A client that lost the answer repeats the call and must get the same file.
    let again = b.done("CREATE EXCLUSIVE again with the same verifier", |nfs| {
        nfs.create(&dir, b"file", create(ours))
    })?;
    let same = b.handle_of(again.obj, &dir, b"file")?;
    let same = b.attributes(&same)?;
    b.equal("fileid after the second CREATE", first.fileid, same.fileid)?;
    b.refused(
        "CREATE EXCLUSIVE with a different verifier",
        &[Nfsstat3::Exist],
        |nfs| nfs.create(&dir, b"file", create(other)),
    )?;
    // Clients set the attributes with a SETATTR afterwards.
    b.done("SETATTR after CREATE EXCLUSIVE", |nfs| {
        nfs.setattr(&file, Sattr3::mode(0o644), None)
    })?;
    b.put(&file, 0, b"data")?;
    b.contains(&file, 0, b"data")
}

fn over_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.mkdir(b"dir")?;
    let how = Createhow3::Guarded(Sattr3::mode(0o644));
    b.refused(
        "CREATE GUARDED over a directory",
        &[Nfsstat3::Exist],
        |nfs| nfs.create(&dir, b"dir", how),
    )?;
    // The RFC does not define UNCHECKED with the name of a directory; the directory must not
    // change.
    let how = Createhow3::Unchecked(Sattr3::mode(0o644));
    let what = "CREATE UNCHECKED over a directory";
    match b.either(what, |nfs| nfs.create(&dir, b"dir", how))? {
        Err(Nfsstat3::Exist | Nfsstat3::Isdir) => {}
        Err(status) => b.note(format!("{what}: {status}; NFS3ERR_EXIST is usual")),
        Ok(_) => b.note(format!("{what} succeeds and returns the directory")),
    }
    let found = b.find(&dir, b"dir")?;
    let is = b.attributes(&found)?;
    b.equal("type afterwards", Ftype3::Dir, is.ftype)
}

/// Usual statuses for names that always exist and are never files.
const DOTS: [Nfsstat3; 3] = [Nfsstat3::Exist, Nfsstat3::Inval, Nfsstat3::Isdir];

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &DOTS)
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    shared::empty_name(b, &[Nfsstat3::Acces, Nfsstat3::Inval])
}

fn made(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.done("MKDIR", |nfs| nfs.mkdir(&dir, b"dir", Sattr3::mode(0o750)))?;
    let below = b.handle_of(made.obj, &dir, b"dir")?;
    let is = b.attributes(&below)?;
    b.equal("type", Ftype3::Dir, is.ftype)?;
    b.equal("mode (octal 750 is 488)", 0o750, is.mode & 0o777)?;
    let entries = b.list(&below)?.len();
    b.equal("entries", 0, entries)?;
    b.file_in(&below, b"file")?;
    let entries = b.list(&below)?.len();
    b.equal("entries after CREATE", 1, entries)
}

fn symlink(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let made = b.done_if_supported("SYMLINK", |nfs| nfs.symlink(&dir, b"link", b"/nowhere"))?;
    let link = b.handle_of(made.obj, &dir, b"link")?;
    let is = b.attributes(&link)?;
    b.equal("type", Ftype3::Lnk, is.ftype)?;
    // The server must not follow the link.
    let found = b.find(&dir, b"link")?;
    let found = b.attributes(&found)?;
    b.equal("type by LOOKUP", Ftype3::Lnk, found.ftype)
}

fn symlink_exist(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let wanted = [Nfsstat3::Exist, Nfsstat3::Notsupp];
    b.refused("SYMLINK over a file", &wanted, |nfs| {
        nfs.symlink(&dir, b"file", b"x")
    })
    .map(drop)
}

fn special(b: &mut Bench<'_>, what: Mknoddata3, wanted: Ftype3) -> Outcome {
    let dir = b.dir;
    let made = b.done_if_supported("MKNOD", |nfs| nfs.mknod(&dir, b"special", what))?;
    let object = b.handle_of(made.obj, &dir, b"special")?;
    let is = b.attributes(&object)?;
    b.equal("type", wanted, is.ftype)
}

fn fifo(b: &mut Bench<'_>) -> Outcome {
    special(b, Mknoddata3::Fifo(Sattr3::mode(0o644)), Ftype3::Fifo)
}

fn socket(b: &mut Bench<'_>) -> Outcome {
    special(b, Mknoddata3::Sock(Sattr3::mode(0o644)), Ftype3::Sock)
}

fn mknod_exist(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    let what = Mknoddata3::Fifo(Sattr3::mode(0o644));
    let wanted = [Nfsstat3::Exist, Nfsstat3::Notsupp];
    b.refused("MKNOD over a file", &wanted, |nfs| {
        nfs.mknod(&dir, b"file", what)
    })
    .map(drop)
}

fn badtype(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let what = Mknoddata3::Other(Ftype3::Reg);
    b.refused_somehow("MKNOD of a regular file", &[Nfsstat3::Badtype], |nfs| {
        nfs.mknod(&dir, b"file", what)
    })?;
    b.absent(&dir, b"file")
}
