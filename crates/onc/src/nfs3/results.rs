//! Results of the 22 procedures (RFC 1813 section 3.3), field by field in the RFC's order.

use super::args::StableHow;
use super::attr::{Fattr3, Nfstime3, PostOpAttr, WccData};
use super::handle::FileHandle;
use super::readdir::{DirList, Entry3, EntryPlus3};
use super::status::{Failed, Nfsstat3, Res};
use super::{MAX_DATA, MAX_PATH, Verf};
use crate::xdr::{Decode, DecodeError, Decoder};

xdr_struct! {
    /// What GETATTR returns.
    pub struct GetattrOk {
        /// The attributes.
        obj_attributes: Fattr3,
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
    /// What LOOKUP returns.
    pub struct LookupOk<'a> {
        /// Handle of what was found.
        object: FileHandle<'a>,
        /// Its attributes.
        obj_attributes: PostOpAttr,
        /// Attributes of the directory.
        dir_attributes: PostOpAttr,
    }
}
xdr_struct! {
    /// What ACCESS returns.
    pub struct AccessOk {
        /// The file's attributes.
        obj_attributes: PostOpAttr,
        /// Those of the rights asked about that are granted: bits of [`super::access`].
        access: u32,
    }
}
xdr_struct! {
    /// What READLINK returns.
    pub struct ReadlinkOk<'a> {
        /// The link's attributes.
        symlink_attributes: PostOpAttr,
        /// Its contents.
        data: &'a [u8] => MAX_PATH,
    }
}
xdr_struct! {
    /// What READ returns. A sound server's `count` is the length of `data`; whoever relies on it checks.
    pub struct ReadOk<'a> {
        /// The file's attributes.
        file_attributes: PostOpAttr,
        /// How many bytes were read.
        count: u32,
        /// Whether the end of the file was reached.
        eof: bool,
        /// The bytes.
        data: &'a [u8] => MAX_DATA,
    }
}
xdr_struct! {
    /// What WRITE returns.
    pub struct WriteOk {
        /// The file's attributes before and after.
        file_wcc: WccData,
        /// How many bytes were written.
        count: u32,
        /// How safe they are.
        committed: StableHow,
        /// Changes when the server may have lost unstable data.
        verf: Verf,
    }
}
xdr_struct! {
    /// What WRITE and COMMIT return when they fail.
    #[derive(Default)]
    pub struct FileWcc {
        /// The file's attributes before and after.
        file_wcc: WccData,
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
xdr_struct! {
    /// What READDIR returns.
    pub struct ReaddirOk<'a> {
        /// The directory's attributes.
        dir_attributes: PostOpAttr,
        /// To be sent back with a cookie of the list.
        cookieverf: Verf,
        /// Entries and end mark (`dirlist3`).
        reply: DirList<'a, Entry3<'a>>,
    }
}
xdr_struct! {
    /// What READDIRPLUS returns.
    pub struct ReaddirplusOk<'a> {
        /// The directory's attributes.
        dir_attributes: PostOpAttr,
        /// To be sent back with a cookie of the list.
        cookieverf: Verf,
        /// Entries and end mark (`dirlistplus3`).
        reply: DirList<'a, EntryPlus3<'a>>,
    }
}
xdr_struct! {
    /// What FSSTAT returns.
    pub struct FsstatOk {
        /// Attributes of the file that was named.
        obj_attributes: PostOpAttr,
        /// Size of the file system, in bytes.
        tbytes: u64,
        /// Free bytes.
        fbytes: u64,
        /// Free bytes for this user.
        abytes: u64,
        /// Files it can hold.
        tfiles: u64,
        /// Free files.
        ffiles: u64,
        /// Free files for this user.
        afiles: u64,
        /// For how long these numbers are good, in seconds.
        invarsec: u32,
    }
}
xdr_struct! {
    /// What FSINFO returns.
    pub struct FsinfoOk {
        /// Attributes of the file that was named.
        obj_attributes: PostOpAttr,
        /// Largest READ, in bytes.
        rtmax: u32,
        /// Preferred READ, in bytes.
        rtpref: u32,
        /// READ sizes should be multiples of this, in bytes.
        rtmult: u32,
        /// Largest WRITE, in bytes.
        wtmax: u32,
        /// Preferred WRITE, in bytes.
        wtpref: u32,
        /// WRITE sizes should be multiples of this, in bytes.
        wtmult: u32,
        /// Preferred READDIR, in bytes.
        dtpref: u32,
        /// Largest file, in bytes.
        maxfilesize: u64,
        /// Fineness of the server's times.
        time_delta: Nfstime3,
        /// Abilities: bits of [`super::fsf`].
        properties: u32,
    }
}
xdr_struct! {
    /// What PATHCONF returns.
    pub struct PathconfOk {
        /// Attributes of the file that was named.
        obj_attributes: PostOpAttr,
        /// Most hard links of a file.
        linkmax: u32,
        /// Most bytes of a name.
        name_max: u32,
        /// Whether longer names are refused rather than cut.
        no_trunc: bool,
        /// Whether only root can give files away.
        chown_restricted: bool,
        /// Whether case of names is ignored.
        case_insensitive: bool,
        /// Whether case of names is kept.
        case_preserving: bool,
    }
}
xdr_struct! {
    /// What COMMIT returns.
    pub struct CommitOk {
        /// The file's attributes before and after.
        file_wcc: WccData,
        /// Changes when the server may have lost unstable data.
        verf: Verf,
    }
}
xdr_struct! {
    /// What READLINK, READ, ACCESS, FSSTAT, FSINFO and PATHCONF return when they fail.
    #[derive(Default)]
    pub struct ObjAttr {
        /// Attributes of the file that was named.
        obj_attributes: PostOpAttr,
    }
}
xdr_struct! {
    /// What LOOKUP, READDIR and READDIRPLUS return when they fail.
    #[derive(Default)]
    pub struct DirAttr {
        /// The directory's attributes.
        dir_attributes: PostOpAttr,
    }
}

