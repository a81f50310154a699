//! READDIR (RFC 8881 section 18.23): arguments and results. A server writes the list with
//! [`crate::nfs3::DirListWriter::begin_v4`].

use super::attribute::Bitmap4;
use super::fattr::Fattr4;
use super::status::Res;
use super::{MAX_NAME, Verf};
use crate::xdr::List;

xdr_struct! {
    /// Arguments of READDIR.
    pub struct ReaddirArgs {
        /// Start behind the entry with this cookie; 0 for the beginning. 1 and 2 are not used.
        cookie: u64,
        /// The verifier that came with the cookie; zeros with cookie 0.
        cookieverf: Verf,
        /// The most bytes of names and cookies, as a hint.
        dircount: u32,
        /// The most bytes in the answer's `READDIR4resok`.
        maxcount: u32,
        /// The attributes asked for, of each entry.
        attr_request: Bitmap4,
    }
}

xdr_struct! {
    /// `entry4`: an entry of READDIR.
    pub struct Entry4<'a> {
        /// Where the next READDIR goes on.
        cookie: u64,
        /// The name.
        name: &'a [u8] => MAX_NAME,
        /// The attributes.
        attrs: Fattr4<'a>,
    }
}

xdr_struct! {
    /// What READDIR returns (`dirlist4` included).
    pub struct ReaddirOk<'a> {
        /// To be sent back with a cookie of the list.
        cookieverf: Verf,
        /// The entries.
        entries: List<'a, Entry4<'a>>,
        /// Whether the directory ends with this list.
        eof: bool,
    }
}

/// Results of READDIR.
pub type ReaddirRes<'a> = Res<ReaddirOk<'a>>;
