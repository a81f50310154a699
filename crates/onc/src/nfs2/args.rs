//! Arguments of the 18 procedures (RFC 1094 section 2.2), field by field in the RFC's order.

use super::attr::Sattr;
use super::handle::Fhandle;
use super::{MAX_NAME, MAXDATA, MAXPATHLEN};

xdr_struct! {
    /// `diropargs`: a name in a directory.
    pub struct Diropargs<'a> {
        /// The directory.
        dir: Fhandle<'a>,
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
        file: Fhandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of SETATTR (`sattrargs`).
    pub struct SetattrArgs<'a> {
        /// The file.
        file: Fhandle<'a>,
        /// What to set.
        attributes: Sattr,
    }
}
xdr_struct! {
    /// Arguments of ROOT: none.
    pub struct RootArgs {}
}
xdr_struct! {
    /// Arguments of LOOKUP.
    pub struct LookupArgs<'a> {
        /// Where to look for what.
        what: Diropargs<'a>,
    }
}
xdr_struct! {
    /// Arguments of READLINK.
    pub struct ReadlinkArgs<'a> {
        /// The symbolic link.
        file: Fhandle<'a>,
    }
}
xdr_struct! {
    /// Arguments of READ (`readargs`).
    pub struct ReadArgs<'a> {
        /// The file.
        file: Fhandle<'a>,
        /// From this byte.
        offset: u32,
        /// This many bytes at most.
        count: u32,
        /// Unused.
        totalcount: u32,
    }
}
xdr_struct! {
    /// Arguments of WRITECACHE: none.
    pub struct WritecacheArgs {}
}
xdr_struct! {
    /// Arguments of WRITE (`writeargs`).
    pub struct WriteArgs<'a> {
        /// The file.
        file: Fhandle<'a>,
        /// Unused.
        beginoffset: u32,
        /// From this byte.
        offset: u32,
        /// Unused.
        totalcount: u32,
        /// The bytes.
        data: &'a [u8] => MAXDATA,
    }
}
xdr_struct! {
    /// Arguments of CREATE (`createargs`).
    pub struct CreateArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs<'a>,
        /// Its first attributes.
        attributes: Sattr,
    }
}
xdr_struct! {
    /// Arguments of REMOVE.
    pub struct RemoveArgs<'a> {
        /// Which name in which directory.
        what: Diropargs<'a>,
    }
}
xdr_struct! {
    /// Arguments of RENAME (`renameargs`).
    pub struct RenameArgs<'a> {
        /// The present name.
        from: Diropargs<'a>,
        /// The new name.
        to: Diropargs<'a>,
    }
}
xdr_struct! {
    /// Arguments of LINK (`linkargs`).
    pub struct LinkArgs<'a> {
        /// The file.
        from: Fhandle<'a>,
        /// The new name.
        to: Diropargs<'a>,
    }
}
xdr_struct! {
    /// Arguments of SYMLINK (`symlinkargs`).
    pub struct SymlinkArgs<'a> {
        /// Which name in which directory.
        from: Diropargs<'a>,
        /// Its contents.
        to: &'a [u8] => MAXPATHLEN,
        /// Its first attributes; servers on Unix ignore them.
        attributes: Sattr,
    }
}
xdr_struct! {
    /// Arguments of MKDIR (`createargs`).
    pub struct MkdirArgs<'a> {
        /// Which name in which directory (`where` in the RFC).
        location: Diropargs<'a>,
        /// Its first attributes.
        attributes: Sattr,
    }
}
xdr_struct! {
    /// Arguments of RMDIR.
    pub struct RmdirArgs<'a> {
        /// Which name in which directory.
        what: Diropargs<'a>,
    }
}
xdr_struct! {
    /// Arguments of READDIR (`readdirargs`).
    pub struct ReaddirArgs<'a> {
        /// The directory.
        dir: Fhandle<'a>,
        /// Start behind the entry with this cookie; 0 for the beginning. (Opaque to clients.)
        cookie: u32,
        /// The most bytes of the whole result.
        count: u32,
    }
}
xdr_struct! {
    /// Arguments of STATFS.
    pub struct StatfsArgs<'a> {
        /// Any file of the file system.
        file: Fhandle<'a>,
    }
}
