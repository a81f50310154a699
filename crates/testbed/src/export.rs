//! What a client must know of an export, and the options of a server.

use std::net::{IpAddr, SocketAddr};

/// The version of NFS that a kernel client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NfsVersion {
    /// RFC 1094.
    V2,
    /// RFC 1813.
    V3,
    /// RFC 7530.
    V4,
    /// RFC 8881.
    V41,
    /// RFC 7862.
    V42,
}

impl NfsVersion {
    /// The value for `nfsvers=` of mount(8).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            NfsVersion::V2 => "2",
            NfsVersion::V3 => "3",
            NfsVersion::V4 => "4.0",
            NfsVersion::V41 => "4.1",
            NfsVersion::V42 => "4.2",
        }
    }
}

/// The address, ports and path of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The server's address, inside the sandbox's network.
    pub address: IpAddr,
    /// TCP port of the NFS program.
    pub nfs_port: u16,
    /// TCP port of the MOUNT program.
    pub mount_port: u16,
    /// The path that MNT takes.
    pub path: String,
    /// The path from NFSv4's root; `None` if the server does not serve NFSv4.
    pub path_v4: Option<String>,
}

impl Export {
    /// The NFS program's address and port.
    #[must_use]
    pub fn nfs(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.nfs_port)
    }

    /// The MOUNT program's address and port.
    #[must_use]
    pub fn mount(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.mount_port)
    }

    /// `host:path` in the form of MNT_POINTS in an rc file; IPv6 in brackets.
    #[must_use]
    pub fn mount_point(&self) -> String {
        match self.address {
            IpAddr::V4(address) => format!("{address}:{}", self.path),
            IpAddr::V6(address) => format!("[{address}]:{}", self.path),
        }
    }

    /// The URL of a file in the export for libnfs's tools (`nfs-ls`, `nfs-cp`,
    /// `nfs-cat`) with explicit ports; `file` starts with a slash or is empty.
    #[must_use]
    pub fn libnfs_url(&self, file: &str) -> String {
        format!(
            "nfs://{}{}{file}?version=3&nfsport={}&mountport={}",
            self.address, self.path, self.nfs_port, self.mount_port
        )
    }
}

/// Options of a server and its export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerOptions {
    /// The export refuses every change (NFS3ERR_ROFS).
    pub read_only: bool,
    /// The export's whole space in MiB, for tests that fill the disk.
    /// `None`: as much as the machine allows.
    pub space_mib: Option<u32>,
    /// The client's root is mapped to the anonymous user, as servers do by default.
    pub root_squash: bool,
    /// The server serves NFSv4.0 to 4.2, too.
    pub nfs4: bool,
    /// The server serves NFSv3 and MOUNT over UDP, too. (Debian builds the kernel's
    /// client without UDP.)
    pub udp: bool,
}

/// What an export of a server with Kerberos accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KerberosExport {
    /// All three ways, and not AUTH_SYS.
    AllWays,
    /// Encrypted calls only.
    PrivacyOnly,
}
