//! Extended attributes (RFC 8276 section 8.4): arguments and results, field by field in the RFC's order.

use super::basic::ChangeInfo4;
use super::status::Res;
use super::{MAX_NAME, MAX_PIECES, MAX_XATTR};
use crate::xdr::{Array, Opaque};

xdr_struct! {
    /// Arguments of GETXATTR.
    pub struct GetxattrArgs<'a> {
        /// The name, without "user.".
        name: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// What GETXATTR returns.
    pub struct GetxattrOk<'a> {
        /// The value.
        value: &'a [u8] => MAX_XATTR,
    }
}

/// Results of GETXATTR.
pub type GetxattrRes<'a> = Res<GetxattrOk<'a>>;

xdr_enum! {
    /// `setxattr_option4`: what SETXATTR does with a name that exists.
    pub enum SetxattrOption4 {
        /// Creates or replaces.
        Either = 0 "SETXATTR4_EITHER",
        /// Creates, or fails.
        Create = 1 "SETXATTR4_CREATE",
        /// Replaces, or fails.
        Replace = 2 "SETXATTR4_REPLACE",
    }
}

xdr_struct! {
    /// Arguments of SETXATTR.
    pub struct SetxattrArgs<'a> {
        /// What to do with a name that exists.
        option: SetxattrOption4,
        /// The name, without "user.".
        name: &'a [u8] => MAX_NAME,
        /// The value.
        value: &'a [u8] => MAX_XATTR,
    }
}

xdr_struct! {
    /// What SETXATTR returns.
    pub struct SetxattrOk {
        /// The object.
        cinfo: ChangeInfo4,
    }
}

/// Results of SETXATTR.
pub type SetxattrRes = Res<SetxattrOk>;

xdr_struct! {
    /// Arguments of LISTXATTRS.
    pub struct ListxattrsArgs {
        /// Start behind this cookie; 0 for the beginning.
        cookie: u64,
        /// The most bytes in the answer's `LISTXATTRS4resok`.
        maxcount: u32,
    }
}

xdr_struct! {
    /// What LISTXATTRS returns.
    pub struct ListxattrsOk<'a> {
        /// Where the next LISTXATTRS goes on.
        cookie: u64,
        /// The names, without "user.".
        names: Array<'a, Opaque<'a, MAX_NAME>, MAX_PIECES>,
        /// Whether these are the last.
        eof: bool,
    }
}

/// Results of LISTXATTRS.
pub type ListxattrsRes<'a> = Res<ListxattrsOk<'a>>;

xdr_struct! {
    /// Arguments of REMOVEXATTR.
    pub struct RemovexattrArgs<'a> {
        /// The name, without "user.".
        name: &'a [u8] => MAX_NAME,
    }
}

xdr_struct! {
    /// What REMOVEXATTR returns.
    pub struct RemovexattrOk {
        /// The object.
        cinfo: ChangeInfo4,
    }
}

/// Results of REMOVEXATTR.
pub type RemovexattrRes = Res<RemovexattrOk>;
