//! The MOUNT program: from a path to the root's handle.

use super::{ClientError, Program, RpcClient, RpcOptions};
use filermark_model::plan::NfsVersion;
use filermark_onc::mount::*;
use filermark_onc::mount1;
use filermark_onc::nfs3::{Fh, FileHandle};
use filermark_onc::rpc::{AuthBody, AuthFlavor};
use std::fmt;
use std::net::SocketAddr;

/// The MOUNT program that goes with a version of NFS; with version 4, which has none, that of version 3.
pub const fn mount_program(version: NfsVersion) -> Program {
    Program {
        prog: PROGRAM,
        vers: match version.mount_number() {
            Some(number) => number,
            None => VERSION,
        },
    }
}

/// What MNT gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Handle of the directory.
    pub root: Fh,
    /// The flavors of authentication that the server takes for it.
    pub auth_flavors: Vec<AuthFlavor>,
    /// Whether AUTH_SYS is worth trying ([`FlavorList::allows_sys`](filermark_onc::mount::FlavorList::allows_sys)).
    pub allows_sys: bool,
}

/// One line of the export list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The path.
    pub dir: String,
    /// Clients that may mount it; empty for all clients.
    pub groups: Vec<String>,
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.groups.is_empty() {
            write!(f, "{} (all clients)", self.dir)
        } else {
            write!(f, "{} ({})", self.dir, self.groups.join(" "))
        }
    }
}

/// Most exports, and most groups of one, that are kept of a list.
const LISTED_MAX: usize = 256;

/// Speaks MOUNT with one server, in the version that goes with that of NFS.
#[derive(Debug)]
pub struct MountClient {
    version: NfsVersion,
    rpc: RpcClient,
}

impl MountClient {
    /// A client that connects when it is first used.
    pub fn new(
        version: NfsVersion,
        address: SocketAddr,
        cred: AuthBody,
        options: RpcOptions,
    ) -> Self {
        let program = mount_program(version);
        Self {
            version,
            rpc: RpcClient::new(address, program, cred, options),
        }
    }

    /// MNT: the handle of a path, or the server's refusal.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn mnt(&mut self, path: &str) -> Result<Result<Mounted, Mountstat3>, ClientError> {
        let dirpath = path.as_bytes();
        if self.version == NfsVersion::V2 {
            let reply = self.rpc.call(&mount1::MntArgs { dirpath })?;
            return Ok(match reply {
                Ok(ok) => Ok(Mounted {
                    root: FileHandle::from(ok.directory).to_fh(),
                    auth_flavors: Vec::new(),
                    // Version 1 says nothing of it, and its servers know nothing else.
                    allows_sys: true,
                }),
                // The numbers are those of Unix in both versions.
                Err(status) => Err(Mountstat3::from_u32(status.to_u32())),
            });
        }
        Ok(self.rpc.call(&MntArgs { dirpath })?.map(|ok| Mounted {
            root: ok.fhandle.to_fh(),
            auth_flavors: ok.auth_flavors.iter().collect(),
            allows_sys: ok.auth_flavors.allows_sys(),
        }))
    }

    /// UMNT: takes the server's note of a MNT back.
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn umnt(&mut self, path: &str) -> Result<(), ClientError> {
        let dirpath = path.as_bytes();
        self.rpc.call(&UmntArgs { dirpath })
    }

    /// EXPORT: what the server exports, and to whom (the first 256).
    ///
    /// # Errors
    /// Every [`ClientError`].
    pub fn exports(&mut self) -> Result<Vec<Export>, ClientError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let list = self.rpc.call(&ExportArgs {})?;
        let exports = list.iter().take(LISTED_MAX).map(|node| Export {
            dir: text(node.dir),
            groups: node
                .groups
                .iter()
                .take(LISTED_MAX)
                .map(|group| text(group.name))
                .collect(),
        });
        Ok(exports.collect())
    }
}
