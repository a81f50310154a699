//! The blocking side of the NFSv3 client: one call, one answer.
//!
//! For everything that is not load: finding ports, mounting, claiming and
//! clearing directories, and the protocol checks of [`crate::validate`]. It
//! allocates and blocks freely, so no measured operation may go through here;
//! that is the driver's business.

mod connect;
mod datagram;
mod error;
mod mount;
mod nfs3;
mod portmap;
mod rpc;

pub use connect::connect;
pub use error::ClientError;
pub use mount::{Export, MOUNT_V3, MountClient, Mounted};
pub use nfs3::{
    Created, DirEntry, LinkText, Listing, Looked, NFS_V3, Nfs3Client, PlusEntry, ReadData, Reply,
};
pub use portmap::{PortLookup, find_port};
pub use rpc::{Program, RpcClient, RpcOptions};
