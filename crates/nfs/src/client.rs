//! The blocking side of the NFS client: one call, one answer.
//!
//! For everything that is not load: finding ports, mounting, claiming and
//! clearing directories, and the protocol checks of [`crate::validate`]. It
//! allocates and blocks freely, so no measured operation may go through here;
//! that is the driver's business.

mod connect;
mod datagram;
mod error;
mod files;
mod mount;
mod nfs2;
mod nfs3;
mod nfs4;
mod portmap;
mod protected;
mod rpc;
mod secure;
mod starttls;

pub use connect::connect;
pub use error::ClientError;
pub use files::{AnyFh, FileClient, FileReply, FoundObject, MadeObject, Removal, narrow, widen};
pub use mount::{Export, MountClient, Mounted, mount_program};
pub use nfs2::{Entry2, NFS_V2, Nfs2Client, Reply2};
pub use nfs3::{
    Created, DirEntry, LinkText, Listing, LookupResult, NFS_V3, Nfs3Client, PlusEntry, ReadData,
    Reply,
};
pub use nfs4::{FileSystemFacts, NFS_V4, Nfs4Client, Reply4};
pub(crate) use nfs4::{next_result, to_v3_status, wait_limit};
pub use portmap::{PortLookup, find_port};
pub use rpc::{Program, RpcClient, RpcOptions};
pub use starttls::TlsOptions;

/// The NFS program in a version.
pub const fn nfs_program(version: filermark_model::plan::NfsVersion) -> Program {
    Program {
        prog: filermark_onc::nfs3::PROGRAM,
        vers: version.number(),
    }
}
