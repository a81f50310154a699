//! `stat` and the shape that all results share (RFC 1094 section 2.3.1).

use crate::xdr::{DecodeError, DecodeFailure, Decoder};

xdr_status! {
    /// `stat`: what became of a procedure.
    pub enum Nfsstat("NFSERR_UNKNOWN") {
        /// Done.
        Ok = 0 "NFS_OK" "done",
        /// Not owner.
        Perm = 1 "NFSERR_PERM" "only the owner or root may do this; check the uid and root squashing on the export",
        /// No such file or directory.
        Noent = 2 "NFSERR_NOENT" "the name does not exist; something else may have removed it",
        /// Hard I/O error.
        Io = 5 "NFSERR_IO" "the server could not read or write its storage; look at its log",
        /// No such device or address.
        Nxio = 6 "NFSERR_NXIO" "the server's device is not there",
        /// Permission denied.
        Acces = 13 "NFSERR_ACCES" "the mode bits refuse this uid and gid; check them and root squashing on the export",
        /// Exists already.
        Exist = 17 "NFSERR_EXIST" "the name exists already; an earlier run may have left it: `filermark stop -r RC -s SUFFIX` removes that, or choose another suffix (-s)",
        /// No such device.
        Nodev = 19 "NFSERR_NODEV" "the server does not know the device",
        /// Not a directory.
        Notdir = 20 "NFSERR_NOTDIR" "a directory was expected here",
        /// Is a directory.
        Isdir = 21 "NFSERR_ISDIR" "a file was expected here, this is a directory",
        /// Invalid argument (not in the RFC; servers send it).
        Inval = 22 "NFSERR_INVAL" "the server calls an argument invalid",
        /// File too large.
        Fbig = 27 "NFSERR_FBIG" "the file would be larger than the server allows; NFSv2 ends at 2 GiB",
        /// No space.
        Nospc = 28 "NFSERR_NOSPC" "the server's disk is full; free space there, or measure less load (a smaller file set)",
        /// Read-only file system.
        Rofs = 30 "NFSERR_ROFS" "the export is read-only; export it read-write",
        /// Name too long.
        Nametoolong = 63 "NFSERR_NAMETOOLONG" "the name is too long for the server; NFSv2 ends at 255 bytes",
        /// Directory not empty.
        Notempty = 66 "NFSERR_NOTEMPTY" "the directory is not empty",
        /// Quota exceeded.
        Dquot = 69 "NFSERR_DQUOT" "the user's quota is used up; raise it or measure less load",
        /// Stale file handle.
        Stale = 70 "NFSERR_STALE" "the file behind the handle is gone; the export may have been remade, mount again",
        /// The server's write cache was flushed.
        Wflush = 99 "NFSERR_WFLUSH" "the server's write cache went to disk; RFC 1094 has the code for WRITECACHE, which no version uses",
    }
}

/// Results of a procedure: a union on the status.
pub type Res<O> = Result<O, Nfsstat>;

impl DecodeFailure<'_> for Nfsstat {
    const STATUS: &'static str = "stat";

    #[inline]
    fn decode_failure(status: u32, _d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Self::from_u32(status))
    }
}
