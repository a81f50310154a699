//! NFS version 2, program 100003 (RFC 1094): all 18 procedures, arguments and results, both directions.
//!
//! Structures have the RFC's names and field names. Results of a procedure are a [`Res`]: `Ok` with what
//! the procedure returns, or the [`Nfsstat`] alone, since version 2 returns nothing beside it. Sizes and
//! offsets have 32 bits, handles 32 bytes always, and a transfer 8,192 bytes at most. ROOT and WRITECACHE
//! are procedures without arguments and results: the RFC calls the one obsolete and the other unused.

mod args;
mod attr;
mod handle;
mod procedure;
mod results;
mod status;

pub use args::*;
pub use attr::{Fattr, Ftype, Sattr, Timeval};
pub use handle::{FHSIZE, Fhandle};
pub use procedure::{Args, Procedure, Results};
pub use results::*;
pub use status::{Nfsstat, Res};

/// Program number, shared with version 3.
pub const PROGRAM: u32 = 100_003;
/// Version of the program.
pub const VERSION: u32 = 2;

/// The most bytes of data in one READ or WRITE (`MAXDATA`).
pub const MAXDATA: usize = 8192;
/// The most bytes in a path (`MAXPATHLEN`).
pub const MAXPATHLEN: usize = 1024;
/// The most bytes in a name (`MAXNAMLEN`).
pub const MAXNAMLEN: usize = 255;
/// The most bytes taken in one name of a call: a wall behind [`MAXNAMLEN`], so that a server can answer
/// NFSERR_NAMETOOLONG.
pub const MAX_NAME: usize = crate::nfs3::MAX_NAME;
/// Size of a READDIR cookie, in bytes (`COOKIESIZE`).
pub const COOKIESIZE: usize = 4;
/// The largest size that a file can have, in bytes: what clients and servers with signed offsets agree on.
pub const FILE_BYTES_MAX: u64 = (1 << 31) - 1;
