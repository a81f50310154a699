//! What is found when mounted directories and servers are looked at: data only.

use crate::plan::MountPoint;
use serde::{Deserialize, Serialize};

/// Space of a file system, as its server states it. Quotas, compression and thin
/// provisioning make it a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Free for this user, in bytes.
    pub free_bytes: u64,
    /// Size of the file system, in bytes; 0: unknown.
    pub total_bytes: u64,
}

/// A mounted directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountInfo {
    /// The place.
    pub mount: MountPoint,
    /// What is there; or why it cannot be reached, in one sentence.
    #[serde(rename = "there")]
    pub mounted: Result<MountEntry, String>,
}

/// What a directory is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountEntry {
    /// The kind of file system, as the kernel names it; empty: unknown.
    pub kind: String,
    /// What is mounted: a device, or server and path.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Its options.
    pub options: String,
    /// Why no file can be made there; `None`: one was made and removed again.
    pub unwritable: Option<String>,
    /// Free, in bytes; `None`: not reported.
    pub free_bytes: Option<u64>,
}

impl MountEntry {
    /// Whether other hosts can have it mounted too.
    pub fn is_remote(&self) -> bool {
        const KINDS: &[&str] = &[
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "ceph",
            "lustre",
            "gpfs",
            "beegfs",
            "9p",
            "afs",
            "glusterfs",
            "fuse.glusterfs",
            "fuse.sshfs",
            "fuse.juicefs",
            "wekafs",
            "panfs",
            "gfs2",
            "ocfs2",
            "orangefs",
            "pvfs2",
        ];
        KINDS.contains(&self.kind.as_str())
            || self.source.starts_with("//")
            // A share on Windows; its local volumes are named `\\?\Volume{...}`.
            || (self.source.starts_with(r"\\") && !self.source.starts_with(r"\\?\"))
            || (self.source.contains(":/") && !self.source.starts_with('/'))
    }

    /// Whether the kernel speaks NFS for it.
    pub fn is_kernel_nfs(&self) -> bool {
        matches!(self.kind.as_str(), "nfs" | "nfs4")
    }
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name, as the mount points give it.
    pub host: String,
    /// Its services, in the order in which they were tried.
    pub services: Vec<ServiceInfo>,
    /// Its exports or shares that the plan works on.
    pub exports: Vec<ExportInfo>,
}

/// A service of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceInfo {
    /// `portmapper`, `mount`, `nfs`; `smb`; `name` where that has no address.
    pub name: String,
    /// Address and port; empty: not known.
    pub address: String,
    /// How long the connection took to be made, in microseconds; or why there is none.
    pub connected_us: Result<u64, String>,
}

/// An export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportInfo {
    /// Its path.
    pub path: String,
    /// What came of mounting it: whether the server says that it may be written to; or
    /// why it cannot be mounted.
    pub writable: Result<bool, String>,
    /// Free, in bytes; `None`: not reported.
    pub free_bytes: Option<u64>,
}

/// What carries out the reads and writes of workloads with a depth on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AsyncEngine {
    /// Not asked for.
    #[default]
    Unknown,
    /// io_uring of Linux.
    IoUring,
    /// Nothing: why, and what to do.
    Missing(String),
}
