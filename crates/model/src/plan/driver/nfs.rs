//! The NFS driver: its settings, what the program has to know of it, its counters.

mod client_ids;
mod counters;
mod delegations;
mod driver;
mod layouts;
mod security;

use crate::benchmark::CommitPolicy;
use crate::op::Op;
use crate::plan::Labels;
use crate::plan::network::{Connections, IpChoice, Transport};
use crate::protocol::NfsVersion;
pub use client_ids::ClientIds;
pub use counters::NfsCounter;
pub use delegations::DelegationUse;
pub(super) use driver::{NFS2, NFS3, NFS40, NFS41, NFS42};
pub use layouts::LayoutUse;
pub use security::NfsSecurity;
use serde::{Deserialize, Serialize};

/// Settings of the NFS driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NfsPlan {
    /// The version that it speaks; follows from the benchmark, and NFS_VERSION=4.0, 4.1 or 4.2 makes that of 3.
    #[serde(default)]
    pub version: NfsVersion,
    /// What carries its calls (TCP).
    #[serde(default)]
    pub transport: Transport,
    /// UDP: the first wait for a reply, in milliseconds, doubled with every
    /// retransmission up to `rpc_timeout_ms` (UDP_TIMEOUT_MS).
    #[serde(default = "NfsPlan::udp_timeout_ms_default")]
    pub udp_timeout_ms: u32,
    /// How calls carry the user and how they are protected (SECURITY). This and the next two are not
    /// written where they are those of before: earlier records keep their fingerprint.
    #[serde(default, skip_serializing_if = "NfsSecurity::is_sys")]
    pub security: NfsSecurity,
    /// Kerberos: the user (USERNAME); empty: the owner of the cache of tickets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// Kerberos: the realm (DOMAIN); empty: the system's default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub realm: String,
    /// AUTH_SYS user id (SFS_NFS_USER_ID).
    pub uid: u32,
    /// AUTH_SYS group id (SFS_NFS_GROUP_ID).
    pub gid: u32,
    /// AUTH_SYS supplementary groups, 16 at most (NFS_GROUPS).
    pub gids: Vec<u32>,
    /// AUTH_SYS machine name.
    pub machine_name: String,
    /// Bind to a source port below 1024 (RESVPORT).
    pub resvport: bool,
    /// Largest physical transfer in bytes (BLOCK_SIZE); `None`: what the server prefers.
    pub block_size_max: Option<u32>,
    /// Physical reads outstanding per logical read (BIOD_MAX_READS, 0 to 32; 0 works as 1).
    pub biod_max_reads: u32,
    /// Physical writes outstanding per logical write (BIOD_MAX_WRITES, 0 to 32; 0 works as 1).
    pub biod_max_writes: u32,
    /// When COMMIT is called for what was written; follows from the benchmark.
    /// Not written where it is that of before: earlier records keep their fingerprint.
    #[serde(default, skip_serializing_if = "CommitPolicy::is_at_once")]
    pub commit: CommitPolicy,
    /// Version 4.2: the operations of the mix that a server need not have (RFC 7862 section 15); each is
    /// tried before RUN. Follows from the mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional_ops: Vec<Op>,
    /// Port of the NFS program; `None`: ask the portmapper.
    pub nfs_port: Option<u16>,
    /// Port of the MOUNT program; `None`: ask the portmapper.
    pub mount_port: Option<u16>,
    /// Port of the portmapper.
    pub portmap_port: u16,
    /// Address family to use.
    pub ip: IpChoice,
    /// TLS on the connections to the NFS program (TLS); `None`: in the clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPlan>,
    /// What is done with delegations (DELEGATIONS).
    #[serde(default, skip_serializing_if = "DelegationUse::is_refuse")]
    pub delegations: DelegationUse,
    /// What is done with layouts (LAYOUTS).
    #[serde(default, skip_serializing_if = "LayoutUse::is_refuse")]
    pub layouts: LayoutUse,
    /// How procs share connections.
    pub connections: Connections,
    /// Which connections are one client of version 4.1 or 4.2 (CLIENT_IDS).
    #[serde(default, skip_serializing_if = "ClientIds::is_connection")]
    pub client_ids: ClientIds,
    /// How many connections each client has (NCONNECT).
    #[serde(
        default = "NfsPlan::nconnect_default",
        skip_serializing_if = "NfsPlan::is_nconnect_default"
    )]
    pub nconnect: u32,
    /// How long a reply may take before the call is sent again on a new
    /// connection, in milliseconds (RPC_TIMEOUT_MS).
    pub rpc_timeout_ms: u32,
    /// How often that is tried before the operation fails (RPC_RETRIES).
    pub rpc_retries: u32,
    /// Longest wait for a connection or a mount, in milliseconds.
    pub connect_timeout_ms: u32,
    /// First wait after NFS3ERR_JUKEBOX, in milliseconds; doubled each time.
    pub jukebox_delay_ms: u32,
    /// How often an operation waits for NFS3ERR_JUKEBOX before it fails.
    pub jukebox_retries: u32,
}

