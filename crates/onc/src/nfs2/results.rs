//! Results of the 18 procedures (RFC 1094 section 2.2), field by field in the RFC's order.

use super::attr::Fattr;
use super::handle::Fhandle;
use super::status::Res;
use super::{MAXDATA, MAXNAMLEN, MAXPATHLEN};
use crate::nfs3::DirList;

xdr_struct! {
    /// What GETATTR, SETATTR and WRITE return (`attrstat`).
    pub struct AttrstatOk {
        /// The attributes.
        attributes: Fattr,
    }
}
xdr_struct! {
    /// What LOOKUP, CREATE and MKDIR return (`diropok`).
    pub struct DiropOk<'a> {
        /// Handle of what was found or made.
        file: Fhandle<'a>,
        /// Its attributes.
        attributes: Fattr,
    }
}
xdr_struct! {
    /// What READLINK returns.
    pub struct ReadlinkOk<'a> {
        /// The link's contents.
        data: &'a [u8] => MAXPATHLEN,
    }
}
xdr_struct! {
    /// What READ returns. There is no end mark: the end of the file follows from the size in the attributes.
    pub struct ReadOk<'a> {
        /// The file's attributes.
        attributes: Fattr,
        /// The bytes.
        data: &'a [u8] => MAXDATA,
    }
}
xdr_struct! {
    /// `entry`: an entry of READDIR.
    pub struct Entry<'a> {
        /// The file's number.
        fileid: u32,
        /// Its name.
        name: &'a [u8] => MAXNAMLEN,
        /// Where the next READDIR goes on. (Opaque to clients.)
        cookie: u32,
    }
}
xdr_struct! {
    /// What READDIR returns (`readdirok`).
    pub struct ReaddirOk<'a> {
        /// Entries and end mark.
        reply: DirList<'a, Entry<'a>>,
    }
}
xdr_struct! {
    /// What STATFS returns.
    pub struct StatfsOk {
        /// Best size of a transfer, in bytes.
        tsize: u32,
        /// Size of a block, in bytes.
        bsize: u32,
        /// Size of the file system, in blocks.
        blocks: u32,
        /// Free blocks.
        bfree: u32,
        /// Free blocks for this user.
        bavail: u32,
    }
}

/// Results of GETATTR, SETATTR and WRITE.
pub type AttrstatRes = Res<AttrstatOk>;
/// Results of LOOKUP, CREATE and MKDIR.
pub type DiropRes<'a> = Res<DiropOk<'a>>;
/// Results of READLINK.
pub type ReadlinkRes<'a> = Res<ReadlinkOk<'a>>;
/// Results of READ.
pub type ReadRes<'a> = Res<ReadOk<'a>>;
/// Results of REMOVE, RENAME, LINK, SYMLINK and RMDIR.
pub type StatRes = Res<()>;
/// Results of READDIR.
pub type ReaddirRes<'a> = Res<ReaddirOk<'a>>;
/// Results of STATFS.
pub type StatfsRes = Res<StatfsOk>;