/// Results of GETATTR.
pub type GetattrRes = Res<GetattrOk, ()>;
/// Results of SETATTR.
pub type SetattrRes = Res<ObjWcc, ObjWcc>;
/// Results of LOOKUP.
pub type LookupRes<'a> = Res<LookupOk<'a>, DirAttr>;
/// Results of ACCESS.
pub type AccessRes = Res<AccessOk, ObjAttr>;
/// Results of READLINK.
pub type ReadlinkRes<'a> = Res<ReadlinkOk<'a>, ObjAttr>;
/// Results of READ.
pub type ReadRes<'a> = Res<ReadOk<'a>, ObjAttr>;
/// Results of WRITE.
pub type WriteRes = Res<WriteOk, FileWcc>;
/// Results of CREATE, MKDIR, SYMLINK and MKNOD.
pub type CreateRes<'a> = Res<CreateOk<'a>, DirWcc>;
/// Results of REMOVE and RMDIR.
pub type RemoveRes = Res<DirWcc, DirWcc>;
/// Results of RENAME.
pub type RenameRes = Res<RenameWcc, RenameWcc>;
/// Results of LINK.
pub type LinkRes = Res<LinkWcc, LinkWcc>;
/// Results of READDIR.
pub type ReaddirRes<'a> = Res<ReaddirOk<'a>, DirAttr>;
/// Results of READDIRPLUS.
pub type ReaddirplusRes<'a> = Res<ReaddirplusOk<'a>, DirAttr>;
/// Results of FSSTAT.
pub type FsstatRes = Res<FsstatOk, ObjAttr>;
/// Results of FSINFO.
pub type FsinfoRes = Res<FsinfoOk, ObjAttr>;
/// Results of PATHCONF.
pub type PathconfRes = Res<PathconfOk, ObjAttr>;
/// Results of COMMIT.
pub type CommitRes = Res<CommitOk, FileWcc>;

/// The front of a READ's results, up to the length of the data: for a client that throws the data away
/// and needs not have it in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// The file's attributes.
    pub file_attributes: PostOpAttr,
    /// How many bytes were read.
    pub count: u32,
    /// Whether the end of the file was reached.
    pub eof: bool,
    /// Length of the data that follows, in bytes, without padding.
    pub data_len: usize,
}

impl ReadHead {
    /// Reads the front of a READ's results and leaves the decoder at the data, which need not be there.
    ///
    /// # Errors
    /// What is wrong with the fields before the data.
    #[inline]
    pub fn decode_front(d: &mut Decoder<'_>) -> Result<Res<Self, ObjAttr>, DecodeError> {
        Ok(match Nfsstat3::decode_as(d, "nfsstat3")? {
            Nfsstat3::Ok => Ok(Self {
                file_attributes: PostOpAttr::decode_as(d, "ReadOk.file_attributes")?,
                count: d.u32("ReadOk.count")?,
                eof: d.bool("ReadOk.eof")?,
                data_len: d.length(MAX_DATA, "ReadOk.data")?,
            }),
            status => Err(Failed {
                status,
                info: ObjAttr::decode(d)?,
            }),
        })
    }
}
