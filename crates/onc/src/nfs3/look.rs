//! The procedures that only look, listings apart: arguments and results (RFC 1813 section 3.3), field by
//! field in the RFC's order.

use super::MAX_PATH;
use super::attr::{Fattr3, Nfstime3, PostOpAttr};
use super::handle::{Diropargs3, FileHandle};
use super::status::Res;

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
    /// What GETATTR returns.
    pub struct GetattrOk {
        /// The attributes.
        obj_attributes: Fattr3,
    }
}

/// Results of GETATTR.
pub type GetattrRes = Res<GetattrOk, ()>;

xdr_struct! {
    /// Arguments of LOOKUP.
    pub struct LookupArgs<'a> {
        /// Where to look for what.
        what: Diropargs3<'a>,
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

/// Results of LOOKUP.
pub type LookupRes<'a> = Res<LookupOk<'a>, DirAttr>;

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
    /// What ACCESS returns.
    pub struct AccessOk {
        /// The file's attributes.
        obj_attributes: PostOpAttr,
        /// Those of the rights asked about that are granted: bits of [`super::access`].
        access: u32,
    }
}

/// Results of ACCESS.
pub type AccessRes = Res<AccessOk, ObjAttr>;

xdr_struct! {
    /// Arguments of READLINK.
    pub struct ReadlinkArgs<'a> {
        /// The symbolic link.
        symlink: FileHandle<'a>,
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

/// Results of READLINK.
pub type ReadlinkRes<'a> = Res<ReadlinkOk<'a>, ObjAttr>;

xdr_struct! {
    /// Arguments of FSSTAT.
    pub struct FsstatArgs<'a> {
        /// Any file of the file system.
        fsroot: FileHandle<'a>,
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

/// Results of FSSTAT.
pub type FsstatRes = Res<FsstatOk, ObjAttr>;

xdr_struct! {
    /// Arguments of FSINFO.
    pub struct FsinfoArgs<'a> {
        /// Any file of the file system.
        fsroot: FileHandle<'a>,
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

/// Results of FSINFO.
pub type FsinfoRes = Res<FsinfoOk, ObjAttr>;

xdr_struct! {
    /// Arguments of PATHCONF.
    pub struct PathconfArgs<'a> {
        /// The file or directory.
        object: FileHandle<'a>,
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

/// Results of PATHCONF.
pub type PathconfRes = Res<PathconfOk, ObjAttr>;

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
