//! Which driver makes the load, with its settings.

use super::network::{Connections, IpChoice, Transport};
use super::nfs::NfsPlan;
use super::posix::PosixPlan;
use crate::secret::Secret;
use crate::smb::SmbPlan;
use serde::{Deserialize, Serialize};

/// Which driver makes the load, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum DriverPlan {
    /// Speaks NFS version 2 or 3 itself. (Records up to format 1 call it `nfs3`.)
    #[serde(alias = "nfs3")]
    Nfs(NfsPlan),
    /// Speaks SMB itself.
    Smb(SmbPlan),
    /// Works on mounted file systems by system calls.
    Posix(PosixPlan),
    /// Answers every operation at once: measures the generator.
    Null,
}

impl DriverPlan {
    /// Whether it speaks a network protocol itself, so that any client can reach any
    /// mount point by its name.
    pub const fn is_network(&self) -> bool {
        matches!(self, Self::Nfs(_) | Self::Smb(_))
    }

    /// The address family that it was told to use; `None`: it uses no network itself.
    pub const fn ip(&self) -> Option<IpChoice> {
        match self {
            Self::Nfs(nfs) => Some(nfs.ip),
            Self::Smb(smb) => Some(smb.ip),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// How procs share connections, where it makes any.
    pub const fn connections(&self) -> Option<Connections> {
        match self {
            Self::Nfs(nfs) => Some(nfs.connections),
            Self::Smb(smb) => Some(smb.connections),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// BIOD_MAX_READS and BIOD_MAX_WRITES.
    pub const fn biods(&self) -> (u32, u32) {
        match self {
            Self::Nfs(nfs) => (nfs.biod_max_reads, nfs.biod_max_writes),
            Self::Smb(smb) => (smb.biod_max_reads, smb.biod_max_writes),
            Self::Posix(_) | Self::Null => (0, 0),
        }
    }

    /// The password that it logs in with, where it does.
    pub const fn password(&self) -> Option<&Secret> {
        match self {
            Self::Smb(smb) => Some(&smb.password),
            Self::Nfs(_) | Self::Posix(_) | Self::Null => None,
        }
    }

    /// Gives it the password, which plans come without; no use to those that need none.
    pub fn set_password(&mut self, password: Secret) {
        if let Self::Smb(smb) = self {
            smb.password = password;
        }
    }

    /// What carries its calls; `None`: it uses no network itself.
    pub const fn transport(&self) -> Option<Transport> {
        match self {
            Self::Nfs(nfs) => Some(nfs.transport),
            Self::Smb(_) => Some(Transport::Tcp),
            Self::Posix(_) | Self::Null => None,
        }
    }

    /// The port by which its servers are reached; `None`: it uses no network itself.
    pub fn server_port(&self) -> Option<u16> {
        match self {
            Self::Nfs(nfs) => Some(nfs.nfs_port.unwrap_or(2049)),
            Self::Smb(smb) => Some(smb.port),
            Self::Posix(_) | Self::Null => None,
        }
    }
}
