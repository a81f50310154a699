//! Arguments of the 22 procedures (RFC 1813 section 3.3), field by field in the RFC's order.

use super::attr::{Ftype3, Nfstime3, Sattr3, Specdata3};
use super::handle::FileHandle;
use super::procedure::Procedure;
use super::results::*;
use super::{MAX_DATA, MAX_NAME, MAX_PATH, Verf};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

xdr_enum! {
    /// `stable_how`: how safe written data must be before the server answers.
    pub enum StableHow {
        /// May be lost until COMMIT.
        Unstable = 0 "UNSTABLE",
        /// Data safe, metadata not yet.
        DataSync = 1 "DATA_SYNC",
        /// Data and metadata safe.
        FileSync = 2 "FILE_SYNC",
    }
}

xdr_struct! {
    /// `diropargs3`: a name in a directory.
    pub struct Diropargs3<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// The name.
        name: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// Arguments of NULL: none.
    pub struct NullArgs {}
}
xdr_struct! {
    /// Arguments of GETATTR.
    pub struct GetattrArgs<'a> {
        /// The file.
        object: FileHandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of SETATTR.
    pub struct SetattrArgs<'a> {
        /// The file.
        object: FileHandle<'a>,
        /// What to set.
        new_attributes: Sattr3,
        /// Only if the file's ctime is this (`sattrguard3`).
        guard: Option<Nfstime3>,
    }
}
xdr_struct! {
    /// Arguments of LOOKUP.
    pub struct LookupArgs<'a> {
        /// Where to look for what.
        what: Diropargs3<'a>,
    }
}
xdr_struct! {
    /// Arguments of ACCESS.
    pub struct AccessArgs<'a> {
        /// The file.
        object: FileHandle<'a>,
        /// The rights asked about: bits of [`super::access`].
        access: u32,
    }
}
xdr_struct! {
    /// Arguments of READLINK.
    pub struct ReadlinkArgs<'a> {
        /// The symbolic link.
        symlink: FileHandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of READ.
    pub struct ReadArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes at most.
        count: u32,
    }
}
xdr_struct! {
    /// Arguments of WRITE.
    pub struct WriteArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes; the length of `data`.
        count: u32,
        /// How safe.
        stable: StableHow,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}
xdr_struct! {
    /// Arguments of CREATE.
    pub struct CreateArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs3<'a>,
        /// How.
        how: Createhow3,
    }
}
xdr_struct! {
    /// Arguments of MKDIR.
    pub struct MkdirArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs3<'a>,
        /// Its first attributes.
        attributes: Sattr3,
    }
}
xdr_struct! {
    /// Arguments of SYMLINK (`symlinkdata3` included).
    pub struct SymlinkArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs3<'a>,
        /// Its first attributes.
        symlink_attributes: Sattr3,
        /// Its contents.
        symlink_data: &'a [u8] => MAX_PATH,
    }
}
xdr_struct! {
    /// Arguments of MKNOD.
    pub struct MknodArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs3<'a>,
        /// What to make.
        what: Mknoddata3,
    }
}
xdr_struct! {
    /// Arguments of REMOVE.
    pub struct RemoveArgs<'a> {
        /// Which name in which directory.
        object: Diropargs3<'a>,
    }
}
xdr_struct! {
    /// Arguments of RMDIR.
    pub struct RmdirArgs<'a> {
        /// Which name in which directory.
        object: Diropargs3<'a>,
    }
}
xdr_struct! {
    /// Arguments of RENAME.
    pub struct RenameArgs<'a> {
        /// The present name.
        from: Diropargs3<'a>,
        /// The new name.
        to: Diropargs3<'a>,
    }
}
xdr_struct! {
    /// Arguments of LINK.
    pub struct LinkArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// The new name.
        link: Diropargs3<'a>,
    }
}
xdr_struct! {
    /// Arguments of READDIR.
    pub struct ReaddirArgs<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// Start behind the entry with this cookie; 0 for the beginning.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
        /// The most bytes in the answer's `READDIR3resok`.
        count: u32,
    }
}
xdr_struct! {
    /// Arguments of READDIRPLUS.
    pub struct ReaddirplusArgs<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// Start behind the entry with this cookie; 0 for the beginning.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
        /// The most bytes of names, cookies and file ids.
        dircount: u32,
        /// The most bytes in the answer's `READDIRPLUS3resok`.
        maxcount: u32,
    }
}
xdr_struct! {
    /// Arguments of FSSTAT.
    pub struct FsstatArgs<'a> {
        /// Any file of the file system.
        fsroot: FileHandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of FSINFO.
    pub struct FsinfoArgs<'a> {
        /// Any file of the file system.
        fsroot: FileHandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of PATHCONF.
    pub struct PathconfArgs<'a> {
        /// The file or directory.
        object: FileHandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of COMMIT.
    pub struct CommitArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// From this byte.
        offset: u64,
        /// This many bytes; 0 for "to the end".
        count: u32,
    }
}

