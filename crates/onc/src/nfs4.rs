//! NFS version 4, program 100003: minor versions 0 (RFC 7530, 7531), 1 (RFC 8881, 5662) and 2 (RFC 7862,
//! 7863), and extended attributes (RFC 8276): all operations, arguments and results, both directions.
//!
//! There is one procedure beside NULL: COMPOUND, a list of operations. [`CompoundWriter`] appends a call
//! operation by operation, [`CompoundRes`] reads its reply result by result; [`CompoundArgs`] and
//! [`CompoundResWriter`] are the server's side. Nothing is allocated and no COMPOUND is kept.
//!
//! Structures have the RFCs' names and field names without the short prefix of the structure
//! (`sa_slotid` is [`SequenceArgs::slotid`]). The set and the values of attributes are a [`Fattr4`] in
//! a message, and [`Attributes`] to be used. The [`callback`] program is the same in the other direction.
//!
//! A LOOKUP of version 3 as a COMPOUND of version 4, both ends:
//!
//! ```
//! use filermark_onc::nfs4::*;
//! use filermark_onc::xdr::Decoder;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The client, behind the header of its call.
//! let mut call = Vec::with_capacity(4096);
//! let mut compound = CompoundWriter::begin(&mut call, b"", 1);
//! compound.op(&PutrootfhArgs {}).op(&LookupArgs { objname: b"name" });
//! compound.op(&GetattrArgs { attr_request: Bitmap4::of(&[Attribute::Size]) });
//! compound.finish();
//!
//! // The server: the first failure ends the COMPOUND.
//! let compound = CompoundArgs::decode(&mut Decoder::new(&call))?;
//! let mut reply = Vec::new();
//! let mut results = CompoundResWriter::<Operation>::begin(&mut reply, compound.tag);
//! let attributes = Attributes { size: Some(9), ..Attributes::default() };
//! for args in compound {
//!     let status = match args {
//!         Ok(Args::Putrootfh(_)) => results.result::<PutrootfhArgs>(&Ok(())),
//!         Ok(Args::Lookup(_)) => results.result::<LookupArgs>(&Ok(())),
//!         Ok(Args::Getattr(_)) => results.result::<GetattrArgs>(&Ok(GetattrOk {
//!             obj_attributes: Fattr4::new(&attributes),
//!         })),
//!         Ok(other) => results.fail(other.operation(), Nfsstat4::Notsupp),
//!         Err(error) => results.fail(error.resop(), error.status()),
//!     };
//!     if status != Nfsstat4::Ok {
//!         break;
//!     }
//! }
//! results.finish();
//!
//! // The client again.
//! let mut results = CompoundRes::<Operation>::decode(&mut Decoder::new(&reply))?;
//! results.read::<PutrootfhArgs>()??;
//! results.read::<LookupArgs>()??;
//! let found = results.read::<GetattrArgs>()??.obj_attributes.attributes()?;
//! assert_eq!(found.size, Some(9));
//! results.end()?;
//! # Ok(())
//! # }
//! ```

mod attribute;
mod basic;
pub mod callback;
mod channel;
mod client40;
mod compound;
mod copy;
mod data;
mod delegation;
mod device;
mod fattr;
pub mod flexfiles;
mod layout;
mod lock;
mod names;
mod object;
mod open;
mod operation;
mod protect;
mod readdir;
mod reply;
mod security;
mod session;
mod space;
mod state;
mod status;
mod xattr;

pub use attribute::{Attribute, Bitmap4};
pub use basic::*;
pub use channel::*;
pub use client40::*;
pub use compound::*;
pub use copy::*;
pub use data::*;
pub use delegation::*;
pub use device::*;
pub use fattr::{Attributes, Fattr4};
pub use layout::*;
pub use lock::*;
pub use names::*;
pub use object::*;
pub use open::*;
pub use operation::{Args, IllegalArgs, IllegalRes, Operation, Results};
pub use protect::*;
pub use readdir::*;
pub use reply::*;
pub use security::*;
pub use session::*;
pub use space::*;
pub use state::*;
pub use status::{Failed4, Nfsstat4, Res};
pub use xattr::*;

pub use crate::nfs3::{MAX_DATA, MAX_NAME, MAX_PATH, PORT, PROGRAM, StableHow, Verf};

/// Version of the program.
pub const VERSION: u32 = 4;
/// The procedure NULL, which does nothing.
pub const PROC_NULL: u32 = 0;
/// The procedure COMPOUND.
pub const PROC_COMPOUND: u32 = 1;

/// The most bytes in a file handle (`NFS4_FHSIZE`).
pub const FHSIZE4: usize = 128;
/// A handle that borrows its bytes; never longer than [`FHSIZE4`].
pub type FileHandle4<'a> = crate::handle::Handle<'a, FHSIZE4>;
/// A handle that owns its bytes.
pub type Fh4 = crate::handle::HandleBuf<FHSIZE4>;

/// The most bytes in an owner, a client's name, a server's name or scope (`NFS4_OPAQUE_LIMIT`), and taken
/// in the tag of a COMPOUND, a user's name or a network address, which the RFCs do not limit.
pub const MAX_OWNER: usize = 1024;
/// The most bytes taken in the values of attributes: lists of access control entries are the longest.
pub const MAX_ATTRIBUTES: usize = 256 << 10;
/// The most bytes taken in a security label (`LABELS` are shorter everywhere).
pub const MAX_LABEL: usize = 65_536;
/// The most operations taken in one COMPOUND. Sessions agree on far fewer.
pub const MAX_OPERATIONS: usize = 1024;
/// The most items taken in an array, of those that have few everywhere (security flavors, addresses,
/// layouts, hints).
pub const MAX_ITEMS: usize = 256;
/// The most stateids taken in one TEST_STATEID.
pub const MAX_STATEIDS: usize = 65_536;
/// The most bytes taken in the body of a layout or of a device address, and in its updates.
pub const MAX_LAYOUT_BODY: usize = 1 << 20;
/// The most names taken in one LISTXATTRS, and pieces in one READ_PLUS.
pub const MAX_PIECES: usize = 65_536;
/// The most bytes taken in the value of an extended attribute.
pub const MAX_XATTR: usize = 1 << 20;

/// Bits of ACCESS.
pub mod access {
    pub use crate::nfs3::access::{DELETE, EXECUTE, EXTEND, LOOKUP, MODIFY, READ};
    /// Read extended attributes (RFC 8276).
    pub const XAREAD: u32 = 0x0040;
    /// Change extended attributes (RFC 8276).
    pub const XAWRITE: u32 = 0x0080;
    /// List extended attributes (RFC 8276).
    pub const XALIST: u32 = 0x0100;
}
