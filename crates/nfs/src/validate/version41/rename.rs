//! RENAME and LINK.

use super::ops::{Bench, Check, Outcome, Subject};
use crate::validate::shared::link::{
    across as link_across, exist, linked, notdir as link_notdir, remove, same_file as one_file,
};
use crate::validate::shared::rename::{
    self as shared, across, dir_over_file, file_over_dir, moved, noent, over_empty_dir, over_file,
    same_name,
};
use filermark_driver_kit::checks;
use filermark_driver_kit::checks::Stop;
use filermark_onc::nfs4::*;

const RENAME: Subject = Subject::Op(Operation::Rename);
const LINK: Subject = Subject::Op(Operation::Link);

checks! { CHECKS: Check =>
    "rename.moved", RENAME, "moves the file from one name to the other" => moved;
    "rename.across", RENAME, "from one directory to another" => across;
    "rename.over_file", RENAME, "over a file replaces it" => over_file;
    "rename.over_empty_dir", RENAME, "a directory over an empty one replaces it" => over_empty_dir;
    "rename.over_full_dir", RENAME, "a directory over one with entries is refused" => over_full_dir;
    "rename.file_over_dir", RENAME, "a file over a directory is refused" => file_over_dir;
    "rename.dir_over_file", RENAME, "a directory over a file is refused" => dir_over_file;
    "rename.same_name", RENAME, "to its own name does nothing" => same_name;
    "rename.same_file", RENAME, "over another name of the same file does nothing" => same_file;
    "rename.noent", RENAME, "an unknown name answers NFS4ERR_NOENT" => noent;
    "rename.into_itself", RENAME, "a directory cannot be moved into itself" => into_itself;
    "rename.dot", RENAME, "'.' and '..' cannot be renamed" => dot;
    "rename.empty_name", RENAME, "an empty name answers NFS4ERR_INVAL" => empty_name;
    "rename.open_file", RENAME, "an open file stays open" => open_file;
    "link.same_file", LINK, "one file with two names and 2 links" => one_file;
    "link.remove", LINK, "the file exists until its last name is removed" => remove;
    "link.exist", LINK, "over an existing name answers NFS4ERR_EXIST" => exist;
    "link.notdir", LINK, "in a file answers NFS4ERR_NOTDIR" => link_notdir;
    "link.of_dir", LINK, "a directory answers NFS4ERR_ISDIR" => of_dir;
    "link.across", LINK, "in another directory" => link_across;
}

fn over_full_dir(b: &mut Bench<'_>) -> Outcome {
    shared::over_full_dir(b, &[Nfsstat4::Exist, Nfsstat4::Notempty])
}

fn same_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = linked(b)?;
    b.done("RENAME over a hard link to the same file", |client| {
        client.nfs.rename((&dir, b"one"), (&dir, b"two"))
    })?;
    b.find(&dir, b"one")?;
    b.find(&dir, b"two")?;
    let links = b.facts(&file)?.nlink;
    b.equal("links", 2, links)
}

fn into_itself(b: &mut Bench<'_>) -> Outcome {
    shared::into_itself(b, &[Nfsstat4::Inval])
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &[Nfsstat4::Badname])
}

fn empty_name(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    b.file(b"file")?;
    for (from, to) in [(&b""[..], &b"new"[..]), (b"file", b"")] {
        let what = format!(
            "RENAME of '{}' to '{}'",
            from.escape_ascii(),
            to.escape_ascii()
        );
        b.refused(&what, &[Nfsstat4::Inval], |client| {
            client.nfs.rename((&dir, from), (&dir, to))
        })?;
    }
    b.find(&dir, b"file").map(drop)
}

fn open_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let opened = b.open_new(b"old")?;
    match b.either("RENAME of an open file", |client| {
        client.nfs.rename((&dir, b"old"), (&dir, b"new"))
    })? {
        Ok(()) => {}
        Err(status @ Nfsstat4::FileOpen) => {
            b.note(format!("RENAME of an open file: {status}"));
            return Ok(());
        }
        Err(status) => {
            return Err(Stop::fail(
                format!("RENAME of an open file: {}", Nfsstat4::Ok),
                status,
            ));
        }
    }
    b.writes(&opened, b"data")?;
    b.closes(&opened)?;
    let found = b.find(&dir, b"new")?;
    b.begins_with(&found, b"data")
}

fn of_dir(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let below = b.mkdir(b"below")?;
    b.refused_somehow("LINK of a directory", &[Nfsstat4::Isdir], |client| {
        client.link(&below, &dir, b"second")
    })
}