/// `createhow3`: what CREATE does with a name that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Createhow3 {
    /// Takes the file that is there.
    Unchecked(Sattr3),
    /// Fails.
    Guarded(Sattr3),
    /// Fails unless an earlier call with the same verifier made it.
    Exclusive(Verf),
}

impl Encode for Createhow3 {
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Unchecked(attributes) => {
                e.u32(0);
                e.put(attributes);
            }
            Self::Guarded(attributes) => {
                e.u32(1);
                e.put(attributes);
            }
            Self::Exclusive(verf) => {
                e.u32(2);
                e.put(verf);
            }
        }
    }
}

impl Decode<'_> for Createhow3 {
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let at = d.offset();
        Ok(match d.u32(what)? {
            0 => Self::Unchecked(Sattr3::decode(d)?),
            1 => Self::Guarded(Sattr3::decode(d)?),
            2 => Self::Exclusive(Verf::decode_as(d, "Createhow3.verf")?),
            other => return Err(DecodeError::unexpected(at, what, other)),
        })
    }
}

/// `mknoddata3`: what MKNOD makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mknoddata3 {
    /// A character device.
    Chr(Sattr3, Specdata3),
    /// A block device.
    Blk(Sattr3, Specdata3),
    /// A socket.
    Sock(Sattr3),
    /// A named pipe.
    Fifo(Sattr3),
    /// A type that MKNOD can't make (the server answers NFS3ERR_BADTYPE).
    Other(Ftype3),
}

impl Encode for Mknoddata3 {
    fn encode(&self, e: &mut Encoder<'_>) {
        match self {
            Self::Chr(attributes, spec) => encode_device(e, Ftype3::Chr, attributes, spec),
            Self::Blk(attributes, spec) => encode_device(e, Ftype3::Blk, attributes, spec),
            Self::Sock(attributes) => {
                e.put(&Ftype3::Sock);
                e.put(attributes);
            }
            Self::Fifo(attributes) => {
                e.put(&Ftype3::Fifo);
                e.put(attributes);
            }
            Self::Other(ftype) => e.put(ftype),
        }
    }
}

fn encode_device(e: &mut Encoder<'_>, ftype: Ftype3, attributes: &Sattr3, spec: &Specdata3) {
    e.put(&ftype);
    e.put(attributes);
    e.put(spec);
}

impl Decode<'_> for Mknoddata3 {
    fn decode_as(d: &mut Decoder<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Ok(match Ftype3::decode_as(d, what)? {
            Ftype3::Chr => Self::Chr(Sattr3::decode(d)?, Specdata3::decode(d)?),
            Ftype3::Blk => Self::Blk(Sattr3::decode(d)?, Specdata3::decode(d)?),
            Ftype3::Sock => Self::Sock(Sattr3::decode(d)?),
            Ftype3::Fifo => Self::Fifo(Sattr3::decode(d)?),
            other => Self::Other(other),
        })
    }
}

xdr_calls! {
    NullArgs, Null, ();
    GetattrArgs<'_>, Getattr, GetattrRes;
    SetattrArgs<'_>, Setattr, SetattrRes;
    LookupArgs<'_>, Lookup, LookupRes<'r>;
    AccessArgs<'_>, Access, AccessRes;
    ReadlinkArgs<'_>, Readlink, ReadlinkRes<'r>;
    ReadArgs<'_>, Read, ReadRes<'r>;
    WriteArgs<'_>, Write, WriteRes;
    CreateArgs<'_>, Create, CreateRes<'r>;
    MkdirArgs<'_>, Mkdir, CreateRes<'r>;
    SymlinkArgs<'_>, Symlink, CreateRes<'r>;
    MknodArgs<'_>, Mknod, CreateRes<'r>;
    RemoveArgs<'_>, Remove, RemoveRes;
    RmdirArgs<'_>, Rmdir, RemoveRes;
    RenameArgs<'_>, Rename, RenameRes;
    LinkArgs<'_>, Link, LinkRes;
    ReaddirArgs<'_>, Readdir, ReaddirRes<'r>;
    ReaddirplusArgs<'_>, Readdirplus, ReaddirplusRes<'r>;
    FsstatArgs<'_>, Fsstat, FsstatRes;
    FsinfoArgs<'_>, Fsinfo, FsinfoRes;
    PathconfArgs<'_>, Pathconf, PathconfRes;
    CommitArgs<'_>, Commit, CommitRes;
}
