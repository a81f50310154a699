//! The procedures that change names and attributes: arguments and results (RFC 1813 section 3.3), field by
//! field in the RFC's order.

use super::attr::{Ftype3, Nfstime3, PostOpAttr, Sattr3, Specdata3, WccData};
use super::handle::{Diropargs3, FileHandle};
use super::status::Res;
use super::{MAX_PATH, Verf};
use crate::xdr::{Decode, DecodeError, Decoder, Encode, Encoder};

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

/// Results of SETATTR.
pub type SetattrRes = Res<ObjWcc, ObjWcc>;

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
    /// What CREATE, MKDIR, SYMLINK and MKNOD return.
    pub struct CreateOk<'a> {
        /// Handle of the new object, if the server gives it (`post_op_fh3`).
        obj: Option<FileHandle<'a>>,
        /// Its attributes.
        obj_attributes: PostOpAttr,
        /// The directory's attributes before and after.
        dir_wcc: WccData,
    }
}

/// Results of CREATE, MKDIR, SYMLINK and MKNOD.
pub type CreateRes<'a> = Res<CreateOk<'a>, DirWcc>;

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

/// Results of REMOVE and RMDIR.
pub type RemoveRes = Res<DirWcc, DirWcc>;

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

/// Results of RENAME.
pub type RenameRes = Res<RenameWcc, RenameWcc>;

xdr_struct! {
    /// Arguments of LINK.
    pub struct LinkArgs<'a> {
        /// The file.
        file: FileHandle<'a>,
        /// The new name.
        link: Diropargs3<'a>,
    }
}

/// Results of LINK.
pub type LinkRes = Res<LinkWcc, LinkWcc>;

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

xdr_struct! {
    /// What SETATTR returns, also when it fails.
    #[derive(Default)]
    pub struct ObjWcc {
        /// The file's attributes before and after.
        obj_wcc: WccData,
    }
}

xdr_struct! {
    /// What REMOVE and RMDIR return, and the creating procedures when they fail.
    #[derive(Default)]
    pub struct DirWcc {
        /// The directory's attributes before and after.
        dir_wcc: WccData,
    }
}

xdr_struct! {
    /// What RENAME returns, also when it fails.
    #[derive(Default)]
    pub struct RenameWcc {
        /// Attributes of the old name's directory before and after.
        fromdir_wcc: WccData,
        /// Attributes of the new name's directory before and after.
        todir_wcc: WccData,
    }
}

xdr_struct! {
    /// What LINK returns, also when it fails.
    #[derive(Default)]
    pub struct LinkWcc {
        /// The file's attributes.
        file_attributes: PostOpAttr,
        /// Attributes of the new name's directory before and after.
        linkdir_wcc: WccData,
    }
}
