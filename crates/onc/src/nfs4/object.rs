//! Operations on the current file handle and on the attributes behind it: arguments and results (RFC 8881
//! section 18), field by field in the RFC's order.

use super::FileHandle4;
use super::attribute::Bitmap4;
use super::fattr::Fattr4;
use super::state::Stateid4;
use super::status::{Nfsstat4, Res};

xdr_struct! {
    /// Arguments of PUTROOTFH: none.
    pub struct PutrootfhArgs {}
}

/// Results of PUTROOTFH.
pub type PutrootfhRes = Res<()>;

xdr_struct! {
    /// Arguments of PUTPUBFH: none.
    pub struct PutpubfhArgs {}
}

/// Results of PUTPUBFH.
pub type PutpubfhRes = Res<()>;

xdr_struct! {
    /// Arguments of PUTFH.
    pub struct PutfhArgs<'a> {
        /// The object.
        object: FileHandle4<'a>,
    }
}

/// Results of PUTFH.
pub type PutfhRes = Res<()>;

xdr_struct! {
    /// Arguments of GETFH: none.
    pub struct GetfhArgs {}
}

xdr_struct! {
    /// What GETFH returns.
    pub struct GetfhOk<'a> {
        /// The current file handle.
        object: FileHandle4<'a>,
    }
}

/// Results of GETFH.
pub type GetfhRes<'a> = Res<GetfhOk<'a>>;

xdr_struct! {
    /// Arguments of SAVEFH: none.
    pub struct SavefhArgs {}
}

/// Results of SAVEFH.
pub type SavefhRes = Res<()>;

xdr_struct! {
    /// Arguments of RESTOREFH: none.
    pub struct RestorefhArgs {}
}

/// Results of RESTOREFH.
pub type RestorefhRes = Res<()>;

xdr_struct! {
    /// Arguments of OPENATTR.
    pub struct OpenattrArgs {
        /// Whether the directory of named attributes is made.
        createdir: bool,
    }
}

/// Results of OPENATTR.
pub type OpenattrRes = Res<()>;

xdr_struct! {
    /// Arguments of ACCESS.
    pub struct AccessArgs {
        /// The rights asked about: bits of [`super::access`].
        access: u32,
    }
}

xdr_struct! {
    /// What ACCESS returns.
    pub struct AccessOk {
        /// Those of the rights that the server can check.
        supported: u32,
        /// Those of the rights that are granted.
        access: u32,
    }
}

/// Results of ACCESS.
pub type AccessRes = Res<AccessOk>;

xdr_struct! {
    /// Arguments of GETATTR.
    pub struct GetattrArgs {
        /// The attributes asked for.
        attr_request: Bitmap4,
    }
}

xdr_struct! {
    /// What GETATTR returns.
    pub struct GetattrOk<'a> {
        /// The attributes.
        obj_attributes: Fattr4<'a>,
    }
}

/// Results of GETATTR.
pub type GetattrRes<'a> = Res<GetattrOk<'a>>;

xdr_struct! {
    /// Arguments of SETATTR.
    pub struct SetattrArgs<'a> {
        /// An open for writing, where the size is set.
        stateid: Stateid4,
        /// What to set.
        obj_attributes: Fattr4<'a>,
    }
}

xdr_struct! {
    /// Results of SETATTR, which are no union.
    pub struct SetattrRes {
        /// What became of it.
        status: Nfsstat4,
        /// What was set, also when it failed.
        attrsset: Bitmap4,
    }
}

xdr_struct! {
    /// Arguments of VERIFY.
    pub struct VerifyArgs<'a> {
        /// The COMPOUND goes on if the object has these.
        obj_attributes: Fattr4<'a>,
    }
}

/// Results of VERIFY.
pub type VerifyRes = Res<()>;

xdr_struct! {
    /// Arguments of NVERIFY.
    pub struct NverifyArgs<'a> {
        /// The COMPOUND goes on if the object does not have these.
        obj_attributes: Fattr4<'a>,
    }
}

/// Results of NVERIFY.
pub type NverifyRes = Res<()>;
