//! LINK.

use super::ops::{Bench, Check, Outcome};
use crate::validate::shared::link::{across, exist, notdir, remove, same_file};
use filermark_driver_kit::checks;
use filermark_onc::nfs3::*;

checks! { CHECKS: Check =>
    "link.same_file", Procedure::Link, "one file with two names and 2 links" => same_file;
    "link.remove", Procedure::Link, "the file exists until its last name is removed" => remove;
    "link.exist", Procedure::Link, "over an existing name answers NFS3ERR_EXIST" => exist;
    "link.notdir", Procedure::Link, "in a file answers NFS3ERR_NOTDIR" => notdir;
    "link.of_dir", Procedure::Link, "a directory cannot get a second name" => of_dir;
    "link.across", Procedure::Link, "in another directory" => across;
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
