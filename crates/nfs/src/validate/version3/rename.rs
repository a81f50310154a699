//! RENAME.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::rename::{
    self as shared, across, dir_over_file, file_over_dir, moved, noent, over_empty_dir, over_file,
    same_name,
};
use filermark_driver_kit::checks;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "rename.moved", Procedure::Rename, "moves the file from one name to the other" => moved;
    "rename.across", Procedure::Rename, "from one directory to another" => across;
    "rename.over_file", Procedure::Rename, "over a file replaces it" => over_file;
    "rename.over_empty_dir", Procedure::Rename, "a directory over an empty one replaces it" => over_empty_dir;
    "rename.over_full_dir", Procedure::Rename, "a directory over one with entries is refused" => over_full_dir;
    "rename.file_over_dir", Procedure::Rename, "a file over a directory is refused" => file_over_dir;
    "rename.dir_over_file", Procedure::Rename, "a directory over a file is refused" => dir_over_file;
    "rename.same_name", Procedure::Rename, "to its own name does nothing" => same_name;
    "rename.same_file", Procedure::Rename, "over another name of the same file does nothing" => same_file;
    "rename.noent", Procedure::Rename, "an unknown name answers NFS3ERR_NOENT" => noent;
    "rename.into_itself", Procedure::Rename, "a directory cannot be moved into itself" => into_itself;
    "rename.dot", Procedure::Rename, "'.' and '..' cannot be renamed" => dot;
}

fn over_full_dir(b: &mut Bench<'_>) -> Outcome {
    shared::over_full_dir(b, &[Nfsstat3::Notempty, Nfsstat3::Exist])
}

fn same_file(b: &mut Bench<'_>) -> Outcome {
    let dir = b.dir;
    let file = b.file(b"one")?;
    b.done_if_supported("LINK", |nfs| nfs.link(&file, &dir, b"two"))?;
    b.done("RENAME over a hard link to the same file", |nfs| {
        nfs.rename((&dir, b"one"), (&dir, b"two"))
    })?;
    b.find(&dir, b"one")?;
    b.find(&dir, b"two")?;
    let links = b.attributes(&file)?.nlink;
    b.equal("links", 2, links)
}

fn into_itself(b: &mut Bench<'_>) -> Outcome {
    shared::into_itself(b, &[Nfsstat3::Inval])
}

fn dot(b: &mut Bench<'_>) -> Outcome {
    shared::dot(b, &[Nfsstat3::Inval])
}
