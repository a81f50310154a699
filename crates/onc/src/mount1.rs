//! MOUNT version 1, the companion of NFSv2 (RFC 1094 appendix A). Only MNT differs from version 3
//! ([`crate::mount`]): its answer is an errno or a handle of 32 bytes, and no flavors of
//! authentication. Arguments, DUMP, UMNT, UMNTALL and EXPORT are those of version 3, and so are their
//! numbers.

use crate::mount::{MNTPATHLEN, Procedure};
use crate::nfs2::{Fhandle, Nfsstat, Res};

/// Program number, shared with version 3.
pub const PROGRAM: u32 = crate::mount::PROGRAM;
/// Version of the program.
pub const VERSION: u32 = 1;

xdr_struct! {
    /// Arguments of MNT.
    pub struct MntArgs<'a> {
        /// Path of the export or of a directory below it.
        dirpath: &'a [u8] => MNTPATHLEN,
    }
}

xdr_struct! {
    /// What MNT answers when it is done.
    pub struct MntOk<'a> {
        /// Handle of the directory.
        directory: Fhandle<'a>,
    }
}

/// Answer of MNT (`fhstatus`): the handle, or a Unix errno, which [`Nfsstat`] has the names of.
pub type MntRes<'a> = Res<MntOk<'a>>;

/// Why MNT failed.
pub type Fhstatus = Nfsstat;

xdr_calls! {
    MntArgs<'_>, Mnt, MntRes<'r>;
}
