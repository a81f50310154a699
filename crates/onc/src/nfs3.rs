//! NFS version 3, program 100003 (RFC 1813): all 22 procedures, arguments and results, both directions.
//!
//! Structures have the RFC's names and field names. Results of a procedure are a [`Res`]: `Ok` with the
//! `resok` structure, or [`Failed`] with the status and what the procedure returns beside it. What the
//! RFC calls `post_op_attr` and `post_op_fh3` are `Option`s.

mod attr;
mod change;
mod handle;
mod look;
mod procedure;
mod readdir;
mod status;
mod transfer;

pub use attr::{
    Fattr3, Ftype3, Nfstime3, PostOpAttr, Sattr3, SetTime, Specdata3, WccAttr, WccData,
};
pub use change::*;
pub use handle::{Diropargs3, FHSIZE3, Fh, FileHandle};
pub use look::*;
pub use procedure::{Args, Procedure, Results};
pub use readdir::*;
pub use status::{Failed, Nfsstat3, Res};
pub use transfer::*;

/// Program number.
pub const PROGRAM: u32 = 100_003;
/// Version of the program.
pub const VERSION: u32 = 3;
/// The usual port, TCP.
pub const PORT: u16 = 2049;

/// The most bytes taken in one name. The RFC leaves it to servers (PATHCONF, NFS3ERR_NAMETOOLONG), so
/// this wall stands well behind the usual 255.
pub const MAX_NAME: usize = 4096;
/// The most bytes taken in the contents of a symbolic link.
pub const MAX_PATH: usize = 65_536;
/// The most bytes of data taken in one READ or WRITE.
pub const MAX_DATA: usize = 64 << 20;
/// Size of cookie verifiers, create verifiers and write verifiers, in bytes.
pub const VERFSIZE: usize = 8;
/// A verifier: of a READDIR cookie, an exclusive CREATE, or a server's boot (WRITE, COMMIT).
pub type Verf = [u8; VERFSIZE];

/// Bits of ACCESS.
pub mod access {
    /// Read data or list a directory.
    pub const READ: u32 = 0x0001;
    /// Look up a name in a directory.
    pub const LOOKUP: u32 = 0x0002;
    /// Rewrite data or change directory entries.
    pub const MODIFY: u32 = 0x0004;
    /// Append data or add directory entries.
    pub const EXTEND: u32 = 0x0008;
    /// Delete a directory entry.
    pub const DELETE: u32 = 0x0010;
    /// Execute a file.
    pub const EXECUTE: u32 = 0x0020;
}

/// Bits of FSINFO's `properties`.
pub mod fsf {
    /// Hard links are supported.
    pub const LINK: u32 = 0x0001;
    /// Symbolic links are supported.
    pub const SYMLINK: u32 = 0x0002;
    /// PATHCONF is the same for the whole file system.
    pub const HOMOGENEOUS: u32 = 0x0008;
    /// SETATTR can set times.
    pub const CANSETTIME: u32 = 0x0010;
}
