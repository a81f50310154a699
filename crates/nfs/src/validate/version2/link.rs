//! LINK.

use super::ops::{Bench, Check, Outcome, nfs};
use crate::validate::shared::link::{across, exist, notdir, remove, same_file};
use filermark_driver_kit::checks;
use filermark_onc::nfs2::*;

checks! { CHECKS: Check =>
    "link.same_file", nfs(Procedure::Link), "one file with two names and 2 links" => same_file;
    "link.remove", nfs(Procedure::Link), "the file exists until its last name is removed" => remove;
    "link.exist", nfs(Procedure::Link), "over an existing name answers NFSERR_EXIST" => exist;
    "link.notdir", nfs(Procedure::Link), "in a file answers NFSERR_NOTDIR" => notdir;
    "link.of_dir", nfs(Procedure::Link), "a second name of a directory: the result agrees with the status" => of_dir;
    "link.across", nfs(Procedure::Link), "in another directory" => across;
}

/// The server decides whether directories may have two names. A refused name must not exist.
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
