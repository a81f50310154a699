//! `nfsstat3` and the shape that all results share (RFC 1813 section 2.6).

use crate::xdr::{Decode, DecodeError, DecodeFailure, Decoder, Encode, Encoder};

xdr_status! {
    /// `nfsstat3`: what became of a procedure.
    pub enum Nfsstat3("NFS3ERR_UNKNOWN") {
        /// Done.
        Ok = 0 "NFS3_OK" "done",
        /// Not owner.
        Perm = 1 "NFS3ERR_PERM" "only the owner or root may do this; check UID and root squashing on the export",
        /// No such file or directory.
        Noent = 2 "NFS3ERR_NOENT" "the name does not exist; something else may have removed it",
        /// Hard I/O error.
        Io = 5 "NFS3ERR_IO" "the server could not read or write its storage; look at its log",
        /// No such device or address.
        Nxio = 6 "NFS3ERR_NXIO" "the server's device is not there",
        /// Permission denied.
        Acces = 13 "NFS3ERR_ACCES" "the mode bits refuse this uid and gid; check UID, GID and root squashing on the export",
        /// Exists already.
        Exist = 17 "NFS3ERR_EXIST" "the name exists already; an earlier run may have left it: `filermark stop -r RC -s SUFFIX` removes that, or choose another suffix (-s)",
        /// Hard link across file systems.
        Xdev = 18 "NFS3ERR_XDEV" "source and target are on different file systems",
        /// No such device.
        Nodev = 19 "NFS3ERR_NODEV" "the server does not know the device",
        /// Not a directory.
        Notdir = 20 "NFS3ERR_NOTDIR" "a directory was expected here",
        /// Is a directory.
        Isdir = 21 "NFS3ERR_ISDIR" "a file was expected here, this is a directory",
        /// Invalid or unsupported argument.
        Inval = 22 "NFS3ERR_INVAL" "the server calls an argument invalid",
        /// File too large.
        Fbig = 27 "NFS3ERR_FBIG" "the file would be larger than the server allows; see maxfilesize in FSINFO",
        /// No space.
        Nospc = 28 "NFS3ERR_NOSPC" "the server's disk is full; free space there, or measure less load (a smaller file set)",
        /// Read-only file system.
        Rofs = 30 "NFS3ERR_ROFS" "the export is read-only; export it read-write",
        /// Too many hard links.
        Mlink = 31 "NFS3ERR_MLINK" "the file has as many hard links as the server allows",
        /// Name too long.
        Nametoolong = 63 "NFS3ERR_NAMETOOLONG" "the name is too long for the server; see name_max in PATHCONF",
        /// Directory not empty.
        Notempty = 66 "NFS3ERR_NOTEMPTY" "the directory is not empty",
        /// Quota exceeded.
        Dquot = 69 "NFS3ERR_DQUOT" "the user's quota is used up; raise it or measure less load",
        /// Stale file handle.
        Stale = 70 "NFS3ERR_STALE" "the file behind the handle is gone; the export may have been remade, mount again",
        /// Too many levels of remote.
        Remote = 71 "NFS3ERR_REMOTE" "the handle belongs to a file system that is itself remote to the server",
        /// Illegal handle.
        Badhandle = 10001 "NFS3ERR_BADHANDLE" "the server did not make this handle",
        /// SETATTR guard: the file changed in between.
        NotSync = 10002 "NFS3ERR_NOT_SYNC" "the file changed since its ctime was read (SETATTR guard)",
        /// READDIR cookie is stale.
        BadCookie = 10003 "NFS3ERR_BAD_COOKIE" "the directory changed while it was listed; list it from the start",
        /// Operation not supported.
        Notsupp = 10004 "NFS3ERR_NOTSUPP" "the server does not support this procedure here",
        /// Buffer or request too small.
        Toosmall = 10005 "NFS3ERR_TOOSMALL" "not even one directory entry fits the requested reply size",
        /// The server failed.
        Serverfault = 10006 "NFS3ERR_SERVERFAULT" "the server failed in a way it has no code for; look at its log",
        /// Type not supported.
        Badtype = 10007 "NFS3ERR_BADTYPE" "the server cannot create objects of this type",
        /// Come back later.
        Jukebox = 10008 "NFS3ERR_JUKEBOX" "the server needs time (slow storage, grace period); the call is to be sent again later",
    }
}

/// A procedure that did not succeed: the status, and what the procedure returns beside it (`resfail`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failed<F> {
    /// Why; never [`Nfsstat3::Ok`].
    pub status: Nfsstat3,
    /// Attributes that the server gave with it.
    pub info: F,
}

impl<F> Failed<F> {
    /// A failure with nothing known about attributes.
    pub fn new(status: Nfsstat3) -> Self
    where
        F: Default,
    {
        Self {
            status,
            info: F::default(),
        }
    }
}

impl<F: std::fmt::Debug> std::fmt::Display for Failed<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.status, self.status.advice())
    }
}

impl<F: std::fmt::Debug> std::error::Error for Failed<F> {}

/// Results of a procedure: a union on the status.
pub type Res<O, F> = Result<O, Failed<F>>;

impl<F: Encode> Encode for Failed<F> {
    #[inline]
    fn encode(&self, e: &mut Encoder<'_>) {
        e.put(&self.status);
        self.info.encode(e);
    }
}

impl<'a, F: Decode<'a>> DecodeFailure<'a> for Failed<F> {
    const STATUS: &'static str = "nfsstat3";

    #[inline]
    fn decode_failure(status: u32, d: &mut Decoder<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            status: Nfsstat3::from_u32(status),
            info: F::decode(d)?,
        })
    }
}
