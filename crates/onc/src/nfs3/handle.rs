//! File handles (`nfs_fh3`): up to 64 bytes that only the server understands; and names in directories.

use super::MAX_NAME;
use crate::handle::{Handle, HandleBuf};

/// The most bytes in a handle.
pub const FHSIZE3: usize = 64;

/// A handle that borrows its bytes; never longer than [`FHSIZE3`].
pub type FileHandle<'a> = Handle<'a, FHSIZE3>;
/// A handle that owns its bytes: 65 bytes, copied like a number.
pub type Fh = HandleBuf<FHSIZE3>;

xdr_struct! {
    /// `diropargs3`: a name in a directory.
    pub struct Diropargs3<'a> {
        /// The directory.
        dir: FileHandle<'a>,
        /// The name.
        name: &'a [u8] => MAX_NAME,
    }
}