/// RPC-with-TLS (RFC 9289). The files are on each client, and are read there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsPlan {
    /// The file of certificates of authorities that are trusted (TLS_CA).
    pub authorities: String,
    /// The certificate of the client (TLS=mtls).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<TlsCertificate>,
    /// The name that the servers' certificates must have (TLS_NAME); `None`: the host of the mount point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsCertificate {
    /// The certificate with its chain (TLS_CERT).
    pub certificate: String,
    /// The private key (TLS_KEY).
    pub key: String,
}

impl TlsPlan {
    /// In text: `TLS` or `mutual TLS`.
    pub const fn name(&self) -> &'static str {
        match self.own {
            Some(_) => "mutual TLS",
            None => "TLS",
        }
    }
}

impl NfsPlan {
    /// Where the NFS program of version 4.1 listens, which no portmapper needs to know: NFS_PORT or 2049
    /// (RFC 8881 section 2.9.3).
    pub const fn port_without_portmapper(&self) -> u16 {
        match self.nfs_port {
            Some(port) => port,
            None => driver::NFS_PORT,
        }
    }
}

/// The portmapper's port (RFC 1833, section 2).
const PORTMAP_PORT: u16 = 111;

impl NfsPlan {
    /// The labels of the fields.
    const LABELS: Labels = &[
        ("version", "NFS_VERSION"),
        ("block_size_max", "BLOCK_SIZE"),
        ("biod_max_reads", "BIOD_MAX_READS"),
        ("biod_max_writes", "BIOD_MAX_WRITES"),
        ("commit", "COMMIT"),
        ("commit.policy", "COMMIT policy"),
        (
            "commit.writes",
            "logical writes to a file before its COMMIT",
        ),
        ("commit.mib", "MiB written to a file before its COMMIT"),
        ("commit.files", "most files with uncommitted data per proc"),
        ("optional_ops", "operations that are tried before RUN"),
        ("rpc_timeout_ms", "RPC_TIMEOUT_MS"),
        ("rpc_retries", "RPC_RETRIES"),
        ("connections", "connections"),
        ("client_ids", "CLIENT_IDS"),
        ("nconnect", "NCONNECT"),
        ("delegations", "DELEGATIONS"),
        ("layouts", "LAYOUTS"),
        ("nfs_port", "NFS_PORT"),
        ("mount_port", "MOUNT_PORT"),
        ("transport", "transport (TCP)"),
        ("udp_timeout_ms", "UDP_TIMEOUT_MS"),
        ("tls", "TLS"),
        ("tls.authorities", "TLS_CA"),
        ("tls.own", "TLS_CERT and TLS_KEY"),
        ("tls.own.certificate", "TLS_CERT"),
        ("tls.own.key", "TLS_KEY"),
        ("tls.server_name", "TLS_NAME"),
        ("security", "SECURITY"),
    ];
    /// The fields that say where and as whom the work is done.
    const PLACES: &'static [&'static str] = &[
        "security",
        "username",
        "realm",
        "uid",
        "gid",
        "gids",
        "machine_name",
        "resvport",
        "nfs_port",
        "mount_port",
        "portmap_port",
        "transport",
        "udp_timeout_ms",
        "ip",
    ];
}

/// The settings of a run whose parameters set none of them, of user 0.
impl Default for NfsPlan {
    fn default() -> Self {
        Self {
            version: NfsVersion::default(),
            transport: Transport::default(),
            udp_timeout_ms: Self::udp_timeout_ms_default(),
            security: NfsSecurity::default(),
            username: String::new(),
            realm: String::new(),
            uid: 0,
            gid: 0,
            gids: Vec::new(),
            machine_name: String::new(),
            resvport: false,
            block_size_max: None,
            biod_max_reads: 2,
            biod_max_writes: 2,
            commit: CommitPolicy::default(),
            optional_ops: Vec::new(),
            nfs_port: None,
            mount_port: None,
            portmap_port: PORTMAP_PORT,
            ip: IpChoice::default(),
            tls: None,
            delegations: DelegationUse::default(),
            layouts: LayoutUse::default(),
            connections: Connections::default(),
            client_ids: ClientIds::default(),
            nconnect: Self::nconnect_default(),
            rpc_timeout_ms: 60_000,
            rpc_retries: 5,
            connect_timeout_ms: 10_000,
            jukebox_delay_ms: 100,
            jukebox_retries: 8,
        }
    }
}

impl NfsPlan {
    /// The port of NFS, or of the portmapper that knows it, if it is not the standard one.
    fn own_port(&self) -> Option<u16> {
        match self.nfs_port {
            Some(port) => Some(port).filter(|port| *port != driver::NFS_PORT),
            None if self.version.has_state() => None,
            None => Some(self.portmap_port).filter(|port| *port != PORTMAP_PORT),
        }
    }

    /// A client has one connection.
    const fn nconnect_default() -> u32 {
        1
    }

    const fn is_nconnect_default(nconnect: &u32) -> bool {
        *nconnect == Self::nconnect_default()
    }

    /// What plans have that were written before there was UDP: the 1.1 s that kernel
    /// clients begin with (nfs(5), `timeo`).
    pub const fn udp_timeout_ms_default() -> u32 {
        1_100
    }
}
