//! Operations on names in directories: arguments and results (RFC 8881 section 18), field by field in the
//! RFC's order.

use super::attribute::Bitmap4;
use super::basic::{ChangeInfo4, Specdata4};
use super::fattr::Fattr4;
use super::status::Res;
use super::{MAX_NAME, MAX_PATH};

xdr_struct! {
    /// Arguments of LOOKUP.
    pub struct LookupArgs<'a> {
        /// The name.
        objname: &'a [u8] => MAX_NAME,
    }
}

/// Results of LOOKUP.
pub type LookupRes = Res<()>;

xdr_struct! {
    /// Arguments of LOOKUPP: none.
    pub struct LookuppArgs {}
}

/// Results of LOOKUPP.
pub type LookuppRes = Res<()>;

xdr_union! {
    /// `createtype4`: what CREATE makes.
    pub enum Createtype4<'a> {
        /// A file: OPEN makes it (the server answers NFS4ERR_BADTYPE).
        Reg = 1,
        /// A directory.
        Dir = 2,
        /// A block device.
        Blk(Specdata4) = 3,
        /// A character device.
        Chr(Specdata4) = 4,
        /// A symbolic link with these contents.
        Lnk(&'a [u8] => MAX_PATH) = 5,
        /// A socket.
        Sock = 6,
        /// A named pipe.
        Fifo = 7,
        /// A directory of named attributes: OPENATTR makes it (the server answers NFS4ERR_BADTYPE).
        Attrdir = 8,
        /// A named attribute: OPEN makes it (the server answers NFS4ERR_BADTYPE).
        Namedattr = 9,
    }
}

xdr_struct! {
    /// Arguments of CREATE.
    pub struct CreateArgs<'a> {
        /// What to make.
        objtype: Createtype4<'a>,
        /// Its name.
        objname: &'a [u8] => MAX_NAME,
        /// Its first attributes.
        createattrs: Fattr4<'a>,
    }
}

xdr_struct! {
    /// What CREATE returns.
    pub struct CreateOk {
        /// The directory.
        cinfo: ChangeInfo4,
        /// What was set.
        attrset: Bitmap4,
    }
}

/// Results of CREATE.
pub type CreateRes = Res<CreateOk>;

xdr_struct! {
    /// Arguments of REMOVE.
    pub struct RemoveArgs<'a> {
        /// The name of a file or directory.
        target: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// What REMOVE returns.
    pub struct RemoveOk {
        /// The directory.
        cinfo: ChangeInfo4,
    }
}

/// Results of REMOVE.
pub type RemoveRes = Res<RemoveOk>;

xdr_struct! {
    /// Arguments of RENAME: from the saved to the current file handle.
    pub struct RenameArgs<'a> {
        /// The present name.
        oldname: &'a [u8] => MAX_NAME,
        /// The new name.
        newname: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// What RENAME returns.
    pub struct RenameOk {
        /// The old name's directory.
        source_cinfo: ChangeInfo4,
        /// The new name's directory.
        target_cinfo: ChangeInfo4,
    }
}

/// Results of RENAME.
pub type RenameRes = Res<RenameOk>;

xdr_struct! {
    /// Arguments of LINK: of the saved file handle, in the current one.
    pub struct LinkArgs<'a> {
        /// The new name.
        newname: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// What LINK returns.
    pub struct LinkOk {
        /// The directory.
        cinfo: ChangeInfo4,
    }
}

/// Results of LINK.
pub type LinkRes = Res<LinkOk>;

xdr_struct! {
    /// Arguments of READLINK: none.
    pub struct ReadlinkArgs {}
}

xdr_struct! {
    /// What READLINK returns.
    pub struct ReadlinkOk<'a> {
        /// The contents of the symbolic link.
        link: &'a [u8] => MAX_PATH,
    }
}

/// Results of READLINK.
pub type ReadlinkRes<'a> = Res<ReadlinkOk<'a>>;
